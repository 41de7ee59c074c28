//! Names are stored, compared, logged and typed by people: only plain ones are allowed.

/// Letters, digits, `_`, `-`, `.` and `:`, starting with a letter; at most 128 bytes.
pub(crate) fn is_plain(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c))
}

/// What can stand in SQL as it is.
pub(crate) fn is_identifier(name: &str) -> bool {
    is_plain(name)
        && name.len() <= 63
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn plain_names() {
        for name in ["orders.placed", "order_placed", "a", "Orders-2:placed"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "1st", "orders placed", "x\"; DROP TABLE y", "grüße", ".x", &"x".repeat(129)] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
