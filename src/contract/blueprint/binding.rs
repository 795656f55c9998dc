//! Bindings: the one supplier of an input (blueprint §4.2, §5.3).

use serde::Deserialize;
use serde_json::Value;

/// The supplier of one input.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "RawBinding")]
pub enum Binding {
    /// An installation parameter.
    Parameter(String),
    /// Another node's output.
    Output {
        /// The producing node.
        node: String,
        /// Its output.
        output: String,
    },
    /// A non-secret literal; `Value::Null` is an authored null.
    Value(Value),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum RawBinding {
    Parameter(String),
    Value(Value),
    #[serde(untagged)]
    Output {
        node: String,
        output: String,
    },
}

impl From<RawBinding> for Binding {
    fn from(raw: RawBinding) -> Self {
        match raw {
            RawBinding::Parameter(parameter) => Self::Parameter(parameter),
            RawBinding::Value(value) => Self::Value(value),
            RawBinding::Output { node, output } => Self::Output { node, output },
        }
    }
}

/// The connection parameter that satisfies one connection requirement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ConnectionBinding {
    /// The parameter's name.
    pub parameter: String,
}
