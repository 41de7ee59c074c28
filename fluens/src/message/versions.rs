//! A message climbs from version to version: each link is checked while compiling.

use super::Message;
use crate::{
    error::BoxError,
    text::{Text, same},
};

/// A version of a message that is made from the one before it.
#[diagnostic::on_unimplemented(
    message = "`{Old}` cannot become `{Self}`",
    label = "cannot be made from it",
    note = "write `impl From<{Old}> for {Self}`"
)]
pub trait Upgrade<Old>: Message {
    /// The same message in this version.
    fn upgrade(old: Old) -> Self;
}

// Otherwise the error is about `From`, and says nothing about what to write.
#[diagnostic::do_not_recommend]
impl<Old: Message, New: Message + From<Old>> Upgrade<Old> for New {
    fn upgrade(old: Old) -> Self {
        New::from(old)
    }
}

/// How bytes of `Old`, or of a version before it, become a `New`. Fails to compile unless `Old` is the version before
/// `New`, of the same message. The one place where `from` is checked: one mistake, one error.
#[track_caller]
pub const fn check_link<New: Upgrade<Old>, Old: Message>() -> fn(u32, &[u8]) -> Result<New, BoxError> {
    if Old::VERSION + 1 != New::VERSION {
        let text = Text::new()
            .push("version ")
            .push_number(New::VERSION)
            .push(" of `")
            .push(New::NAME)
            .push("` comes after version ")
            .push_number(New::VERSION - 1)
            .push(", but `from` names version ")
            .push_number(Old::VERSION)
            .push("\nhelp: every version needs the one before it: chain them, each with its own `from`");
        panic!("{}", text.as_str());
    }
    if !same(Old::NAME, New::NAME) && !is_alias::<New>(Old::NAME) {
        let text = Text::new()
            .push("`from` names a version of `")
            .push(Old::NAME)
            .push("`, not of `")
            .push(New::NAME)
            .push("`\nhelp: all versions of a message have one `name`; one it had before is an `alias`");
        panic!("{}", text.as_str());
    }
    |version, bytes| Old::decode_version(version, bytes).map(New::upgrade)
}

const fn is_alias<M: Message>(name: &str) -> bool {
    let mut n = 0;
    while n < M::ALIASES.len() {
        if same(M::ALIASES[n], name) {
            return true;
        }
        n += 1;
    }
    false
}
