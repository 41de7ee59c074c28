//! Numbers as people read them.

use crate::measures::Unit;

/// `12,345/s`, `1.23 ms`
pub(crate) fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::PerSecond => thousands(value) + unit.text(),
        _ => format!("{} {}", short(value), unit.text()),
    }
}

/// Two decimals below ten, one below a hundred, none above.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.2}"),
        middle if middle < 100.0 => format!("{value:.1}"),
        _ => thousands(value),
    }
}

pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{short, thousands, with_unit};
    use crate::measures::Unit;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(thousands(-1000.0), "-1,000");
    }

    #[test]
    fn small_numbers_keep_their_decimals() {
        assert_eq!([short(1.234), short(12.34), short(1234.5)], ["1.23", "12.3", "1,234"]);
    }

    #[test]
    fn units_follow() {
        assert_eq!(with_unit(12_345.0, Unit::PerSecond), "12,345/s");
        assert_eq!(with_unit(1.5, Unit::Milliseconds), "1.50 ms");
    }
}
