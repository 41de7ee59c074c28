//! Several processes on one database: started, frozen, killed and rolled, with a ledger as the witness. The numbers in the
//! names of the cases' headers are those of the faults they inject.

#[cfg(all(feature = "postgres", target_os = "linux"))]
#[path = "replicas/clocks.rs"]
mod clocks;
#[path = "replicas/crowd.rs"]
mod crowd;
#[path = "replicas/deadly.rs"]
mod deadly;
#[cfg(feature = "postgres")]
#[path = "replicas/pooler.rs"]
mod pooler;
#[cfg(feature = "postgres")]
#[path = "replicas/start.rs"]
mod start;
#[path = "replicas/stopping.rs"]
mod stopping;
#[path = "replicas/takeover.rs"]
mod takeover;
#[cfg(feature = "postgres")]
#[path = "replicas/versions.rs"]
mod versions;
#[path = "replicas/wakes.rs"]
mod wakes;

use fluens_tests::{ledger, process, world};

/// Each case on each database.
macro_rules! on_each_database {
    ($($case:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test]
            fn $case() {
                super::$case(&$crate::world::Sqlite::new());
            })+
        }
        #[cfg(feature = "postgres")]
        mod on_postgres {
            $(#[test]
            fn $case() {
                match $crate::world::Postgres::new() {
                    Some(world) => super::$case(&world),
                    None => eprintln!("left out: no server is installed"),
                }
            })+
        }
    };
}
use on_each_database;
