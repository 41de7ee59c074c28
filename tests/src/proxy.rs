//! Stands between a program and its server, and cuts connections: at a statement of the test's choice, or all at once.
//!
//! ```no_run
//! use fluens_tests::proxy::{Cut, Proxy};
//!
//! # async fn f(url: &str) {
//! let proxy = Proxy::before(url);
//! let cut = proxy.cut_commit_of("orders.placed", Cut::Reply);
//! // ... whoever is connected to `proxy.url()` and publishes one next is never told that it was committed
//! cut.wait().await;
//! # }
//! ```

use std::{
    io,
    net::{Ipv4Addr, TcpListener as Listener},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    sync::{Semaphore, oneshot, watch},
};

use crate::probe::in_time;

/// How the wire protocol says it. With its end: `READ COMMITTED` is something else.
const COMMIT: &str = "COMMIT\0";

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

/// Everything that comes to its address goes to the server, and back. It has a thread of its own: neither side waits for the
/// other's, and whoever uses it need not be asynchronous.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    _open: oneshot::Sender<()>,
}

/// What all connections look at.
#[derive(Default)]
struct Shared {
    armed: Mutex<Vec<Armed>>,
    cuts: AtomicUsize,
    /// Every connection listens, and ends when something is said.
    all: watch::Sender<()>,
}

impl Shared {
    fn armed(&self) -> MutexGuard<'_, Vec<Armed>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first that waits for something in these bytes. A client writes a message at once, so none is torn.
    fn met(&self, bytes: &[u8], transaction: &[u8]) -> Option<Armed> {
        let mut armed = self.armed();
        let asked = |one: &Armed| has(bytes, &one.statement) && has(transaction, &one.with);
        let place = armed.iter().position(asked)?;
        Some(armed.remove(place))
    }
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
    pub fn before(url: &str) -> Proxy {
        let (front, rest) = url.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let (shared, (open, closed)) = (Arc::<Shared>::default(), oneshot::channel());
        let (server, of_all) = (server.to_owned(), shared.clone());
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    _ = closed => {}
                    _ = listen(listener, &server, of_all) => {}
                }
            });
        });
        Proxy { url: format!("{front}@127.0.0.1:{port}/{database}"), shared, _open: open }
    }

    /// The address to connect to instead.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Cuts all connections there are. Returns how many.
    pub fn cut_all(&self) -> usize {
        let connections = self.shared.all.receiver_count();
        self.shared.all.send_replace(());
        connections
    }

    /// Cuts the next connection on which this is asked.
    pub fn cut_next(&self, statement: &str, cut: Cut) -> Armed {
        self.arm(statement, "", Some(cut))
    }

    /// Cuts the next connection that commits.
    pub fn cut_commit(&self, cut: Cut) -> Armed {
        self.arm(COMMIT, "", Some(cut))
    }

    /// Cuts the next connection that commits a transaction in which this was asked.
    pub fn cut_commit_of(&self, asked: &str, cut: Cut) -> Armed {
        self.arm(COMMIT, asked, Some(cut))
    }

    /// Waits for the next time that this is asked, and lets it pass.
    pub fn watch_for(&self, statement: &str) -> Armed {
        self.arm(statement, "", None)
    }

    /// What was to be cut and was not is left alone.
    pub fn disarm(&self) {
        self.shared.armed().clear();
    }

    /// How often a statement was cut off.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(SeqCst)
    }

    fn arm(&self, statement: &str, with: &str, cut: Option<Cut>) -> Armed {
        let (statement, with) = (statement.to_owned(), with.to_owned());
        let never = || Arc::new(Semaphore::new(0));
        let armed = Armed { statement, with, cut, happened: never(), released: never() };
        self.shared.armed().push(armed.clone());
        armed
    }
}

fn has(bytes: &[u8], part: &str) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|bytes| bytes == part.as_bytes())
}

async fn listen(listener: Listener, server: &str, shared: Arc<Shared>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (client, _) = listener.accept().await?;
        // The server may be down: then the program hears at once.
        if let Ok(server) = TcpStream::connect(server).await {
            let all = shared.all.subscribe();
            tokio::spawn(carry(client, server, shared.clone(), all));
        }
    }
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    shared: Arc<Shared>,
    mut all: watch::Receiver<()>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut asked, mut answered, mut transaction) = (vec![0; 64 << 10], vec![0; 64 << 10], Vec::new());
    loop {
        tokio::select! {
            _ = all.changed() => return Ok(()),
            read = client.read(&mut asked) => match read? {
                0 => return Ok(()),
                read => match shared.met(&asked[..read], &transaction) {
                    Some(Armed { cut: Some(cut), happened, released, .. }) => {
                        if cut == Cut::Reply {
                            server.write_all(&asked[..read]).await?;
                            answer(&mut server).await?;
                        }
                        drop(client);
                        shared.cuts.fetch_add(1, SeqCst);
                        happened.add_permits(1);
                        if cut == Cut::Silence {
                            released.acquire().await.expect("never closed").forget();
                        }
                        return Ok(());
                    }
                    passes => {
                        remember(&mut transaction, &asked[..read]);
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

/// What was asked in the transaction that is open; outside of one nothing.
fn remember(transaction: &mut Vec<u8>, asked: &[u8]) {
    if has(asked, "BEGIN") {
        transaction.clear();
        transaction.extend_from_slice(asked);
    } else if has(asked, COMMIT) || has(asked, "ROLLBACK\0") {
        transaction.clear();
    } else if !transaction.is_empty() {
        transaction.extend_from_slice(asked);
    }
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
