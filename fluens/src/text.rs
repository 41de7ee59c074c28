//! Texts of compile errors, built while compiling: `format!` cannot be.

/// Whether two texts are equal. From behind: names mostly begin alike, and the compiler takes long over each step.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = a.len();
    while i > 0 {
        i -= 1;
        if a[i] != b[i] {
            return false;
        }
    }
    true
}

/// A text that grows.
pub(crate) struct Text {
    bytes: [u8; 768],
    len: usize,
}

impl Text {
    pub(crate) const fn new() -> Self {
        Text { bytes: [0; 768], len: 0 }
    }

    pub(crate) const fn push(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut i = 0;
        while i < text.len() && self.len < self.bytes.len() {
            self.bytes[self.len] = text[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// In decimal.
    pub(crate) const fn push_number(self, number: u32) -> Self {
        let text = if number >= 10 { self.push_number(number / 10) } else { self };
        let digits = b"0123456789";
        let digit = (number % 10) as usize;
        match std::str::from_utf8(digits.split_at(digit).1.split_at(1).0) {
            Ok(digit) => text.push(digit),
            Err(_) => text,
        }
    }

    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "this cannot be said while compiling",
        }
    }
}
