//! What code, file and environment say -> [`Settings`], value by value: one that is wrong does not hide the next.

use std::{collections::BTreeMap, time::Duration};

use config::{Value, ValueKind};
use fluens_diesel::Synchronous;

use super::{ConsumerSettings, ModuleSettings, RetrySettings, Settings};
use crate::{
    app::Problem,
    message::{is_identifier, is_plain},
};

/// The keys at the top, and those of a module.
const KEYS: [&str; 20] = [
    "database",
    "schema",
    "connections",
    "statement_cache",
    "synchronous",
    "batch",
    "memory",
    "poll",
    "drain",
    "migrate",
    "log",
    "max_payload",
    "fairness",
    "upkeep",
    "retention",
    "node",
    "heartbeat",
    "lease",
    "retry",
    "consumer",
];
const MODULE_KEYS: [&str; 2] = ["database", "schema"];
const CONSUMER_KEYS: [&str; 1] = ["retry"];
const RETRY_KEYS: [&str; 2] = ["memory", "stored"];
const RETENTION_KEYS: [&str; 5] = ["processed", "expired", "dead_letters", "seen", "sent"];

pub(super) struct Reader {
    pub(super) settings: Settings,
    pub(super) problems: Vec<Problem>,
}

impl Reader {
    pub(super) fn top(&mut self, key: &str, value: Value) {
        match key {
            "database" => self.settings.database = self.text(key, value),
            "schema" => self.settings.schema = self.schema(key, value),
            "connections" => self.settings.connections = self.number(key, value, 1..=10_000),
            "statement_cache" => self.settings.statement_cache = self.flag(key, value),
            "synchronous" => self.settings.synchronous = self.synchronous(key, value),
            "batch" => self.settings.batch = self.number(key, value, 1..=10_000),
            "memory" => self.settings.memory = self.number(key, value, 4096..=(1 << 40)),
            "poll" => self.settings.poll = self.duration(key, value),
            "drain" => self.settings.drain = self.duration(key, value),
            "migrate" => self.settings.migrate = self.flag(key, value),
            "log" => self.settings.log = self.log(key, value),
            "max_payload" => self.settings.max_payload = self.number(key, value, 1024..=(1 << 30)),
            "fairness" => self.settings.fairness = self.duration(key, value),
            "upkeep" => self.settings.upkeep = self.duration(key, value),
            "retention" => self.retention(value),
            "node" => self.settings.node = self.node(key, value),
            "heartbeat" => self.settings.heartbeat = self.duration(key, value),
            "lease" => self.settings.lease = self.duration(key, value),
            "retry" => self.settings.retry = self.retry(key, value),
            "consumer" => self.consumers(value),
            "module" => self.modules(value),
            _ => self.unknown(key, key, &value, &KEYS),
        }
    }

    fn retention(&mut self, value: Value) {
        for (key, value) in self.table("retention", value, "`[retention]`, then `expired = \"7d\"`") {
            let path = format!("retention.{key}");
            let kept = match key.as_str() {
                "processed" => &mut self.settings.retention.processed,
                "expired" => &mut self.settings.retention.expired,
                "dead_letters" => &mut self.settings.retention.dead_letters,
                "seen" => &mut self.settings.retention.seen,
                "sent" => &mut self.settings.retention.sent,
                _ => {
                    self.unknown(&path, &key, &value, &RETENTION_KEYS);
                    continue;
                }
            };
            // `0` alone is a number, not a text.
            let text = value.clone().into_string().unwrap_or_default();
            if text == "0" {
                *kept = Duration::ZERO;
            } else if let Ok(duration) = humantime::parse_duration(&text) {
                *kept = duration;
            } else {
                let what = format!("setting `{path}`{}: `{text}` is not a duration", origin(&value));
                self.problem(what, format!("write `{key} = \"7d\"`, or `\"0\"` to keep nothing"));
            }
        }
    }

    fn retry(&mut self, path: &str, value: Value) -> RetrySettings {
        let mut retry = RetrySettings::default();
        for (key, value) in
            self.table(path, value, "`memory = [\"100ms\"]` and `stored = [\"1s\", \"1m\"]` in it")
        {
            let path = format!("{path}.{key}");
            match key.as_str() {
                "memory" => retry.memory = self.durations(&path, value),
                "stored" => retry.stored = self.durations(&path, value),
                _ => self.unknown(&path, &key, &value, &RETRY_KEYS),
            }
        }
        retry
    }

