//! Connections: one pool for those who write, a small one for fetching, so that a node whose consumers hold every
//! connection still sees what is due.

use std::time::Duration;

use ::bb8::QueueStrategy;
use diesel_async::{
    AsyncPgConnection,
    pooled_connection::{ManagerConfig, PoolableConnection as _, RecyclingMethod, bb8},
};
use futures_util::FutureExt;

use super::{
    Manager,
    pooler::shares_servers,
    target::{Target, chain},
};
use crate::{DatabaseSettings, OpenError, StoreError, redacted};

/// The connections of one PostgreSQL database.
#[derive(Clone)]
pub struct Pool {
    writers: bb8::Pool<AsyncPgConnection>,
    readers: bb8::Pool<AsyncPgConnection>,
}

impl Pool {
    pub(super) async fn open(settings: &DatabaseSettings) -> Result<Self, OpenError> {
        let (url, target) = (settings.url.as_str(), probe(settings).await?);
        let pool = |size, target: Target| {
            let mut config = ManagerConfig::default();
            // Fast: a query before every use would cost a round trip; a dead connection fails its first statement
            // and is thrown away.
            config.recycling_method = RecyclingMethod::Fast;
            config.custom_setup = Box::new(move |_| {
                let target = target.clone();
                async move { target.connect().await }.boxed()
            });
            bb8::Pool::builder()
                .max_size(size)
                .min_idle(Some(0))
                .test_on_check_out(false)
                // The last one used knows the statements, and the server has it at hand.
                .queue_strategy(QueueStrategy::Lifo)
                .connection_timeout(Duration::from_secs(10))
                .build_unchecked(Manager::new_with_config(url, config))
        };
        let readers = target.clone().for_fetching();
        Ok(Pool { writers: pool(settings.connections, target), readers: pool(2, readers) })
    }

    pub(super) async fn writer(
        &self,
    ) -> Result<bb8::PooledConnection<'static, AsyncPgConnection>, StoreError> {
        one_that_lives(&self.writers).await
    }

    pub(super) async fn reader(
        &self,
    ) -> Result<bb8::PooledConnection<'static, AsyncPgConnection>, StoreError> {
        one_that_lives(&self.readers).await
    }
}

/// A connection that was closed while it lay in the pool is known to be: it is not given to anybody, who would have to
/// wonder how far his statement came.
async fn one_that_lives(
    pool: &bb8::Pool<AsyncPgConnection>,
) -> Result<bb8::PooledConnection<'static, AsyncPgConnection>, StoreError> {
    loop {
        let conn = pool.get_owned().await.map_err(|error| StoreError::Unavailable(error.into()));
        let mut conn = conn?;
        if !conn.is_broken() {
            return Ok(conn);
        }
    }
}

/// Where the settings lead. One connection is made by hand: a pool would hide why it fails.
pub(super) async fn probe(settings: &DatabaseSettings) -> Result<Target, OpenError> {
    let target = Target::of(settings)?;
    if settings.statement_cache {
        let shared = shares_servers(&target).await;
        if shared.map_err(|error| target.unreachable(chain(&error)))? {
            return Err(OpenError::SharedServers { url: redacted(&settings.url) });
        }
    }
    target.connect().await.map_err(|error| target.unreachable(error.to_string()))?;
    Ok(target)
}
