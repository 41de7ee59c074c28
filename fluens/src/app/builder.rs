//! An app before it starts: modules, states and settings from code.

use std::{
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use fluens_diesel::{Clock, OwnedClock};
use futures_util::future::BoxFuture;

use super::{
    App, Problem, Report, SendAsync, Settings, checks, cron,
    interceptors::Interceptors,
    part::{ModulePart, Opened, Part},
    relays,
    running::Running,
};
use crate::{
    Error, Result,
    consumer::{ConsumerDescriptor, Interceptor, Only, States},
    error::BoxError,
    message::{Message, Staged},
    module::{Conn, Contract, Module},
    publish::PublishInterceptor,
    relay::Destination,
    testing::Witness,
};

/// An app before it starts; [`app!`](crate::app!) makes one, and `run!` gives it to its closure.
#[must_use = "an app does nothing until `.start().await`"]
pub struct Builder<L> {
    parts: Vec<Box<dyn Part>>,
    states: States,
    code: BTreeMap<String, String>,
    others_run_elsewhere: bool,
    clock: Clock,
    witness: Option<Witness>,
    /// Of the program.
    version: &'static str,
    interceptors: Interceptors,
    publish_interceptors: HashMap<&'static str, Vec<PublishInterceptor>>,
    around_destinations: Vec<relays::Around>,
    /// Behind a lock only to be `Sync`: a start may be awaited from any thread.
    preparations: Mutex<Vec<Preparation>>,
    of: PhantomData<fn() -> L>,
}

type Preparation = Box<dyn FnOnce(&Opened) -> BoxFuture<'static, Result<(), Error>> + Send>;

impl Builder<()> {
    /// Without modules yet.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)] // only generated code makes one
    pub fn new() -> Self {
        Builder {
            parts: Vec::new(),
            states: States::default(),
            code: BTreeMap::new(),
            others_run_elsewhere: false,
            clock: Clock::Database,
            witness: None,
            version: "",
            interceptors: Interceptors::default(),
            publish_interceptors: HashMap::new(),
            around_destinations: Vec::new(),
            preparations: Mutex::default(),
            of: PhantomData,
        }
    }
}

/// Applies the closure of `run!` or `app!`; its argument's type is known here.
#[doc(hidden)]
pub fn setup<L>(builder: Builder<L>, setup: impl FnOnce(Builder<L>) -> Builder<L>) -> Builder<L> {
    setup(builder)
}

impl<L> Builder<L> {
    /// Runs module `M` too.
    #[doc(hidden)]
    pub fn module<M: Module>(mut self) -> Builder<(M, L)> {
        self.parts.push(Box::new(ModulePart::<M>::default()));
        // Only the list of modules in its type changes.
        Builder {
            parts: self.parts,
            states: self.states,
            code: self.code,
            others_run_elsewhere: self.others_run_elsewhere,
            clock: self.clock,
            witness: self.witness,
            version: self.version,
            interceptors: self.interceptors,
            publish_interceptors: self.publish_interceptors,
            around_destinations: self.around_destinations,
            preparations: self.preparations,
            of: PhantomData,
        }
    }

    /// The version of the program, as its nodes tell it.
    #[doc(hidden)]
    pub fn version(mut self, version: Option<&'static str>) -> Self {
        self.version = version.unwrap_or_default();
        self
    }

    /// The `..` of `run!` and `app!`: consumers of other modules that are linked in run in another process.
    #[doc(hidden)]
    pub fn others_run_elsewhere(mut self) -> Self {
        self.others_run_elsewhere = true;
        self
    }

    /// Something for consumers to take as [`State`](crate::State): a client, a cache. One per type.
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(state);
        self
    }

    /// Stands around every run of module `M`'s consumers; the first one given is the outermost. `run!` and `app!` take
    /// `intercept: [timing]` for all their modules. See [`Interceptor`].
    pub fn intercept<M: Module>(mut self, interceptor: impl Interceptor<M>) -> Self {
        self.interceptors.add(interceptor);
        self
    }

    /// The same for the consumers of message `T` only.
    pub fn intercept_message<M: Module, T: Message>(mut self, interceptor: impl Interceptor<M>) -> Self {
        self.interceptors.add::<M>(Only { message: T::NAME, interceptor });
        self
    }

    /// Looks at everything module `M` publishes before it is stored: it may add headers, measure, or refuse, and then the
    /// publishing fails with [`Error::Refused`]. A plain function, because publishing may be synchronous.
    ///
    /// ```
    /// # use fluens::{Staged, prelude::*, sqlite as db};
    /// # #[message] struct Ordered { order: i64 }
    /// # fluens::module! { Orders { db: db::Db, publishes: [external Ordered] } }
    /// fn stamp(message: &mut Staged) -> Result<(), fluens::BoxError> {
    ///     message.set_header("build", env!("CARGO_PKG_VERSION"));
    ///     Ok(())
    /// }
    /// # fn f() { let _ = || {
    /// fluens::app!(Orders, |app| app.intercept_publish::<Orders>(stamp))
    /// # }; }
    /// ```
    pub fn intercept_publish<M: Module>(
        mut self,
        interceptor: impl Fn(&mut Staged) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.publish_interceptors.entry(M::NAME).or_default().push(Arc::new(interceptor));
        self
    }

    /// Does something on module `M`'s database before its consumers start: makes your own tables, say.
    ///
    /// ```no_run
    /// # use fluens::{diesel_prelude::*, prelude::*, sqlite as db};
    /// # fluens::module! { Orders { db: db::Db } }
    /// # async fn f() -> Result<(), fluens::Error> {
    /// let app = fluens::app!(Orders, |app| app.prepare::<Orders>(async |conn| {
    ///     conn.batch_execute("CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY)").await?;
    ///     Ok(())
    /// }));
    /// app.start().await?;
    /// # Ok(()) }
    /// ```
    pub fn prepare<M: Module>(
        mut self,
        work: impl for<'c> AsyncFnOnce(&'c mut Conn<M>) -> Result
        + for<'c> SendAsync<&'c mut Conn<M>, Result>
        + Send
        + 'static,
    ) -> Self {
        let preparations = self.preparations.get_mut().unwrap_or_else(PoisonError::into_inner);
        preparations.push(Box::new(|opened| {
            let handle = opened.handle::<M>();
            Box::pin(async move {
                let failed = |source| Error::Prepare { module: M::NAME, source };
                let handle = handle.ok_or_else(|| failed("this app does not run it".into()))?;
                let mut conn = handle.connection().await?;
                work(&mut conn).await.map_err(|failure| failed(failure.into_error()))
            })
        }));
        self
    }

    /// Puts something around every destination that messages are carried to: to see, or to spoil, what passes there.
    #[doc(hidden)]
    pub fn around_destinations(
        mut self,
        around: impl Fn(Arc<dyn Destination>) -> Arc<dyn Destination> + Send + Sync + 'static,
    ) -> Self {
        self.around_destinations.push(Arc::new(around));
        self
    }

    /// A clock that the test owns decides what is due, in the place of the database's.
    #[doc(hidden)]
    pub fn clock(mut self, clock: &OwnedClock) -> Self {
        self.clock = Clock::Owned(clock.clone());
        self
    }

    /// For a test: on SQLite in memory, unless code, file or environment name a database.
    pub(crate) fn in_memory_unless_said(self) -> Self {
        if self.settings().0.says_a_database() { self } else { self.database("sqlite::memory:") }
    }

    /// Writes down what happens.
    pub(crate) fn witness(mut self, witness: &Witness) -> Self {
        self.witness = Some(witness.clone());
        self
    }

    pub(super) fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.code.insert(key.into(), value.into());
        self
    }

    /// Checks all that can be checked without a database: settings, names, wiring, states. For a test:
    ///
    /// ```
    /// # use fluens::prelude::*;
    /// # #[message] struct Ping;
    /// # #[consumer] async fn on_ping(_: Ping) -> Result { Ok(()) }
    /// fluens::app!().verify().unwrap();
    /// ```
    pub fn verify(&self) -> Result<(), Report> {
        let (settings, problems) = self.settings();
        Report::check(self.static_problems(&settings, problems))
    }

    /// Creates or upgrades the tables, subscribes the consumers, and does nothing else: for a step of its own before a
    /// deploy. What is published after it waits for them.
    pub async fn migrate(self) -> Result<(), Error> {
        let (mut settings, problems) = self.settings();
        let mut problems = self.static_problems(&settings, problems);
        settings.migrate = true;
        let opened = self.open(&settings, &mut problems).await;
        Report::check(problems).map_err(Error::Start)?;
        for part in &self.parts {
            part.subscribe(&opened).await?;
        }
        relays::subscribe(&self.contracts(), &opened).await?;
        Ok(())
    }

    /// The SQL that [`migrate`](Builder::migrate) would run on an empty database, for people who manage their schema
    /// themselves.
    pub fn migrations(&self) -> String {
        let (settings, _) = self.settings();
        let mut scripts: Vec<String> = self.parts.iter().map(|part| part.migrations(&settings)).collect();
        scripts.sort();
        scripts.dedup();
        scripts.join("\n")
    }

    /// Starts: checks, connects, migrates, subscribes and consumes. All that is wrong is told at once.
    pub async fn start(self) -> Result<App<L>, Error> {
        let (settings, problems) = self.settings();
        let mut problems = self.static_problems(&settings, problems);
        let (contracts, opened) = (self.contracts(), self.open(&settings, &mut problems).await);
        Report::check(problems).map_err(Error::Start)?;
        for prepare in self.preparations.into_inner().unwrap_or_else(PoisonError::into_inner) {
            prepare(&opened).await?;
        }
        // Before anything runs that may publish; carried only once there is somebody to carry it to.
        let lines = relays::subscribe(&contracts, &opened).await?;
        let mut running = Running::new(settings, self.states, self.interceptors);
        for part in &self.parts {
            part.start(&opened, &mut running).await?;
        }
        relays::start(lines, &self.around_destinations, &mut running);
        let membership = running.join().await?;
        Ok(App::new(opened, running, membership))
    }

    pub(super) fn settings(&self) -> (Settings, Vec<Problem>) {
        let (mut settings, problems) = Settings::load(&self.code);
        settings.clock = self.clock.clone();
        self.version.clone_into(&mut settings.version);
        settings.witness.clone_from(&self.witness);
        (settings, problems)
    }

    fn contracts(&self) -> Vec<Contract> {
        self.parts.iter().map(|part| part.contract()).collect()
    }

    fn static_problems(&self, settings: &Settings, mut problems: Vec<Problem>) -> Vec<Problem> {
        let contracts = self.contracts();
        for module in settings.modules().filter(|name| contracts.iter().all(|c| c.module != *name)) {
            let known = contracts.iter().map(|c| c.module).collect::<Vec<_>>().join(", ");
            let what = format!("setting `module.{module}` is for a module that is not run");
            if !self.others_run_elsewhere {
                problems.push(Problem::new(what, format!("the modules are {known}")));
            }
        }
        let consumers = ConsumerDescriptor::all();
        for consumer in settings.consumers() {
            if !consumers.iter().any(|known| known.name() == consumer) {
                let what = format!("setting `consumer.{consumer}` is for a consumer that is not there");
                let names = consumers.iter().map(|consumer| consumer.name()).collect::<Vec<_>>().join(", ");
                problems.push(Problem::new(what, format!("the consumers are {names}")));
            }
        }
        problems.extend(checks::problems(&contracts, self.others_run_elsewhere, &self.states));
        for part in &self.parts {
            problems.extend(cron::problems(part.contract().module, &part.crons()));
        }
        problems
    }

    /// Opens the databases. With a problem known already, nothing is opened or changed, only looked at: a start that is
    /// refused must not leave tables behind.
    async fn open(&self, settings: &Settings, problems: &mut Vec<Problem>) -> Opened {
        let mut opened = Opened::default();
        opened.publish_interceptors.clone_from(&self.publish_interceptors);
        let refused = !problems.is_empty();
        for part in &self.parts {
            let result =
                if refused { part.probe(settings).await } else { part.open(settings, &mut opened).await };
            if let Err(problem) = result
                && !problems.contains(&problem)
            {
                problems.push(problem);
            }
        }
        opened
    }
}
