//! What the app does for one module, whatever its database.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, HashSet},
    marker::PhantomData,
    sync::{Arc, Mutex, Weak},
};

use fluens_diesel::{
    Connect, DatabaseSettings, Knows, OpenError, Registration, Registry, Relays, SCHEMA_VERSION, Schema,
    Tables, Tides as _,
};
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use super::{
    Cron, Database, Handle, Problem, Settings,
    cron::Firing,
    identity::{copied, is_same},
    operations::Databases,
    running::Running,
    upkeep::Upkeep,
};
use crate::{
    Error,
    clock::Clock,
    consumer::{ConsumerDescriptor, Recipient, TypedConsumer},
    inbox::{Care, Consumer, Dispatcher, Inbox, Limits, LowWater, Poller, Signal, Wakes},
    module::{Contract, Module},
    node::{Holder, Join, Node},
    publish::{PublishInterceptor, Rules, remember_rules},
    relay::Site,
};

/// One module of an app, without its type.
pub(super) trait Part: Send + Sync {
    fn contract(&self) -> Contract;
    /// What it publishes again and again.
    fn crons(&self) -> Vec<Cron>;
    /// The backend and what leads to the database.
    fn database(&self, settings: &Settings) -> (&'static str, Option<DatabaseSettings>);
    fn migrations(&self, settings: &Settings) -> String;
    /// Whether the database could be opened; changes nothing.
    fn probe<'a>(&'a self, settings: &'a Settings) -> BoxFuture<'a, Result<(), Problem>>;
    /// Opens the database, or finds it open already, and makes sure of its tables.
    fn open<'a>(
        &'a self,
        settings: &'a Settings,
        opened: &'a mut Opened,
    ) -> BoxFuture<'a, Result<(), Problem>>;
    /// Subscribes the module's consumers, so that what is published from now on waits for them.
    fn subscribe<'a>(&'a self, opened: &'a Opened) -> BoxFuture<'a, Result<(), Error>>;
    /// Subscribes the module's consumers and starts them.
    fn start<'a>(&'a self, opened: &'a Opened, running: &'a mut Running) -> BoxFuture<'a, Result<(), Error>>;
}

type Anything = Arc<dyn Any + Send + Sync>;

/// The databases of an app, and its modules' handles on them.
#[derive(Default)]
pub(super) struct Opened {
    databases: HashMap<(TypeId, DatabaseSettings), Anything>,
    handles: HashMap<TypeId, Anything>,
    /// By module.
    pub(super) publish_interceptors: HashMap<&'static str, Vec<PublishInterceptor>>,
    /// Each database once.
    pub(super) operated: Databases,
    /// The database of each module, without its type.
    pub(super) sites: HashMap<&'static str, Arc<dyn Site>>,
}

impl Opened {
    /// The handle of a module that was opened.
    pub(super) fn handle<M: Module>(&self) -> Option<Handle<M>> {
        self.handles.get(&TypeId::of::<M>())?.downcast_ref::<Handle<M>>().cloned()
    }
}

pub(super) struct ModulePart<M>(PhantomData<fn() -> M>);

impl<M> Default for ModulePart<M> {
    fn default() -> Self {
        ModulePart(PhantomData)
    }
}

impl<M: Module> ModulePart<M> {
    fn tables(settings: &Settings) -> Tables {
        Tables::new(Self::schema(settings), settings.clock.clone()).statement_cache(settings.statement_cache)
    }

    /// The setting is for PostgreSQL; an app may have modules on SQLite beside.
    fn schema(settings: &Settings) -> Option<&str> {
        settings.schema_of(M::NAME).filter(|_| M::Db::HAS_SCHEMAS)
    }

    fn no_database() -> Problem {
        let what = format!("module `{}` has no database", M::NAME);
        let help =
            "set `FLUENS_DATABASE=postgres://user:password@host/name`, or `database = \"..\"` in fluens.toml";
        Problem::new(what, help)
    }

