//! A module: a name, a database, and the contract of what it publishes and consumes. `module!` writes the impls;
//! types enforce the contract, and `run!` checks that the contracts fit together.

use fluens_diesel::{Connect, Store};

use crate::{
    App, Handle,
    app::{Cron, Runs},
    message::{Message, Publishable},
    publish::Connection,
    text::{Text, same},
};

/// Ties consumers, database and configuration together. Declared by [`module!`](crate::module!).
///
/// ```
/// use fluens::{Module, prelude::*, sqlite as db};
///
/// #[message] struct OrderPlaced { order: i64 }
/// #[message] struct OrderShipped { order: i64 }
///
/// fluens::module! {
///     /// Takes orders.
///     pub Orders {
///         db: db::Db,
///         publishes: [OrderPlaced, external OrderShipped],
///         consumes: [OrderPlaced],
///     }
/// }
/// assert_eq!(Orders::NAME, "orders");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    label = "not a module",
    note = "declare it: `fluens::module! {{ pub {Self} {{ db: fluens::sqlite::Db }} }}`"
)]
pub trait Module: Send + Sync + Sized + 'static {
    /// The stable name: part of its consumers' names and of its configuration.
    const NAME: &'static str;
    /// The database.
    type Db: Store;
    /// What it says it publishes.
    const PUBLISHES: &'static [Published];
    /// The names of the messages it says it consumes.
    const CONSUMES: &'static [&'static str];

    /// What it publishes again and again.
    #[doc(hidden)]
    fn crons() -> Vec<Cron> {
        Vec::new()
    }

    /// Publishes inside a transaction of your own, on any Diesel connection, synchronous or asynchronous. Publish
    /// last: from here to the COMMIT, other publishers of the same partition key wait.
    ///
    /// ```no_run
    /// use fluens::{diesel_prelude::*, prelude::*};
    /// # use fluens::sqlite as db;
    /// # #[message] struct OrderPlaced { order: i64 }
    /// # fluens::module! { Orders { db: db::Db, publishes: [external OrderPlaced] } }
    /// fn place(conn: &mut diesel::SqliteConnection, order: i64) -> diesel::QueryResult<()> {
    ///     conn.immediate_transaction(|conn| {
    ///         // your own statements, then:
    ///         Orders::publish(conn, &OrderPlaced { order })?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    #[must_use = "on an asynchronous connection this is a future: `.await` it; on a synchronous one a result: `?` it"]
    fn publish<C, Kind, P>(conn: &mut C, message: P) -> C::Published<'_>
    where
        C: Connection<Kind>,
        P: Publishable<Message: PublishedBy<Self>>,
    {
        conn.publish_staged(Self::NAME, message.stage())
    }

    /// This module inside a running app.
    fn of<L: Runs<Self, Index>, Index>(app: &App<L>) -> Handle<Self> {
        app.handle()
    }
}

/// The connection type of a module's database: what `ctx.conn()` and `tx.conn()` lend.
pub type Conn<M> = <<M as Module>::Db as Connect>::Conn;

/// The module of consumers that name none. It publishes and consumes everything. Its database is SQLite, or PostgreSQL
/// in a build with that feature.
pub struct Main;

impl Module for Main {
    const NAME: &'static str = "main";
    #[cfg(not(feature = "postgres"))]
    type Db = crate::sqlite::Db;
    #[cfg(feature = "postgres")]
    type Db = crate::postgres::Db;
    const PUBLISHES: &'static [Published] = &[];
    const CONSUMES: &'static [&'static str] = &[];
}

/// `T` is in the `publishes` list of module `M`.
#[diagnostic::on_unimplemented(
    message = "module `{M}` does not say that it publishes `{Self}`",
    label = "not in `publishes`",
    note = "add `{Self}` to `publishes: [..]` where `module! {{ {M} {{ .. }} }}` stands"
)]
pub trait PublishedBy<M: Module>: Message {}
impl<T: Message> PublishedBy<Main> for T {}

