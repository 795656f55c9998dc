//! Installation parameters and the one way each is supplied (blueprint §5).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use strum::{Display, IntoStaticStr};

/// One parameter of the installation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// The value of a submitted parameter that is not submitted. `Some(Value::Null)` is an authored null.
    #[serde(default, deserialize_with = "crate::contract::component::present")]
    pub default: Option<Value>,
    /// Makes it a generated credential.
    #[serde(default)]
    pub generator: Option<Generator>,
    /// Makes it a variable or a connection: one whole reference, as authored.
    #[serde(default)]
    pub from: Option<String>,
    /// How an install form presents it.
    #[serde(default)]
    pub ui: Option<Ui>,
}

/// How a credential is generated (BP-PARAM-004).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generator {
    /// How many random bytes, 16..64.
    #[serde(default = "thirty_two")]
    pub byte_length: u8,
    /// How they become text.
    #[serde(default)]
    pub encoding: Encoding,
}

/// How a generated credential's bytes become text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Encoding {
    /// Lowercase hexadecimal digits.
    #[default]
    Hex,
    /// Standard alphabet, padded.
    Base64,
    /// URL-safe alphabet, not padded.
    Base64url,
}

/// How an install form presents a parameter (blueprint §5.4).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ui {
    /// The field's label.
    pub label: String,
    /// Ascending; unspecified is last.
    #[serde(default)]
    pub order: Option<i64>,
    /// How prominent the field is.
    #[serde(default)]
    pub prominence: Prominence,
    /// Labels of enum members, by their string representation.
    #[serde(default)]
    pub enum_labels: BTreeMap<String, String>,
    /// Examples; never submitted.
    #[serde(default)]
    pub examples: Vec<String>,
}

/// How prominent a form field is (BP-UI-002).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Prominence {
    /// Shown first.
    #[default]
    Primary,
    /// Shown on demand.
    Secondary,
}

fn thirty_two() -> u8 {
    32
}
