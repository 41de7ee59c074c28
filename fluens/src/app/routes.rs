//! Which messages would have to leave their database. Pure.

use std::collections::BTreeSet;

use crate::module::Contract;

/// A module and the database it lives on, by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled {
    pub(super) contract: Contract,
    pub(super) database: usize,
}

/// A message that is published on one database and consumed on another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crossing {
    pub(super) message: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

pub(super) fn crossings(modules: &[Settled]) -> BTreeSet<Crossing> {
    let pairs = modules.iter().flat_map(|from| modules.iter().map(move |to| (from, to)));
    pairs
        .filter(|(from, to)| from.database != to.database)
        .flat_map(|(from, to)| {
            let published = from.contract.publishes.iter().map(|published| published.name);
            let shared = published.filter(|name| to.contract.consumes.contains(name));
            shared.map(|message| Crossing { message, from: from.contract.module, to: to.contract.module })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::module::Published;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    const PUBLISHES: [&[Published]; 3] = [
        &[],
        &[Published { name: "a", external: false }],
        &[Published { name: "b", external: false }, Published { name: "a", external: true }],
    ];
    const CONSUMES: [&[&str]; 3] = [&[], &["a"], &["a", "b"]];

    fn module() -> impl Strategy<Value = (usize, usize, usize)> {
        (0_usize..3, 0_usize..3, 0_usize..3)
    }

    proptest! {
        #[test]
        fn exactly_what_is_published_here_and_consumed_there(modules in prop::collection::vec(module(), 0..4)) {
            let settled: Vec<Settled> = modules.iter().zip(NAMES).map(|((publishes, consumes, database), module)| Settled {
                contract: Contract { module, publishes: PUBLISHES[*publishes], consumes: CONSUMES[*consumes] },
                database: *database,
            }).collect();
            let found = crossings(&settled);
            for from in &settled {
                for to in &settled {
                    for message in ["a", "b"] {
                        let crosses = from.database != to.database
                            && from.contract.publishes.iter().any(|p| p.name == message)
                            && to.contract.consumes.contains(&message);
                        let (from, to) = (from.contract.module, to.contract.module);
                        prop_assert_eq!(found.contains(&Crossing { message, from, to }), crosses);
                    }
                }
            }
        }

        #[test]
        fn on_one_database_nothing_crosses(modules in prop::collection::vec(module(), 0..4)) {
            let settled: Vec<Settled> = modules.iter().zip(NAMES).map(|((publishes, consumes, _), module)| Settled {
                contract: Contract { module, publishes: PUBLISHES[*publishes], consumes: CONSUMES[*consumes] },
                database: 0,
            }).collect();
            prop_assert!(crossings(&settled).is_empty());
        }
    }
}
