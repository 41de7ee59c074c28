//! A witness of warnings: what the program tells on this thread, as text.

use std::{
    fmt::Write,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Level, Metadata,
    field::{Field, Visit},
    span,
    subscriber::{DefaultGuard, Subscriber, set_default},
};

/// Writes down warnings until it is dropped.
pub struct Told {
    texts: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Told {
    /// Those of the thread it is called on.
    #[must_use]
    pub fn here() -> Self {
        let texts = Arc::<Mutex<Vec<String>>>::default();
        Told { _guard: set_default(Listener(texts.clone())), texts }
    }

    /// All so far.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }
}

struct Listener(Arc<Mutex<Vec<String>>>);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}
