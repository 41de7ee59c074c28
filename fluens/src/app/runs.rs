//! Which modules an app runs, as a type: `(Orders, (Billing, ()))`.

/// The app runs module `M`. Not for hand-written code: `app!` and `run!` make the list.
#[diagnostic::on_unimplemented(
    message = "this app does not run module `{M}`",
    label = "does not run `{M}`",
    note = "add it: `fluens::app!({M}, ..)`"
)]
pub trait Runs<M, Index> {}

/// It is the first of the list.
pub struct Here;
/// It is further on.
pub struct There<I>(I);

impl<M, T> Runs<M, Here> for (M, T) {}
impl<M, H, T: Runs<M, I>, I> Runs<M, There<I>> for (H, T) {}
