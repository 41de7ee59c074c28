//! Configuration: code, then `fluens.toml`, then the environment, in rising precedence. Every value is checked by
//! itself, so that all problems are found at once.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use config::{Config, Environment, File, Value, ValueKind};
use fluens_diesel::{Clock, Retention};

use super::Problem;
use crate::{
    message::is_plain,
    settle::{Policy, Retry},
    testing::Witness,
};

/// What has ended and may be kept for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// Consumed messages, as a history; not kept by default.
    Processed,
    /// Expired, cancelled and superseded messages; 7 days by default.
    Expired,
    /// Replayed and discarded dead letters; 30 days by default.
    DeadLetters,
    /// Ids given by callers: for so long a second publishing is noticed; 7 days by default.
    Seen,
}

impl Keep {
    pub(super) fn key(self) -> &'static str {
        match self {
            Keep::Processed => "processed",
            Keep::Expired => "expired",
            Keep::DeadLetters => "dead_letters",
            Keep::Seen => "seen",
        }
    }
}

const WEEK: Duration = Duration::from_hours(7 * 24);

/// All settings, with their defaults.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) database: Option<String>,
    pub(crate) schema: Option<String>,
    pub(crate) connections: u32,
    pub(crate) statement_cache: bool,
    /// Rows per fetch.
    pub(crate) batch: usize,
    /// Bytes of messages in memory per consumer.
    pub(crate) memory: usize,
    pub(crate) poll: Duration,
    pub(crate) drain: Duration,
    pub(crate) migrate: bool,
    pub(crate) log: String,
    /// Bytes of payload and envelope of one message.
    pub(crate) max_payload: usize,
    /// What waited longer goes before higher priorities.
    pub(crate) fairness: Duration,
    /// How often what has ended is looked at.
    pub(crate) upkeep: Duration,
    pub(crate) retention: Retention,
    /// When failed deliveries run again, unless their consumer says otherwise.
    retry: RetrySettings,
    consumers: BTreeMap<String, ConsumerSettings>,
    /// Whose clock decides; set by tests only.
    pub(crate) clock: Clock,
    /// Who writes down what happens; set by tests only.
    pub(crate) witness: Option<Witness>,
    modules: BTreeMap<String, ModuleSettings>,
}

/// A retry schedule, as far as it is configured.
#[derive(Debug, Clone, Default)]
struct RetrySettings {
    memory: Option<Vec<Duration>>,
    stored: Option<Vec<Duration>>,
}

#[derive(Debug, Clone, Default)]
struct ConsumerSettings {
    retry: RetrySettings,
}

#[derive(Debug, Clone, Default)]
struct ModuleSettings {
    database: Option<String>,
    schema: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            database: None,
            schema: None,
            connections: 10,
            statement_cache: true,
            batch: 100,
            memory: 16 << 20,
            poll: Duration::from_secs(1),
            drain: Duration::from_secs(30),
            migrate: true,
            log: "info".to_owned(),
            max_payload: 16 << 20,
            fairness: Duration::from_mins(5),
            upkeep: Duration::from_mins(5),
            retention: Retention {
                processed: Duration::ZERO,
                expired: WEEK,
                dead_letters: Duration::from_hours(30 * 24),
                seen: WEEK,
            },
            retry: RetrySettings::default(),
            consumers: BTreeMap::new(),
            clock: Clock::Database,
            witness: None,
            modules: BTreeMap::new(),
        }
    }
}

/// The keys at the top, and those of a module.
const KEYS: [&str; 16] = [
    "database",
    "schema",
    "connections",
    "statement_cache",
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
    "retry",
    "consumer",
];
const MODULE_KEYS: [&str; 2] = ["database", "schema"];
const CONSUMER_KEYS: [&str; 1] = ["retry"];
const RETRY_KEYS: [&str; 2] = ["memory", "stored"];
const RETENTION_KEYS: [&str; 4] = ["processed", "expired", "dead_letters", "seen"];

impl Settings {
    /// What code, file and environment say, with everything that is wrong about it.
    pub(crate) fn load(code: &BTreeMap<String, String>) -> (Self, Vec<Problem>) {
        Self::layered(code, File::with_name("fluens.toml").required(false), None)
    }

    /// Of a process that runs no app. What is wrong is left to the apps to tell.
    pub(crate) fn of_the_process() -> Self {
        Self::load(&BTreeMap::new()).0
    }

