//! A wire between a program and its server that breaks when it is told to, also right after a COMMIT: the server has done it,
//! and the program never hears.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

/// How the wire protocol says it.
const COMMIT: &[u8] = b"COMMIT\0";

/// A wire, or rather one for each connection.
pub struct Proxy {
    url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// So many answers are still to be swallowed.
    swallow: AtomicI64,
    swallowed: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

impl State {
    fn open(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// In front of the server of this database.
    pub fn before(url: &str) -> Self {
        let (before, rest) = url.split_once("127.0.0.1:").expect("a server on this machine");
        let (port, rest) = rest.split_once('/').expect("a database");
        let port: u16 = port.parse().expect("a port");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let own = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // The server may be down: then the program hears at once.
                if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                    join(&shared, &client, &server);
                }
            }
        });
        Proxy { url: format!("{before}127.0.0.1:{own}/{rest}"), state }
    }

    /// The database, through the wire.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Breaks all connections. Returns how many.
    pub fn cut(&self) -> usize {
        let open = std::mem::take(&mut *self.state.open());
        open.iter().filter(|stream| stream.shutdown(Shutdown::Both).is_ok()).count() / 2
    }

    /// The answers to the next so many COMMITs are lost, and their connections with them.
    pub fn swallow_commits(&self, count: i64) {
        self.state.swallow.store(count, SeqCst);
    }

    /// How many were lost.
    pub fn swallowed(&self) -> usize {
        self.state.swallowed.load(SeqCst)
    }
}

fn join(state: &Arc<State>, client: &TcpStream, server: &TcpStream) {
    let deaf = Arc::new(AtomicBool::new(false));
    let copies = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
    let (Some(to_server), Some(to_client), Some((one, other))) = (copies(), copies(), copies()) else {
        return;
    };
    state.open().extend([one, other]);
    let (shared, is_deaf) = (state.clone(), deaf.clone());
    thread::spawn(move || {
        let notice = |bytes: &[u8]| {
            let commits = bytes.windows(COMMIT.len()).any(|part| part == COMMIT);
            if commits && shared.swallow.fetch_sub(1, SeqCst) > 0 {
                is_deaf.store(true, SeqCst);
            }
            true
        };
        pass(to_server.0, to_server.1, notice);
    });
    let shared = state.clone();
    thread::spawn(move || {
        let hear = |_: &[u8]| {
            let heard = !deaf.load(SeqCst);
            shared.swallowed.fetch_add(usize::from(!heard), SeqCst);
            heard
        };
        pass(to_client.1, to_client.0, hear);
    });
}

/// Until one side ends, or `may_pass` says no.
fn pass(mut from: TcpStream, mut to: TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !may_pass(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Whichever is gone already, the other one is to know.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
