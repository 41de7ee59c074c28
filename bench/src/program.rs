//! What is measured: the same for each database. Modules and consumers belong to one database, and names to one
//! program, so a macro stamps them.

macro_rules! program {
    ($db:ident, $Bench:ident, $noop:literal, $write:literal) => {
        pub(crate) mod $db {
            use fluens::{diesel_prelude::*, prelude::*, $db as db};

            use crate::measure::rate;

            fluens::module! {
                $Bench { db: db::Db, publishes: [Noop, Write], consumes: [Noop, Write] }
            }

            diesel::table! { effects (id) { id -> BigInt, } }

            #[message(name = $noop, partition = key)]
            struct Noop {
                key: i64,
            }

            #[message(name = $write, partition = key)]
            struct Write {
                key: i64,
            }

            #[consumer(lanes = 4)]
            async fn noop(_: Noop, _ctx: &mut Context<$Bench>) -> Result {
                Ok(())
            }

            #[consumer(lanes = 4)]
            async fn write(write: Write, ctx: &mut Context<$Bench>) -> Result {
                diesel::insert_into(effects::table)
                    .values(effects::id.eq(write.key))
                    .execute(ctx.conn().await?)
                    .await?;
                Ok(())
            }

            pub(crate) async fn run(name: &str, url: String, messages: usize) {
                let start = async || {
                    let app = fluens::app!($Bench, .., |app| app.database(url.as_str()));
                    app.start().await.unwrap_or_else(|error| panic!("{error}"))
                };
                let app = start().await;
                let bench = $Bench::of(&app);
                let table = "CREATE TABLE effects (id bigint PRIMARY KEY)";
                bench.connection().await.unwrap().batch_execute(table).await.unwrap();
                // Subscribed, and stopped: what is published waits.
                app.shutdown().await.unwrap();
                let keys = i64::try_from(messages).unwrap();

                let one_by_one = messages / 10;
                rate(name, "publish, one per transaction", one_by_one, async {
                    for key in 0..i64::try_from(one_by_one).unwrap() {
                        bench.publish(&Noop { key }).await.unwrap();
                    }
                })
                .await;
                let eight = (0..8).map(|writer| {
                    let bench = bench.clone();
                    tokio::spawn(async move {
                        for key in 0..keys / 40 {
                            bench.publish(&Noop { key: key * 8 + writer }).await.unwrap();
                        }
                    })
                });
                rate(name, "publish, one per transaction, 8 at once", messages / 5, async {
                    for writer in eight.collect::<Vec<_>>() {
                        writer.await.unwrap();
                    }
                })
                .await;
                rate(name, "publish, 500 per transaction", messages, async {
                    for chunk in (0..keys).collect::<Vec<_>>().chunks(500) {
                        bench
                            .publish_all(
                                chunk.iter().map(|key| Noop { key: *key }).collect::<Vec<_>>().iter(),
                            )
                            .await
                            .unwrap();
                    }
                })
                .await;
                let waiting = one_by_one + messages / 5 + messages;
                rate(name, "consume, nothing to do", waiting, async {
                    let app = start().await;
                    app.settled().await;
                    app.shutdown().await.unwrap();
                })
                .await;
                for chunk in (0..keys).collect::<Vec<_>>().chunks(500) {
                    bench
                        .publish_all(chunk.iter().map(|key| Write { key: *key }).collect::<Vec<_>>().iter())
                        .await
                        .unwrap();
                }
                rate(name, "consume, one write each", messages, async {
                    let app = start().await;
                    app.settled().await;
                    app.shutdown().await.unwrap();
                })
                .await;
                let written: i64 =
                    effects::table.count().get_result(&mut *bench.connection().await.unwrap()).await.unwrap();
                assert_eq!(written, keys, "every effect exactly once");
            }
        }
    };
}

program!(sqlite, SqliteBench, "sqlite.noop", "sqlite.write");
program!(postgres, PostgresBench, "postgres.noop", "postgres.write");
