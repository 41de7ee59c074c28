//! Sixty-four consumers with sixteen lanes each, and as many keys as messages.

use fluens::{Module, postgres as db, prelude::*};

use super::{program::Program, tuned};
use crate::{ledger::Ledger, order::MANY};

macro_rules! crowd {
    ($($Item:ident $take:ident)*) => {
        fluens::module! { pub(super) Crowd { db: db::Db, consumes: [$($Item),*] } }
        fluens::module! { CrowdSender { db: db::Db, publishes: [$(external $Item),*] } }

        $(
            #[message(partition = n)]
            struct $Item {
                n: i64,
            }

            #[consumer(module = Crowd, lanes = 16)]
            async fn $take(item: $Item, ledger: State<Ledger>) -> Result {
                ledger.note(item.n, item.n);
                Ok(())
            }
        )*

        /// The messages of a range, dealt out to the consumers, in one transaction.
        async fn publish_range(sender: &Handle<CrowdSender>, range: std::ops::Range<i64>) -> Result {
            sender
                .transaction(async |tx| -> Result {
                    for n in range {
                        let mut consumer = 0;
                        $(
                            if n % CONSUMERS == consumer {
                                tx.publish(&$Item { n });
                            }
                            consumer += 1;
                        )*
                        debug_assert_eq!(consumer, CONSUMERS);
                    }
                    Ok(())
                })
                .await
        }
    };
}

const CONSUMERS: i64 = 64;

crowd! {
    A0 a0 A1 a1 A2 a2 A3 a3 A4 a4 A5 a5 A6 a6 A7 a7 B0 b0 B1 b1 B2 b2 B3 b3 B4 b4 B5 b5 B6 b6 B7 b7
    C0 c0 C1 c1 C2 c2 C3 c3 C4 c4 C5 c5 C6 c6 C7 c7 D0 d0 D1 d1 D2 d2 D3 d3 D4 d4 D5 d5 D6 d6 D7 d7
    E0 e0 E1 e1 E2 e2 E3 e3 E4 e4 E5 e5 E6 e6 E7 e7 F0 f0 F1 f1 F2 f2 F3 f3 F4 f4 F5 f5 F6 f6 F7 f7
    G0 g0 G1 g1 G2 g2 G3 g3 G4 g4 G5 g5 G6 g6 G7 g7 H0 h0 H1 h1 H2 h2 H3 h3 H4 h4 H5 h5 H6 h6 H7 h7
}

pub(super) fn app(url: &str, n: i64) -> Program<Crowd> {
    Program::new(fluens::app!(Crowd, ..), url, Ledger::new(n, n, n))
}

pub(super) async fn publish(url: &str, n: i64) -> anyhow::Result<()> {
    let app = tuned(fluens::app!(CrowdSender, ..), url).start().await?;
    let sender = CrowdSender::of(&app);
    let mut next = 0;
    while next < n {
        let published = publish_range(&sender, next..n.min(next + MANY)).await;
        published.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        next += MANY;
    }
    Ok(app.shutdown().await?)
}
