//! Connections: one pool for those who write, a small one for fetching, so that a node whose consumers hold every
//! connection still sees what is due.

use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult, connection::CacheSize};
use diesel_async::{
    AsyncConnection, AsyncPgConnection,
    pooled_connection::{ManagerConfig, RecyclingMethod, bb8},
};
use futures_util::FutureExt;
use tokio_postgres::NoTls;

use super::{Manager, tls};
use crate::{DatabaseSettings, OpenError, StoreError, redacted};

const EXAMPLE: &str = "`postgres://user:password@host:5432/name`, with `?sslmode=verify-full` for checked TLS; \
    for SQLite, `db: fluens::sqlite::Db` in the module";

/// The connections of one PostgreSQL database.
#[derive(Clone)]
pub struct Pool {
    writers: bb8::Pool<AsyncPgConnection>,
    readers: bb8::Pool<AsyncPgConnection>,
}

impl Pool {
    pub(super) async fn open(settings: &DatabaseSettings) -> Result<Self, OpenError> {
        let (url, target) = (settings.url.as_str(), probe(settings).await?);
        let pool = |size| {
            let mut config = ManagerConfig::default();
            // Fast: a query before every use would cost a round trip; a dead connection fails its first statement
            // and is thrown away.
            config.recycling_method = RecyclingMethod::Fast;
            let (target, cache) = (target.clone(), settings.statement_cache);
            config.custom_setup = Box::new(move |_| {
                let target = target.clone();
                async move { establish(&target, cache).await }.boxed()
            });
            bb8::Pool::builder()
                .max_size(size)
                .min_idle(Some(0))
                .test_on_check_out(false)
                .connection_timeout(Duration::from_secs(10))
                .build_unchecked(Manager::new_with_config(url, config))
        };
        Ok(Pool { writers: pool(settings.connections), readers: pool(2) })
    }

    pub(super) async fn writer(
        &self,
    ) -> Result<bb8::PooledConnection<'static, AsyncPgConnection>, StoreError> {
        self.writers.get_owned().await.map_err(|error| StoreError::Unavailable(error.into()))
    }

    pub(super) async fn reader(
        &self,
    ) -> Result<bb8::PooledConnection<'static, AsyncPgConnection>, StoreError> {
        self.readers.get_owned().await.map_err(|error| StoreError::Unavailable(error.into()))
    }
}

/// Where the url leads. One connection is made by hand: a pool would hide why it fails.
pub(super) async fn probe(settings: &DatabaseSettings) -> Result<tls::Target, OpenError> {
    let url = settings.url.as_str();
    if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
        return Err(OpenError::WrongUrl { url: redacted(url), kind: "PostgreSQL", example: EXAMPLE });
    }
    let target = tls::Target::of_url(url).map_err(|reason| unreachable(url, reason))?;
    establish(&target, settings.statement_cache)
        .await
        .map_err(|error| unreachable(url, error.to_string()))?;
    Ok(target)
}

async fn establish(target: &tls::Target, statement_cache: bool) -> ConnectionResult<AsyncPgConnection> {
    let bad = |error: tokio_postgres::Error| ConnectionError::BadConnection(chain(&error));
    let mut conn = match &target.tls {
        None => {
            let (client, connection) = target.config.connect(NoTls).await.map_err(bad)?;
            AsyncPgConnection::try_from_client_and_connection(client, connection).await?
        }
        Some(tls) => {
            let (client, connection) = target.config.connect(tls.clone()).await.map_err(bad)?;
            AsyncPgConnection::try_from_client_and_connection(client, connection).await?
        }
    };
    if !statement_cache {
        conn.set_prepared_statement_cache_size(CacheSize::Disabled);
    }
    Ok(conn)
}

/// tokio-postgres keeps the interesting half of an error in its source.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn unreachable(url: &str, reason: String) -> OpenError {
    let help =
        "check host, port, database, user and password, `sslmode`, and that the server runs".to_owned();
    OpenError::Unreachable { url: redacted(url), reason, help }
}
