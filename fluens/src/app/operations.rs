//! What is done for a database as a whole, whatever its type: seen, tidied up, and a subscription ended.

use std::sync::Arc;

use fluens_diesel::{Named, Store, Swept, Unsubscribed};
use futures_util::future::BoxFuture;

use super::{App, Database, DatabaseStatus, Status, status::status, upkeep::upkeep};
use crate::Error;

/// A database without its type.
pub(super) trait Operated: Send + Sync {
    fn status(&self) -> BoxFuture<'_, Result<DatabaseStatus, Error>>;
    fn upkeep(&self) -> BoxFuture<'_, Result<Swept, Error>>;
    /// Ends what the consumer of this name gets here.
    fn unsubscribe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Ended, Error>>;
}

/// What came of it in one database.
pub(super) enum Ended {
    Cancelled(usize),
    /// These nodes know it.
    RunBy(Vec<String>),
    /// Nobody has that name; these there are.
    NoSuch(Vec<String>),
}

impl<S: Store> Operated for Database<S> {
    fn status(&self) -> BoxFuture<'_, Result<DatabaseStatus, Error>> {
        Box::pin(status(self))
    }

    fn upkeep(&self) -> BoxFuture<'_, Result<Swept, Error>> {
        Box::pin(upkeep(self))
    }

    fn unsubscribe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Ended, Error>> {
        Box::pin(async move {
            let mut conn = self.writer().await?;
            let names = S::names(&mut conn, &self.tables).await?;
            let Some(Named { consumer, .. }) = names.iter().find(|named| named.name == name) else {
                let present = names.into_iter().filter(|named| named.present);
                return Ok(Ended::NoSuch(present.map(|named| named.name).collect()));
            };
            let unsubscribed = S::unsubscribe(&mut conn, &self.tables, *consumer).await?;
            drop(conn);
            Ok(match unsubscribed {
                Unsubscribed::RunBy(nodes) => Ended::RunBy(nodes),
                Unsubscribed::Cancelled(cancelled) => {
                    tracing::info!(consumer = name, cancelled, "unsubscribed");
                    self.ended();
                    Ended::Cancelled(cancelled)
                }
            })
        })
    }
}

/// The databases of an app, each once.
pub(super) type Databases = Vec<Arc<dyn Operated>>;

impl<L> App<L> {
    /// How it is doing: the nodes, consumers and destinations of each of its databases, and what waits for them. It sees what
    /// other processes do there, too. It is four statements per database. One of them reads all that waits: it is
    /// for a terminal, a dashboard or a check every minute, not for every request.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), fluens::Error> {
    /// let app = fluens::app!().start().await?;
    /// println!("{}", app.status().await?);
    /// # Ok(()) }
    /// ```
    pub async fn status(&self) -> Result<Status, Error> {
        let mut databases = Vec::new();
        for database in self.databases() {
            databases.push(database.status().await?);
        }
        Ok(Status { databases })
    }

    /// Deletes what has ended and is no longer kept, on every database of this app. It also runs by itself, as often as
    /// the setting `upkeep` says; this is for those who want to choose the hour. Returns what was deleted.
    pub async fn upkeep(&self) -> Result<Swept, Error> {
        let mut total = Swept::default();
        for database in self.databases() {
            total += database.upkeep().await?;
        }
        Ok(total)
    }

    /// Ends the subscriptions of a consumer that nobody runs any more: it gets nothing from now on, and what still waits
    /// for it is cancelled. That stays to be seen for as long as the setting `retention.expired` says; dead letters stay until
    /// somebody decides about them. Returns how many were cancelled.
    ///
    /// A consumer that a node knows is refused with [`Error::ConsumerRuns`], on the databases where that is so; one that is
    /// nowhere with [`Error::NoConsumer`]. If it is run again one day, it is subscribed again.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), fluens::Error> {
    /// # let app = fluens::app!().start().await?;
    /// let cancelled = app.unsubscribe("orders.old").await?;
    /// println!("{cancelled} messages were for nobody");
    /// # Ok(()) }
    /// ```
    pub async fn unsubscribe(&self, consumer: &str) -> Result<usize, Error> {
        let (mut cancelled, mut nodes, mut known) = (None, Vec::new(), Vec::new());
        for database in self.databases() {
            match database.unsubscribe(consumer).await? {
                Ended::Cancelled(count) => cancelled = Some(cancelled.unwrap_or(0) + count),
                Ended::RunBy(by) => nodes.extend(by),
                Ended::NoSuch(names) => known.extend(names),
            }
        }
        let name = consumer.to_owned();
        match cancelled {
            Some(cancelled) => Ok(cancelled),
            None if nodes.is_empty() => Err(Error::NoConsumer { name, known }),
            None => Err(Error::ConsumerRuns { name, nodes }),
        }
    }
}
