//! The arguments between the message and the context.

use std::{
    any::{Any, TypeId, type_name},
    collections::{BTreeMap, HashMap},
    ops::Deref,
    sync::Arc,
};

use chrono::{DateTime, Utc};
use fluens_diesel::Id;

use super::Delivery;
use crate::{error::BoxError, message::Priority};

/// What may stand between the message and the context.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a consumer",
    label = "not an extractor",
    note = "a consumer takes the message first, then `fluens::State<T>`, `Meta` or `MessageId`, and `&mut Context<Module>` last"
)]
pub trait Extract: Sized + Send {
    /// The value for this delivery.
    fn extract(delivery: &Delivery) -> Result<Self, BoxError>;

    /// What the app must have for this to work; checked at start.
    fn requirement() -> Option<Requirement> {
        None
    }
}

/// A type the app must hold as state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    pub(crate) id: TypeId,
    pub(crate) type_name: &'static str,
}

/// The app's states by type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, state: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(state));
    }

    pub(crate) fn has(&self, requirement: Requirement) -> bool {
        self.0.contains_key(&requirement.id)
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }
}

/// Something the app was given with `.state(..)`: a client, a cache, settings.
///
/// ```
/// use fluens::prelude::*;
///
/// struct Mailer { from: String }
/// #[message] struct Welcome { to: String }
///
/// #[consumer]
/// async fn send(welcome: Welcome, mailer: State<Mailer>) -> Result {
///     println!("{} -> {}", mailer.from, welcome.to);
///     Ok(())
/// }
/// # fn f() { let _ = || {
/// fluens::app!(|app| app.state(Mailer { from: "shop@example.org".into() }))
/// # }; }
/// ```
pub struct State<T>(pub Arc<T>);

impl<T> Deref for State<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> Extract for State<T> {
    fn extract(delivery: &Delivery) -> Result<Self, BoxError> {
        delivery
            .recipient
            .states
            .get()
            .map(State)
            .ok_or_else(|| format!("the app has no state `{}`", type_name::<T>()).into())
    }

    fn requirement() -> Option<Requirement> {
        Some(Requirement { id: TypeId::of::<T>(), type_name: type_name::<T>() })
    }
}

/// Everything known about the message being consumed.
///
/// ```
/// use fluens::prelude::*;
///
/// #[message] struct Uploaded { file: String }
///
/// #[consumer]
/// async fn scan(uploaded: Uploaded, meta: Meta) -> Result {
///     let tenant = meta.headers.get("tenant").map_or("nobody", String::as_str);
///     println!("{} of {tenant}, attempt {}", uploaded.file, meta.attempt);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Meta {
    /// The message's identity, the same for all its consumers and all attempts.
    pub id: Id,
    /// What it belongs to.
    pub correlation: Id,
    /// The message whose consumer published it.
    pub causation: Option<Id>,
    /// The module that published it.
    pub module: String,
    /// The version of the fields it was published with.
    pub version: u32,
    /// The partition key, as text.
    pub key: Option<String>,
    /// Its priority.
    pub priority: Priority,
    /// When it was published, by the database's clock.
    pub published_at: DateTime<Utc>,
    /// The n-th run of this delivery, from 1.
    pub attempt: u32,
    /// The publisher's own headers.
    pub headers: BTreeMap<String, String>,
}

/// Without the key and what the headers say: what is printed ends up in logs.
impl std::fmt::Debug for Meta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meta")
            .field("id", &self.id)
            .field("correlation", &self.correlation)
            .field("causation", &self.causation)
            .field("module", &self.module)
            .field("version", &self.version)
            .field("priority", &self.priority)
            .field("published_at", &self.published_at)
            .field("attempt", &self.attempt)
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}

impl Extract for Meta {
    fn extract(delivery: &Delivery) -> Result<Self, BoxError> {
        let envelope = &delivery.envelope;
        Ok(Meta {
            id: envelope.id,
            correlation: envelope.correlation,
            causation: envelope.causation,
            module: envelope.module.clone(),
            version: envelope.version,
            key: envelope.key.clone(),
            priority: Priority::of_stored(delivery.row.priority),
            published_at: delivery.row.published_at.0,
            attempt: delivery.attempt,
            headers: envelope.headers.clone(),
        })
    }
}

/// The identity of the message being consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(pub Id);

impl Extract for MessageId {
    fn extract(delivery: &Delivery) -> Result<Self, BoxError> {
        Ok(MessageId(delivery.envelope.id))
    }
}
