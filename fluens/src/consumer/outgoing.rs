//! What a consumer returns: nothing, or messages to publish in its own transaction.

use super::call::{Call, Returning};
use crate::{
    Result,
    failure::Failure,
    message::{Outbound, Publishable, Staged},
    module::{Module, PublishedBy},
};

/// What may stand inside a consumer's `Result`.
#[diagnostic::on_unimplemented(
    message = "module `{M}` does not publish `{Self}`",
    label = "cannot be returned here",
    note = "a returned message is a `#[message]` that `{M}` lists in `publishes`",
    note = "return `Result<()>`, or messages to publish: `Result<M>`, `Result<Option<M>>`, `Result<(A, B)>`, `Result<Vec<M>>`"
)]
pub trait Outgoing<M: Module> {
    /// Adds the messages, in order.
    fn stage(self, out: &mut Vec<Staged>);
}

impl<M: Module> Outgoing<M> for () {
    fn stage(self, _: &mut Vec<Staged>) {}
}

impl<M: Module, T: PublishedBy<M>> Outgoing<M> for T {
    fn stage(self, out: &mut Vec<Staged>) {
        out.push(Staged::new(&self));
    }
}

impl<M: Module, T: PublishedBy<M>> Outgoing<M> for Outbound<T> {
    fn stage(self, out: &mut Vec<Staged>) {
        out.push(Publishable::stage(self));
    }
}

impl<M: Module, T: Outgoing<M>> Outgoing<M> for Option<T> {
    fn stage(self, out: &mut Vec<Staged>) {
        if let Some(one) = self {
            one.stage(out);
        }
    }
}

impl<M: Module, T: Outgoing<M>> Outgoing<M> for Vec<T> {
    fn stage(self, out: &mut Vec<Staged>) {
        for one in self {
            one.stage(out);
        }
    }
}

macro_rules! tuples {
    ($(($($t:ident),+)),+) => {$(
        impl<Mo: Module, $($t: Outgoing<Mo>),+> Outgoing<Mo> for ($($t,)+) {
            #[allow(non_snake_case)]
            fn stage(self, out: &mut Vec<Staged>) {
                let ($($t,)+) = self;
                $($t.stage(out);)+
            }
        }
    )+};
}
tuples!((A), (A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F));

/// What a consumer function returns.
#[diagnostic::on_unimplemented(
    message = "a consumer must return a `Result`, not `{Self}`",
    label = "wrong return type",
    note = "write `-> Result`, or `-> Result<M>` to publish a message"
)]
pub trait Outcome: Sized {
    /// What it carries when all went well.
    type Value;
    /// As our own result.
    fn outcome(self) -> Result<Self::Value>;
    /// A call that returns this: the one place where the return type is checked.
    fn returning<M: Module>(call: Call<'_, M, Self>) -> Returning<'_, M, Self, Self::Value> {
        Returning::new(call)
    }
}

impl<T, E: Into<Failure>> Outcome for std::result::Result<T, E> {
    type Value = T;
    fn outcome(self) -> Result<T> {
        self.map_err(Into::into)
    }
}
