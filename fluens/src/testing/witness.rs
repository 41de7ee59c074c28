//! Writes down what happens in an app under test; in production there is none.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use fluens_diesel::{Appended, Id, NewMessage};

use crate::{
    consumer::Delivery,
    settle::{fault_code, is_fault},
};

/// One thing that happened, and to which message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Event {
    /// What happened.
    pub kind: Kind,
    /// The message's name.
    pub message: String,
    /// The message's identity.
    pub id: Id,
    /// The consumer, if one had to do with it.
    pub consumer: Option<String>,
    /// The n-th run, from 1; zero where nothing ran.
    pub attempt: u32,
    /// The failure's text or the fault's code.
    pub text: Option<String>,
    pub(super) version: u32,
    pub(super) payload: Vec<u8>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// It was stored for its consumers.
    Published,
    /// A consumer did it, and it committed.
    Consumed,
    /// A run failed.
    Failed,
    /// Whoever published it was told.
    Faulted,
    /// It was given up.
    DeadLettered,
    /// Its time was up before it could run.
    Expired,
    /// A newer one took its place.
    Superseded,
}

/// All that happened, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Witness(Arc<Seen>);

#[derive(Debug, Default)]
struct Seen {
    events: Mutex<Vec<Event>>,
    /// How often those before a running consumer could not be committed yet. Not an event: it depends on the time things
    /// take.
    put_off: AtomicUsize,
}

impl Witness {
    pub(super) fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    /// Something happened to a delivery.
    pub(crate) fn saw(&self, kind: Kind, delivery: &Delivery, text: Option<String>) {
        self.push(Event {
            kind,
            message: delivery.recipient.message.to_string(),
            id: delivery.envelope.id,
            consumer: Some(delivery.recipient.consumer.to_string()),
            attempt: delivery.attempt,
            text,
            version: delivery.envelope.version,
            payload: delivery.row.payload.clone(),
        });
    }

    /// These were published, but for those that had been before.
    pub(crate) fn published(&self, events: Vec<Event>, appended: &Appended) {
        for (event, stored) in events.into_iter().zip(&appended.consumers) {
            if stored.is_some() {
                self.push(event);
            }
        }
    }

    pub(crate) fn commit_put_off(&self) {
        self.0.put_off.fetch_add(1, SeqCst);
    }

    pub(super) fn commits_put_off(&self) -> usize {
        self.0.put_off.load(SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: Event) {
        self.lock().push(event);
    }
}

/// What will have been published once it is committed.
pub(crate) fn events_of(rows: &[NewMessage]) -> Vec<Event> {
    let event = |row: &NewMessage| {
        let name = row.names.first().map(AsRef::as_ref).unwrap_or_default();
        let message = name.split(":fault@").next().unwrap_or(name);
        Event {
            kind: if is_fault(name) { Kind::Faulted } else { Kind::Published },
            message: message.to_owned(),
            id: row.id,
            consumer: None,
            attempt: 0,
            text: is_fault(name).then(|| fault_code(&row.payload)).flatten(),
            version: u32::try_from(row.version).unwrap_or(0),
            payload: row.payload.clone(),
        }
    };
    rows.iter().map(event).collect()
}
