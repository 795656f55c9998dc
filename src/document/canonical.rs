//! One text for one logical value: compact JSON, keys in code point order, numbers as ECMAScript writes them. Equal
//! values have equal texts, whatever their key order or number notation, so this is also how values are compared.

use serde_json::{Number, Value};

use super::limits::SAFE_INTEGER;

/// The canonical text of `value`. It holds the value itself: never put it into a message.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Whether two values are deeply equal; numbers are compared by what they are worth.
pub fn equal(left: &Value, right: &Value) -> bool {
    text(left) == text(right)
}

/// A number as ECMAScript's JSON writes it; minus zero is `0`.
pub fn number(number: &Number) -> String {
    let value = number.as_f64().unwrap_or(f64::NAN);
    let value = if value == 0.0 { 0.0 } else { value };
    ryu_js::Buffer::new().format(value).to_owned()
}

/// The integer that `number` is mathematically, when it is one of the safe range: `1.0` is 1.
pub fn integer(number: &Number) -> Option<i64> {
    let safe = |value: &i64| (-SAFE_INTEGER..=SAFE_INTEGER).contains(value);
    if let Some(value) = number.as_i64() {
        return Some(value).filter(safe);
    }
    let value = number.as_f64()?;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "bounded by the safe range, and integral"
    )]
    (value.fract() == 0.0 && value.abs() <= SAFE_INTEGER as f64).then_some(value as i64)
}

/// The JSON number of a binary64 value: an integer where it is one of the safe range; nothing where it is not finite.
pub fn from_f64(value: f64) -> Option<Number> {
    let number = Number::from_f64(value)?;
    Some(integer(&number).map_or(number, Number::from))
}

// Values come from the parser, which bounds their depth, or from a caller's own JSON reader, which does too.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(value) => out.push_str(&number(value)),
        Value::String(text) => quote(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            // Sorted here as well, so that no feature of serde_json can change the order; UTF-8 order is code point order.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(key, out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_have_one_text() {
        for (name, value, expected) in [
            ("integral float", json!(1.0), "1"),
            ("minus zero", json!(-0.0), "0"),
            ("fraction", json!(0.1), "0.1"),
            ("large", json!(1e21), "1e+21"),
            ("small", json!(1e-7), "1e-7"),
            (
                "keys sort by code point",
                json!({"b": [1, null], "a": {"ü": true, "z": "\n"}}),
                r#"{"a":{"z":"\n","ü":true},"b":[1,null]}"#,
            ),
        ] {
            assert_eq!(text(&value), expected, "{name}");
        }
    }

    #[test]
    fn only_safe_integral_numbers_are_integers() {
        for (value, expected) in [
            (json!(1.0), Some(1)),
            (json!(1.5), None),
            (json!(9_007_199_254_740_991_i64), Some(SAFE_INTEGER)),
            (json!(9_007_199_254_740_992_i64), None),
            (json!(1e20), None),
            (json!(u64::MAX), None),
        ] {
            let Value::Number(number) = &value else {
                panic!("{value} is a number")
            };
            assert_eq!(integer(number), expected, "{value}");
        }
    }
}
