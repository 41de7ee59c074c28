//! Stands between a program and its server, and cuts a connection at a statement of the test's choice.
//!
//! ```no_run
//! use fluens_tests::proxy::{Cut, Proxy};
//!
//! # async fn f(url: &str) {
//! let proxy = Proxy::before(url).await;
//! let cut = proxy.cut_commit_of("orders.placed", Cut::Reply);
//! // ... whoever is connected to `proxy.url()` and publishes one next is never told that it was committed
//! cut.wait().await;
//! # }
//! ```

use std::{
    io,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::probe::in_time;

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The statement does not reach the server, which sees the connection end.
    Request,
    /// The same, but the server does not learn of it before [`Armed::release`].
    Silence,
    /// The statement is done, and its answer is lost.
    Reply,
}

/// Everything that comes to its address goes to the server, and back.
pub struct Proxy {
    url: String,
    armed: Arc<Mutex<Vec<Armed>>>,
}

/// A cut that is to happen, once.
#[derive(Clone)]
pub struct Armed {
    statement: String,
    /// Something that was asked before in the same transaction.
    with: String,
    cut: Option<Cut>,
    happened: Arc<Semaphore>,
    released: Arc<Semaphore>,
}

impl Armed {
    /// Waits until the statement has come by.
    pub async fn wait(&self) {
        let what = format!("`{}` to pass the proxy", self.statement);
        in_time(&what, self.happened.acquire()).await.expect("never closed").forget();
    }

    /// Lets the server learn that the connection is gone.
    pub fn release(&self) {
        self.released.add_permits(1);
    }
}

impl Proxy {
    /// One before the server of this url.
    ///
    /// # Panics
    ///
    /// When the url has no host and port, or no port is free.
    pub async fn before(url: &str) -> Proxy {
        let (front, rest) = url.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let armed: Arc<Mutex<Vec<Armed>>> = Arc::default();
        let (server, to_cut) = (server.to_owned(), armed.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(&server).await {
                    tokio::spawn(carry(client, server, to_cut.clone()));
                }
            }
        });
        Proxy { url: format!("{front}@127.0.0.1:{port}/{database}"), armed }
    }

    /// The address to connect to instead.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Cuts the next connection on which this is asked.
    pub fn cut_next(&self, statement: &str, cut: Cut) -> Armed {
        self.arm(statement, "", Some(cut))
    }

    /// Cuts the next connection that commits a transaction in which this was asked.
    pub fn cut_commit_of(&self, asked: &str, cut: Cut) -> Armed {
        // With its end: `READ COMMITTED` is something else.
        self.arm("COMMIT\0", asked, Some(cut))
    }

    /// Waits for the next time that this is asked, and lets it pass.
    pub fn watch_for(&self, statement: &str) -> Armed {
        self.arm(statement, "", None)
    }

    fn arm(&self, statement: &str, with: &str, cut: Option<Cut>) -> Armed {
        let (statement, with) = (statement.to_owned(), with.to_owned());
        let never = || Arc::new(Semaphore::new(0));
        let armed = Armed { statement, with, cut, happened: never(), released: never() };
        self.armed.lock().expect("nobody panics with it").push(armed.clone());
        armed
    }
}

/// The first that waits for something in these bytes. A client writes a message at once, so none is torn.
fn met(armed: &Mutex<Vec<Armed>>, bytes: &[u8], transaction: &[u8]) -> Option<Armed> {
    let mut armed = armed.lock().expect("nobody panics with it");
    let asked = |one: &Armed| has(bytes, &one.statement) && has(transaction, &one.with);
    let place = armed.iter().position(asked)?;
    Some(armed.remove(place))
}

fn has(bytes: &[u8], part: &str) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|bytes| bytes == part.as_bytes())
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    armed: Arc<Mutex<Vec<Armed>>>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut asked, mut answered, mut transaction) = (vec![0; 64 << 10], vec![0; 64 << 10], Vec::new());
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read? {
                0 => return Ok(()),
                read => match met(&armed, &asked[..read], &transaction) {
                    Some(Armed { cut: Some(cut), happened, released, .. }) => {
                        cut_off(cut, client, server, &asked[..read], &happened, &released).await?;
                        return Ok(());
                    }
                    passes => {
                        if has(&asked[..read], "BEGIN") {
                            transaction.clear();
                        }
                        transaction.extend_from_slice(&asked[..read]);
                        server.write_all(&asked[..read]).await?;
                        if let Some(watched) = passes {
                            watched.happened.add_permits(1);
                        }
                    }
                },
            },
            read = server.read(&mut answered) => match read? {
                0 => return Ok(()),
                read => client.write_all(&answered[..read]).await?,
            },
        }
    }
}

async fn cut_off(
    cut: Cut,
    client: TcpStream,
    mut server: TcpStream,
    asked: &[u8],
    happened: &Semaphore,
    released: &Semaphore,
) -> io::Result<()> {
    if cut == Cut::Reply {
        server.write_all(asked).await?;
        answer(&mut server).await?;
    }
    drop(client);
    happened.add_permits(1);
    if cut == Cut::Silence {
        released.acquire().await.expect("never closed").forget();
    }
    Ok(())
}

/// Reads until the server is ready for the next statement.
async fn answer(server: &mut TcpStream) -> io::Result<()> {
    const READY: [u8; 5] = [b'Z', 0, 0, 0, 5];
    let mut answer = Vec::new();
    while !answer.windows(READY.len()).any(|part| part == READY) {
        if server.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(())
}
