//! Whatever lanes take, commit, fail and fetch again: nothing is lost or doubled, keys stay in order and exclusive.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use proptest::prelude::*;

use super::{fetches::Begun, *};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    seq: i64,
    key: Option<i64>,
    priority: i16,
    first: bool,
    failed: u32,
}

impl Planned for Item {
    fn place(&self) -> Place {
        (Reverse(if self.first { i16::MAX } else { self.priority }), self.seq)
    }
    fn slot(&self) -> i16 {
        i16::try_from(self.key.unwrap_or(self.seq).rem_euclid(64)).unwrap()
    }
    fn key(&self) -> Option<i64> {
        self.key
    }
    fn bytes(&self) -> usize {
        1
    }
    fn is_old(&self, now: Moment) -> bool {
        now >= OLD
    }
    fn go_first(&mut self) {
        self.first = true;
    }
    fn goes_first(&self) -> bool {
        self.first
    }
    fn priority(&self) -> i16 {
        self.priority
    }
    type Memo = u32;
    fn memo(&self) -> Option<u32> {
        (self.failed > 0).then_some(self.failed)
    }
    fn recall(&mut self, memo: u32) {
        self.failed = memo;
    }
}

/// Everything is overdue then.
const OLD: Moment = Moment::at(1_000_000_000);

fn item(seq: i64, key: Option<i64>, priority: i16) -> Item {
    Item { seq, key, priority, first: false, failed: 0 }
}

/// Nothing will be ready that is not seen.
const ALL: i64 = i64::MAX;

fn plan_of(items: impl IntoIterator<Item = Item>) -> Plan<Item> {
    let mut plan = Plan::default();
    plan.begin_fetch(0);
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
fn slots_are_left_alone_but_what_runs_is_still_known() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1), item(3, Some(8), 1), item(9, None, 1)]);
    let running = plan.take(0).unwrap();
    plan.begin_fetch(0);
    plan.forget_slots(1 << 7 | 1 << 9);
    assert_eq!(plan.busy_slots(), 1 << 7);
    assert_eq!(plan.end_fetch(vec![item(4, Some(7), 1)]), 0, "what a fetch brings of it lacks its front");
    assert_eq!(plan.take(1).unwrap().seq, 3);
    assert!(plan.take(1).is_none());
    plan.put_back(running);
    assert_eq!(plan.busy_slots(), 1 << 8);
    assert!(plan.take(0).is_none(), "not even put back does it run here again");
}

#[test]
fn priority_goes_first_then_the_line() {
    let mut plan = plan_of([item(1, None, 1), item(2, None, 3), item(3, None, 1), item(4, None, 3)]);
    let order: Vec<i64> = (0..4).map(|lane| plan.take(lane).unwrap().seq).collect();
    assert_eq!(order, [2, 4, 1, 3]);
}

#[test]
fn a_postponed_head_holds_its_line_and_no_other() {
    let (now, later) = (Moment::at(0), Moment::at(1_000_000));
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
    assert_eq!(plan.begin_fetch(0).taken, [1]);
    plan.settled(1);
    assert_eq!(plan.end_fetch(vec![running]), 0);
    assert!(plan.is_empty());
}

#[test]
fn one_put_aside_lets_its_line_go_on_and_comes_back_into_it() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1), item(3, Some(7), 1)]);
    let failed = plan.take(0).unwrap();
    plan.put_aside(failed, Moment::at(5));
    plan.release(0);
    assert_eq!(plan.begin_fetch(0).taken.len(), 3, "it is still in hand");
    let second = plan.take(1).unwrap();
    assert_eq!((second.seq, plan.resume(Moment::at(4))), (2, Some(Moment::at(5))));
    assert_eq!(plan.resume(Moment::at(5)), None);
    assert!(plan.take(0).is_none(), "its key is at work: one at a time");
    plan.settled(2);
    plan.release(1);
    assert_eq!(plan.take(0).unwrap().seq, 1);
}

