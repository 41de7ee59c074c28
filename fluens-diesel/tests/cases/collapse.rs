//! Of the messages of which only the newest is wanted: whatever is published and consumed in whatever order, one that starts
//! is the newest there is, the last of each kind is consumed, and all others were replaced before they started.

use std::collections::BTreeMap;

use fluens_diesel::*;
use proptest::prelude::*;

use super::support::*;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// One of this kind.
    Publish(i64),
    /// A node fetches into memory.
    Fetch,
    /// It runs what it has had in memory for longest, if that is still wanted.
    Run,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_i64..3).prop_map(Step::Publish),
        1 => Just(Step::Fetch),
        2 => Just(Step::Run),
    ];
    prop::collection::vec(step, 1..40)
}

pub(crate) async fn the_newest_runs<S: Probe>(
    mut bench: Bench<S>,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let (mut memory, mut newest, mut consumed) = (Vec::<Due>::new(), BTreeMap::new(), Vec::new());
    let mut published = 0;
    let end = [Step::Fetch].into_iter().chain(std::iter::repeat_n(Step::Run, 60));
    for step in steps.into_iter().chain(end) {
        match step {
            Step::Publish(kind) => {
                published += 1;
                newest.insert(kind, published);
                bench.publish(vec![NewMessage { latest: Some(kind), ..keyed(published, kind) }]).await;
            }
            Step::Fetch => {
                let taken = memory.iter().map(|row| row.seq).collect();
                let rows = bench.fetch_as(&Fetch { taken, ..bench.wanted() }).await;
                let (old, run): (Vec<_>, Vec<_>) =
                    rows.into_iter().partition(|row| row.standing == Standing::Superseded);
                let old: Vec<Acked> = old.iter().map(acked).collect();
                S::supersede(&mut bench.conn, &bench.tables, bench.node, &old).await.unwrap();
                memory.extend(run);
            }
            Step::Run if memory.is_empty() => {}
            Step::Run => {
                let row = memory.remove(0);
                if S::supersede(&mut bench.conn, &bench.tables, bench.node, &[acked(&row)]).await.unwrap()
                    == 0
                {
                    let kind = row.key_hash.unwrap();
                    prop_assert_eq!(newest.get(&kind), Some(&row.payload[0]), "it is the newest");
                    prop_assert_eq!(bench.ack(&row).await, 1);
                    consumed.push(row.payload[0]);
                }
            }
        }
    }
    for last in newest.values() {
        prop_assert!(consumed.contains(last), "the last of its kind was consumed");
    }
    let replaced = bench.rows("inbox", "state = 6").await;
    prop_assert_eq!(usize::try_from(replaced).unwrap() + consumed.len(), usize::from(published));
    prop_assert_eq!(bench.rows("inbox", "state <> 6").await, 0);
    Ok(())
}
