//! What a destination said, and what follows from it for each message. Pure: whatever it says.

use std::collections::{HashMap, HashSet};

use fluens_diesel::Id;

use super::{Ack, Answer};

/// Places in the batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// There.
    pub(super) delivered: Vec<usize>,
    /// Among those: there before one of their key that should have come first.
    pub(super) passed: Vec<usize>,
    /// Not taken, and why.
    pub(super) refused: Vec<(usize, String)>,
    /// Not named, or twice and differently.
    pub(super) missing: Vec<usize>,
    /// Not delivered, and behind one of their key that is not either: it is not their turn yet.
    pub(super) behind: Vec<usize>,
    /// Answers about nothing that was asked.
    pub(super) odd: usize,
}

/// A message of the batch: its identity and its key.
pub(super) type Asked = (Id, Option<i64>);

pub(super) fn outcome(batch: &[Asked], acks: Vec<Ack>) -> Outcome {
    let (answers, odd) = by_message(batch, acks);
    let mut outcome = Outcome { odd, ..Outcome::default() };
    let mut held_back: HashSet<i64> = HashSet::new();
    for (place, (id, key)) in batch.iter().enumerate() {
        let is_behind = key.is_some_and(|key| held_back.contains(&key));
        match answers.get(id) {
            Some(Answer::Delivered | Answer::Duplicate) => {
                outcome.delivered.push(place);
                if is_behind {
                    outcome.passed.push(place);
                }
                continue;
            }
            _ if is_behind => outcome.behind.push(place),
            Some(Answer::Refused(reason)) => outcome.refused.push((place, reason.clone())),
            None => outcome.missing.push(place),
        }
        held_back.extend(*key);
    }
    outcome
}

/// One answer per message. Two that differ are none: to believe the wrong one would lose the message.
fn by_message(batch: &[Asked], acks: Vec<Ack>) -> (HashMap<Id, Answer>, usize) {
    let asked: HashSet<Id> = batch.iter().map(|(id, _)| *id).collect();
    let (mut answers, mut contradicted, mut odd) = (HashMap::<Id, Answer>::new(), HashSet::new(), 0);
    for Ack { id, answer } in acks {
        let is_taken = |answer: &Answer| !matches!(answer, Answer::Refused(_));
        match answers.get(&id) {
            _ if !asked.contains(&id) => odd += 1,
            Some(first) => {
                odd += 1;
                if is_taken(first) != is_taken(&answer) {
                    contradicted.insert(id);
                }
            }
            None => drop(answers.insert(id, answer)),
        }
    }
    answers.retain(|id, _| !contradicted.contains(id));
    (answers, odd)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(number: u128) -> Id {
        Id(uuid::Uuid::from_u128(number))
    }

    fn answer() -> impl Strategy<Value = Answer> {
        prop_oneof![Just(Answer::Delivered), Just(Answer::Duplicate), Just(Answer::Refused("no".to_owned()))]
    }

    /// About messages that were asked for and others, some of them several times.
    fn garbage() -> impl Strategy<Value = Vec<Ack>> {
        let ack = (0_u128..20, answer()).prop_map(|(number, answer)| Ack::new(id(number), answer));
        prop::collection::vec(ack, 0..30)
    }

    fn batch() -> impl Strategy<Value = Vec<Asked>> {
        let keys = prop::collection::vec(prop::option::of(0_i64..4), 0..12);
        keys.prop_map(|keys| (0..).map(id).zip(keys).collect())
    }

    proptest! {
        #[test]
        fn every_message_comes_out_once_whatever_is_said(batch in batch(), acks in garbage()) {
            let outcome = outcome(&batch, acks);
            let refused = outcome.refused.iter().map(|(place, _)| place);
            let mut all: Vec<usize> = outcome.delivered.iter().chain(refused).chain(&outcome.missing)
                .chain(&outcome.behind).copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..batch.len()).collect::<Vec<_>>());
        }

        #[test]
        fn nothing_is_delivered_that_was_not_said_to_be(batch in batch(), acks in garbage()) {
            let outcome = outcome(&batch, acks.clone());
            for place in outcome.delivered {
                let said: Vec<_> = acks.iter().filter(|ack| ack.id == batch[place].0).collect();
                prop_assert!(!said.is_empty());
                prop_assert!(said.iter().all(|ack| !matches!(ack.answer, Answer::Refused(_))));
            }
        }

        #[test]
        fn of_a_key_at_most_one_is_counted(batch in batch(), acks in garbage()) {
            let outcome = outcome(&batch, acks);
            let mut keys = HashSet::new();
            for place in outcome.refused.iter().map(|(place, _)| place).chain(&outcome.missing) {
                prop_assert!(batch[*place].1.is_none_or(|key| keys.insert(key)));
            }
        }
    }

    #[test]
    fn half_an_answer_is_about_those_it_names() {
        let batch = [(id(1), Some(7)), (id(2), Some(7)), (id(3), None), (id(4), Some(8))];
        let acks = vec![
            Ack::new(id(9), Answer::Delivered),
            Ack::new(id(3), Answer::Duplicate),
            Ack::new(id(3), Answer::Duplicate),
            Ack::new(id(2), Answer::Refused("behind".to_owned())),
        ];
        let expected = Outcome {
            delivered: vec![2],
            missing: vec![0, 3],
            behind: vec![1],
            odd: 2,
            ..Outcome::default()
        };
        assert_eq!(outcome(&batch, acks), expected);
    }

    #[test]
    fn one_that_passed_another_of_its_key_is_there_all_the_same() {
        let batch = [(id(1), Some(7)), (id(2), Some(7))];
        let acks =
            vec![Ack::new(id(1), Answer::Refused("no".to_owned())), Ack::new(id(2), Answer::Delivered)];
        let outcome = outcome(&batch, acks);
        assert_eq!((outcome.delivered, outcome.passed), (vec![1], vec![1]));
        assert_eq!(outcome.refused, [(0, "no".to_owned())]);
    }
}
