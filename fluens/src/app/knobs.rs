//! Settings from code: each has its key in `fluens.toml` and in the environment, which go before it.

use std::time::Duration;

use fluens_diesel::Synchronous;

use super::{Builder, Keep};
use crate::module::Module;

impl<L> Builder<L> {
    /// The database, unless `fluens.toml` or `FLUENS_DATABASE` says otherwise.
    pub fn database(self, url: impl Into<String>) -> Self {
        self.set("database", url)
    }

    /// The database of module `M` alone.
    pub fn database_of<M: Module>(self, url: impl Into<String>) -> Self {
        self.set(format!("module.{}.database", M::NAME), url)
    }

    /// The schema of our tables on PostgreSQL.
    pub fn schema(self, schema: impl Into<String>) -> Self {
        self.set("schema", schema)
    }

    /// The schema of module `M`'s tables alone. Two schemas are two databases, even on one server.
    pub fn schema_of<M: Module>(self, schema: impl Into<String>) -> Self {
        self.set(format!("module.{}.schema", M::NAME), schema)
    }

    /// How many connections consumers and publishers may use on PostgreSQL; 10 by default.
    pub fn connections(self, connections: u32) -> Self {
        self.set("connections", connections.to_string())
    }

    /// Switches the cache of prepared statements off, for poolers that change servers between transactions.
    pub fn statement_cache(self, on: bool) -> Self {
        self.set("statement_cache", on.to_string())
    }

    /// When a COMMIT on SQLite waits for the disk; always by default. [`Synchronous::Normal`] is quicker, and gives up the last
    /// commits if the machine loses its power.
    pub fn synchronous(self, when: Synchronous) -> Self {
        self.set("synchronous", when.word())
    }

    /// How many rows a consumer fetches at once; 100 by default.
    pub fn batch(self, rows: u32) -> Self {
        self.set("batch", rows.to_string())
    }

    /// How many bytes of messages a consumer may hold in memory; 16 MiB by default. The database is the buffer.
    pub fn memory(self, bytes: u64) -> Self {
        self.set("memory", bytes.to_string())
    }

    /// How often to look for work that no wake-up announced; every second by default.
    pub fn poll(self, every: Duration) -> Self {
        self.set("poll", humantime::format_duration(every).to_string())
    }

    /// How long a shutdown waits for running consumers; 30 seconds by default.
    pub fn drain(self, at_most: Duration) -> Self {
        self.set("drain", humantime::format_duration(at_most).to_string())
    }

    /// What this node is called among the others; by its host and process by default. Two that run at the same time
    /// cannot share a name.
    pub fn node(self, name: impl Into<String>) -> Self {
        self.set("node", name)
    }

    /// How often a node says that it is alive; every 3 seconds by default.
    pub fn heartbeat(self, every: Duration) -> Self {
        self.set("heartbeat", humantime::format_duration(every).to_string())
    }

    /// How long a node may be silent before others take over what it had; 10 seconds by default, at least three
    /// heartbeats.
    pub fn lease(self, time: Duration) -> Self {
        self.set("lease", humantime::format_duration(time).to_string())
    }

    /// Whether to create and upgrade the tables at start; on by default. Off, a start checks them only.
    pub fn migrate_at_start(self, on: bool) -> Self {
        self.set("migrate", on.to_string())
    }

    /// What `run!` traces to stderr: a level, or `target=level` pairs; `info` by default. `RUST_LOG` goes before it.
    pub fn log(self, filter: impl Into<String>) -> Self {
        self.set("log", filter)
    }

    /// How large a message may be, payload and headers together; 16 MiB by default. A larger one is refused when it is
    /// published.
    pub fn max_payload(self, bytes: u64) -> Self {
        self.set("max_payload", bytes.to_string())
    }

    /// How long a message may wait before it goes ahead of higher priorities; 5 minutes by default.
    pub fn fairness(self, window: Duration) -> Self {
        self.set("fairness", humantime::format_duration(window).to_string())
    }

    /// When failed deliveries run again, unless their consumer says otherwise: after 0.1, 0.3, 0.5 and 1 s in memory, then
    /// after 1, 2, 3 and 5 s by default.
    pub fn retry(self, memory: &[Duration], stored: &[Duration]) -> Self {
        let list = |delays: &[Duration]| {
            delays
                .iter()
                .map(|delay| humantime::format_duration(*delay).to_string().replace(' ', ""))
                .collect::<Vec<_>>()
                .join(",")
        };
        self.set("retry.memory", list(memory)).set("retry.stored", list(stored))
    }

    /// How often what has ended and is no longer kept is deleted; every 5 minutes by default.
    pub fn upkeep_every(self, every: Duration) -> Self {
        self.set("upkeep", humantime::format_duration(every).to_string())
    }

    /// How long what has ended is kept; zero: not at all.
    ///
    /// ```
    /// # use fluens::{Keep, prelude::*};
    /// # use std::time::Duration;
    /// # fn f() { let _ = || {
    /// fluens::app!(|app| app.keep(Keep::Expired, Duration::from_secs(3600)).keep(Keep::Seen, Duration::ZERO))
    /// # }; }
    /// ```
    pub fn keep(self, what: Keep, time: Duration) -> Self {
        self.set(format!("retention.{}", what.key()), humantime::format_duration(time).to_string())
    }
}