    fn layered<F: config::Source + Send + Sync + 'static>(
        code: &BTreeMap<String, String>,
        file: F,
        environment: Option<HashMap<String, String>>,
    ) -> (Self, Vec<Problem>) {
        let environment =
            Environment::with_prefix("FLUENS").prefix_separator("_").separator("__").source(environment);
        let mut builder = Config::builder();
        for (key, value) in code {
            builder = match builder.clone().set_default(key.as_str(), value.as_str()) {
                Ok(next) => next,
                Err(error) => {
                    let problem = Problem::new(format!("setting `{key}`: {error}"), "use a plain name");
                    return (Settings::default(), vec![problem]);
                }
            };
        }
        let values = builder.add_source(file).add_source(environment).build().map(|config| config.cache);
        match values.map(config::Value::into_table) {
            Ok(Ok(values)) => Self::read(values),
            Ok(Err(error)) | Err(error) => {
                let problem =
                    Problem::new(error.to_string(), "fluens.toml must be valid TOML: `key = value` lines");
                (Settings::default(), vec![problem])
            }
        }
    }

    fn read(values: HashMap<String, Value>) -> (Self, Vec<Problem>) {
        let mut reader = Reader { settings: Settings::default(), problems: Vec::new() };
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (key, value) in values {
            reader.top(&key, value);
        }
        (reader.settings, reader.problems)
    }

    /// The url of a module's database.
    pub(crate) fn database_of(&self, module: &str) -> Option<&str> {
        self.modules.get(module).and_then(|m| m.database.as_deref()).or(self.database.as_deref())
    }

    /// Whether a database is named at all.
    pub(crate) fn says_a_database(&self) -> bool {
        self.database.is_some() || self.modules.values().any(|module| module.database.is_some())
    }

    /// The schema of a module's tables.
    pub(crate) fn schema_of(&self, module: &str) -> Option<&str> {
        self.modules.get(module).and_then(|m| m.schema.as_deref()).or(self.schema.as_deref())
    }

    /// When a consumer's failed deliveries run again: what is configured for it goes before what its attribute says, and
    /// that before what is configured for all.
    pub(crate) fn policy(&self, consumer: &str, attribute: Option<Retry>) -> Policy {
        let own = self.consumers.get(consumer).map(|own| &own.retry);
        let usual = Policy::from(Retry::default());
        let all = Policy {
            memory: self.retry.memory.clone().unwrap_or(usual.memory),
            stored: self.retry.stored.clone().unwrap_or(usual.stored),
        };
        let coded = attribute.map_or(all, Policy::from);
        Policy {
            memory: own.and_then(|own| own.memory.clone()).unwrap_or(coded.memory),
            stored: own.and_then(|own| own.stored.clone()).unwrap_or(coded.stored),
        }
    }

    /// Consumers that have settings of their own.
    pub(crate) fn consumers(&self) -> impl Iterator<Item = &str> {
        self.consumers.keys().map(String::as_str)
    }

    /// Modules that have settings of their own.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }
}

struct Reader {
    settings: Settings,
    problems: Vec<Problem>,
}

impl Reader {
    fn top(&mut self, key: &str, value: Value) {
        match key {
            "database" => self.settings.database = self.text(key, value),
            "schema" => self.settings.schema = self.schema(key, value),
            "connections" => self.settings.connections = self.number(key, value, 1..=10_000),
            "statement_cache" => self.settings.statement_cache = self.flag(key, value),
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
                _ => {
                    self.unknown(&path, &key, &value, &RETENTION_KEYS);
                    continue;
                }
            };
            // `0` alone is a number, not a text.
            let text = value.clone().into_string().unwrap_or_default();
            match if text == "0" { Ok(Duration::ZERO) } else { humantime::parse_duration(&text) } {
                Ok(duration) => *kept = duration,
                Err(_) => {
                    let what = format!("setting `{path}`{}: `{text}` is not a duration", origin(&value));
                    self.problem(what, format!("write `{key} = \"7d\"`, or `\"0\"` to keep nothing"));
                }
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
                Some(text.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect())
            }
            _ => None,
        };
        let durations = texts.and_then(|texts| {
            texts.iter().map(|text| humantime::parse_duration(text).ok()).collect::<Option<Vec<_>>>()
        });
        if durations.is_none() {
            let what = format!("setting `{path}`{origin} is not a list of durations");
            self.problem(what, "write `[\"1s\", \"30s\", \"5m\"]`, or `[]` for none");
        }
        durations
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

/// What can stand in SQL as it is.
fn is_identifier(name: &str) -> bool {
    is_plain(name)
        && name.len() <= 63
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use config::FileFormat;

    use super::*;

    fn load(code: &[(&str, &str)], toml: &str, environment: &[(&str, &str)]) -> (Settings, Vec<Problem>) {
        fn map<M: FromIterator<(String, String)>>(pairs: &[(&str, &str)]) -> M {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        }
        Settings::layered(&map(code), File::from_str(toml, FileFormat::Toml), Some(map(environment)))
    }

    #[test]
    fn the_environment_goes_before_the_file_and_the_file_before_the_code() {
        let code = [("database", "sqlite:code.db"), ("batch", "7"), ("poll", "3s")];
        let toml = "database = \"sqlite:file.db\"\nbatch = 8\n[module.audit]\ndatabase = \"sqlite:audit.db\"";
        let (settings, problems) = load(
            &code,
            toml,
            &[("FLUENS_DATABASE", "sqlite:env.db"), ("FLUENS_MODULE__AUDIT__SCHEMA", "a1")],
        );
        assert_eq!(problems, []);
        assert_eq!(settings.database_of("orders"), Some("sqlite:env.db"));
        assert_eq!(settings.database_of("audit"), Some("sqlite:audit.db"));
        assert_eq!(settings.schema_of("audit"), Some("a1"));
        assert_eq!((settings.batch, settings.poll), (8, Duration::from_secs(3)));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let toml = "databse = \"x\"\nbatch = 0\npoll = \"soon\"\nschema = \"x\\\"; DROP TABLE y\"\nmigrate = \"perhaps\"\n[module.a]\ncolour = 1";
        let (_, problems) = load(&[], toml, &[]);
        let all = problems.iter().map(|f| format!("{}\n{}", f.what, f.help)).collect::<Vec<_>>().join("\n");
        for part in [
            "`databse`",
            "did you mean `database`?",
            "`batch`",
            "`poll`",
            "`schema`",
            "`migrate`",
            "`module.a.colour`",
        ] {
            assert!(all.contains(part), "{part} is missing in:\n{all}");
        }
        assert_eq!(problems.len(), 6, "{all}");
    }

    #[test]
    fn a_slip_in_the_environment_is_told_and_a_strangers_variable_is_not() {
        let (_, problems) = load(&[], "", &[("FLUENS_DATABSE", "x"), ("FLUENS_REQUIRE_POSTGRES", "1")]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].what.contains("databse"), "{problems:?}");
    }
}