    async fn open_database(settings: &DatabaseSettings, all: &Settings) -> Result<Database<M::Db>, Problem> {
        let pool = M::Db::open(settings).await.map_err(|error| problem_of_opening(M::NAME, &error))?;
        let tables = Self::tables(all);
        let mut db = Database {
            pool,
            tables,
            wakes: Wakes::default(),
            node: Node::default(),
            settings: settings.clone(),
            identity: String::new(),
            retention: all.retention,
            sweep: Notify::new(),
            witness: all.witness.clone(),
            unrun: Mutex::default(),
        };
        Self::make_sure_of_tables(&db, all.migrate).await?;
        db.identity = Self::identity(&db).await.map_err(|error| Self::unusable(&error))?;
        Ok(db)
    }

    fn unusable(error: &Error) -> Problem {
        let what = format!("the tables of module `{}` cannot be prepared: {error}", M::NAME);
        Problem::new(
            what,
            "the user of the database must own the schema, or somebody who does runs `migrate` first",
        )
    }

    async fn identity(db: &Database<M::Db>) -> Result<String, Error> {
        Ok(M::Db::identity(&mut *db.writer().await?, &db.tables).await?)
    }

    /// The database, if it is open already: by the same settings, or by others that lead there.
    async fn find_or_open(
        database: DatabaseSettings,
        settings: &Settings,
        opened: &mut Opened,
    ) -> Result<Arc<Database<M::Db>>, Problem> {
        let known = |db: &Anything| db.clone().downcast::<Database<M::Db>>().ok();
        let key = (TypeId::of::<M::Db>(), database);
        if let Some(db) = opened.databases.get(&key).and_then(known) {
            return Ok(db);
        }
        let mut db = Arc::new(Self::open_database(&key.1, settings).await?);
        let same_id = |other: &Arc<Database<M::Db>>| other.identity == db.identity;
        if let Some(other) = opened.databases.values().filter_map(known).find(same_id) {
            if !is_same(&db, &other).await.map_err(|error| Self::unusable(&error))? {
                return Err(copied(M::NAME, &db, &other));
            }
            db = other;
        } else {
            opened.operated.push(db.clone());
        }
        opened.databases.insert(key, db.clone());
        Ok(db)
    }

    async fn make_sure_of_tables(db: &Database<M::Db>, migrate: bool) -> Result<(), Problem> {
        let unusable = |error: Error| Self::unusable(&error);
        let mut conn = db.writer().await.map_err(unusable)?;
        let present = M::Db::version(&mut conn, &db.tables).await.map_err(|error| unusable(error.into()))?;
        if let Some(present) = present
            && present.min_compatible > SCHEMA_VERSION
        {
            let what = format!(
                "the tables of module `{}` are of version {} and need a program that knows version {}; this one knows {SCHEMA_VERSION}",
                M::NAME,
                present.version,
                present.min_compatible
            );
            return Err(Problem::new(what, "deploy a newer build of this program"));
        }
        if present.is_some_and(|present| present.version >= SCHEMA_VERSION) {
            return Ok(());
        }
        if !migrate {
            let found =
                present.map_or("missing".to_owned(), |present| format!("of version {}", present.version));
            let what = format!(
                "the tables of module `{}` are {found}; this program needs version {SCHEMA_VERSION}",
                M::NAME
            );
            return Err(Problem::new(
                what,
                "run the program with the argument `migrate`, call `app.migrate()`, or let `migrate = true`",
            ));
        }
        M::Db::migrate(&mut conn, &db.tables).await.map_err(|error| unusable(error.into()))?;
        fluens_diesel::failpoint!("start: tables made");
        Ok(())
    }

