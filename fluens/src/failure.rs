//! Why a consumer failed, and what is to be done about it: what it says itself, or what the type of its error says.
//! [`settle`](crate::settle) acts on it.

use std::{
    any::{Any, type_name},
    borrow::Cow,
    error::Error as StdError,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;

use crate::error::BoxError;

/// Why a consumer failed. Anything that boxes into an error becomes one with `?`: Diesel's errors, your own,
/// `anyhow::Error`, `eyre::Report`, a text. It is then tried again, on the consumer's schedule.
///
/// A consumer that knows better says so: [`permanent`], [`retry_now`], [`retry_after`], [`fault`], or on results
/// [`OrFail`]; an error type of yours says it once for all with `#[derive(Failure)]`.
///
/// ```
/// use fluens::prelude::*;
/// use std::time::Duration;
///
/// #[derive(Debug, thiserror::Error, Failure)]
/// enum Warehouse {
///     #[error("no such article")]
///     #[failure(permanent)]
///     Unknown,
///     #[error("closed for counting")]
///     #[failure(retry_after = "30s")]
///     Closed,
/// }
///
/// fn pieces(text: &str) -> Result<i32> {
///     if text.is_empty() {
///         return Err(permanent("there is nothing to parse"));
///     }
///     if text == "?" {
///         return Err(fault("stock.unclear").details(text));
///     }
///     Ok(text.parse().or_retry_after(Duration::from_secs(5))?)
/// }
/// assert_eq!(pieces("").unwrap_err().to_string(), "there is nothing to parse");
/// ```
pub struct Failure {
    error: BoxError,
    error_type: &'static str,
    word: Option<Word>,
}

/// What is to be done about a failure, if not the usual.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    Permanent,
    RetryNow,
    RetryAfter(Duration),
    /// The business says no: told to whoever published the message.
    Fault {
        code: Cow<'static, str>,
        details: Option<Value>,
    },
    /// The bytes cannot be read, with the code that says which.
    Corrupt(&'static str),
}

/// It can never succeed: a dead letter at once, whatever the schedule says.
///
/// ```
/// # use fluens::prelude::*;
/// # #[message] struct Ordered { article: String }
/// #[consumer]
/// async fn reserve(order: Ordered) -> Result {
///     if order.article.is_empty() {
///         return Err(permanent("an order without an article"));
///     }
///     Ok(())
/// }
/// ```
pub fn permanent(error: impl Into<Failure>) -> Failure {
    error.into().with(Word::Permanent)
}

/// To be tried again at once. It counts as an attempt.
pub fn retry_now() -> Failure {
    Failure::named("retry", "asked to be tried again at once").with(Word::RetryNow)
}

/// To be tried again after this time, which survives a restart. It counts as an attempt.
pub fn retry_after(delay: Duration) -> Failure {
    Failure::named("retry", format!("asked to be tried again after {delay:?}")).with(Word::RetryAfter(delay))
}

/// The business says no: the consumer's effects are undone, the message is done, and who published it gets a
/// [`Fault`](crate::Fault) with this code. To keep the effects: [`Context::send_fault`](crate::Context::send_fault).
pub fn fault(code: impl Into<Cow<'static, str>>) -> Failure {
    let code = code.into();
    Failure::named("fault", format!("fault `{code}`")).with(Word::Fault { code, details: None })
}

impl Failure {
    /// The error inside.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// What a [`fault`] tells beside its code: anything that serializes. On other failures it changes nothing.
    #[must_use]
    pub fn details(mut self, details: impl Serialize) -> Self {
        if let Some(Word::Fault { details: none, .. }) = &mut self.word {
            // What cannot be told must not stand in the way of the fault itself.
            *none = serde_json::to_value(details)
                .inspect_err(|error| tracing::error!(%error, "the details of a fault do not serialize"))
                .ok();
        }
        self
    }

    /// The error behind a [`retry_now`], a [`retry_after`] or a [`fault`]: what logs and dead letters show.
    #[must_use]
    pub fn because(self, error: impl Into<Failure>) -> Self {
        let Failure { error, error_type, .. } = error.into();
        Failure { error, error_type, word: self.word }
    }

    pub(crate) fn corrupt(code: &'static str, error: impl Into<Failure>) -> Self {
        error.into().with(Word::Corrupt(code))
    }

    /// A failure that is no error of anybody's: a panic, a timeout.
    pub(crate) fn named(error_type: &'static str, text: impl Into<BoxError>) -> Self {
        Failure { error: text.into(), error_type, word: None }
    }

    fn with(mut self, word: Word) -> Self {
        self.word = Some(word);
        self
    }

    pub(crate) fn word(&self) -> Option<&Word> {
        self.word.as_ref()
    }

    /// The type of the error as its author wrote it.
    pub(crate) fn error_type(&self) -> &'static str {
        self.error_type
    }

    pub(crate) fn into_error(self) -> BoxError {
        self.error
    }

    /// The whole chain in one line: `charging failed: connection refused`.
    pub(crate) fn chain(&self) -> String {
        // An error of somebody's may panic when it is shown, and a lane must not die of that.
        let chain = catch_unwind(AssertUnwindSafe(|| self.joined()));
        chain.unwrap_or_else(|_| format!("a `{}` that panics when it is shown", self.error_type))
    }

    fn joined(&self) -> String {
        let mut text = self.error.to_string();
        for cause in sources(&*self.error).skip(1) {
            let cause = cause.to_string();
            if !text.ends_with(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        text
    }

    /// The first error of type `E` along the chain of sources.
    pub(crate) fn find<E: StdError + 'static>(&self) -> Option<&E> {
        sources(&*self.error).find_map(|error| error.downcast_ref::<E>())
    }
}

/// An error and what is behind it.
fn sources<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

impl<E: Into<BoxError> + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        // Boxed, these two hide the outermost error: it must be asked before.
        let hidden = if let Some(error) = any.downcast_ref::<anyhow::Error>() {
            error.chain().find_map(advice)
        } else if let Some(error) = any.downcast_ref::<eyre::Report>() {
            error.chain().find_map(advice)
        } else {
            None
        };
        let error: BoxError = error.into();
        let word = hidden.or_else(|| sources(&*error).find_map(advice)).map(Word::from);
        Failure { error, error_type: type_name::<E>(), word }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

/// Says on a result what a failure of it means.
///
/// ```
/// # use fluens::prelude::*;
/// # use std::time::Duration;
/// # fn read(text: &str, service: Result<i32, std::io::Error>) -> Result {
/// let number: i32 = text.parse().or_permanent()?;
/// let answer = service.or_retry_after(Duration::from_secs(30))?;
/// if number != answer {
///     Err("they differ").or_fault("numbers.differ")?;
/// }
/// # Ok(()) }
/// ```
pub trait OrFail<T> {
    /// It can never succeed.
    fn or_permanent(self) -> Result<T, Failure>;
    /// To be tried again at once.
    fn or_retry_now(self) -> Result<T, Failure>;
    /// To be tried again after this time.
    fn or_retry_after(self, delay: Duration) -> Result<T, Failure>;
    /// The business says no.
    fn or_fault(self, code: impl Into<Cow<'static, str>>) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> OrFail<T> for Result<T, E> {
    fn or_permanent(self) -> Result<T, Failure> {
        self.map_err(permanent)
    }

    fn or_retry_now(self) -> Result<T, Failure> {
        self.map_err(|error| retry_now().because(error))
    }

    fn or_retry_after(self, delay: Duration) -> Result<T, Failure> {
        self.map_err(|error| retry_after(delay).because(error))
    }

    fn or_fault(self, code: impl Into<Cow<'static, str>>) -> Result<T, Failure> {
        self.map_err(|error| fault(code).because(error))
    }
}

/// What an error type says about its values. Written by `#[derive(Failure)]`.
pub trait Advise: StdError + Sized + 'static {
    /// What to do, if not the usual.
    fn advice(&self) -> Option<Advice>;
}

/// What is to be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// It can never succeed.
    Permanent,
    /// To be tried again at once.
    RetryNow,
    /// To be tried again after this time.
    RetryAfter(Duration),
    /// The business says no, with this code.
    Fault(&'static str),
}

impl From<Advice> for Word {
    fn from(advice: Advice) -> Self {
        match advice {
            Advice::Permanent => Word::Permanent,
            Advice::RetryNow => Word::RetryNow,
            Advice::RetryAfter(delay) => Word::RetryAfter(delay),
            Advice::Fault(code) => Word::Fault { code: code.into(), details: None },
        }
    }
}

/// One `#[derive(Failure)]`, registered at link time: an error behind a `dyn Error` cannot be asked what it implements.
pub struct AdviceDescriptor {
    find: fn(&(dyn StdError + 'static)) -> Option<Advice>,
}

inventory::collect!(AdviceDescriptor);

impl AdviceDescriptor {
    /// That of error type `E`.
    pub const fn of<E: Advise>() -> Self {
        AdviceDescriptor { find: |error| error.downcast_ref::<E>().and_then(Advise::advice) }
    }
}

fn advice(error: &(dyn StdError + 'static)) -> Option<Advice> {
    inventory::iter::<AdviceDescriptor>().find_map(|known| (known.find)(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("closed")]
    struct Closed;

    impl Advise for Closed {
        fn advice(&self) -> Option<Advice> {
            Some(Advice::Permanent)
        }
    }

    inventory::submit! { AdviceDescriptor::of::<Closed>() }

    #[derive(Debug, thiserror::Error)]
    #[error("charging failed")]
    struct Charging(#[source] BoxError);

    #[test]
    fn the_chain_names_every_cause_once() {
        let failure = Failure::from(Charging(std::io::Error::other("connection refused").into()));
        assert_eq!(failure.chain(), "charging failed: connection refused");
        assert!(failure.find::<std::io::Error>().is_some());
        assert!(failure.find::<fmt::Error>().is_none());
    }

    #[test]
    fn an_error_type_is_asked_wherever_it_stands_in_the_chain() {
        let all = [
            Failure::from(Closed),
            Failure::from(Charging(Closed.into())),
            Failure::from(BoxError::from(Closed)),
            Failure::from(anyhow::Error::new(Closed)),
            Failure::from(anyhow::Error::new(Closed).context("at night")),
            Failure::from(eyre::Report::new(Closed)),
            Failure::from(eyre::Report::new(Closed).wrap_err("at night")),
        ];
        for failure in all {
            assert_eq!(failure.word(), Some(&Word::Permanent), "{failure:?}");
        }
        assert_eq!(Failure::from("plain").word(), None);
    }

    #[test]
    fn what_the_consumer_says_goes_before_what_the_type_says() {
        let failed: Result<(), _> = Err(Closed);
        let failure = failed.or_retry_after(Duration::from_secs(3)).unwrap_err();
        assert_eq!(failure.word(), Some(&Word::RetryAfter(Duration::from_secs(3))));
        assert_eq!(failure.to_string(), "closed");
    }

    #[test]
    fn a_fault_carries_its_details() {
        let failure = fault("stock.short").details(3);
        let expected = Word::Fault { code: "stock.short".into(), details: Some(Value::from(3)) };
        assert_eq!(failure.word(), Some(&expected));
    }
}
