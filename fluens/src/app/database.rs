//! One database of an app: its connections, its tables, and who is to be woken by what is stored there.

use fluens_diesel::{DatabaseSettings, Store, Tables};

use crate::{Error, inbox::Wakes};

/// A database, shared by the modules that live on it.
pub(crate) struct Database<S: Store> {
    pub(crate) pool: S::Pool,
    pub(crate) tables: Tables,
    pub(crate) wakes: Wakes,
    pub(crate) settings: DatabaseSettings,
}

impl<S: Store> Database<S> {
    pub(crate) async fn writer(&self) -> Result<S::Guard, Error> {
        Ok(S::writer(&self.pool).await?)
    }

    pub(crate) async fn reader(&self) -> Result<S::Guard, Error> {
        Ok(S::reader(&self.pool).await?)
    }
}