    async fn register(db: &Database<M::Db>) -> Result<Vec<Registered<M>>, Error> {
        let consumers: Vec<_> = ConsumerDescriptor::all()
            .into_iter()
            .filter_map(|descriptor| descriptor.typed::<M>().map(|typed| (descriptor, typed)))
            .collect();
        let wanted: Vec<Registration> =
            consumers.iter().map(|(descriptor, _)| registration(descriptor)).collect();
        let ids = M::Db::register(&mut *db.writer().await?, &db.tables, &wanted).await?;
        fluens_diesel::failpoint!("start: consumers registered");
        let registered = consumers.into_iter().zip(ids.into_iter().zip(wanted));
        let registered = registered.map(|((descriptor, typed), (id, wanted))| Registered {
            descriptor,
            typed,
            id,
            messages: wanted.messages,
        });
        Ok(registered.collect())
    }

    async fn start_consumers(handle: &Handle<M>, running: &mut Running) -> Result<(), Error> {
        for registered in Self::register(&handle.db).await? {
            let signal = Signal::new(&running.activity, Clock::of(&running.settings.clock));
            handle.db.wakes.add(registered.id, signal.clone());
            let Registered { descriptor, messages, .. } = &registered;
            let version = i32::try_from(descriptor.message_version).unwrap_or(i32::MAX);
            let knows = Knows { consumer: registered.id, version, messages: messages.clone() };
            let share = handle.db.node.share(knows, false);
            let consumer = Self::consumer(handle, running, &registered);
            let inbox = Arc::new(Inbox::new(consumer, signal, share.clone()));
            let holder: Weak<dyn Holder> = Arc::downgrade(&inbox) as _;
            share.worked_on_by(holder);
            let dispatcher = Dispatcher {
                messages: messages.clone(),
                version,
                max_lanes: u32::from(descriptor.lanes()),
                stop: running.stop.subscribe(),
                first_slot: 0,
                fair_at: None,
                some_overdue: false,
                few: false,
                large: false,
                skipped: Vec::new(),
                unknown: HashSet::new(),
                low_water: LowWater::new(M::Db::IN_ORDER),
                care: Care::default(),
                inbox,
            };
            running.tasks.spawn(dispatcher.run());
        }
        Ok(())
    }

    fn consumer(handle: &Handle<M>, running: &Running, registered: &Registered<M>) -> Consumer<M> {
        let (descriptor, settings) = (registered.descriptor, &running.settings);
        let name: Arc<str> = descriptor.name().into();
        Consumer {
            id: registered.id,
            recipient: Arc::new(Recipient {
                message: descriptor.consumed().into(),
                aliases: descriptor.message_aliases,
                consumer: name.clone(),
                states: running.states.clone(),
            }),
            is_fault: descriptor.is_fault,
            run: registered.typed.run,
            interceptors: running.interceptors.of::<M>(),
            db: handle.db.clone(),
            rules: handle.rules.clone(),
            options: descriptor.options,
            policy: settings.policy(&name, descriptor.options.retry),
            limits: Limits { batch: settings.batch, bytes: settings.memory, fairness: settings.fairness },
            node: running.node.clone(),
            name,
        }
    }

    /// What the module publishes again and again.
    fn start_crons(handle: &Handle<M>, running: &mut Running) {
        for cron in M::crons() {
            let (clock, presence) = (Clock::of(&running.settings.clock), running.activity.presence());
            match Firing::new(handle.clone(), cron, clock, presence, running.stop.subscribe()) {
                Ok(firing) => drop(running.tasks.spawn(firing.run())),
                Err(error) => tracing::error!(module = M::NAME, %error, "a cron expression cannot be read"),
            }
        }
    }
}

/// A consumer with its id in the database.
struct Registered<M: Module> {
    descriptor: &'static ConsumerDescriptor,
    typed: &'static TypedConsumer<M>,
    id: i32,
    messages: Vec<String>,
}

impl<M: Module> Part for ModulePart<M> {
    fn contract(&self) -> Contract {
        Contract::of::<M>()
    }

    fn crons(&self) -> Vec<Cron> {
        M::crons()
    }

