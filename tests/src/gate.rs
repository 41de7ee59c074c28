//! What the programs of the tests have in common: a gate that consumers wait at, and orders on the standard input.

use std::{io::BufRead, sync::Arc, thread, time::Duration};

use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError, mpsc};

/// Consumers wait at it until they are let pass.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// One that lets nobody pass.
    pub fn closed() -> Self {
        Gate(Arc::new(Semaphore::new(0)))
    }

    /// Everybody passes from now on.
    pub fn open(&self) {
        self.0.close();
    }

    /// Whether everybody passes.
    pub fn is_open(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits to be let pass.
    pub async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }

    /// The same, as no asynchronous function should.
    pub fn block(&self) {
        while let Err(TryAcquireError::NoPermits) = self.0.try_acquire().map(SemaphorePermit::forget) {
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

/// A line at a time; the gate is opened right here, so that it opens even while all else is busy.
pub fn orders(gate: Gate) -> mpsc::UnboundedReceiver<Vec<String>> {
    let (tell, told) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["pass", n] => gate.0.add_permits(n.parse().unwrap_or(0)),
                ["open"] => gate.open(),
                _ => drop(tell.send(words)),
            }
        }
    });
    told
}
