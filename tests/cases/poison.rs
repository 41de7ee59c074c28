//! Faults 15 and 16: a key that fails again and again holds up itself and nobody else.

use fluens::{message, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{database, inbox_rows};
use crate::db;

fluens::module! { pub Poisoned { db: db::Db, publishes: [Dose], consumes: [Dose] } }

#[message(name = "poisoned.dose", partition = key)]
struct Dose {
    key: i64,
    n: i64,
}

/// Quickly at first, so that it is a nuisance, and then for longer than a test takes.
#[consumer(lanes = 4, retry(memory = ["1ms", "1ms", "1ms"], stored = ["1ms", "1ms", "5ms", "5ms", "10ms", "1h"]))]
async fn swallow(dose: Dose, probe: State<Probe>, ctx: &mut Context<Poisoned>) -> Result {
    if dose.key == 0 && dose.n == 0 {
        probe.saw(format!("poison {}", ctx.attempt()));
        return Err("poison".into());
    }
    probe.saw(if dose.key == 0 { "behind" } else { "other" });
    Ok(())
}

macro_rules! start {
    ($probe:expr) => {{
        let url = database!();
        // Less in hand than what waits behind the poison.
        let app = fluens::app!(Poisoned, .., |app| app.database(url).state($probe.clone()).batch(20));
        app.start().await.unwrap()
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_key_of_a_thousand_holds_up_nobody_else() {
    let probe = Probe::default();
    let app = start!(probe);
    let poisoned = Poisoned::of(&app);
    // The bad key first, with more behind it than a node takes into memory; then the others.
    let bad = (0..100).map(|n| Dose { key: 0, n });
    let others = (0..2).flat_map(|n| (1..1000).map(move |key| Dose { key, n }));
    poisoned.publish_all(&bad.chain(others).collect::<Vec<_>>()).await.unwrap();
    probe.wait_for_times("other", 1998).await;
    probe.wait_for_event("poison 9").await;
    assert_eq!((probe.count("behind"), probe.count("poison 10")), (0, 0), "it is still failing");
    // The last of the others ran, and are committed a moment later.
    in_time("the others to be acknowledged", async {
        while inbox_rows(&poisoned, "state <> 2").await > 99 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(inbox_rows(&poisoned, "state <> 2").await, 99, "what is behind it waits");
}

/// A key with a long backlog behind a head that is tried again, and many rows that are for later, all in front.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_in_front_is_stepped_over_once() {
    let probe = Probe::default();
    let app = start!(probe);
    let poisoned = Poisoned::of(&app);
    let hour = std::time::Duration::from_secs(3600);
    let later: Vec<Dose> = (0..3000).map(|n| Dose { key: n % 50 + 1, n }).collect();
    poisoned.publish_all(later.iter().map(|dose| message(dose).after(hour))).await.unwrap();
    let hot: Vec<Dose> = (0..3000).map(|n| Dose { key: 0, n }).collect();
    poisoned.publish_all(&hot).await.unwrap();
    probe.wait_for_event("poison 9").await;
    let others: Vec<Dose> = (1..=200).map(|key| Dose { key, n: 0 }).collect();
    poisoned.publish_all(&others).await.unwrap();
    probe.wait_for_times("other", 200).await;
    assert_eq!(probe.count("behind"), 0);
    in_time("the backlog to be set aside", async {
        while inbox_rows(&poisoned, "state = 3").await < 2999 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(inbox_rows(&poisoned, "state = 1").await, 3000, "what is for later is untouched");
}
