//! One of several processes that share the work. It obeys its standard input: `go` lets the consumers go on, `stop` ends.

use std::{io::BufRead, thread, time::Duration};

use anyhow::Result;
use fluens::Module;
use tokio::sync::mpsc;

use super::program::{self, Waiting};

/// How often it says how many it has consumed.
const REPORT: Duration = Duration::from_millis(20);

pub(super) async fn serve(url: &str, n: i64) -> Result<()> {
    let program = program::waiting(url, n);
    let app = program.app.start().await?;
    println!("ready");
    let mut orders = orders();
    loop {
        tokio::select! {
            order = orders.recv() => match order.as_deref() {
                Some("go") => drop(Waiting::of(&app).resume().await?),
                _ => break,
            },
            () = tokio::time::sleep(REPORT) => println!("seen {}", program.ledger.seen()),
        }
    }
    app.shutdown().await?;
    program.ledger.check_order()?;
    println!("seen {}", program.ledger.seen());
    Ok(())
}

fn orders() -> mpsc::UnboundedReceiver<String> {
    let (tell, told) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            tell.send(line).ok();
        }
    });
    told
}
