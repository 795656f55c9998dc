//! Value schemas: the closed subset of JSON Schema that constrains logical values, without coercion (component §6.3).

mod check;
mod fault;
mod members;
#[cfg(test)]
mod tests;

pub use self::check::Violation;
pub use self::members::Members;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Number;
use strum::{Display, IntoStaticStr};

/// What a value must satisfy. Equal schemas are equal values, whatever the order they were written in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the keywords are JSON Schema's own")]
pub struct ValueSchema {
    pub r#type: ValueType,
    #[serde(default)]
    pub r#enum: Option<Members>,
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

impl ValueType {
    /// Whether a value of this type may supply `consumer`: the same type, or an integer for a number (BP-PARAM-008).
    pub fn supplies(self, consumer: Self) -> bool {
        self == consumer || (self == Self::Integer && consumer == Self::Number)
    }
}
