//! The members of an `enum`, each known by its canonical text, so that one is found among any number at once.

use std::collections::HashSet;
use std::ops::Deref;

use serde::Deserialize;
use serde_json::Value;

use crate::document::canonical;

/// What `enum` lists, in its order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Vec<Value>")]
pub struct Members {
    listed: Vec<Value>,
    texts: HashSet<String>,
}

impl Members {
    /// Whether `value` is listed; numbers are compared by what they are worth.
    pub fn hold(&self, value: &Value) -> bool {
        self.texts.contains(&canonical::text(value))
    }
}

impl From<Vec<Value>> for Members {
    fn from(listed: Vec<Value>) -> Self {
        let texts = listed.iter().map(canonical::text).collect();
        Self { listed, texts }
    }
}

impl Deref for Members {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.listed
    }
}
