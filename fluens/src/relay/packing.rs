//! Rows -> what is handed over: in which order, in how many parts, under which names. Pure.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};

use fluens_diesel::Due;

use crate::{message::MessageDescriptor, settle::FAULT};

/// Other names of messages.
pub(super) type Aliases = BTreeMap<&'static str, Vec<&'static str>>;

/// Those that waited too long, then by priority, then in line. Of one id the first: the answer is about one.
pub(super) fn in_order(mut rows: Vec<Due>) -> Vec<Due> {
    leave_newest(&mut rows);
    rows.sort_by_key(|row| (Reverse(row.overdue), Reverse(row.priority), row.seq));
    let mut ids = HashSet::new();
    rows.retain(|row| ids.insert(row.message_id));
    rows
}

/// Of what only the newest is wanted that one goes: what is older is superseded with its acknowledgement, or goes if it is
/// refused. Where there is a partition key they keep their order anyway.
fn leave_newest(rows: &mut Vec<Due>) {
    let key =
        |row: &Due| row.newest().filter(|_| row.key_hash.is_none()).map(|one| (one.message, one.latest));
    let mut newest: HashMap<(String, i64), i64> = HashMap::new();
    for row in rows.iter() {
        if let Some(key) = key(row) {
            let seq = newest.entry(key).or_insert(row.seq);
            *seq = row.seq.max(*seq);
        }
    }
    rows.retain(|row| key(row).is_none_or(|key| newest.get(&key) == Some(&row.seq)));
}

/// At most so many parts, those of one key in one.
pub(super) fn parts(rows: &[Due], parallel: usize) -> Vec<Vec<&Due>> {
    let count = u64::try_from(parallel.max(1)).unwrap_or(1);
    let mut parts: BTreeMap<u64, Vec<&Due>> = BTreeMap::new();
    for row in rows {
        let of = row.key_hash.unwrap_or(row.seq).cast_unsigned();
        parts.entry(of % count).or_default().push(row);
    }
    parts.into_values().collect()
}

/// The other names of every message this program knows.
pub(super) fn known_aliases() -> Aliases {
    let mut aliases = Aliases::new();
    for message in MessageDescriptor::all() {
        aliases.entry(message.name).or_default().extend(message.aliases);
    }
    aliases
}

/// Its name, then its aliases: consumers of another program may know it by one of those only. The same for a fault of it.
pub(super) fn names_of(name: &str, aliases: &Aliases) -> Vec<Cow<'static, str>> {
    let (message, fault) = name.find(FAULT).map_or((name, ""), |at| name.split_at(at));
    let others = aliases.get(message).into_iter().flatten().map(|alias| format!("{alias}{fault}"));
    std::iter::once(name.to_owned()).chain(others).map(Cow::Owned).collect()
}

#[cfg(test)]
mod tests {
    use fluens_diesel::{Id, Standing, Ts};
    use proptest::prelude::*;

    use super::*;

    fn row(seq: i64, key_hash: Option<i64>, priority: i16, id: u128) -> Due {
        Due {
            seq,
            attempt: 0,
            forgiven: 0,
            priority,
            overdue: false,
            slot: 0,
            key_hash,
            published_at: Ts(chrono::DateTime::UNIX_EPOCH),
            expires_in: None,
            message_id: Id(uuid::Uuid::from_u128(id)),
            message: String::new(),
            version: 1,
            deaths: 0,
            standing: Standing::Run,
            latest: None,
            history: None,
            envelope: Vec::new(),
            payload: Vec::new(),
        }
    }

    fn rows() -> impl Strategy<Value = Vec<Due>> {
        let one = (prop::option::of(-5_i64..5), 0_i16..4, 0_u128..30);
        prop::collection::vec(one, 0..40).prop_map(|all| {
            (1..).zip(all).map(|(seq, (key, priority, id))| row(seq, key, priority, id)).collect()
        })
    }

    proptest! {
        #[test]
        fn parts_have_each_row_once_and_keys_whole_and_in_order(rows in rows(), parallel in 0_usize..5) {
            let rows = in_order(rows);
            let parts = parts(&rows, parallel);
            prop_assert!(parts.len() <= parallel.max(1));
            prop_assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), rows.len());
            for key in -5_i64..5 {
                let of = |row: &&Due| row.key_hash == Some(key);
                let whole: Vec<i64> = rows.iter().filter(of).map(|row| row.seq).collect();
                let mut found = parts.iter().filter(|part| part.iter().any(of));
                let part = found.next().map(|part| part.iter().filter(|row| of(row)).map(|row| row.seq).collect());
                prop_assert_eq!(part.unwrap_or(Vec::new()), whole);
                prop_assert!(found.next().is_none());
            }
        }

        #[test]
        fn of_one_priority_the_line_is_kept_and_an_id_comes_once(rows in rows()) {
            let sorted = in_order(rows.clone());
            let places: Vec<_> = sorted.iter().map(|row| (Reverse(row.priority), row.seq)).collect();
            prop_assert!(places.is_sorted());
            let ids: HashSet<Id> = rows.iter().map(|row| row.message_id).collect();
            prop_assert_eq!(ids.len(), sorted.len());
        }
    }

    #[test]
    fn of_what_only_the_newest_is_wanted_that_one_goes() {
        let named = |seq, message: &str, latest, key| Due {
            message: message.to_owned(),
            latest: Some(latest),
            ..row(seq, key, 1, seq.unsigned_abs().into())
        };
        let rows = vec![
            named(1, "moved", 7, None),
            named(2, "moved", 8, None),
            named(3, "named", 7, None),
            named(4, "moved", 7, None),
            named(5, "moved", 9, Some(3)),
            named(6, "moved", 9, Some(3)),
        ];
        let left: Vec<i64> = in_order(rows).iter().map(|row| row.seq).collect();
        assert_eq!(left, [2, 3, 4, 5, 6], "the first is older than the fourth; keys keep their order");
    }

    #[test]
    fn a_fault_has_the_other_names_of_its_message() {
        let aliases = BTreeMap::from([("new", vec!["old"])]);
        assert_eq!(names_of("new", &aliases), ["new", "old"]);
        assert_eq!(names_of("new:fault@shop", &aliases), ["new:fault@shop", "old:fault@shop"]);
        assert_eq!(names_of("other", &aliases), ["other"]);
    }
}
