//! What a blueprint resolved to: the value of every input and output, and the environment of every node. Private: it
//! holds secrets, and [`Resolved::inspection`] is the only view of it that may leave.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::record::VersionedIdentity;
use super::secret::{Held, Secret};

/// The effective values of one installation. Exists only as a whole: resolution that is INVALID or INCOMPLETE releases
/// none of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Each present input, by node and input name; an absent optional input has no entry. Every node has a map.
    pub inputs: BTreeMap<String, BTreeMap<String, Supplied>>,
    /// Each output, by node and output name. Every node has a map.
    pub outputs: BTreeMap<String, BTreeMap<String, Held>>,
    /// The environment of each node, also of one without variables, by variable name.
    pub environment: BTreeMap<String, BTreeMap<String, EnvironmentValue>>,
}

/// A value and, when a variable or a connection supplied it, which version of which.
#[derive(Clone, Debug, PartialEq)]
pub struct Supplied {
    /// The value and its sensitivity.
    pub held: Held,
    /// The variable or connection selection that it comes from.
    pub selected: Option<VersionedIdentity>,
}

impl Supplied {
    /// A value that no selection stands behind: submitted, defaulted, generated, literal, or another node's output.
    pub fn unselected(held: Held) -> Self {
        Self {
            held,
            selected: None,
        }
    }
}

/// The text of one environment variable.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentValue {
    /// The encoded text (component §5.3). Never holds a NUL.
    pub text: Secret<String>,
    /// Whether the text is a secret.
    pub sensitive: bool,
    /// Whether it is an authored constant of `envVars` rather than the value of an input.
    pub constant: bool,
}

/// What may be shown of one input: a secret's existence, or a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Inspected {
    /// A sensitive input.
    Redacted {
        /// Always true.
        sensitive: bool,
        /// Always true.
        redacted: bool,
    },
    /// An input that is no secret.
    Shown {
        /// Always false.
        sensitive: bool,
        /// Its logical value.
        value: Value,
    },
}

impl Resolved {
    /// The redacted view of every present input, by `node:in:input`. Holds no plaintext and no hash of a secret.
    pub fn inspection(&self) -> BTreeMap<String, Inspected> {
        let inputs = self.inputs.iter().flat_map(|(node, inputs)| {
            inputs
                .iter()
                .map(move |(input, supplied)| (format!("{node}:in:{input}"), supplied))
        });
        inputs
            .map(|(key, supplied)| (key, Inspected::of(&supplied.held)))
            .collect()
    }
}

impl Inspected {
    fn of(held: &Held) -> Self {
        match held.public() {
            None => Self::Redacted {
                sensitive: true,
                redacted: true,
            },
            Some(value) => Self::Shown {
                sensitive: false,
                value: value.clone(),
            },
        }
    }
}