    fn consumers(&mut self, value: Value) {
        let help = "`[consumer.\"stock.reserve\".retry]`, then `stored = [\"1m\"]`";
        for (consumer, value) in self.table("consumer", value, help) {
            let path = format!("consumer.{consumer}");
            let mut own = ConsumerSettings::default();
            for (key, value) in self.table(&path, value, help) {
                let path = format!("{path}.{key}");
                match key.as_str() {
                    "retry" => own.retry = self.retry(&path, value),
                    _ => self.unknown(&path, &key, &value, &CONSUMER_KEYS),
                }
            }
            self.settings.consumers.insert(consumer, own);
        }
    }

    /// The entries of a table, sorted.
    fn table(&mut self, path: &str, value: Value, help: &str) -> BTreeMap<String, Value> {
        let table = value.into_table().map(|entries| entries.into_iter().collect());
        table.unwrap_or_else(|_| {
            self.problem(format!("setting `{path}` is not a table"), format!("write {help}"));
            BTreeMap::new()
        })
    }

    /// A list of texts, or one text with commas: the environment has no lists.
    fn durations(&mut self, path: &str, value: Value) -> Option<Vec<Duration>> {
        let origin = origin(&value);
        let texts: Option<Vec<String>> = match value.kind {
            ValueKind::Array(values) => values.into_iter().map(|value| value.into_string().ok()).collect(),
            ValueKind::String(text) => {
                let bare = |one: &str| {
                    one.trim_matches(|c: char| c.is_whitespace() || "[]\"'".contains(c)).to_owned()
                };
                Some(text.split(',').map(bare).filter(|one| !one.is_empty()).collect())
            }
            _ => None,
        };
        let help = if origin.contains("environment") {
            "write `1s,30s,5m`, or nothing for none"
        } else {
            "write `[\"1s\", \"30s\", \"5m\"]`, or `[]` for none"
        };
        let Some(texts) = texts else {
            self.problem(format!("setting `{path}`{origin} is not a list of durations"), help);
            return None;
        };
        let mut durations = Vec::new();
        for text in texts {
            let Ok(duration) = humantime::parse_duration(&text) else {
                self.problem(format!("setting `{path}`{origin}: `{text}` is not a duration"), help);
                return None;
            };
            durations.push(duration);
        }
        Some(durations)
    }

    fn modules(&mut self, value: Value) {
        let Ok(modules) = value.into_table() else {
            return self.problem(
                "setting `module` is not a table",
                "write `[module.orders]`, then `database = \"..\"`",
            );
        };
        for (module, value) in modules {
            let Ok(values) = value.into_table() else {
                let what = format!("setting `module.{module}` is not a table");
                self.problem(what, format!("write `[module.{module}]`, then `database = \"..\"`"));
                continue;
            };
            let mut own = ModuleSettings::default();
            for (key, value) in values {
                let path = format!("module.{module}.{key}");
                match key.as_str() {
                    "database" => own.database = self.text(&path, value),
                    "schema" => own.schema = self.schema(&path, value),
                    _ => self.unknown(&path, &key, &value, &MODULE_KEYS),
                }
            }
            self.settings.modules.insert(module, own);
        }
    }

    fn text(&mut self, key: &str, value: Value) -> Option<String> {
        match value.into_string() {
            Ok(text) if !text.trim().is_empty() => Some(text),
            _ => {
                self.problem(
                    format!("setting `{key}` is empty or not a text"),
                    format!("write `{key} = \"..\"`"),
                );
                None
            }
        }
    }

    fn schema(&mut self, key: &str, value: Value) -> Option<String> {
        let schema = self.text(key, value)?;
        if is_identifier(&schema) {
            return Some(schema);
        }
        let help = "a schema's name has lower-case letters, digits and `_`, starts with a letter, and at most 63 of them";
        self.problem(format!("setting `{key}`: `{schema}` is not a plain name"), help);
        None
    }