#[test]
fn one_that_waited_too_long_goes_before_higher_priorities() {
    let mut plan = plan_of([item(1, None, 0), item(2, None, 3)]);
    plan.age(Moment::at(0));
    assert_eq!(plan.take(0).unwrap().seq, 2);
    plan.begin_fetch(0);
    plan.end_fetch(vec![item(4, Some(7), 3), item(3, Some(7), 0)]);
    plan.age(OLD);
    let order: Vec<i64> = (1..4).filter_map(|lane| plan.take(lane)).map(|item| item.seq).collect();
    assert_eq!(order, [1, 3], "in line, whatever their priority, and 4 behind 3");
}

#[test]
fn one_that_goes_first_takes_along_what_stands_before_it_in_its_key() {
    let mut plan = plan_of([item(1, Some(7), 0), item(2, Some(7), 3), item(4, Some(8), 3)]);
    plan.begin_fetch(0);
    plan.end_fetch(vec![Item { first: true, ..item(3, Some(7), 0) }]);
    let order: Vec<i64> = std::iter::from_fn(|| plan.take(0)).map(|item| item.seq).collect();
    assert_eq!(order, [1, 3, 2, 4]);
}

#[test]
fn a_forgotten_line_is_fetched_again() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1)]);
    let held = plan.take(0).unwrap();
    plan.settled(held.seq);
    plan.forget_line(held.line());
    plan.release(0);
    assert!(plan.is_empty() && plan.bytes() == 0 && plan.begin_fetch(0).taken.is_empty());
}

#[test]
fn what_failed_in_memory_is_remembered_when_all_is_forgotten() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1), item(3, None, 1)]);
    let failed = Item { failed: 2, ..plan.take(0).unwrap() };
    plan.postpone(failed, Moment::at(9));
    plan.release(0);
    plan.forget_all();
    assert!(plan.is_empty() && plan.bytes() == 0);
    plan.begin_fetch(0);
    plan.end_fetch(vec![item(1, Some(7), 1), item(2, Some(7), 1), item(3, None, 1)]);
    assert_eq!(plan.take(0).unwrap().seq, 3, "its line still waits");
    assert_eq!((plan.resume(Moment::at(8)), plan.resume(Moment::at(9))), (Some(Moment::at(9)), None));
    let again = plan.take(1).unwrap();
    assert_eq!((again.seq, again.failed), (1, 2));
}

#[test]
fn one_put_back_into_a_forgotten_line_does_not_pass_those_before_it() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1)]);
    let (first, second) = (plan.take(0).unwrap(), plan.take(0).unwrap());
    plan.put_back(first);
    plan.forget_all();
    plan.postpone(Item { failed: 1, ..second }, Moment::at(5));
    plan.release(0);
    assert!(plan.take_must_fetch() && plan.is_empty() && plan.bytes() == 0);
    plan.begin_fetch(0);
    plan.end_fetch(vec![item(1, Some(7), 1), item(2, Some(7), 1)]);
    let order: Vec<(i64, u32)> =
        std::iter::from_fn(|| plan.take(0)).map(|item| (item.seq, item.failed)).collect();
    assert_eq!(order, [(1, 0), (2, 1)]);
}

#[test]
fn a_lane_that_still_runs_one_frees_the_keys_of_the_others() {
    let mut plan =
        plan_of([item(1, Some(7), 1), item(2, Some(8), 1), item(3, Some(7), 1), item(4, Some(8), 1)]);
    let (done, slow) = (plan.take(0).unwrap(), plan.take(0).unwrap());
    assert!(plan.take(1).is_none());
    plan.settled(done.seq);
    plan.release_others(0, std::slice::from_ref(&slow));
    assert_eq!(plan.take(1).unwrap().seq, 3);
    assert!(plan.take(1).is_none(), "the slow one keeps its own");
    plan.settled(slow.seq);
    plan.release(0);
    assert_eq!(plan.take(1).unwrap().seq, 4);
}

