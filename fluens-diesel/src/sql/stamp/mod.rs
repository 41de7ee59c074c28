//! The roles of a store, stamped for each backend: the same statements on another connection type. (Generic code over
//! both does not compile without a bound per statement.) A file per role.

mod control;
mod inbox;
mod letters;
mod nodes;
mod overview;
mod registry;
mod relay;
mod schedule;
mod schema;
mod settle;
mod upkeep;

use diesel::QueryResult;
use diesel_async::{AsyncConnection, TransactionManager};

use super::bind::List;
use crate::Connect;

/// `stamp!(Db, MIGRATIONS)` implements all roles but [`Connect`]. The store brings what differs: `alone`, `ack_rows`,
/// `fetch_quickly`, `load_ready`, `lock_keys`, `lock_upkeep`, `lock_schema`, `stood_in_line` and `create_schema`.
macro_rules! stamp {
    ($store:ty, $migrations:expr) => {
        $crate::sql::stamp_prelude::stamp_inbox!($store);
        $crate::sql::stamp_prelude::stamp_settle!($store);
        $crate::sql::stamp_prelude::stamp_letters!($store);
        $crate::sql::stamp_prelude::stamp_schedule!($store);
        $crate::sql::stamp_prelude::stamp_upkeep!($store);
        $crate::sql::stamp_prelude::stamp_registry!($store);
        $crate::sql::stamp_prelude::stamp_relays!($store);
        $crate::sql::stamp_prelude::stamp_nodes!($store);
        $crate::sql::stamp_prelude::stamp_overview!($store);
        $crate::sql::stamp_prelude::stamp_control!($store);
        $crate::sql::stamp_prelude::stamp_schema!($store, $migrations);
    };
}
pub(crate) use stamp;

/// All that a stamped impl names.
pub(crate) mod prelude {
    pub(crate) use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

    pub(crate) use super::{
        control::stamp_control, in_transaction, inbox::stamp_inbox, letters::stamp_letters,
        nodes::stamp_nodes, overview::stamp_overview, pairs_of, registry::stamp_registry,
        relay::stamp_relays, schedule::stamp_schedule, schema::stamp_schema, settle::stamp_settle, stamp,
        upkeep::stamp_upkeep,
    };
    pub(crate) use crate::{
        Acked, ConsumerSeen, Due, Edit, Ended, Fetch, Held, Holding, HoldsBack, Id, Joined, Letter,
        LetterState, Look, Migration, Named, NewLetter, NewNode, Newest, NodeSeen, Pulse, Recurring,
        Registration, Retention, Route, SCHEMA_VERSION, SchemaVersion, SourceRelay, Standstill, Survey,
        Swept, Tables, Taken, Ts, Unrun, Unsubscribed, Waits, Wanted,
        sql::{
            bind::List,
            control::{
                CancelAll, ExtendConsumer, ExtendModule, KnownBy, LettersHoldNothing, PauseConsumer,
                PauseModule, RemoveAllParked, ResumeConsumer, ResumeModule, UnhaltAll,
            },
            fetch::{DueRow, FetchReady, FindOverdue, due},
            find::{
                CountExpired, CountLetters, EndedRow, FindExpired, FindLetters, LetterRow, ended as ended_of,
                letter as letter_of,
            },
            held::FetchHeld,
            inbox::{
                DueScheduled, LookAt, LookRow, Recognize, Release, RemoveScheduled, Requeue, look as look_of,
            },
            letters::{
                EditLetter, ExtendKey, ExtendSlot, HoldNothing, LockLetter, Locked, LockedRow, Reenter,
                RemoveParked, SettleLetter, Unhalt,
            },
            nodes::{
                AllKnow, AllSlots, Beat, ClearSuspects, ForgetKnows, Free, FreeSuspect, Generation,
                GiveSlots, InsertKnows, InsertNode, InsertSlots, LockDead, LockNode, MemberRow, Members,
                MoveOn, NoteNeed, Paused, RemoveNode, SlotColumns, TakeSlots, granted, knows, member,
                slot_row,
            },
            overview::{
                ConsumerColumns, NodeColumns, SeeBacklog, SeeConsumers, SeeHoldings, SeeNames, SeeNodes,
                SeeUnrun, backlog, consumer_seen, holding, named, node_seen, unrun,
            },
            registry::{
                self, IdsOfNames, LockRegistry, Merge, MoveHalted, MoveLetters, MoveRows, NameConsumer,
                NewConsumer, PresentName, Subscribe, SubscribeAgain, Unsubscribe,
            },
            relay::{Identity, LeadsTo, LetIn, NoteSent, SubscribeRemote},
            schedule::{
                CancelPlanned, CancelUnplanned, Fire, MovePlanned, MoveUnplanned, NextFiring, ReadClock,
                planned_states,
            },
            schema::{self, HasSchema, ReadVersion},
            settle::{
                Archive, Expire, Halt, Hold, Park, SetAside, SetUnknown, Supersede, SupersedeBefore, Suspect,
                WriteLetter, columns,
            },
            text::micros,
            upkeep::{
                ARRIVED_KEPT, RECURRING_KEPT, SweepEnded, SweepHistory, SweepKeysByTime, SweepKeysDone,
                SweepLetters, SweepRecurring, SweepSeen, SweepSent,
            },
        },
    };
}

/// Runs `work` in a transaction that may write from its first statement on: Diesel's own `transaction` begins a
/// deferred one on SQLite, which fails when it wants to write after somebody else did.
pub(crate) async fn in_transaction<S: Connect, R>(
    conn: &mut S::Conn,
    work: impl AsyncFnOnce(&mut S::Conn) -> QueryResult<R>,
) -> QueryResult<R> {
    type Manager<S> = <<S as Connect>::Conn as AsyncConnection>::TransactionManager;
    S::begin(conn).await?;
    match work(conn).await {
        Ok(done) => Manager::<S>::commit_transaction(conn).await.map(|()| done),
        Err(error) => {
            // The first error is the one to tell.
            let _ = Manager::<S>::rollback_transaction(conn).await;
            Err(error)
        }
    }
}

/// Consumers and slots, column by column.
pub(crate) fn pairs_of(pairs: &[(i32, i16)]) -> (List<i32>, List<i16>) {
    (pairs.iter().map(|(consumer, _)| *consumer).collect(), pairs.iter().map(|(_, slot)| *slot).collect())
}