    fn database(&self, settings: &Settings) -> (&'static str, Option<DatabaseSettings>) {
        let url = settings.database_of(M::NAME).or(M::Db::DEFAULT_URL);
        let database = url.map(|url| DatabaseSettings {
            url: url.to_owned(),
            schema: Self::schema(settings).map(str::to_owned),
            connections: settings.connections,
            statement_cache: settings.statement_cache,
            synchronous: settings.synchronous,
            session: settings.session.clone(),
        });
        (M::Db::KIND, database)
    }

    fn migrations(&self, settings: &Settings) -> String {
        let script = |migration: fluens_diesel::Migration| {
            format!("-- {} {:04} {}\n{}", M::Db::KIND, migration.version, migration.name, migration.sql)
        };
        M::Db::migrations(&Self::tables(settings)).into_iter().map(script).collect()
    }

    fn probe<'a>(&'a self, settings: &'a Settings) -> BoxFuture<'a, Result<(), Problem>> {
        Box::pin(async move {
            let (_, database) = self.database(settings);
            let database = database.ok_or_else(Self::no_database)?;
            M::Db::probe(&database).await.map_err(|error| problem_of_opening(M::NAME, &error))
        })
    }

    fn open<'a>(
        &'a self,
        settings: &'a Settings,
        opened: &'a mut Opened,
    ) -> BoxFuture<'a, Result<(), Problem>> {
        Box::pin(async move {
            let (kind, database) = self.database(settings);
            let database = database.ok_or_else(Self::no_database)?;
            let db = Self::find_or_open(database, settings, opened).await?;
            let url = fluens_diesel::redacted(&db.settings.url);
            tracing::info!(module = M::NAME, database = kind, url, "opened");
            let rules = Arc::new(Rules {
                tables: db.tables.clone(),
                max_payload: settings.max_payload,
                interceptors: opened.publish_interceptors.get(M::NAME).cloned().unwrap_or_default(),
            });
            remember_rules(M::NAME, &rules);
            opened.sites.insert(M::NAME, Arc::new(db.clone()));
            opened.handles.insert(TypeId::of::<M>(), Arc::new(Handle::<M> { db, rules }));
            Ok(())
        })
    }

    fn subscribe<'a>(&'a self, opened: &'a Opened) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if let Some(handle) = opened.handle::<M>() {
                Self::register(&handle.db).await?;
            }
            Ok(())
        })
    }

    fn start<'a>(&'a self, opened: &'a Opened, running: &'a mut Running) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let Some(handle) = opened.handle::<M>() else { return Ok(()) };
            Self::start_consumers(&handle, running).await?;
            Self::start_crons(&handle, running);
            let db = handle.db;
            // One poller and one upkeep per database, whichever of its modules comes first.
            if running.polled.insert((TypeId::of::<M::Db>(), db.settings.clone())) {
                let (stop, settings) = (running.stop.subscribe(), &running.settings);
                let upkeep = Upkeep {
                    db: db.clone(),
                    every: settings.upkeep,
                    clock: Clock::of(&settings.clock),
                    stop: stop.clone(),
                };
                let poller = Poller::new(db.clone(), settings.poll, &running.activity, stop);
                running.joins.push(Join::to(db.clone()));
                running.tasks.spawn(upkeep.run());
                running.tasks.spawn(poller.run());
            }
            Ok(())
        })
    }
}

fn registration(descriptor: &ConsumerDescriptor) -> Registration {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let names = [vec![descriptor.name()], owned(descriptor.identity.aliases)].concat();
    Registration { module: descriptor.module.to_owned(), names, messages: descriptor.subscriptions() }
}

fn problem_of_opening(module: &str, error: &OpenError) -> Problem {
    let text = error.to_string();
    let (what, help) = text.split_once("\nhelp: ").unwrap_or((&text, "check the setting `database`"));
    Problem::new(format!("the database of module `{module}`: {what}"), help)
}
