//! Which of them, page by page.

use chrono::{DateTime, Utc};
use fluens_diesel::{Id, LetterState, Ts, Wanted};

use crate::{message::Message, module::Module};

/// How many a page has if nobody says.
const PAGE: u32 = 100;

/// Which dead letters or expired messages are meant. What is not said does not matter.
///
/// ```
/// use fluens::Filter;
///
/// let filter = Filter::new().consumer("stock.reserve").code("system.terminal-failure").limit(20);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Filter {
    wanted: Wanted,
    all_states: bool,
    limit: Option<u32>,
    pub(super) after: Option<Cursor>,
}

/// Where the next page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub(super) At);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Letter(Id),
    Place(i64),
}

impl Filter {
    /// All of them.
    pub fn new() -> Self {
        Filter::default()
    }

    /// Of this message, by type.
    pub fn of<M: Message>(self) -> Self {
        self.message(M::NAME)
    }

    /// Of messages of this name.
    pub fn message(mut self, name: impl Into<String>) -> Self {
        self.wanted.message = Some(name.into());
        self
    }

    /// Of this consumer, by a name it has or had.
    pub fn consumer(mut self, name: impl Into<String>) -> Self {
        self.wanted.consumer = Some(name.into());
        self
    }

    /// With this failure code.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.wanted.code = Some(code.into());
        self
    }

    /// With this partition key, as text.
    #[allow(clippy::needless_pass_by_value)] // `key(7)` and `key("7")` read better
    pub fn key(mut self, key: impl ToString) -> Self {
        self.wanted.key = Some(key.to_string());
        self
    }

    /// With this fingerprint: equal failures.
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.wanted.fingerprint = Some(fingerprint.into());
        self
    }

    /// That ended then or later.
    pub fn since(mut self, time: DateTime<Utc>) -> Self {
        self.wanted.since = Some(Ts(time));
        self
    }

    /// That ended before.
    pub fn before(mut self, time: DateTime<Utc>) -> Self {
        self.wanted.before = Some(Ts(time));
        self
    }

    /// Also dead letters that were replayed or discarded. Without this word only those nobody has decided about.
    pub fn with_settled(mut self) -> Self {
        self.all_states = true;
        self
    }

    /// At most so many on a page; 100 by default.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit.clamp(1, 10_000));
        self
    }

    /// The page that begins there.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.after = Some(cursor);
        self
    }

    pub(super) fn wanted<M: Module>(&self) -> Wanted {
        let state = (!self.all_states).then_some(LetterState::Dead);
        let nul_free = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', "\u{fffd}"));
        let Wanted { message, consumer, code, key, fingerprint, .. } = &self.wanted;
        Wanted {
            module: Some(M::NAME.to_owned()),
            state,
            // PostgreSQL's text holds no NUL, and what is stored has none.
            message: nul_free(message),
            consumer: nul_free(consumer),
            code: nul_free(code),
            key: nul_free(key),
            fingerprint: nul_free(fingerprint),
            ..self.wanted.clone()
        }
    }

    pub(super) fn size(&self) -> usize {
        usize::try_from(self.limit.unwrap_or(PAGE)).unwrap_or(usize::MAX)
    }
}

/// Some of them, and where the next ones are.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// In order.
    pub items: Vec<T>,
    /// Give it to [`Filter::after`]. `None`: these were the last.
    pub next: Option<Cursor>,
}
