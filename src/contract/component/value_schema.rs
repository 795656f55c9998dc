//! Value schemas: the closed subset of JSON Schema that constrains logical values, without coercion (component §6.3).

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Deserialize;
use serde_json::{Number, Value};
use strum::{Display, IntoStaticStr};

use super::pattern::Pattern;
use crate::document::canonical;

/// The outermost schema is at depth 0; none may be deeper than this.
const MAX_DEPTH: usize = 16;

/// What a value must satisfy. Equal schemas are equal values, whatever the order they were written in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the keywords are JSON Schema's own")]
pub struct ValueSchema {
    pub r#type: ValueType,
    #[serde(default)]
    pub r#enum: Option<Vec<Value>>,
    #[serde(default)]
    pub min_length: Option<u64>,
    #[serde(default)]
    pub max_length: Option<u64>,
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default)]
    pub minimum: Option<Number>,
    #[serde(default)]
    pub maximum: Option<Number>,
    #[serde(default)]
    pub exclusive_minimum: Option<Number>,
    #[serde(default)]
    pub exclusive_maximum: Option<Number>,
    #[serde(default)]
    pub items: Option<Box<ValueSchema>>,
    #[serde(default)]
    pub min_items: Option<u64>,
    #[serde(default)]
    pub max_items: Option<u64>,
    #[serde(default)]
    pub unique_items: Option<bool>,
    #[serde(default)]
    pub properties: Option<BTreeMap<String, ValueSchema>>,
    #[serde(default)]
    pub additional_properties: Option<bool>,
    #[serde(default)]
    pub required: Option<Vec<String>>,
}

/// The logical type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "JSON Schema's own types")]
pub enum ValueType {
    String,
    Integer,
    Number,
    Boolean,
    Null,
    Array,
    Object,
}

/// Why a value does not satisfy a schema. Shows the keyword and its bound, and never the value: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The keyword that failed, by JSON Schema's name.
    pub keyword: &'static str,
    /// What the keyword asks for.
    pub expected: String,
}

