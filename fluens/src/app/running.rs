//! A running app, and its end.

use std::{
    any::TypeId,
    collections::HashSet,
    marker::PhantomData,
    sync::{Arc, Mutex},
};

use fluens_diesel::DatabaseSettings;
use futures_util::future::BoxFuture;
use tokio::{sync::watch, task::JoinSet};

use super::{
    Handle, Runs, Settings, interceptors::Interceptors, operations::Databases, part::Opened, runs::Here,
};
use crate::{
    Error, Receipt,
    consumer::States,
    inbox::Activity,
    message::Publishable,
    module::{Module, PublishedBy},
    node::{Join, Membership, Profile},
};

/// What runs.
pub(super) struct Running {
    pub(super) settings: Settings,
    pub(super) states: Arc<States>,
    pub(super) activity: Activity,
    pub(super) stop: watch::Sender<bool>,
    pub(super) tasks: JoinSet<()>,
    pub(super) polled: HashSet<(TypeId, DatabaseSettings)>,
    pub(super) interceptors: Interceptors,
    /// The databases whose nodes it will join.
    pub(super) joins: Vec<Join>,
    /// What this process is called in what it writes down.
    pub(super) node: Arc<str>,
    host: String,
}

impl Running {
    pub(super) fn new(settings: Settings, states: States, interceptors: Interceptors) -> Self {
        let host = gethostname::gethostname().display().to_string();
        let node = settings.node.clone().unwrap_or_else(|| {
            let start: String = settings.session.chars().take(4).collect();
            format!("{host}-{}-{start}", std::process::id())
        });
        Running {
            settings,
            states: Arc::new(states),
            interceptors,
            node: node.into(),
            host,
            joins: Vec::new(),
            activity: Activity::default(),
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
            polled: HashSet::new(),
        }
    }

    /// Takes part in the nodes of its databases, once all consumers are known.
    pub(super) async fn join(&mut self) -> Result<Membership, Error> {
        let settings = &self.settings;
        let profile = Profile {
            name: self.node.to_string(),
            host: self.host.clone(),
            session: settings.session.clone(),
            version: settings.version.clone(),
            heartbeat: settings.heartbeat,
            lease: settings.lease,
        };
        Membership::start(std::mem::take(&mut self.joins), profile).await
    }
}

/// A running app of the modules in `L`. Dropped, it stops at once and loses nothing; [`shutdown`](App::shutdown) lets
/// running consumers finish first.
///
/// ```no_run
/// use fluens::{prelude::*, sqlite as db};
///
/// #[message] struct Visited { page: String }
/// fluens::module! { Site { db: db::Db, publishes: [Visited], consumes: [Visited] } }
///
/// #[consumer]
/// async fn count(visited: Visited, _ctx: &mut Context<Site>) -> Result {
///     println!("somebody read {}", visited.page);
///     Ok(())
/// }
///
/// # async fn serve() {}
/// # async fn f() -> Result<(), fluens::Error> {
/// let app = fluens::app!(Site, |app| app.database("sqlite:site.db")).start().await?;
/// let site = Site::of(&app);           // clone it into the state of your web server
/// serve().await;                       // your own main
/// app.shutdown().await?;               // consumers that are at work finish
/// # Ok(()) }
/// ```
pub struct App<L> {
    opened: Opened,
    settings: Settings,
    states: Arc<States>,
    activity: Activity,
    stop: watch::Sender<bool>,
    tasks: Mutex<JoinSet<()>>,
    membership: Membership,
    of: PhantomData<fn() -> L>,
}

impl<L> App<L> {
    pub(super) fn new(opened: Opened, running: Running, membership: Membership) -> Self {
        let Running { settings, states, activity, stop, tasks, .. } = running;
        App {
            opened,
            settings,
            states,
            activity,
            stop,
            tasks: Mutex::new(tasks),
            membership,
            of: PhantomData,
        }
    }

    /// The handle of a module this app runs; [`Orders::of(&app)`](Module::of) reads better.
    pub fn handle<M: Module, Index>(&self) -> Handle<M>
    where
        L: Runs<M, Index>,
    {
        self.opened.handle().expect("every module of the list was opened at start")
    }

    /// Waits until nothing is left to do: every message that is due has been consumed, and every retry that is under
    /// way. Messages published for later do not count. While a consumer fails again and again, this does not return;
    /// what other processes publish, it learns of by polling only.
    pub async fn settled(&self) {
        self.activity.quiet().await;
    }

    /// Each once.
    pub(super) fn databases(&self) -> &Databases {
        &self.opened.operated
    }

    /// What the app was given with `.state(..)`.
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.states.get()
    }

    pub(crate) fn states(&self) -> Arc<States> {
        self.states.clone()
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Resolves when the process is asked to stop, by SIGINT or SIGTERM: for a `run!` closure that stays until then.
    pub async fn stop_requested(&self) {
        super::main_loop::stop_signal().await;
    }

    /// Stops: nothing new is fetched, running consumers may finish for as long as the setting `drain` says. Those
    /// that do not are dropped and rolled back; their messages are kept and their attempts do not count.
    pub async fn shutdown(&self) -> Result<(), Error> {
        self.stop.send_replace(true);
        self.membership.drain();
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let drain = self.settings.drain;
        let all_ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(drain, all_ended).await.is_ok() {
            self.membership.leave().await;
            return Ok(());
        }
        let running = tasks.len();
        tasks.shutdown().await;
        self.membership.leave().await;
        Err(Error::NotDrained { running, drain })
    }

    pub(super) fn drain(&self) -> std::time::Duration {
        self.settings.drain
    }
}

/// An app of one module publishes without naming it.
impl<M: Module> App<(M, ())> {
    /// Publishes one message in a transaction of its own.
    pub fn publish<P>(&self, message: P) -> BoxFuture<'static, Result<Receipt, Error>>
    where
        P: Publishable<Message: PublishedBy<M>>,
    {
        self.handle::<M, Here>().publish(message)
    }
}
