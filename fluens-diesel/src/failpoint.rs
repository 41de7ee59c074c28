//! Points at which a test build ends or freezes its own process, and guards that it can do without. Only with the feature
//! `failpoints`, which is for the torture of this project and no part of its interface; without it `failpoint!` is nothing and
//! `guard!` is `true`.
//!
//! Of our own and not the `fail` crate: what is wanted is one thing, a signal to oneself at the n-th pass of one point, chosen
//! from outside the process; `fail` has no such action, cannot list its points, and knows no guards.
//!
//! - `FLUENS_FAILPOINT="kill 3 settle: after COMMIT"`: at the third pass the process is gone, as by `kill -9`. `stop` instead of
//!   `kill` freezes it until somebody lets it go on.
//! - `FLUENS_WITHOUT="key locks,alive check"`: these guards are not there.

/// A point that a test build may be killed at, perhaps only if something is so. Every name that is compiled in can be listed.
#[cfg(feature = "failpoints")]
#[doc(hidden)]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {
        $crate::failpoint!($name, true)
    };
    ($name:literal, $is_so:expr) => {{
        $crate::failpoint::inventory::submit! { $crate::failpoint::Point($name) }
        if $is_so {
            $crate::failpoint::pass($name);
        }
    }};
}

#[cfg(not(feature = "failpoints"))]
#[doc(hidden)]
#[macro_export]
macro_rules! failpoint {
    ($name:literal $(, $is_so:expr)?) => {};
}

/// Whether a guard stands: always, but in a test build that was told to do without it.
#[cfg(feature = "failpoints")]
#[doc(hidden)]
#[macro_export]
macro_rules! guard {
    ($name:literal) => {{
        $crate::failpoint::inventory::submit! { $crate::failpoint::Guard($name) }
        $crate::failpoint::stands($name)
    }};
}

#[cfg(not(feature = "failpoints"))]
#[doc(hidden)]
#[macro_export]
macro_rules! guard {
    ($name:literal) => {
        true
    };
}

/// The text of a statement, without the guards that a test build was told to do without.
#[cfg(feature = "failpoints")]
macro_rules! guarded {
    ($statement:expr) => {
        $crate::failpoint::unguarded($statement)
    };
}

#[cfg(not(feature = "failpoints"))]
macro_rules! guarded {
    ($statement:expr) => {
        $statement
    };
}
pub(crate) use guarded;

#[cfg(feature = "failpoints")]
pub use switches::*;

#[cfg(feature = "failpoints")]
mod switches {
    use std::{
        borrow::Cow,
        collections::BTreeSet,
        env,
        sync::{
            LazyLock,
            atomic::{AtomicU64, Ordering::SeqCst},
        },
    };

    pub use inventory;
    use rustix::process::{Signal, getpid, kill_process};

    /// A point that is compiled in.
    pub struct Point(pub &'static str);
    /// A guard that is compiled in.
    pub struct Guard(pub &'static str);

    inventory::collect!(Point);
    inventory::collect!(Guard);

    /// Every failpoint of this program, by name.
    pub fn points() -> BTreeSet<&'static str> {
        inventory::iter::<Point>().map(|point| point.0).collect()
    }

    /// Every guard of this program that can be taken away, by name.
    pub fn guards() -> BTreeSet<&'static str> {
        inventory::iter::<Guard>().map(|guard| guard.0).collect()
    }

    struct Chosen {
        signal: Signal,
        pass: u64,
        name: String,
        passed: AtomicU64,
    }

    static CHOSEN: LazyLock<Option<Chosen>> = LazyLock::new(|| {
        let chosen = env::var("FLUENS_FAILPOINT").ok()?;
        let mut words = chosen.splitn(3, ' ');
        let signal = match words.next()? {
            "kill" => Signal::KILL,
            "stop" => Signal::STOP,
            other => panic!("FLUENS_FAILPOINT begins with `{other}`, neither `kill` nor `stop`"),
        };
        let pass = words.next()?.parse().expect("FLUENS_FAILPOINT says at which pass");
        let name = words.next()?.to_owned();
        assert!(points().contains(name.as_str()), "there is no failpoint `{name}`");
        Some(Chosen { signal, pass, name, passed: AtomicU64::new(0) })
    });

    static WITHOUT: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let names = env::var("FLUENS_WITHOUT").unwrap_or_default();
        let names: BTreeSet<String> =
            names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        for name in &names {
            assert!(guards().contains(name.as_str()), "there is no guard `{name}`");
        }
        names
    });

    /// Passes a point; at the chosen one, the chosen signal is sent.
    pub fn pass(name: &str) {
        if let Some(chosen) = &*CHOSEN
            && chosen.name == name
            && chosen.passed.fetch_add(1, SeqCst) + 1 == chosen.pass
        {
            // There is nobody to tell.
            let _ = kill_process(getpid(), chosen.signal);
        }
    }

    /// Whether nobody took this guard away.
    pub fn stands(name: &str) -> bool {
        !WITHOUT.contains(name)
    }

    /// A statement without the guards that were taken away.
    pub fn unguarded(statement: &'static str) -> &'static str {
        let mut statement = Cow::Borrowed(statement);
        let mut replace = |text: &str, by: &str| {
            if statement.contains(text) {
                statement = statement.replace(text, by).into();
            }
        };
        if !crate::guard!("alive check") {
            replace(crate::sql::ALIVE, "{node} IS NOT NULL");
        }
        if !crate::guard!("attempt fence") {
            replace("i.attempt = a.attempt", "a.attempt IS NOT NULL");
            replace("(seq, attempt) IN ( SELECT s.value, a.value", "seq IN ( SELECT s.value");
            replace("attempt = {attempt} AND", "{attempt} IS NOT NULL AND");
        }
        match statement {
            Cow::Borrowed(whole) => whole,
            Cow::Owned(without) => without.leak(), // once for each statement
        }
    }
}