impl Violation {
    fn new(keyword: &'static str, expected: impl fmt::Display) -> Self {
        Self {
            keyword,
            expected: expected.to_string(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` fails: {}", self.keyword, self.expected)
    }
}

impl ValueType {
    /// Whether a value of this type may supply `consumer`: the same type, or an integer for a number (BP-PARAM-008).
    pub fn supplies(self, consumer: Self) -> bool {
        self == consumer || (self == Self::Integer && consumer == Self::Number)
    }

    fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Null, Value::Null)
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Integer, Value::Number(number)) => canonical::integer(number).is_some(),
            _ => false,
        }
    }
}

impl ValueSchema {
    /// Whether `value` satisfies this schema, without coercion. Lengths count code points; numbers are compared by what
    /// they are worth; patterns run in bounded time.
    ///
    /// # Errors
    /// The first keyword that fails.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        if !self.r#type.holds(value) {
            return Err(Violation::new(
                "type",
                format!("the value has to be of type {}", self.r#type),
            ));
        }
        if let Some(members) = &self.r#enum {
            let text = canonical::text(value);
            if !members.iter().any(|member| canonical::text(member) == text) {
                return Err(Violation::new(
                    "enum",
                    "the value has to be one of the listed members",
                ));
            }
        }
        match value {
            Value::String(text) => self.check_string(text),
            Value::Number(number) => self.check_number(number),
            Value::Array(items) => self.check_array(items),
            Value::Object(members) => self.check_object(members),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn check_string(&self, text: &str) -> Result<(), Violation> {
        let length = text.chars().count();
        between(
            length,
            ("minLength", self.min_length),
            ("maxLength", self.max_length),
            "characters",
        )?;
        match &self.pattern {
            // A pattern outside the profile never matches; the contract that holds it is refused before any value comes.
            Some(pattern)
                if !Pattern::parse(pattern).is_ok_and(|compiled| compiled.matches(text)) =>
            {
                Err(Violation::new(
                    "pattern",
                    format!("the value has to match `{pattern}`"),
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_number(&self, number: &Number) -> Result<(), Violation> {
        let compared = |bound: &Option<Number>| {
            let bound = bound.as_ref()?.as_f64()?;
            number.as_f64()?.partial_cmp(&bound)
        };
        let refused = |keyword, words: &str, bound: &Option<Number>| {
            let bound = bound.as_ref().map(Number::to_string).unwrap_or_default();
            Err(Violation::new(
                keyword,
                format!("the value has to be {words} {bound}"),
            ))
        };
        if compared(&self.minimum).is_some_and(Ordering::is_lt) {
            refused("minimum", "at least", &self.minimum)
        } else if compared(&self.maximum).is_some_and(Ordering::is_gt) {
            refused("maximum", "at most", &self.maximum)
        } else if compared(&self.exclusive_minimum).is_some_and(Ordering::is_le) {
            refused("exclusiveMinimum", "more than", &self.exclusive_minimum)
        } else if compared(&self.exclusive_maximum).is_some_and(Ordering::is_ge) {
            refused("exclusiveMaximum", "less than", &self.exclusive_maximum)
        } else {
            Ok(())
        }
    }

    fn check_array(&self, items: &[Value]) -> Result<(), Violation> {
        between(
            items.len(),
            ("minItems", self.min_items),
            ("maxItems", self.max_items),
            "items",
        )?;
        if self.unique_items == Some(true) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(canonical::text(item))) {
                return Err(Violation::new("uniqueItems", "no item may stand twice"));
            }
        }
        match &self.items {
            Some(schema) => items.iter().try_for_each(|item| schema.check(item)),
            None => Ok(()),
        }
    }

    fn check_object(&self, members: &serde_json::Map<String, Value>) -> Result<(), Violation> {
        if let Some(missing) = self
            .required
            .iter()
            .flatten()
            .find(|name| !members.contains_key(*name))
        {
            return Err(Violation::new(
                "required",
                format!("the member `{missing}` has to be present"),
            ));
        }
        members.iter().try_for_each(|(name, member)| {
            match self
                .properties
                .as_ref()
                .and_then(|properties| properties.get(name))
            {
                Some(schema) => schema.check(member),
                // The member's name is part of the value, so it is not shown.
                None => Err(Violation::new(
                    "additionalProperties",
                    "only declared members may be present",
                )),
            }
        })
    }

    /// What makes this no usable schema, however deep it lies (`ERR_INVALID_VALUE_SCHEMA`).
    pub fn fault(&self) -> Option<String> {
        let mut pending = vec![(self, 0)];
        while let Some((schema, depth)) = pending.pop() {
            if depth > MAX_DEPTH {
                return Some(format!(
                    "it nests deeper than {MAX_DEPTH} levels; flatten it"
                ));
            }
            if let Some(pattern) = &schema.pattern
                && let Err(problem) = Pattern::parse(pattern)
            {
                return Some(format!(
                    "its pattern `{pattern}` is outside the pattern profile: {problem}; simplify the pattern"
                ));
            }
            let declared = |name: &String| {
                schema
                    .properties
                    .as_ref()
                    .is_some_and(|properties| properties.contains_key(name))
            };
            if let Some(name) = schema
                .required
                .iter()
                .flatten()
                .find(|name| !declared(name))
            {
                return Some(format!(
                    "`required` names `{name}`, which `properties` does not declare; declare it or drop the name"
                ));
            }
            pending.extend(schema.items.iter().map(|items| (items.as_ref(), depth + 1)));
            pending.extend(
                schema
                    .properties
                    .iter()
                    .flat_map(BTreeMap::values)
                    .map(|inner| (inner, depth + 1)),
            );
        }
        None
    }
}

fn between(
    count: usize,
    (least_keyword, least): (&'static str, Option<u64>),
    (most_keyword, most): (&'static str, Option<u64>),
    unit: &str,
) -> Result<(), Violation> {
    let count = count as u64;
    match (least, most) {
        (Some(least), _) if count < least => Err(Violation::new(
            least_keyword,
            format!("at least {least} {unit} are due"),
        )),
        (_, Some(most)) if count > most => Err(Violation::new(
            most_keyword,
            format!("at most {most} {unit} are allowed"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn schema(value: Value) -> ValueSchema {
        serde_json::from_value(value).expect("a schema")
    }

    #[test]
    fn values_are_checked_without_coercion() {
        for (name, constraint, value, failing) in [
            (
                "integral float is an integer",
                json!({"type": "integer"}),
                json!(1.0),
                None,
            ),
            (
                "fraction is none",
                json!({"type": "integer"}),
                json!(1.5),
                Some("type"),
            ),
            (
                "unsafe is none",
                json!({"type": "integer"}),
                json!(9_007_199_254_740_992_i64),
                Some("type"),
            ),
            (
                "text is no number",
                json!({"type": "number"}),
                json!("1"),
                Some("type"),
            ),
            (
                "boolean is no text",
                json!({"type": "string"}),
                json!(true),
                Some("type"),
            ),
            (
                "code points count",
                json!({"type": "string", "maxLength": 1}),
                json!("🦀"),
                None,
            ),
            (
                "one too many",
                json!({"type": "string", "maxLength": 1}),
                json!("🦀a"),
                Some("maxLength"),
            ),
            (
                "one too few",
                json!({"type": "string", "minLength": 2}),
                json!("a"),
                Some("minLength"),
            ),
            (
                "unanchored",
                json!({"type": "string", "pattern": "b"}),
                json!("abc"),
                None,
            ),
            (
                "no match",
                json!({"type": "string", "pattern": "^b"}),
                json!("abc"),
                Some("pattern"),
            ),
            (
                "at the bound",
                json!({"type": "number", "maximum": 3}),
                json!(3.0),
                None,
            ),
            (
                "at the exclusive bound",
                json!({"type": "number", "exclusiveMaximum": 3}),
                json!(3),
                Some("exclusiveMaximum"),
            ),
            (
                "below",
                json!({"type": "integer", "minimum": 1}),
                json!(0),
                Some("minimum"),
            ),
            (
                "member by worth",
                json!({"type": "number", "enum": [1]}),
                json!(1.0),
                None,
            ),
            (
                "no member",
                json!({"type": "string", "enum": ["a"]}),
                json!("b"),
                Some("enum"),
            ),
            ("null", json!({"type": "null"}), json!(null), None),
            (
                "item",
                json!({"type": "array", "items": {"type": "string"}}),
                json!([1]),
                Some("type"),
            ),
            (
                "repetition",
                json!({"type": "array", "items": {"type": "number"}, "uniqueItems": true}),
                json!([1, 1.0]),
                Some("uniqueItems"),
            ),
            (
                "too many",
                json!({"type": "array", "items": {"type": "number"}, "maxItems": 1}),
                json!([1, 2]),
                Some("maxItems"),
            ),
            (
                "undeclared",
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
                json!({"a": 1}),
                Some("additionalProperties"),
            ),
            (
                "missing",
                json!({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": false, "required": ["a"]}),
                json!({}),
                Some("required"),
            ),
        ] {
            let outcome = schema(constraint).check(&value);
            assert_eq!(
                outcome.err().map(|violation| violation.keyword),
                failing,
                "{name}"
            );
        }
    }

    #[test]
    fn a_violation_never_shows_the_value() {
        let strict = schema(json!({"type": "string", "pattern": "^x$", "enum": ["x"]}));
        let violation = strict.check(&json!("hunter2")).expect_err("no member");
        assert!(!violation.to_string().contains("hunter2"));
        let closed =
            schema(json!({"type": "object", "properties": {}, "additionalProperties": false}));
        let violation = closed
            .check(&json!({"hunter2": 1}))
            .expect_err("undeclared");
        assert!(!violation.to_string().contains("hunter2"));
    }

    #[test]
    fn a_schema_may_nest_sixteen_deep_and_no_deeper() {
        let nested = |depth: usize| {
            let mut value = json!({"type": "string"});
            for _ in 0..depth {
                value = json!({"type": "array", "items": value});
            }
            schema(value)
        };
        assert_eq!(nested(16).fault(), None);
        assert!(nested(17).fault().is_some());
    }

    #[test]
    fn an_integer_supplies_a_number_and_nothing_else_differs() {
        assert!(ValueType::Integer.supplies(ValueType::Number));
        assert!(!ValueType::Number.supplies(ValueType::Integer));
        assert!(ValueType::Array.supplies(ValueType::Array));
    }
}
