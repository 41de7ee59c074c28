//! A message and somebody's transaction come in; rows go out, in that transaction. The inbox of each subscribed
//! consumer is next.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, LazyLock, Mutex, PoisonError, RwLock},
};

use diesel::connection::LoadConnection;
use diesel_async::AsyncConnection;
use fluens_diesel::{Appended, Clock, Dialect, Tables, append_async, append_sync};
use futures_util::future::BoxFuture;

use crate::{
    Error,
    app::Settings,
    error::BoxError,
    inbox::published_elsewhere,
    message::{Origin, Publishable, Receipt, Staged},
    module::{Main, Module},
};

/// The kind of an asynchronous connection; inferred.
pub struct Async;
/// The kind of a synchronous connection; inferred.
pub struct Sync;

/// Any Diesel connection to SQLite or PostgreSQL, synchronous or asynchronous, pooled or not. Told apart by the
/// backend it speaks, not by a list of types; the kind is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Diesel connection",
    label = "not a connection fluens can publish through",
    note = "pass `&mut conn`, where `conn` is a Diesel or diesel-async connection to PostgreSQL or SQLite, pooled or not"
)]
pub trait Connection<Kind> {
    /// A future of a [`Receipt`], or the receipt itself.
    type Published<'a>
    where
        Self: 'a;

    /// Stores one message for its consumers.
    #[doc(hidden)]
    fn publish_staged(&mut self, module: &'static str, staged: Staged) -> Self::Published<'_>;
}

impl<C: AsyncConnection<Backend: Dialect>> Connection<Async> for C {
    // Boxed: as an `async fn` one mistake of the caller gave three errors.
    type Published<'a>
        = BoxFuture<'a, Result<Receipt, Error>>
    where
        Self: 'a;

    fn publish_staged(&mut self, module: &'static str, staged: Staged) -> Self::Published<'_> {
        Box::pin(async move {
            let id = staged.id;
            let name = staged.name();
            let rules = rules_of::<C::Backend>(module);
            let row = staged.into_row(Origin { module, cause: None, rules: &rules })?;
            let appended = append_async(self, &rules.tables, vec![row]).await?;
            fluens_diesel::failpoint!("publish: stored in a transaction of the caller's");
            published_elsewhere();
            tell_unheard(std::iter::once(name), &appended);
            Ok(receipt(id, &appended))
        })
    }
}

impl<C: LoadConnection<Backend: Dialect>> Connection<Sync> for C {
    type Published<'a>
        = Result<Receipt, Error>
    where
        Self: 'a;

    fn publish_staged(&mut self, module: &'static str, staged: Staged) -> Self::Published<'_> {
        let id = staged.id;
        let name = staged.name();
        let rules = rules_of::<C::Backend>(module);
        let row = staged.into_row(Origin { module, cause: None, rules: &rules })?;
        let appended = append_sync(self, &rules.tables, vec![row])?;
        published_elsewhere();
        tell_unheard(std::iter::once(name), &appended);
        Ok(receipt(id, &appended))
    }
}

/// Publishes inside a transaction of your own for the default module; for a module of yours it is
/// [`Orders::publish`](Module::publish).
///
/// ```no_run
/// use fluens::{diesel_prelude::*, prelude::*};
///
/// #[message] struct Paid { order: i64 }
///
/// async fn pay(conn: &mut fluens::sqlite::Conn, order: i64) -> Result<(), fluens::Error> {
///     conn.transaction(async |conn| {
///         // your own statements, then:
///         fluens::publish(conn, &Paid { order }).await?;
///         Ok(())
///     })
///     .await
/// }
/// ```
#[must_use = "on an asynchronous connection this is a future: `.await` it; on a synchronous one a result: `?` it"]
pub fn publish<C: Connection<Kind>, Kind, P: Publishable>(conn: &mut C, message: P) -> C::Published<'_> {
    Main::publish(conn, message)
}

/// Says once per message that nobody has subscribed to it: what is published then is stored for nobody.
pub(crate) fn tell_unheard<'a>(names: impl Iterator<Item = &'a str>, appended: &Appended) {
    static TOLD: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    for (name, _) in names.zip(&appended.consumers).filter(|(_, consumers)| **consumers == Some(0)) {
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
            tracing::warn!(
                message = name,
                "published, but no consumer has subscribed to it: it was stored for nobody"
            );
        }
    }
}

pub(crate) fn receipt(id: fluens_diesel::Id, appended: &Appended) -> Receipt {
    let stored = appended.consumers.first().copied().flatten();
    Receipt { id, consumers: stored.unwrap_or(0), duplicate: stored.is_none() }
}

/// Looks at a message before it is stored, may add headers, and may refuse it.
pub(crate) type PublishInterceptor =
    Arc<dyn Fn(&mut Staged) -> Result<(), BoxError> + Send + std::marker::Sync>;

/// What holds for everything a module publishes.
pub(crate) struct Rules {
    pub(crate) tables: Tables,
    /// Bytes of payload and envelope.
    pub(crate) max_payload: usize,
    pub(crate) interceptors: Vec<PublishInterceptor>,
}

/// Each module's rules. An app that runs in this process has said so; a process that only publishes is configured by
/// file and environment alone.
static RULES: LazyLock<RwLock<HashMap<&'static str, Arc<Rules>>>> = LazyLock::new(RwLock::default);

pub(crate) fn remember_rules(module: &'static str, rules: &Arc<Rules>) {
    let mut known = RULES.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = known.insert(module, rules.clone())
        && !before.tables.is_same_place(&rules.tables)
    {
        tracing::warn!(
            module,
            "runs in two schemas in this process; publishing on connections of your own goes to the last"
        );
    }
}

fn rules_of<DB: Dialect>(module: &'static str) -> Arc<Rules> {
    if let Some(rules) = RULES.read().unwrap_or_else(PoisonError::into_inner).get(module) {
        return rules.clone();
    }
    let settings = Settings::of_the_process();
    let schema = settings.schema_of(module).filter(|_| DB::HAS_SCHEMAS);
    let tables = Tables::new(schema, Clock::Database).statement_cache(settings.statement_cache);
    let rules = Arc::new(Rules { tables, max_payload: settings.max_payload, interceptors: Vec::new() });
    remember_rules(module, &rules);
    rules
}