#[test]
fn what_a_dead_lane_had_in_its_hands_can_be_fetched_again() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1)]);
    plan.take(0).unwrap();
    plan.lane_died(0);
    assert!(plan.begin_fetch(0).taken.is_empty(), "nor is what stood behind it in hand");
    plan.end_fetch(vec![item(1, Some(7), 1), item(2, Some(7), 1)]);
    assert_eq!(plan.take(1).unwrap().seq, 1);
}

#[test]
fn a_fetch_that_was_on_its_way_does_not_bring_the_rest_of_a_forgotten_line() {
    let mut plan = plan_of([item(1, Some(7), 1), item(2, Some(7), 1)]);
    let failed = plan.take(0).unwrap();
    assert_eq!(plan.begin_fetch(0).taken.len(), 2);
    plan.settled(failed.seq);
    plan.forget_line(failed.line());
    plan.release(0);
    assert_eq!(plan.end_fetch(vec![item(3, Some(7), 1), item(4, Some(8), 1)]), 1, "3 without 2 must wait");
    assert_eq!(plan.take(0).unwrap().seq, 4);
}

#[test]
fn a_fetch_goes_on_where_the_last_one_ended() {
    let mut plan = Plan::default();
    plan.begin_fetch(ALL);
    plan.end_fetch(vec![item(1, Some(7), 1), item(2, Some(8), 1), item(3, Some(7), 2), item(5, Some(7), 1)]);
    plan.take(0).unwrap();
    let Begun { reached, taken } = plan.begin_fetch(ALL);
    assert_eq!(
        [(7, 1), (8, 1), (7, 2), (9, 1)].map(|(slot, priority)| reached.of(slot, priority)),
        [5, 2, 3, 0]
    );
    assert!(taken.is_empty(), "none of them stands behind that");
}

#[test]
fn what_may_still_appear_is_not_passed() {
    let mut plan = Plan::default();
    plan.begin_fetch(4);
    plan.end_fetch(vec![item(3, Some(7), 1), item(6, Some(7), 1)]);
    let Begun { reached, taken } = plan.begin_fetch(4);
    assert_eq!((reached.of(7, 1), taken), (4, vec![6]));
}

#[test]
fn one_that_was_picked_from_its_line_leaves_those_before_it() {
    let mut plan = Plan::default();
    plan.begin_fetch(ALL);
    plan.end_fetch(vec![Item { first: true, ..item(6, Some(7), 1) }]);
    let Begun { reached, taken } = plan.begin_fetch(ALL);
    assert_eq!((reached.of(7, 1), taken), (0, vec![6]));
}

