//! Which messages leave their database, and for which other one. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// A module, and the database it lives on, by number.
#[derive(Debug, Clone)]
pub(crate) struct Resident {
    pub(crate) database: usize,
    pub(crate) publishes: Publishes,
    pub(crate) consumers: Vec<Wants>,
}

/// What a module publishes.
#[derive(Debug, Clone)]
pub(crate) enum Publishes {
    /// It has no list.
    Everything,
    /// By names and aliases.
    These(BTreeSet<&'static str>),
}

/// What a consumer wants.
#[derive(Debug, Clone)]
pub(crate) struct Wants {
    /// The message's name and its aliases.
    pub(crate) names: Vec<&'static str>,
    /// Not the message, but faults about it.
    pub(crate) faults: bool,
    /// What it subscribes to.
    pub(crate) subscriptions: Vec<String>,
}

/// What is to be subscribed to on the first database for the second one.
pub(crate) type Crossings = BTreeMap<(usize, usize), BTreeSet<String>>;

pub(crate) fn crossings(residents: &[Resident]) -> Crossings {
    let mut crossings = Crossings::new();
    for from in residents {
        for to in residents.iter().filter(|to| to.database != from.database) {
            for wants in to.consumers.iter().filter(|wants| from.is_source_of(wants)) {
                let names = crossings.entry((from.database, to.database)).or_default();
                names.extend(wants.subscriptions.iter().cloned());
            }
        }
    }
    crossings
}

impl Resident {
    /// A message comes from where it is published; a fault about it from where somebody failed to consume it.
    fn is_source_of(&self, wants: &Wants) -> bool {
        if wants.faults {
            let same = |mine: &Wants| mine.names.iter().any(|name| wants.names.contains(name));
            return self.consumers.iter().any(|mine| !mine.faults && same(mine));
        }
        match &self.publishes {
            Publishes::Everything => true,
            Publishes::These(published) => wants.names.iter().any(|name| published.contains(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    fn wants() -> impl Strategy<Value = Wants> {
        (0_usize..3, any::<bool>(), any::<bool>()).prop_map(|(name, renamed, faults)| {
            let names: Vec<&str> = if renamed { vec![NAMES[name], "old"] } else { vec![NAMES[name]] };
            let subscription =
                |name: &&str| if faults { format!("{name}:fault") } else { (*name).to_owned() };
            Wants { subscriptions: names.iter().map(subscription).collect(), names, faults }
        })
    }

    fn resident() -> impl Strategy<Value = Resident> {
        let these = prop::collection::btree_set(0_usize..3, 0..3);
        let these = these.prop_map(|places| places.into_iter().map(|place| NAMES[place]).collect());
        let publishes = prop_oneof![
            1 => Just(Publishes::Everything),
            4 => these.prop_map(Publishes::These),
        ];
        (0_usize..3, publishes, prop::collection::vec(wants(), 0..4))
            .prop_map(|(database, publishes, consumers)| Resident { database, publishes, consumers })
    }

    fn carries(crossings: &Crossings, from: usize, to: usize, name: &str) -> bool {
        crossings.get(&(from, to)).is_some_and(|names| names.contains(name))
    }

    proptest! {
        #[test]
        fn exactly_what_is_published_here_and_consumed_there(all in prop::collection::vec(resident(), 0..5)) {
            let found = crossings(&all);
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
                for name in NAMES {
                    let publishes = |it: &Resident| match &it.publishes {
                        Publishes::Everything => true,
                        Publishes::These(names) => names.contains(name),
                    };
                    let consumes = |it: &Resident| it.consumers.iter().any(|one| !one.faults && one.names[0] == name);
                    let expected = from != to
                        && all.iter().any(|it| it.database == from && publishes(it))
                        && all.iter().any(|it| it.database == to && consumes(it));
                    prop_assert_eq!(carries(&found, from, to, name), expected, "{} from {} to {}", name, from, to);
                }
            }
        }

        #[test]
        fn faults_come_from_where_the_message_is_consumed(all in prop::collection::vec(resident(), 0..5)) {
            let found = crossings(&all);
            for from in &all {
                for to in all.iter().filter(|to| to.database != from.database) {
                    for fault in to.consumers.iter().filter(|one| one.faults) {
                        let fails = from.consumers.iter().any(|one| !one.faults && one.names[0] == fault.names[0]);
                        let name = format!("{}:fault", fault.names[0]);
                        prop_assert!(!fails || carries(&found, from.database, to.database, &name));
                    }
                }
            }
        }

        #[test]
        fn on_one_database_nothing_crosses(all in prop::collection::vec(resident(), 0..5)) {
            let together: Vec<Resident> = all.into_iter().map(|it| Resident { database: 0, ..it }).collect();
            prop_assert!(crossings(&together).is_empty());
        }
    }

    #[test]
    fn a_message_crosses_under_all_its_names() {
        let names = vec!["new", "old"];
        let subscriptions = names.iter().map(|name| (*name).to_owned()).collect();
        let shop = Publishes::These(BTreeSet::from(["old"]));
        let audit = Wants { names, faults: false, subscriptions };
        let all = [
            Resident { database: 0, publishes: shop, consumers: Vec::new() },
            Resident { database: 1, publishes: Publishes::These(BTreeSet::new()), consumers: vec![audit] },
        ];
        let expected = BTreeSet::from(["new".to_owned(), "old".to_owned()]);
        assert_eq!(crossings(&all), Crossings::from([((0, 1), expected)]));
    }
}
