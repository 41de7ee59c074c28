//! What nodes tell each other: news in, a short text out, and back.

use std::collections::BTreeSet;

/// What nodes tell each other. On PostgreSQL the payload of a NOTIFY.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Something was stored for these consumers, to be run now.
    pub consumers: BTreeSet<i32>,
    /// For these something was stored for later, or decided: they look at everything.
    pub due: BTreeSet<i32>,
    /// Nodes or leases changed.
    pub nodes: bool,
    /// Something changed, and nobody knows what: SQLite says no more, and a text may be too long or not ours.
    pub anything: bool,
}

impl Heard {
    /// Nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Heard::default()
    }

    /// Both.
    pub fn merge(&mut self, other: Heard) {
        self.consumers.extend(other.consumers);
        self.due.extend(other.due);
        self.nodes |= other.nodes;
        self.anything |= other.anything;
    }
}

#[cfg(feature = "postgres")]
impl Heard {
    /// PostgreSQL refuses payloads of 8000 bytes and more.
    const LONGEST: usize = 7999;

    /// `@sender *`, or `@sender n c1,5,9 d7`: words, of which the first says by whom.
    pub(crate) fn payload(&self, sender: &str) -> String {
        let mut payload = format!("@{sender}");
        if self.nodes {
            payload += " n";
        }
        for (word, ids) in [(" c", &self.consumers), (" d", &self.due)] {
            if !ids.is_empty() {
                let ids: Vec<String> = ids.iter().map(i32::to_string).collect();
                payload += word;
                payload += &ids.join(",");
            }
        }
        if self.anything || payload.len() > Self::LONGEST { format!("@{sender} *") } else { payload }
    }

    /// What a payload says to somebody else than `me`. One that is not ours may mean anything.
    pub(crate) fn of_payload(payload: &str, me: &str) -> Self {
        let mut heard = Heard::default();
        let mut words = payload.split(' ').peekable();
        if let Some(sender) = words.peek().and_then(|word| word.strip_prefix('@')) {
            if sender == me {
                return heard;
            }
            words.next();
        }
        for word in words {
            let ids = word.get(1..).map(|ids| ids.split(',').map(str::parse).collect());
            match (word.chars().next(), ids) {
                (Some('n'), _) if word == "n" => heard.nodes = true,
                (Some('c'), Some(Ok(ids))) => heard.consumers.extend::<Vec<i32>>(ids),
                (Some('d'), Some(Ok(ids))) => heard.due.extend::<Vec<i32>>(ids),
                _ => heard.anything = true,
            }
        }
        heard
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn payloads_are_short() {
        let told = |consumers: &[i32], nodes| {
            Heard { consumers: consumers.iter().copied().collect(), nodes, ..Heard::default() }.payload("a")
        };
        assert_eq!(told(&[9, 1, 5], false), "@a c1,5,9");
        assert_eq!(told(&[], true), "@a n");
        assert_eq!(told(&[7], true), "@a n c7");
        assert_eq!(told(&Vec::from_iter(0..100_000), true), "@a *");
    }

    #[test]
    fn what_is_not_ours_may_mean_anything() {
        for payload in
            ["", "x", "c", "c1,,2", "c1,x", "n  n", "c99999999999", "*", "N", "c1;n", "\u{1F980}", "@a x"]
        {
            assert!(Heard::of_payload(payload, "me").anything, "{payload:?}");
        }
        let heard = Heard::of_payload("hello c1", "me");
        assert!(heard.consumers.contains(&1), "what is ours counts beside it");
    }

    proptest! {
        #[test]
        fn what_is_told_is_heard_by_others(
            consumers in prop::collection::btree_set(any::<i32>(), 0..300),
            due in prop::collection::btree_set(any::<i32>(), 0..300),
            nodes: bool,
        ) {
            let told = Heard { consumers, due, nodes, anything: false };
            let payload = told.payload("a1");
            prop_assert_eq!(Heard::of_payload(&payload, "b2"), told);
            prop_assert_eq!(Heard::of_payload(&payload, "a1"), Heard::default());
        }

        #[test]
        fn no_text_is_too_strange(payload: String) {
            prop_assert!(payload.starts_with('@') || !Heard::of_payload(&payload, "me").is_empty());
        }
    }
}