#[test]
fn whatever_is_forgotten_has_all_begin_anew() {
    type Forgets = fn(&mut Plan<Item>);
    let ways: [Forgets; 5] = [
        Plan::forget_all,
        |plan| plan.forget_line(LineId::Key(7)),
        |plan| plan.forget_slots(1 << 7),
        |plan| plan.lose(&item(1, Some(7), 1)),
        |plan| plan.lane_died(0),
    ];
    for forgets in ways {
        let mut plan = Plan::default();
        plan.begin_fetch(ALL);
        plan.end_fetch(vec![item(1, Some(7), 1), item(2, Some(8), 1)]);
        forgets(&mut plan);
        assert_eq!(plan.begin_fetch(ALL).reached, Reached::default());
        forgets(&mut plan);
        plan.end_fetch(vec![item(3, Some(9), 1)]);
        assert_eq!(plan.begin_fetch(ALL).reached, Reached::default(), "nor does what was on its way count");
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A transaction ends that had drawn a place: what it published appears there.
    Appear(usize),
    Take(Lane),
    Commit(Lane),
    RollBack(Lane),
    Postpone(Lane),
    /// A failure is stored.
    Hold(Lane),
    /// Held rows are due.
    Due,
    Resume,
    /// Those in hand have waited too long.
    Age,
    /// So has what the fetch brings.
    SendOld,
    Send,
    Receive,
    /// The answer never comes.
    FetchFails,
    ForgetAll,
    /// The connection is lost at the commit: what the lane ran, and all the rest, is fetched again.
    Lose(Lane),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lane = 0_u32..4;
    prop::collection::vec(
        prop_oneof![
            // Mostly all goes well: a fetch begins anew whenever it does not.
            6 => (0_usize..8).prop_map(Step::Appear),
            12 => lane.clone().prop_map(Step::Take),
            6 => lane.clone().prop_map(Step::Commit),
            1 => lane.clone().prop_map(Step::RollBack),
            1 => lane.clone().prop_map(Step::Postpone),
            1 => lane.clone().prop_map(Step::Hold),
            1 => lane.prop_map(Step::Lose),
            1 => Just(Step::FetchFails),
            1 => Just(Step::Due),
            1 => Just(Step::Resume),
            1 => Just(Step::Age),
            1 => Just(Step::SendOld),
            10 => Just(Step::Send),
            10 => Just(Step::Receive),
            1 => Just(Step::ForgetAll),
        ],
        1..200,
    )
}

/// Two of each slot.
const KEYS: [i64; 4] = [0, 1, 64, 65];

fn key() -> impl Strategy<Value = i64> {
    prop::sample::select(&KEYS[..])
}

/// A database, a node and its lanes, as far as the plan can tell them from the real ones.
#[derive(Default)]
struct Model {
    /// Those that have drawn their places and are not committed.
    open_yet: BTreeMap<i64, Item>,
    table: BTreeMap<i64, Item>,
    /// So many are fetched of a line.
    portion: usize,
    held: BTreeSet<i64>,
    plan: Plan<Item>,
    open: BTreeMap<Lane, Vec<Item>>,
    /// A fetch on its way.
    answer: Option<Vec<Item>>,
    done: Vec<Item>,
}

impl Model {
    fn run(&mut self, step: Step) -> Result<(), TestCaseError> {
        let soon = Moment::at(1_000_000);
        match step {
            Step::Send | Step::SendOld => {
                if self.answer.is_none() {
                    let passed = self.open_yet.keys().next().map_or(ALL, |first| first - 1);
                    let begun = self.plan.begin_fetch(passed);
                    let first = matches!(step, Step::SendOld);
                    let due = self.due(&begun).into_iter().map(|item| Item { first, ..item });
                    self.answer = Some(due.collect());
                }
            }
            Step::Appear(at) => {
                // Of a key they commit in the order of their places.
                let is_next = |item: &&Item| {
                    self.open_yet
                        .range(..item.seq)
                        .all(|(_, before)| item.key.is_none() || before.key != item.key)
                };
                let next: Vec<i64> = self.open_yet.values().filter(is_next).map(|item| item.seq).collect();
                if let Some(seq) = next.get(at % next.len().max(1)) {
                    self.table.extend(self.open_yet.remove_entry(seq));
                }
            }
            Step::Age => self.plan.age(OLD),
            Step::Receive => {
                if let Some(answer) = self.answer.take() {
                    self.plan.end_fetch(answer);
                }
            }
            Step::Take(lane) => {
                if let Some(item) = self.plan.take(lane) {
                    let elsewhere =
                        self.open.iter().filter(|(other, _)| **other != lane).flat_map(|(_, items)| items);
                    for other in elsewhere {
                        prop_assert!(
                            other.key.is_none() || other.key != item.key,
                            "{item:?} runs beside {other:?}"
                        );
                    }
                    self.open.entry(lane).or_default().push(item);
                }
            }
            Step::Commit(lane) => {
                for item in self.open.remove(&lane).unwrap_or_default() {
                    prop_assert!(self.table.remove(&item.seq).is_some(), "{item:?} ran twice");
                    self.plan.settled(item.seq);
                    self.done.push(item);
                }
                self.plan.release(lane);
            }
            Step::RollBack(lane) => self.roll_back(lane),
            Step::Postpone(lane) => {
                if let Some(failed) = self.fail(lane) {
                    self.plan.postpone(failed, soon);
                    self.plan.release(lane);
                }
            }
            Step::Hold(lane) => {
                if let Some(failed) = self.fail(lane) {
                    self.held.insert(failed.seq);
                    self.plan.settled(failed.seq);
                    self.plan.forget_line(failed.line());
                    self.plan.release(lane);
                }
            }
            Step::Due => {
                self.held.clear();
                self.plan.begin_anew();
            }
            Step::Resume => {
                self.plan.resume(soon);
            }
            Step::ForgetAll => self.plan.forget_all(),
            Step::FetchFails => self.answer = None,
            Step::Lose(lane) => {
                for item in self.open.remove(&lane).unwrap_or_default() {
                    self.plan.settled(item.seq);
                }
                self.plan.forget_all();
                self.plan.release(lane);
            }
        }
        Ok(())
    }

    /// What a fetch finds: of each line the first ones behind what has been reached.
    fn due(&self, begun: &Begun) -> Vec<Item> {
        let mut portions: BTreeMap<(i16, i16), usize> = BTreeMap::new();
        let beyond = |item: &&Item| {
            item.seq > begun.reached.of(item.slot(), item.priority) && !begun.taken.contains(&item.seq)
        };
        let mut portion = |item: &&Item| {
            let count = portions.entry((item.slot(), item.priority)).or_default();
            *count += 1;
            *count <= self.portion
        };
        let ready = self.table.values().filter(|item| self.is_ready(item)).filter(beyond);
        ready.filter(|item| portion(item)).cloned().collect()
    }

    /// Neither held nor behind a held one of its key.
    fn is_ready(&self, item: &Item) -> bool {
        let blocks = |held: &i64| {
            *held == item.seq || (item.key.is_some() && self.table[held].key == item.key && *held < item.seq)
        };
        !self.held.iter().any(blocks)
    }

    /// The last that a lane ran fails; those before it go back.
    fn fail(&mut self, lane: Lane) -> Option<Item> {
        let failed = self.open.get_mut(&lane).and_then(Vec::pop)?;
        for item in self.open.remove(&lane).unwrap_or_default() {
            self.plan.put_back(item);
        }
        Some(failed)
    }

    fn roll_back(&mut self, lane: Lane) {
        for item in self.open.remove(&lane).unwrap_or_default() {
            self.plan.put_back(item);
        }
        self.plan.release(lane);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_lost_nothing_doubled_keys_in_order_and_exclusive(
        keys in prop::collection::vec((prop::option::of(key()), 0_i16..3, any::<bool>()), 1..40),
        portion in 1_usize..10,
        steps in steps(),
    ) {
        let items = (1..).zip(&keys).map(|(seq, (key, priority, _))| (seq, item(seq, *key, *priority)));
        let mut model = Model { open_yet: items.collect(), portion, ..Model::default() };
        for (at, (.., early)) in keys.iter().enumerate() {
            if *early {
                model.run(Step::Appear(at))?;
            }
        }
        for step in steps {
            model.run(step)?;
        }
        // Let everything end.
        for _ in 0..=keys.len() {
            model.run(Step::Appear(0))?;
            for step in [Step::Due, Step::Resume, Step::Receive, Step::Send, Step::Receive] {
                model.run(step)?;
            }
            for lane in 0..4 {
                model.run(Step::Take(lane))?;
                model.run(Step::Commit(lane))?;
            }
        }
        prop_assert!(model.table.is_empty() && model.open_yet.is_empty(), "never ran: {:?}", model.table);
        prop_assert!(model.plan.is_empty() && model.plan.bytes() == 0);
        for key in KEYS {
            // A held row of one priority holds back the others of its key too, so only within one is there an order.
            for priority in 0..3 {
                let of_key = model.done.iter().filter(|i| i.key == Some(key) && i.priority == priority);
                let seqs: Vec<i64> = of_key.map(|i| i.seq).collect();
                prop_assert!(seqs.is_sorted(), "key {key}, priority {priority}: {seqs:?}");
            }
        }
    }
}
