//! Values against a schema.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use serde_json::{Number, Value};

use super::{ValueSchema, ValueType};
use crate::contract::component::pattern::Pattern;
use crate::document::canonical;

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
        if self
            .r#enum
            .as_ref()
            .is_some_and(|members| !members.hold(value))
        {
            return Err(Violation::new(
                "enum",
                "the value has to be one of the listed members",
            ));
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
