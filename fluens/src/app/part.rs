//! What the app does for one module, whatever its database.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    marker::PhantomData,
    sync::Arc,
};

use fluens_diesel::{
    Connect, DatabaseSettings, OpenError, Registration, Registry, SCHEMA_VERSION, Schema, Tables,
};
use futures_util::future::BoxFuture;

use super::{Database, Fault, Handle, Settings, running::Running};
use crate::{
    Error,
    consumer::{ConsumerDescriptor, TypedConsumer},
    inbox::{Dispatcher, Inbox, Limits, Poller, Signal},
    module::{Contract, Module},
    publish::remember_tables,
};

/// One module of an app, without its type.
pub(super) trait Part: Send + Sync {
    fn contract(&self) -> Contract;
    /// The backend and what leads to the database.
    fn database(&self, settings: &Settings) -> (&'static str, Option<DatabaseSettings>);
    fn migrations(&self, settings: &Settings) -> String;
    /// Whether the database could be opened; changes nothing.
    fn probe<'a>(&'a self, settings: &'a Settings) -> BoxFuture<'a, Result<(), Fault>>;
    /// Opens the database, or finds it open already, and makes sure of its tables.
    fn open<'a>(&'a self, settings: &'a Settings, opened: &'a mut Opened)
    -> BoxFuture<'a, Result<(), Fault>>;
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
        Tables::new(Self::schema(settings), settings.clock.clone())
    }

    /// The setting is for PostgreSQL; an app may have modules on SQLite beside.
    fn schema(settings: &Settings) -> Option<&str> {
        settings.schema_of(M::NAME).filter(|_| M::Db::HAS_SCHEMAS)
    }

    fn no_database() -> Fault {
        let what = format!("module `{}` has no database", M::NAME);
        let help =
            "set `FLUENS_DATABASE=postgres://user:password@host/name`, or `database = \"..\"` in fluens.toml";
        Fault::new(what, help)
    }

    async fn open_database(settings: &DatabaseSettings, all: &Settings) -> Result<Database<M::Db>, Fault> {
        let pool = M::Db::open(settings).await.map_err(|error| fault_of_opening(M::NAME, &error))?;
        let tables = Self::tables(all);
        let db = Database { pool, tables, wakes: crate::inbox::Wakes::default(), settings: settings.clone() };
        Self::make_sure_of_tables(&db, all.migrate).await?;
        Ok(db)
    }

    async fn make_sure_of_tables(db: &Database<M::Db>, migrate: bool) -> Result<(), Fault> {
        let unusable = |error: Error| {
            let what = format!("the tables of module `{}` cannot be prepared: {error}", M::NAME);
            Fault::new(
                what,
                "the user of the database must own the schema, or somebody who does runs `migrate` first",
            )
        };
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
            return Err(Fault::new(what, "deploy a newer build of this program"));
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
            return Err(Fault::new(
                what,
                "run the program with the argument `migrate`, call `app.migrate()`, or let `migrate = true`",
            ));
        }
        M::Db::migrate(&mut conn, &db.tables).await.map_err(|error| unusable(error.into()))?;
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
        let registered = consumers.into_iter().zip(ids.into_iter().zip(wanted));
        let registered = registered.map(|((descriptor, typed), (id, wanted))| Registered {
            descriptor,
            typed,
            id,
            messages: wanted.messages,
        });
        Ok(registered.collect())
    }

    async fn start_consumers(db: &Arc<Database<M::Db>>, running: &mut Running) -> Result<(), Error> {
        for Registered { descriptor, typed, id: consumer, messages } in Self::register(db).await? {
            let signal = Signal::new(running.activity.clone());
            db.wakes.add(consumer, signal.clone());
            let limits = Limits { batch: running.settings.batch, bytes: running.settings.memory };
            let name = Arc::from(descriptor.name());
            let states = running.states.clone();
            let inbox = Inbox::new(name, typed, db.clone(), states, descriptor.options, limits, signal);
            let dispatcher = Dispatcher {
                inbox: Arc::new(inbox),
                consumer,
                messages,
                version: i32::try_from(descriptor.message_version).unwrap_or(i32::MAX),
                max_lanes: u32::from(descriptor.lanes()),
                stop: running.stop.subscribe(),
                first_slot: 0,
                skipped: false,
            };
            running.tasks.spawn(dispatcher.run());
        }
        Ok(())
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

    fn database(&self, settings: &Settings) -> (&'static str, Option<DatabaseSettings>) {
        let url = settings.database_of(M::NAME).or(M::Db::DEFAULT_URL);
        let database = url.map(|url| DatabaseSettings {
            url: url.to_owned(),
            schema: Self::schema(settings).map(str::to_owned),
            connections: settings.connections,
            statement_cache: settings.statement_cache,
        });
        (M::Db::KIND, database)
    }

    fn migrations(&self, settings: &Settings) -> String {
        let script = |migration: fluens_diesel::Migration| {
            format!("-- {} {:04} {}\n{}", M::Db::KIND, migration.version, migration.name, migration.sql)
        };
        M::Db::migrations(&Self::tables(settings)).into_iter().map(script).collect()
    }

    fn probe<'a>(&'a self, settings: &'a Settings) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let (_, database) = self.database(settings);
            let database = database.ok_or_else(Self::no_database)?;
            M::Db::probe(&database).await.map_err(|error| fault_of_opening(M::NAME, &error))
        })
    }

    fn open<'a>(
        &'a self,
        settings: &'a Settings,
        opened: &'a mut Opened,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let (kind, database) = self.database(settings);
            let database = database.ok_or_else(Self::no_database)?;
            let key = (TypeId::of::<M::Db>(), database.clone());
            let db = if let Some(db) =
                opened.databases.get(&key).and_then(|db| db.clone().downcast::<Database<M::Db>>().ok())
            {
                db
            } else {
                let db = Arc::new(Self::open_database(&database, settings).await?);
                opened.databases.insert(key, db.clone());
                db
            };
            let url = fluens_diesel::redacted(&db.settings.url);
            tracing::info!(module = M::NAME, database = kind, url, "opened");
            remember_tables(M::NAME, &db.tables);
            opened.handles.insert(TypeId::of::<M>(), Arc::new(Handle::<M> { db }));
            Ok(())
        })
    }

    fn subscribe<'a>(&'a self, opened: &'a Opened) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if let Some(Handle { db }) = opened.handle::<M>() {
                Self::register(&db).await?;
            }
            Ok(())
        })
    }

    fn start<'a>(&'a self, opened: &'a Opened, running: &'a mut Running) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let Some(Handle { db }) = opened.handle::<M>() else { return Ok(()) };
            Self::start_consumers(&db, running).await?;
            // One poller per database, whichever of its modules comes first.
            if running.polled.insert((TypeId::of::<M::Db>(), db.settings.clone())) {
                let (every, activity) = (running.settings.poll, running.activity.clone());
                let poller = Poller::new(db, every, activity, running.stop.subscribe());
                running.tasks.spawn(poller.run());
            }
            Ok(())
        })
    }
}

fn registration(descriptor: &ConsumerDescriptor) -> Registration {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let names = [vec![descriptor.name()], owned(descriptor.identity.aliases)].concat();
    let messages = [owned(&[descriptor.message]), owned(descriptor.message_aliases)].concat();
    Registration { module: descriptor.module.to_owned(), names, messages }
}

fn fault_of_opening(module: &str, error: &OpenError) -> Fault {
    let text = error.to_string();
    let (what, help) = text.split_once("\nhelp: ").unwrap_or((&text, "check the setting `database`"));
    Fault::new(format!("the database of module `{module}`: {what}"), help)
}
