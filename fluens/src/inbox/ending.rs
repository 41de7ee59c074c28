//! Rows that end without being run: marked, kept to be seen, and told.

use std::sync::Arc;

use fluens_diesel::{Acked, Due, Newest, Withhold as _};

use super::{Consumer, Inbox};
use crate::{
    Error,
    consumer::Delivery,
    failure::Failure,
    lane::InHand,
    message::{Envelope, unread},
    module::{Conn, Module},
    settle::code,
    testing::Kind,
};

impl<M: Module> Consumer<M> {
    /// A row as a consumer sees it, in the `attempt`-th run.
    pub(crate) fn delivery(&self, row: &Arc<Due>, attempt: u32) -> Result<Delivery, Failure> {
        let envelope = Envelope::read(row.message_id, &row.envelope).map_err(|error| {
            Failure::corrupt(code::ENVELOPE, format!("the envelope does not decode: {}", unread(&error)))
        })?;
        let (row, envelope, recipient) = (row.clone(), Arc::new(envelope), self.recipient.clone());
        Ok(Delivery { row, envelope, recipient, attempt })
    }

    /// Tells a test what happened.
    pub(crate) fn saw(&self, kind: Kind, row: &Arc<Due>, attempt: u32, text: Option<&str>) {
        if let Some(witness) = &self.db.witness
            && let Ok(delivery) = self.delivery(row, attempt)
        {
            witness.saw(kind, &delivery, text.map(str::to_owned));
        }
    }
}

impl<M: Module> Inbox<M> {
    /// Marks rows whose time is up. Returns how many: others were settled elsewhere.
    pub(crate) async fn expire(&self, rows: &[Arc<Due>]) -> Result<usize, Error> {
        let db = &self.consumer.db;
        fluens_diesel::failpoint!("expire: before");
        let marked =
            M::Db::expire(&mut *db.writer().await?, &db.tables, self.share.node(), &acks(rows)).await?;
        fluens_diesel::failpoint!("expire: after");
        if marked > 0 {
            tracing::warn!(consumer = %self.consumer.name, messages = marked, "expired before they could run");
            self.ended(Kind::Expired, rows);
        }
        Ok(marked)
    }

    /// Marks rows of which a newer one is there. Returns how many.
    pub(crate) async fn supersede(&self, rows: &[Arc<Due>]) -> Result<usize, Error> {
        let db = &self.consumer.db;
        let marked =
            M::Db::supersede(&mut *db.writer().await?, &db.tables, self.share.node(), &acks(rows)).await?;
        fluens_diesel::failpoint!("supersede: after");
        if marked > 0 {
            self.ended(Kind::Superseded, rows);
        }
        Ok(marked)
    }

    /// Of what only the newest is wanted nothing older runs after it, whether it waits to be tried again or was never met. In
    /// the transaction that acknowledges it. Returns how many were marked.
    pub(crate) async fn supersede_before<'a>(
        &self,
        conn: &mut Conn<M>,
        done: impl Iterator<Item = &'a InHand>,
    ) -> Result<usize, Error> {
        let newest: Vec<Newest> = done.filter_map(|item| item.row.newest()).collect();
        if newest.is_empty() || !fluens_diesel::guard!("nothing older runs after the newest") {
            return Ok(0);
        }
        let Consumer { db, id, .. } = &self.consumer;
        Ok(M::Db::supersede_before(conn, &db.tables, *id, &newest).await?)
    }

    /// So many were marked, and that is committed: what is in hand is not to be started, and what they held back goes on.
    pub(crate) fn outran(&self, older: usize) {
        if older > 0 {
            self.consumer.db.ended();
            self.signal.forget();
        }
    }

    fn ended(&self, kind: Kind, rows: &[Arc<Due>]) {
        for row in rows {
            self.consumer.saw(kind, row, 0, None);
        }
        self.consumer.db.ended();
    }
}

fn acks(rows: &[Arc<Due>]) -> Vec<Acked> {
    rows.iter().map(|row| Acked { seq: row.seq, attempt: row.attempt }).collect()
}
