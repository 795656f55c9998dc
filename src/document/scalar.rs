//! What a plain scalar means: the YAML 1.2 core schema and nothing else. `on`, `off`, `yes` and `no` are strings.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

use super::canonical;
use super::limits::SAFE_INTEGER;

/// A number that the profile does not admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrepresentable {
    /// Infinite, not a number, or too large for binary64.
    NotFinite,
    /// An integer outside ±9007199254740991.
    UnsafeInteger,
}

/// The value of a plain scalar.
///
/// # Errors
/// When it is a number that cannot be represented.
pub fn resolve(text: &str) -> Result<Value, Unrepresentable> {
    static INTEGER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[-+]?[0-9]+$"));
    static FLOAT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"));
    static NOT_FINITE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"));
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    // Most plain scalars are words; only these can begin a number.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return Ok(Value::from(text));
    }
    if INTEGER.is_match(text) {
        integer(text.strip_prefix('+').unwrap_or(text).parse().ok())
    } else if let Some(digits) = radix(text, "0o", 8) {
        integer(i64::from_str_radix(digits, 8).ok())
    } else if let Some(digits) = radix(text, "0x", 16) {
        integer(i64::from_str_radix(digits, 16).ok())
    } else if NOT_FINITE.is_match(text) {
        Err(Unrepresentable::NotFinite)
    } else if FLOAT.is_match(text) {
        text.parse()
            .ok()
            .and_then(canonical::from_f64)
            .map(Value::Number)
            .ok_or(Unrepresentable::NotFinite)
    } else {
        Ok(Value::from(text))
    }
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}

fn radix<'a>(text: &'a str, prefix: &str, radix: u32) -> Option<&'a str> {
    text.strip_prefix(prefix)
        .filter(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix)))
}

fn integer(value: Option<i64>) -> Result<Value, Unrepresentable> {
    value
        .filter(|value| (-SAFE_INTEGER..=SAFE_INTEGER).contains(value))
        .map(|value| Value::Number(Number::from(value)))
        .ok_or(Unrepresentable::UnsafeInteger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_core_schema_decides() {
        for (text, expected) in [
            ("null", json!(null)),
            ("~", json!(null)),
            ("", json!(null)),
            ("TRUE", json!(true)),
            ("yes", json!("yes")),
            ("off", json!("off")),
            ("tRue", json!("tRue")),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("0x", json!("0x")),
            ("-0x1", json!("-0x1")),
            ("010", json!(10)),
            ("+7", json!(7)),
            ("-0", json!(0)),
            ("-0.0", json!(0)),
            ("1.0", json!(1)),
            ("1.", json!(1)),
            (".5", json!(0.5)),
            ("1e3", json!(1000)),
            ("1e20", json!(1e20)),
            ("1_000", json!("1_000")),
            ("1:30", json!("1:30")),
            ("2001-12-14", json!("2001-12-14")),
            (".", json!(".")),
            ("-", json!("-")),
            (".Inf.", json!(".Inf.")),
            ("9007199254740991", json!(9_007_199_254_740_991_i64)),
        ] {
            assert_eq!(resolve(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_refused() {
        for (text, problem) in [
            (".inf", Unrepresentable::NotFinite),
            ("-.INF", Unrepresentable::NotFinite),
            (".NaN", Unrepresentable::NotFinite),
            ("1e400", Unrepresentable::NotFinite),
            ("9007199254740992", Unrepresentable::UnsafeInteger),
            ("-9007199254740992", Unrepresentable::UnsafeInteger),
            ("99999999999999999999999", Unrepresentable::UnsafeInteger),
            ("0xFFFFFFFFFFFFFFFFFF", Unrepresentable::UnsafeInteger),
        ] {
            assert_eq!(resolve(text), Err(problem), "{text}");
        }
    }
}
