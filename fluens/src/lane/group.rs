//! The transaction of a lane. Whoever holds the lock around it owns the connection: a consumer from its first `conn()`
//! until it returns, else the lane.

use std::{sync::Arc, time::Duration};

use diesel_async::{AsyncConnection, TransactionManager};
use fluens_diesel::Connect;

use crate::{
    Error,
    app::Database,
    module::{Conn, Module},
};

type Manager<M> = <Conn<M> as AsyncConnection>::TransactionManager;

/// A transaction that opens when it is needed.
pub(crate) struct Group<M: Module> {
    pub(crate) db: Arc<Database<M::Db>>,
    open: Option<<M::Db as Connect>::Guard>,
    /// A connection on which no transaction has begun.
    reserved: Option<<M::Db as Connect>::Guard>,
    /// Deliveries that already ran in the open transaction.
    predecessors: bool,
    impatient: bool,
    /// A consumer ended with the connection in its hands: what is open must not be committed.
    broken: bool,
}

impl<M: Module> Group<M> {
    pub(crate) fn new(db: Arc<Database<M::Db>>) -> Self {
        Group { db, open: None, reserved: None, predecessors: false, impatient: false, broken: false }
    }

    /// The connection, for a consumer. One that shares the transaction gives up quickly on locks of other lanes.
    pub(crate) async fn conn(&mut self) -> Result<&mut Conn<M>, Error> {
        let (shared, impatient) = (self.predecessors, self.impatient);
        let conn = self.open().await?;
        M::Db::lend(conn, true);
        if shared && !impatient {
            M::Db::give_up_locks_quickly(conn).await?;
            self.impatient = true;
        }
        match &mut self.open {
            Some(conn) => Ok(conn),
            None => Err(Error::TransactionLost),
        }
    }

    /// The connection, in an open transaction.
    pub(crate) async fn open(&mut self) -> Result<&mut <M::Db as Connect>::Guard, Error> {
        if self.broken {
            return Err(Error::TransactionLost);
        }
        if self.open.is_none() {
            let mut conn = self.writer().await?;
            M::Db::begin(&mut conn).await?;
            self.open = Some(conn);
        }
        self.open.as_mut().ok_or(Error::TransactionLost)
    }

    /// A connection for a statement that is a transaction by itself.
    pub(crate) async fn writer(&mut self) -> Result<<M::Db as Connect>::Guard, Error> {
        match self.reserved.take() {
            Some(conn) => Ok(conn),
            None => self.db.writer().await,
        }
    }

    /// Gets what a commit beside a consumer that is not polled meanwhile needs: a connection, if it is an acknowledgement
    /// `alone`, else a transaction. Nothing waits for long, for the consumer may be who has what is waited for. `false`: not
    /// now.
    pub(crate) async fn ready_beside(&mut self, alone: bool, patience: Duration) -> bool {
        let ready = async {
            if alone {
                self.reserved = Some(self.writer().await?);
            } else {
                M::Db::give_up_locks_quickly(self.open().await?).await?;
            }
            Ok::<_, Error>(())
        };
        let ready = matches!(tokio::time::timeout(patience, ready).await, Ok(Ok(())));
        if !ready && !self.predecessors {
            // Nothing is in it yet: the connection is for others.
            self.roll_back().await;
        }
        ready
    }

    /// What is open is the one transaction that the lane began: nothing inside of it was left open, and it was not ended.
    pub(crate) fn is_whole(&mut self) -> bool {
        self.open.as_mut().is_none_or(|conn| {
            let depth = Manager::<M>::transaction_manager_status_mut(&mut **conn).transaction_depth();
            depth.is_ok_and(|depth| depth.is_some_and(|depth| depth.get() == 1))
        })
    }

    /// No transaction was begun: nobody has asked for the connection.
    pub(crate) fn is_unopened(&self) -> bool {
        self.open.is_none() && !self.broken
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// One more delivery's effects are in the open transaction.
    pub(crate) fn has_run(&mut self) {
        if let Some(conn) = &self.open {
            M::Db::lend(conn, false);
            self.predecessors = true;
        }
    }

    /// The connection is closed or rolled back by its pool, with all that was done in it.
    pub(crate) fn abandon(&mut self) {
        if !fluens_diesel::guard!("a broken transaction is not gone on with") {
            return;
        }
        self.open = None;
        self.broken = true;
    }

    /// Commits what is open.
    pub(crate) async fn commit(&mut self) -> Result<(), Error> {
        let open = self.open.take();
        self.reset();
        if let Some(mut conn) = open {
            Manager::<M>::commit_transaction(&mut *conn).await?;
        }
        Ok(())
    }

    /// Undoes what is open.
    pub(crate) async fn roll_back(&mut self) {
        let open = self.open.take();
        self.reset();
        if let Some(mut conn) = open {
            // If this fails the connection is broken, and its pool throws it away.
            let _ = Manager::<M>::rollback_transaction(&mut *conn).await;
        }
    }

    fn reset(&mut self) {
        self.reserved = None;
        self.predecessors = false;
        self.impatient = false;
        self.broken = false;
    }
}