    fn synchronous(&mut self, key: &str, value: Value) -> Synchronous {
        let Some(word) = self.text(key, value) else { return Synchronous::Full };
        match word.to_ascii_lowercase().as_str() {
            "full" => Synchronous::Full,
            "normal" => Synchronous::Normal,
            _ => {
                let help =
                    "write `\"full\"`, or `\"normal\"` if the last commits may be gone after a power failure";
                self.problem(format!("setting `{key}`: `{word}` is neither `full` nor `normal`"), help);
                Synchronous::Full
            }
        }
    }

    fn node(&mut self, key: &str, value: Value) -> Option<String> {
        let name = self.text(key, value)?;
        if is_plain(&name) {
            return Some(name);
        }
        let help = "use letters, digits and `_-.:`, a letter first, at most 128 of them";
        self.problem(format!("setting `{key}`: `{name}` is not a plain name"), help);
        None
    }

    /// One beat may come late and another be lost.
    pub(super) fn check_lease(&mut self) {
        let Settings { heartbeat, lease, .. } = self.settings;
        if heartbeat * 3 > lease {
            let what = format!("`heartbeat` is {heartbeat:?}, too long for a `lease` of {lease:?}");
            let help =
                "a lease is at least three heartbeats: `heartbeat = \"3s\"` and `lease = \"10s\"`, say";
            self.problem(what, help);
        }
    }

    /// A single word that is no level would be taken for a target, and silence everything else.
    fn log(&mut self, key: &str, value: Value) -> String {
        const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
        let filter = self.text(key, value).unwrap_or_default();
        let mut levels =
            filter.split(',').map(|part| part.rsplit('=').next().unwrap_or_default().trim().to_lowercase());
        if let Some(wrong) = levels.find(|level| !LEVELS.contains(&level.as_str())) {
            let help = format!("write one of {}, or `target=level` pairs", LEVELS.join(", "));
            self.problem(format!("setting `{key}`: `{wrong}` is not a level"), help);
        }
        filter
    }

    fn flag(&mut self, key: &str, value: Value) -> bool {
        value.into_bool().unwrap_or_else(|_| {
            self.problem(
                format!("setting `{key}` is neither true nor false"),
                format!("write `{key} = false`"),
            );
            true
        })
    }

    fn number<T: TryFrom<i64>>(
        &mut self,
        key: &str,
        value: Value,
        range: std::ops::RangeInclusive<i64>,
    ) -> T {
        let (given, origin) = (value.to_string(), origin(&value));
        let number = value.into_int().ok().filter(|n| range.contains(n));
        if number.is_none() {
            let what = format!("setting `{key}`{origin}: `{given}` will not do");
            self.problem(what, format!("write a whole number from {} to {}", range.start(), range.end()));
        }
        let number = number.unwrap_or(*range.start());
        T::try_from(number).unwrap_or_else(|_| unreachable!("the range fits the type"))
    }

    fn duration(&mut self, key: &str, value: Value) -> Duration {
        let origin = origin(&value);
        let text = value.into_string().unwrap_or_default();
        match humantime::parse_duration(&text) {
            Ok(duration) if !duration.is_zero() => duration,
            _ => {
                let what = format!("setting `{key}`{origin}: `{text}` is not a duration above zero");
                self.problem(what, format!("write `{key} = \"500ms\"`, `\"5s\"` or `\"2m\"`"));
                Duration::from_secs(1)
            }
        }
    }

    /// The environment may hold other programs' `FLUENS_..`: there only what looks like a slip is reported.
    fn unknown(&mut self, path: &str, key: &str, value: &Value, keys: &[&str]) {
        let nearest = keys
            .iter()
            .map(|known| (strsim::jaro_winkler(known, key), *known))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(likeness, _)| *likeness > 0.85)
            .map(|(_, known)| known);
        let from_environment = value.origin().is_some_and(|origin| origin.contains("environment"))
            && !matches!(value.kind, ValueKind::Table(_));
        if from_environment && nearest.is_none() {
            return;
        }
        let help = match nearest {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("the settings are {}", keys.join(", ")),
        };
        let origin = origin(value);
        self.problem(format!("setting `{path}`{origin} is not known"), help);
    }

    fn problem(&mut self, what: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem::new(what, help));
    }
}

/// Where a value comes from, if not from code.
fn origin(value: &Value) -> String {
    value.origin().map(|origin| format!(" (in {origin})")).unwrap_or_default()
}
