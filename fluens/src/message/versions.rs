//! A message climbs from version to version: each link is checked while compiling.

use super::Message;
use crate::text::{Text, same};

/// Fails to compile unless `Old` is the version before `New`, of the same message.
pub const fn check_link<New: Message, Old: Message>() {
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
