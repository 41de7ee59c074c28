//! Which messages may have ended the process of a slot's last owner: decided from what is fetched, pure.

use std::collections::{HashMap, HashSet};

use fluens_diesel::Due;

/// So many of a slot are run with care: a node has no more than that at work.
const ENOUGH: usize = 1000;

/// What was suspected so far, slot by slot.
#[derive(Default)]
pub(crate) struct Care(HashMap<i16, Suspected>);

#[derive(Default)]
struct Suspected {
    /// Of each key the first.
    first_of_key: HashMap<i64, i64>,
    without_key: HashSet<i64>,
}

impl Suspected {
    fn len(&self) -> usize {
        self.first_of_key.len() + self.without_key.len()
    }
}

impl Care {
    /// Whether it may have been running when the owner of its slot died, which had stored messages up to `until`. Of a key
    /// only the first can have been: those behind it were waiting for it. (In a group several of a key ran; then the first
    /// that is left is the first at the next death.)
    pub(crate) fn is_for(&mut self, row: &Due, until: i64) -> bool {
        if row.seq > until && row.attempt == 0 {
            return false;
        }
        let suspected = self.0.entry(row.slot).or_default();
        let enough = suspected.len() >= ENOUGH;
        match row.key_hash {
            // Fetched again it is suspect again.
            Some(key) => match suspected.first_of_key.get(&key) {
                Some(first) => *first == row.seq,
                None if enough => false,
                None => suspected.first_of_key.insert(key, row.seq).is_none(),
            },
            None => {
                suspected.without_key.contains(&row.seq) || (!enough && suspected.without_key.insert(row.seq))
            }
        }
    }

    /// Slots of which enough were run.
    pub(crate) fn done(&self) -> Vec<i16> {
        self.0.iter().filter(|(_, suspected)| suspected.len() >= ENOUGH).map(|(slot, _)| *slot).collect()
    }

    /// They are like any other.
    pub(crate) fn forget(&mut self, slots: &[i16]) {
        self.0.retain(|slot, _| !slots.contains(slot));
    }
}

#[cfg(test)]
mod tests {
    use fluens_diesel::{Standing, Ts};

    use super::*;

    fn row(seq: i64, key_hash: Option<i64>, attempt: i32) -> Due {
        Due {
            seq,
            attempt,
            key_hash,
            forgiven: 0,
            priority: 1,
            overdue: false,
            slot: 7,
            published_at: Ts(chrono::DateTime::UNIX_EPOCH),
            expires_in: None,
            message: "a".into(),
            message_id: fluens_diesel::Id::new(),
            version: 1,
            deaths: 0,
            standing: Standing::Run,
            latest: None,
            history: None,
            envelope: Vec::new(),
            payload: Vec::new(),
        }
    }

    #[test]
    fn of_a_key_the_first_and_of_the_rest_all_up_to_the_death() {
        let mut care = Care::default();
        assert!(care.is_for(&row(1, Some(5), 0), 10));
        assert!(!care.is_for(&row(2, Some(5), 0), 10), "it was waiting behind the first");
        assert!(care.is_for(&row(1, Some(5), 0), 10), "fetched again");
        assert!(care.is_for(&row(3, None, 0), 10) && care.is_for(&row(4, None, 0), 10));
        assert!(!care.is_for(&row(11, Some(6), 0), 10), "published later");
        assert!(care.is_for(&row(12, Some(8), 1), 10), "it had failed before, and may have been tried again");
    }

    #[test]
    fn when_enough_were_run_the_slot_is_like_any_other() {
        let mut care = Care::default();
        assert!((0..1000).all(|seq| care.is_for(&row(seq, Some(seq), 0), 5000)));
        assert!(!care.is_for(&row(1000, Some(1000), 0), 5000));
        assert!(care.is_for(&row(3, Some(3), 0), 5000), "those that were suspected stay so");
        assert_eq!(care.done(), [7]);
        care.forget(&[7]);
        assert!(care.done().is_empty());
    }
}
