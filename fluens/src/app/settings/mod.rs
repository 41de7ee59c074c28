//! Configuration: code, then `fluens.toml`, then the environment, in rising precedence. Every value is checked by
//! itself, so that all problems are found at once.

mod read;

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use config::{Config, Environment, File, Value};
use fluens_diesel::{Clock, Id, Retention, Synchronous};

use self::read::Reader;
use super::Problem;
use crate::{
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
    /// Notes of what was carried to another database, and when; 7 days by default.
    Sent,
}

impl Keep {
    pub(super) fn key(self) -> &'static str {
        match self {
            Keep::Processed => "processed",
            Keep::Expired => "expired",
            Keep::DeadLetters => "dead_letters",
            Keep::Seen => "seen",
            Keep::Sent => "sent",
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
    /// When SQLite waits for the disk.
    pub(crate) synchronous: Synchronous,
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
    /// What this node is called; `None`: by its host and process.
    pub(crate) node: Option<String>,
    /// How often it says that it is alive.
    pub(crate) heartbeat: Duration,
    /// Silent for so long, it is taken for dead.
    pub(crate) lease: Duration,
    /// What this start calls its connections.
    pub(crate) session: String,
    /// The version of the program.
    pub(crate) version: String,
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

/// Short, and nobody else's: the random end of an id.
fn new_session() -> String {
    Id::new().0.simple().to_string().split_off(20)
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            database: None,
            schema: None,
            connections: 10,
            statement_cache: true,
            synchronous: Synchronous::Full,
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
                sent: WEEK,
            },
            node: None,
            heartbeat: Duration::from_secs(3),
            lease: Duration::from_secs(10),
            session: new_session(),
            version: String::new(),
            retry: RetrySettings::default(),
            consumers: BTreeMap::new(),
            clock: Clock::Database,
            witness: None,
            modules: BTreeMap::new(),
        }
    }
}

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
        reader.check_lease();
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
    fn a_schedule_comes_from_the_consumer_then_its_attribute_then_all() {
        const ATTRIBUTE: Retry = Retry { memory: &[], stored: &[Duration::from_secs(7)] };
        let toml = "[retry]\nmemory = []\nstored = [\"1m\"]\n[consumer.\"a.b\".retry]\nstored = [\"2s\", \"3s\"]\n[retention]\nseen = 0\nexpired = \"1d\"";
        let (settings, problems) = load(&[], toml, &[("FLUENS_RETRY__MEMORY", "1s,2s")]);
        assert_eq!(problems, []);
        let seconds = |policy: Policy| {
            let all = |delays: Vec<Duration>| delays.iter().map(Duration::as_secs).collect::<Vec<_>>();
            (all(policy.memory), all(policy.stored))
        };
        assert_eq!(seconds(settings.policy("c.d", None)), (vec![1, 2], vec![60]));
        assert_eq!(seconds(settings.policy("c.d", Some(ATTRIBUTE))), (vec![], vec![7]));
        assert_eq!(seconds(settings.policy("a.b", Some(ATTRIBUTE))), (vec![], vec![2, 3]));
        assert_eq!((settings.retention.seen, settings.retention.expired), (Duration::ZERO, WEEK / 7));
        let wrong = "[retry]\nmemory = \"soon\"\n[retention]\nseen = \"x\"\nbent = \"1d\"\n[consumer]\nx = 1";
        assert_eq!(load(&[], wrong, &[]).1.len(), 4);
    }

    #[test]
    fn a_lease_outlives_three_heartbeats() {
        assert_eq!(load(&[], "heartbeat = \"1s\"\nlease = \"3s\"\nnode = \"a-1\"", &[]).1, []);
        let (_, problems) = load(&[], "heartbeat = \"20s\"\nnode = \"a b\"", &[]);
        let text: Vec<&str> = problems.iter().map(|problem| problem.what.as_str()).collect();
        assert_eq!(
            text,
            [
                "setting `node`: `a b` is not a plain name",
                "`heartbeat` is 20s, too long for a `lease` of 10s"
            ]
        );
    }

    #[test]
    fn sqlite_waits_for_the_disk_unless_told_otherwise() {
        let of = |code: &[(&str, &str)], toml, environment: &[(&str, &str)]| {
            load(code, toml, environment).0.synchronous
        };
        assert_eq!(of(&[], "", &[]), Synchronous::Full);
        assert_eq!(of(&[("synchronous", "normal")], "", &[]), Synchronous::Normal);
        assert_eq!(of(&[("synchronous", "normal")], "synchronous = \"full\"", &[]), Synchronous::Full);
        assert_eq!(
            of(&[], "synchronous = \"full\"", &[("FLUENS_SYNCHRONOUS", "NORMAL")]),
            Synchronous::Normal
        );
        let (settings, problems) = load(&[], "synchronous = \"off\"", &[]);
        assert_eq!(settings.synchronous, Synchronous::Full);
        assert!(problems.len() == 1 && problems[0].what.contains("`off`"), "{problems:?}");
    }

    #[test]
    fn a_slip_in_the_environment_is_told_and_a_strangers_variable_is_not() {
        let (_, problems) = load(&[], "", &[("FLUENS_DATABSE", "x"), ("FLUENS_REQUIRE_POSTGRES", "1")]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].what.contains("databse"), "{problems:?}");
    }
}