/// `T` is in the `consumes` list of module `M`.
#[diagnostic::on_unimplemented(
    message = "module `{M}` does not say that it consumes `{Self}`",
    label = "not in `consumes`",
    note = "add `{Self}` to `consumes: [..]` where `module! {{ {M} {{ .. }} }}` stands"
)]
pub trait ConsumedBy<M: Module>: Message {}
impl<T: Message> ConsumedBy<Main> for T {}

/// One entry of a module's `publishes`.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The message's name.
    pub name: &'static str,
    /// Consumed by another application.
    pub external: bool,
}

impl Published {
    /// The entry of message `M`.
    pub const fn of<M: Message>(external: bool) -> Self {
        Published { name: M::NAME, external }
    }
}

/// A module's contract, as a value.
#[derive(Debug, Clone, Copy)]
pub struct Contract {
    /// The module.
    pub module: &'static str,
    /// What it publishes.
    pub publishes: &'static [Published],
    /// What it consumes.
    pub consumes: &'static [&'static str],
}

impl Contract {
    /// The contract of module `M`.
    pub const fn of<M: Module>() -> Self {
        Contract { module: M::NAME, publishes: M::PUBLISHES, consumes: M::CONSUMES }
    }
}

/// Fails to compile when a message is published and consumed by none of the modules.
pub const fn check_contracts(modules: &[Contract]) {
    if let Some((message, module)) = orphan(modules) {
        let text = Text::new()
            .push("module `")
            .push(module)
            .push("` publishes `")
            .push(message)
            .push("`, but none of the modules given here consumes it\nhelp: list it in `consumes` of the module that does, ")
            .push("mark it `external` in `publishes`, or write `..` after the modules if others run elsewhere");
        panic!("{}", text.as_str());
    }
}

/// The first message that is published and that nobody consumes.
const fn orphan(modules: &[Contract]) -> Option<(&'static str, &'static str)> {
    let (mut m, mut near) = (0, Place { module: 0, entry: 0 });
    while m < modules.len() {
        let mut p = 0;
        while p < modules[m].publishes.len() {
            let published = &modules[m].publishes[p];
            if !published.external {
                match consumed(published.name, modules, near) {
                    Some(place) => near = place,
                    None => return Some((published.name, modules[m].module)),
                }
            }
            p += 1;
        }
        m += 1;
    }
    None
}

/// An entry of a module's `consumes`.
#[derive(Clone, Copy)]
struct Place {
    module: usize,
    entry: usize,
}

/// Where a message is consumed. Looked for near the one before it, and then all around: lists are mostly written in one
/// order, and the compiler takes long over each step.
const fn consumed(name: &str, modules: &[Contract], near: Place) -> Option<Place> {
    let mut m = 0;
    // The first one once more, for what stands before `near`.
    while m <= modules.len() {
        let module = (near.module + m) % modules.len();
        let consumes = modules[module].consumes;
        let mut entry = if m == 0 { near.entry } else { 0 };
        while entry < consumes.len() {
            if same(name, consumes[entry]) {
                return Some(Place { module, entry });
            }
            entry += 1;
        }
        m += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn published(name: &'static str) -> Published {
        Published { name, external: false }
    }

    const A: Contract =
        Contract { module: "a", publishes: &[published("y"), published("x")], consumes: &["z"] };
    const B: Contract = Contract { module: "b", publishes: &[published("z")], consumes: &["x", "q", "y"] };

    const OTHERS: Contract =
        Contract { publishes: &[Published { name: "r", external: true }, published("s")], ..A };

    #[test]
    fn whoever_consumes_it_and_in_whatever_order_it_is_found() {
        assert_eq!(orphan(&[A, B]), None);
        assert_eq!(orphan(&[B, A]), None);
    }

    #[test]
    fn what_nobody_consumes_is_an_orphan() {
        assert_eq!(orphan(&[A]), Some(("y", "a")));
        assert_eq!(orphan(&[B]), Some(("z", "b")));
        assert_eq!(orphan(&[B, Contract { consumes: &[], ..A }]), Some(("z", "b")));
        assert_eq!(orphan(&[OTHERS, B]), Some(("s", "a")));
    }

    #[test]
    fn no_modules_publish_nothing() {
        assert_eq!(orphan(&[]), None);
    }
}
