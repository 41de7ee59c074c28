//! Of the messages of which only the newest is wanted: whatever is published, fetched, marked, consumed and failed at in
//! whatever order, none is done after a newer one, the last of each kind is done, and all others were replaced.

use std::collections::BTreeMap;

use fluens_diesel::*;
use proptest::prelude::*;

use super::support::*;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// One of this kind.
    Publish(i64),
    /// A node fetches into memory, also what failed before.
    Fetch,
    /// It marks what a fetch found to be superseded. Meanwhile the newer one may be done.
    Mark,
    /// It runs what it has had in memory for longest, if that is still wanted.
    Run,
    /// The same, in vain: it is stored for later.
    Fail,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_i64..3).prop_map(Step::Publish),
        2 => Just(Step::Fetch),
        1 => Just(Step::Mark),
        3 => Just(Step::Run),
        1 => Just(Step::Fail),
    ];
    prop::collection::vec(step, 1..40)
}

/// What a node has in hand, and what was done.
#[derive(Default)]
struct Model {
    memory: Vec<Due>,
    superseded: Vec<Acked>,
    /// By kind, in order.
    done: BTreeMap<i64, Vec<u8>>,
}

impl Model {
    async fn fetch<S: Probe>(&mut self, bench: &mut Bench<S>) {
        bench.clock.advance(SECOND);
        let taken = self.memory.iter().map(|row| row.seq).collect();
        let wanted = Fetch { taken, ..bench.wanted() };
        let mut rows = bench.fetch_as(&wanted).await;
        rows.extend(S::fetch_held(&mut bench.conn, &bench.tables, &wanted).await.unwrap());
        let (old, run): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.standing == Standing::Superseded);
        self.superseded.extend(old.iter().map(acked));
        self.memory.extend(run);
    }

    /// The next that is still wanted.
    async fn next<S: Probe>(&mut self, bench: &mut Bench<S>) -> Option<Due> {
        let row = (!self.memory.is_empty()).then(|| self.memory.remove(0))?;
        let marked = S::supersede(&mut bench.conn, &bench.tables, bench.node, &[acked(&row)]).await.unwrap();
        (marked == 0).then_some(row)
    }

    async fn run<S: Probe>(&mut self, bench: &mut Bench<S>) {
        let Some(row) = self.next(bench).await else { return };
        S::begin(&mut bench.conn).await.unwrap();
        // Not so, if it was replaced while it was in memory.
        if bench.ack(&row).await == 1 {
            let newest = [row.newest().unwrap()];
            S::supersede_before(&mut bench.conn, &bench.tables, bench.consumer, &newest).await.unwrap();
            self.done.entry(row.latest.unwrap()).or_default().push(row.payload[0]);
        }
        bench.commit().await;
    }
}

pub(crate) async fn the_newest_runs<S: Probe>(
    mut bench: Bench<S>,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let (mut model, mut newest, mut published) = (Model::default(), BTreeMap::new(), 0);
    let rest = [Step::Fetch, Step::Mark].into_iter().chain(std::iter::repeat_n(Step::Run, 60));
    for step in steps.into_iter().chain(rest.clone()).chain(rest) {
        match step {
            Step::Publish(kind) => {
                published += 1;
                newest.insert(kind, published);
                bench.publish(vec![NewMessage { latest: Some(kind), ..plain(published) }]).await;
            }
            Step::Fetch => model.fetch(&mut bench).await,
            Step::Mark => {
                let old = std::mem::take(&mut model.superseded);
                S::supersede(&mut bench.conn, &bench.tables, bench.node, &old).await.unwrap();
            }
            Step::Run => model.run(&mut bench).await,
            Step::Fail => {
                if let Some(row) = model.next(&mut bench).await {
                    bench.hold(&row, SECOND).await;
                }
            }
        }
    }
    for (kind, last) in newest {
        let done = model.done.get(&kind).cloned().unwrap_or_default();
        prop_assert!(done.is_sorted(), "none after a newer one: {done:?}");
        prop_assert_eq!(done.last(), Some(&last), "the last of its kind was done");
    }
    let (replaced, done) = (bench.rows("inbox", "state = 6").await, model.done.values().flatten().count());
    prop_assert_eq!(usize::try_from(replaced).unwrap() + done, usize::from(published));
    prop_assert_eq!(bench.rows("inbox", "state <> 6").await, 0);
    Ok(())
}
