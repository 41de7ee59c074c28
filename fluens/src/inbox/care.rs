//! Which messages may have ended the process of a slot's last owner: decided from what is fetched, pure.

use std::collections::{HashMap, HashSet};

use fluens_diesel::Due;

use super::group_size::LARGEST_UNOPENED;

/// So many of a slot are run with care: a node has no more than that at work.
const ENOUGH: usize = 1000;
/// So many of a key: a group that did not commit held no more of it.
const ENOUGH_OF_KEY: usize = LARGEST_UNOPENED;

/// What was suspected so far, slot by slot.
#[derive(Default)]
pub(crate) struct Care(HashMap<i16, Suspected>);

#[derive(Default)]
struct Suspected {
    rows: HashSet<i64>,
    of_key: HashMap<i64, usize>,
}

impl Care {
    /// Whether it may have been running when the owner of its slot died, which had stored messages up to `until`. Of a key
    /// only the first can have been: those behind them were waiting.
    pub(crate) fn is_for(&mut self, row: &Due, until: i64) -> bool {
        if row.seq > until && row.attempt == 0 {
            return false;
        }
        let Suspected { rows, of_key } = self.0.entry(row.slot).or_default();
        if rows.contains(&row.seq) {
            return true; // fetched again
        }
        let enough_of_key = row.key_hash.is_some_and(|key| {
            let of_key = of_key.entry(key).or_default();
            *of_key += 1;
            *of_key > ENOUGH_OF_KEY
        });
        !enough_of_key && rows.len() < ENOUGH && rows.insert(row.seq)
    }

    /// Slots of which enough were run.
    pub(crate) fn done(&self) -> Vec<i16> {
        self.0.iter().filter(|(_, suspected)| suspected.rows.len() >= ENOUGH).map(|(slot, _)| *slot).collect()
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
    fn the_first_of_each_key_and_what_has_none_up_to_the_death() {
        let mut care = Care::default();
        assert!((1..=500).all(|seq| care.is_for(&row(seq, Some(5), 0), 600)));
        assert!(!care.is_for(&row(501, Some(5), 0), 600), "it was waiting behind the others");
        assert!(care.is_for(&row(1, Some(5), 0), 600), "fetched again");
        assert!(care.is_for(&row(560, None, 0), 600) && care.is_for(&row(561, None, 0), 600));
        assert!(!care.is_for(&row(601, Some(6), 0), 600), "published later");
        assert!(
            care.is_for(&row(602, Some(8), 1), 600),
            "it had failed before, and may have been tried again"
        );
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
