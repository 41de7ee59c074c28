//! One input, several parts: a line of its own separates them, so that a corpus can be read and written by hand.

/// What stands before the first separator, and what stands behind it; nothing, if there is none.
pub fn two(bytes: &[u8]) -> (&[u8], &[u8]) {
    const SEPARATOR: &[u8] = b"\n--\n";
    match bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        Some(at) => (&bytes[..at], &bytes[at + SEPARATOR.len()..]),
        None => (bytes, &[]),
    }
}
