//! Whatever lanes take, commit, fail and fetch again: nothing is lost or doubled, keys stay in order and exclusive.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    seq: i64,
    key: Option<i64>,
    priority: i16,
}

impl Planned for Item {
    fn place(&self) -> Place {
        (Reverse(self.priority), self.seq)
    }
    fn key(&self) -> Option<i64> {
        self.key
    }
    fn bytes(&self) -> usize {
        1
    }
}

fn item(seq: i64, key: Option<i64>, priority: i16) -> Item {
    Item { seq, key, priority }
}

fn plan_of(items: impl IntoIterator<Item = Item>) -> Plan<Item> {
    let mut plan = Plan::default();
    plan.begin_fetch();
    plan.end_fetch(items.into_iter().collect());
    plan
}

#[test]
fn one_slow_key_blocks_only_itself() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1), item(3, Some(8), 1)]);
    assert_eq!(plan.take(0).unwrap().seq, 1);
    assert_eq!(plan.take(1).unwrap().seq, 3, "key 7 belongs to lane 0 until it has committed");
    assert!(plan.take(1).is_none());
    assert_eq!(plan.take(0).unwrap().seq, 2, "its own lane may go on with the key");
}

#[test]
fn priority_goes_first_then_the_line() {
    let mut plan = plan_of([item(1, None, 1), item(2, None, 3), item(3, None, 1), item(4, None, 3)]);
    let order: Vec<i64> = (0..4).map(|lane| plan.take(lane).unwrap().seq).collect();
    assert_eq!(order, [2, 4, 1, 3]);
}

#[test]
fn a_postponed_head_holds_its_line_and_no_other() {
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(1));
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1), item(3, Some(8), 1)]);
    let failed = plan.take(0).unwrap();
    plan.postpone(failed, later);
    plan.release(0);
    assert_eq!(plan.take(0).unwrap().seq, 3);
    assert!(plan.take(0).is_none());
    assert_eq!(plan.resume(now), Some(later));
    assert_eq!(plan.resume(later), None);
    assert_eq!(plan.take(0).unwrap().seq, 1);
}

#[test]
fn what_a_late_fetch_saw_before_the_acknowledgement_is_not_run_again() {
    let mut plan = plan_of([item(1, None, 1)]);
    let running = plan.take(0).unwrap();
    assert_eq!(plan.begin_fetch(), [1]);
    plan.settled(1);
    assert_eq!(plan.end_fetch(vec![running]), 0);
    assert!(plan.is_empty());
}

#[test]
fn a_forgotten_line_is_fetched_again() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1)]);
    let held = plan.take(0).unwrap();
    plan.settled(held.seq);
    plan.forget_line(held.line());
    plan.release(0);
    assert!(plan.is_empty() && plan.bytes() == 0 && plan.begin_fetch().is_empty());
}

#[derive(Debug, Clone)]
enum Step {
    Take(Lane),
    Commit(Lane),
    RollBack(Lane),
    Postpone(Lane),
    Resume,
    Fetch,
    ForgetAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lane = 0_u32..4;
    prop::collection::vec(
        prop_oneof![
            6 => lane.clone().prop_map(Step::Take),
            3 => lane.clone().prop_map(Step::Commit),
            1 => lane.clone().prop_map(Step::RollBack),
            1 => lane.prop_map(Step::Postpone),
            1 => Just(Step::Resume),
            3 => Just(Step::Fetch),
            1 => Just(Step::ForgetAll),
        ],
        1..200,
    )
}

proptest! {
    #[test]
    fn nothing_lost_nothing_doubled_keys_in_order_and_exclusive(
        keys in prop::collection::vec((prop::option::of(0_i64..4), 0_i16..3), 1..40),
        steps in steps(),
    ) {
        let mut table: BTreeMap<i64, Item> =
            (1..).zip(&keys).map(|(seq, (key, priority))| (seq, item(seq, *key, *priority))).collect();
        let mut plan: Plan<Item> = Plan::default();
        let mut open: BTreeMap<Lane, Vec<Item>> = BTreeMap::new();
        let start = Instant::now();
        let mut done = Vec::new();

        let mut run = |plan: &mut Plan<Item>, step: Step, table: &mut BTreeMap<i64, Item>| -> Result<(), TestCaseError> {
            match step {
                Step::Fetch => {
                    let taken = plan.begin_fetch();
                    let due = table.values().filter(|item| !taken.contains(&item.seq)).cloned().collect();
                    plan.end_fetch(due);
                }
                Step::Take(lane) => {
                    if let Some(item) = plan.take(lane) {
                        let elsewhere = open.iter().filter(|(other, _)| **other != lane).flat_map(|(_, items)| items);
                        for other in elsewhere {
                            prop_assert!(other.key.is_none() || other.key != item.key, "{item:?} runs beside {other:?}");
                        }
                        open.entry(lane).or_default().push(item);
                    }
                }
                Step::Commit(lane) => {
                    for item in open.remove(&lane).unwrap_or_default() {
                        prop_assert!(table.remove(&item.seq).is_some(), "{item:?} ran twice");
                        plan.settled(item.seq);
                        done.push(item);
                    }
                    plan.release(lane);
                }
                Step::RollBack(lane) => {
                    for item in open.remove(&lane).unwrap_or_default() {
                        plan.put_back(item);
                    }
                    plan.release(lane);
                }
                Step::Postpone(lane) => {
                    if let Some(failed) = open.get_mut(&lane).and_then(Vec::pop) {
                        for item in open.remove(&lane).unwrap_or_default() {
                            plan.put_back(item);
                        }
                        plan.postpone(failed, start + Duration::from_secs(1));
                        plan.release(lane);
                    }
                }
                Step::Resume => { plan.resume(start + Duration::from_secs(2)); }
                Step::ForgetAll => plan.forget_all(),
            }
            Ok(())
        };
        for step in steps {
            run(&mut plan, step, &mut table)?;
        }
        // Let everything end.
        for _ in 0..=keys.len() {
            run(&mut plan, Step::Resume, &mut table)?;
            run(&mut plan, Step::Fetch, &mut table)?;
            for lane in 0..4 {
                run(&mut plan, Step::Take(lane), &mut table)?;
                run(&mut plan, Step::Commit(lane), &mut table)?;
            }
        }
        prop_assert!(table.is_empty(), "never ran: {table:?}");
        prop_assert!(plan.is_empty() && plan.bytes() == 0);
        for key in 0..4 {
            for priority in 0..3 {
                let seqs: Vec<i64> = done.iter().filter(|i| i.key == Some(key) && i.priority == priority).map(|i| i.seq).collect();
                prop_assert!(seqs.is_sorted(), "key {key}, priority {priority}: {seqs:?}");
            }
        }
    }
}
