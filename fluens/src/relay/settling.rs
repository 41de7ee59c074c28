//! What follows, in the database the messages came from, from what the destination said.

use fluens_diesel::{Acked, Due, Held, HoldsBack, Id, NewLetter, Newest, Store};

use super::{
    answers::Outcome,
    worker::{Relay, acked},
};
use crate::{
    Error, Failure,
    message::Envelope,
    settle::{Attempt, History, Verdict, code, cut, dice, fingerprint},
};

impl<S: Store> Relay<S> {
    pub(super) async fn settle(&self, rows: &[&Due], node: i64, outcome: Outcome) -> Result<(), Error> {
        let to = self.outfit.to.name();
        for place in &outcome.passed {
            let message = rows[*place].message_id;
            tracing::error!(to, %message, "was delivered before an earlier one of its key");
        }
        let delivered: Vec<&Due> = outcome.delivered.iter().map(|place| rows[*place]).collect();
        self.acknowledge(&delivered, node).await?;
        for (place, reason) in &outcome.refused {
            self.refused(rows[*place], node, reason).await?;
        }
        if !outcome.behind.is_empty() || !outcome.refused.is_empty() {
            // To be set aside.
            self.desk.signal.wake();
        }
        Ok(())
    }

    /// They are there. Somebody may have taken one back meanwhile: then all are delivered once more, and known again.
    async fn acknowledge(&self, rows: &[&Due], node: i64) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let (db, signal) = (&self.db, &self.desk.signal);
        fluens_diesel::failpoint!("relay: before the acknowledgement here");
        let acks: Vec<Acked> = rows.iter().map(|row| acked(row)).collect();
        let mut tx = db.begin().await?;
        if !db.retention.sent.is_zero() {
            S::note_sent(&mut tx.conn, &db.tables, &acks).await?;
        }
        if S::ack(&mut tx.conn, &db.tables, node, &acks).await? != acks.len() {
            tx.roll_back().await;
            signal.look_at_everything();
            return Ok(());
        }
        let newest: Vec<Newest> = rows.iter().filter_map(|row| row.newest()).collect();
        let mut outrun = 0;
        if !newest.is_empty() {
            let relay = self.desk.share.consumer();
            outrun = S::supersede_before(&mut tx.conn, &db.tables, relay, &newest).await?;
        }
        fluens_diesel::failpoint!("relay: before COMMIT here");
        tx.commit().await?;
        fluens_diesel::failpoint!("relay: after COMMIT here");
        tracing::debug!(to = self.outfit.to.name(), messages = acks.len(), "delivered");
        if outrun > 0 {
            db.ended();
        }
        if outrun > 0 || acks.iter().any(|row| row.attempt > 0) {
            // It was held: what waited behind it goes on.
            signal.look_at_everything();
        }
        Ok(())
    }

    /// It waits for its next attempt, and holds back its key; after the last one it is a dead letter.
    async fn refused(&self, row: &Due, node: i64, reason: &str) -> Result<(), Error> {
        let failed = row.attempt + 1;
        let counted = u32::try_from(failed - row.forgiven).unwrap_or(1);
        let mut history = History::read(row.history.as_deref());
        let at = self.desk.signal.clock.time_of_day();
        let number = u32::try_from(failed).unwrap_or(u32::MAX);
        history.push(Attempt::new(number, at, &self.outfit.node, reason));
        let (to, message) = (self.outfit.to.name(), row.message_id);
        let verdict = self.outfit.policy.judge(&Failure::from(reason.to_owned()), counted, dice());
        if let Verdict::Stored(after) = verdict {
            tracing::warn!(to, %message, attempt = failed, ?after, error = reason, "refused; delivered again later");
            let (error, history) = (cut(reason).to_owned(), history.written());
            let held = Held { row: acked(row), attempts: failed, after, error, history };
            fluens_diesel::failpoint!("relay: before a refusal is stored");
            S::hold(&mut *self.db.writer().await?, &self.db.tables, node, &held).await?;
            fluens_diesel::failpoint!("relay: a refusal stored");
            self.desk.signal.due_after(after);
            return Ok(());
        }
        tracing::error!(to, %message, attempt = failed, error = reason, "refused for good: a dead letter");
        self.bury(node, &self.letter(row, reason, &history)).await
    }

    async fn bury(&self, node: i64, letter: &NewLetter) -> Result<(), Error> {
        let mut tx = self.db.begin().await?;
        S::bury(&mut tx.conn, &self.db.tables, node, letter).await?;
        fluens_diesel::failpoint!("relay: given up, before COMMIT");
        tx.commit().await?;
        fluens_diesel::failpoint!("relay: given up");
        self.desk.signal.look_at_everything();
        Ok(())
    }

    fn letter(&self, row: &Due, reason: &str, history: &History) -> NewLetter {
        let envelope = Envelope::read(row.message_id, &row.envelope).ok();
        let (to, error) = (self.outfit.to.name(), cut(reason));
        NewLetter {
            id: Id::new(),
            row: acked(row),
            attempts: row.attempt + 1,
            key: envelope.and_then(|envelope| envelope.key),
            code: code::REFUSED.to_owned(),
            error_type: "refused".to_owned(),
            error: error.to_owned(),
            fingerprint: fingerprint(to, code::REFUSED, "refused", error),
            history: history.written(),
            holds_back: HoldsBack::Nothing,
        }
    }
}
