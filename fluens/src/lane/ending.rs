//! A delivery that does not run again although it failed: its publisher is told, and what was given up is kept.

use std::time::Duration;

use fluens_diesel::{HoldsBack, Id, NewLetter, NewMessage, Settle as _};

use super::{InHand, Worker, worker::Undone};
use crate::{
    Error, Failure,
    consumer::OnDeadLetter,
    module::Module,
    settle::{Blame, NewFault, blame, fingerprint},
    testing::Kind,
};

/// The database did not take it: it runs again, and if need be ends again.
const ONCE_MORE: Duration = Duration::from_secs(1);

/// Why a dead letter could not be stored.
enum Unburied {
    /// The fault that goes with it stands in the way.
    Fault(Error),
    /// The letter itself, or the connection.
    Letter(Error),
}

impl Unburied {
    fn by_fault(error: Error) -> Self {
        let failure = Failure::from(error);
        let lost_connection = blame(&failure, false) == Blame::Nobody;
        let error = failure.into_error().downcast::<Error>().map_or_else(Error::Unavailable, |error| *error);
        if lost_connection { Unburied::Letter(error) } else { Unburied::Fault(error) }
    }
}

impl<M: Module> Worker<M> {
    /// Done, and its publisher is told, in a transaction of its own: what the consumer wrote is undone.
    pub(super) async fn answer(&self, item: InHand, fault: NewFault<'_>) -> Undone {
        let fault = self.fault_row(&item, fault);
        match self.acknowledge(&item, fault).await {
            Ok(true) => {
                self.inbox.committed(std::iter::once(&item));
                Undone::BackInLine
            }
            Ok(false) => self.lose(&item),
            Err(error) => self.once_more(item, &error),
        }
    }

    async fn acknowledge(&self, item: &InHand, fault: Option<NewMessage>) -> Result<bool, Error> {
        let db = &self.inbox.consumer.db;
        let mut tx = db.begin().await?;
        if M::Db::ack(&mut tx.conn, &db.tables, item.node, &[item.acked()]).await? != 1 {
            tx.roll_back().await;
            return Ok(false);
        }
        fluens_diesel::failpoint!("fault: acknowledged, nobody told");
        tx.append(fault.into_iter().collect()).await?;
        let outrun = self.inbox.supersede_before(&mut tx.conn, std::iter::once(item)).await?;
        fluens_diesel::failpoint!("fault: before COMMIT");
        tx.commit().await?;
        fluens_diesel::failpoint!("fault: after COMMIT");
        self.inbox.outran(outrun);
        Ok(true)
    }

    /// It becomes a dead letter, and its publisher is told.
    pub(super) async fn give_up(
        &self,
        item: InHand,
        failure: &Failure,
        code: &'static str,
        error: &str,
    ) -> Undone {
        let letter = self.letter(&item, failure, code, error);
        let told =
            NewFault { code, details: None, error: Some((error, failure.error_type())), given_up: true };
        let mut buried = self.bury(item.node, &letter, self.fault_row(&item, told)).await;
        if let Err(Unburied::Fault(error)) = &buried {
            let consumer = &self.inbox.consumer.name;
            tracing::warn!(%consumer, %error, "the fault stands in the way of the dead letter; going on without it");
            buried = self.bury(item.node, &letter, None).await;
        }
        match buried {
            Ok(true) => {
                let (consumer, (message, _)) = (&self.inbox.consumer.name, item.identity());
                let (letter_id, attempt) = (letter.id, item.failed);
                tracing::error!(%consumer, letter = %letter_id, %message, attempt, code, error, "given up: a dead letter");
                self.inbox.consumer.saw(Kind::DeadLettered, &item.row, item.counted(), Some(error));
                match letter.holds_back {
                    HoldsBack::Nothing => self.inbox.committed(std::iter::once(&item)),
                    HoldsBack::Key => self.inbox.parked(&item),
                    HoldsBack::Slot => {
                        self.inbox.committed(std::iter::once(&item));
                        self.inbox.lost([]);
                    }
                }
                Undone::Lost
            }
            Ok(false) => self.lose(&item),
            Err(Unburied::Letter(error) | Unburied::Fault(error)) => self.once_more(item, &error),
        }
    }

    async fn bury(&self, node: i64, letter: &NewLetter, fault: Option<NewMessage>) -> Result<bool, Unburied> {
        let db = &self.inbox.consumer.db;
        let mut tx = db.begin().await.map_err(Unburied::Letter)?;
        let buried = M::Db::bury(&mut tx.conn, &db.tables, node, letter).await;
        if buried.map_err(|error| Unburied::Letter(error.into()))? != 1 {
            tx.roll_back().await;
            return Ok(false);
        }
        tx.append(fault.into_iter().collect()).await.map_err(Unburied::by_fault)?;
        fluens_diesel::failpoint!("bury: before COMMIT");
        tx.commit().await.map_err(Unburied::Letter)?;
        fluens_diesel::failpoint!("bury: after COMMIT");
        Ok(true)
    }

    fn letter(&self, item: &InHand, failure: &Failure, code: &str, error: &str) -> NewLetter {
        let consumer = &self.inbox.consumer;
        NewLetter {
            id: Id::new(),
            row: item.acked(),
            attempts: item.attempts(),
            key: item.identity().1,
            code: code.to_owned(),
            error_type: failure.error_type().to_owned(),
            error: error.to_owned(),
            fingerprint: fingerprint(&consumer.name, code, failure.error_type(), error),
            history: item.history.written(),
            holds_back: match consumer.options.on_dead_letter {
                OnDeadLetter::ParkKey if item.row.key_hash.is_some() => HoldsBack::Key,
                OnDeadLetter::Continue | OnDeadLetter::ParkKey => HoldsBack::Nothing,
                OnDeadLetter::HaltSlot => HoldsBack::Slot,
            },
        }
    }

    /// `None`: there is no fault about a fault, and none where nobody knows who published the message.
    fn fault_row(&self, item: &InHand, fault: NewFault<'_>) -> Option<NewMessage> {
        let consumer = &self.inbox.consumer;
        let about = consumer.delivery(&item.row, item.counted()).ok().filter(|_| !consumer.is_fault)?;
        Some(fault.into_row(&about, M::NAME))
    }

    /// Another node settled it.
    fn lose(&self, item: &InHand) -> Undone {
        self.inbox.lost([item]);
        Undone::Lost
    }

    pub(super) fn once_more(&self, item: InHand, error: &Error) -> Undone {
        tracing::error!(consumer = %self.inbox.consumer.name, %error, "it could not be settled; it runs once more");
        self.inbox.postpone(item, ONCE_MORE);
        Undone::BackInLine
    }
}
