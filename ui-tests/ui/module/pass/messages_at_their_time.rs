#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::{Module, prelude::*};

#[message]
struct Tick;

#[message]
struct Nightly {
    what: String,
}

fluens::module! {
    Clock {
        db: fluens::sqlite::Db,
        publishes: [external Tick, external Nightly],
        cron: [
            "*/5 * * * *" => Tick,
            "30 0 3 * * MON" => Nightly { what: "all".into() },
            "@daily" => nightly("some"),
        ],
    }
}

fluens::module! { Silent { db: fluens::sqlite::Db, cron: [] } }

fn nightly(what: &str) -> Nightly {
    Nightly { what: what.to_owned() }
}

fn main() {
    assert_eq!(Clock::crons().len(), 3);
    assert!(Silent::crons().is_empty());
}
