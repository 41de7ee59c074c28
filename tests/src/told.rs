//! A witness of what is logged, as text: warnings on one thread, or everything everywhere.

use std::{
    fmt::Write,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Level, Metadata,
    field::{Field, Visit},
    span,
    subscriber::{DefaultGuard, Subscriber, set_default, set_global_default},
};

/// Writes down warnings until it is dropped.
pub struct Told {
    texts: Arc<Mutex<Vec<String>>>,
    _guard: Option<DefaultGuard>,
}

impl Told {
    /// Those of the thread it is called on.
    #[must_use]
    pub fn here() -> Self {
        let texts = Arc::<Mutex<Vec<String>>>::default();
        let listener = Listener { texts: texts.clone(), level: Level::WARN, only: "" };
        Told { _guard: Some(set_default(listener)), texts }
    }

    /// Whatever fluens says on any thread of this process that has this in it, from now on.
    ///
    /// # Panics
    ///
    /// When somebody listens to everything already.
    #[must_use]
    pub fn everywhere(only: &'static str) -> Self {
        let texts = Arc::<Mutex<Vec<String>>>::default();
        let listener = Listener { texts: texts.clone(), level: Level::TRACE, only };
        set_global_default(listener).expect("one that listens to everything");
        Told { _guard: None, texts }
    }

    /// All so far.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }
}

struct Listener {
    texts: Arc<Mutex<Vec<String>>>,
    level: Level,
    only: &'static str,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("fluens")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        if text.0.contains(self.only) {
            self.texts.lock().unwrap().push(text.0);
        }
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
