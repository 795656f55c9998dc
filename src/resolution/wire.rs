//! The JSON shape of selections, which context files and snapshots share. Strict: what is not known is refused. These
//! types live only between the text and the types that hold its values in custody.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::context;
use super::secret::{Held, Secret, SecretJson};

/// Why text is not of a shape. Says where, never what, because the text is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed at line {line}, column {column}")]
pub struct Malformed {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl From<serde_json::Error> for Malformed {
    /// Drops the parser's message, which may quote a secret.
    fn from(error: serde_json::Error) -> Self {
        Self {
            line: error.line(),
            column: error.column(),
        }
    }
}

/// A value and whether its supplier calls it a secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Supplied {
    value: Value,
    sensitive: bool,
}

impl From<Supplied> for Held {
    fn from(supplied: Supplied) -> Self {
        Self::new(supplied.value, supplied.sensitive)
    }
}

/// An organization variable.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variable {
    identity: Option<String>,
    version: Option<String>,
    value: Value,
    sensitive: bool,
    authorized: bool,
}

impl From<Variable> for context::Variable {
    fn from(variable: Variable) -> Self {
        Self {
            identity: variable.identity,
            version: variable.version,
            value: Held::new(variable.value, variable.sensitive),
            authorized: variable.authorized,
        }
    }
}

/// Connection evidence, and the installation that it was acquired for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Connections {
    pub(super) installation: String,
    parameters: BTreeMap<String, Value>,
}

impl Connections {
    /// The evidence in custody, by connection parameter.
    pub(super) fn into_answers(self) -> BTreeMap<String, Secret<SecretJson>> {
        self.parameters
            .into_iter()
            .map(|(name, answer)| (name, Secret::new(SecretJson(answer))))
            .collect()
    }
}

/// The map with the same keys and each value in custody.
pub(super) fn held<W, V: From<W>>(map: BTreeMap<String, W>) -> BTreeMap<String, V> {
    map.into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect()
}
