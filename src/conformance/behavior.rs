//! Behavioural cases: an operation, what it is given, and what has to be observed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::corpus::Suite;
use super::{Outcome, expectation, operation};
use crate::contract::{Family, Item, Published, Validation, validate_document, validate_item};
use crate::document::diagnostic::Diagnostic;
use crate::document::result::Profile;

/// One entry of a `behavior.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Behavior {
    /// The case's id.
    pub id: String,
    /// The profile that it belongs to.
    pub profile: String,
    /// What is done.
    pub operation: String,
    /// The rules that it is about.
    #[serde(default)]
    pub requirements: Vec<String>,
    /// What has to be observed, by pointer into the observation.
    #[serde(default)]
    pub expect: BTreeMap<String, Value>,
    /// The diagnostics that have to be produced at least.
    #[serde(default)]
    pub diagnostics: Vec<Value>,
    /// What the operation is given; for document operations, the document itself.
    #[serde(default)]
    pub input: Option<Value>,
    /// Documents by path.
    #[serde(default)]
    pub tree: BTreeMap<String, String>,
    /// Which of them is under test.
    #[serde(default)]
    pub document: Option<String>,
    /// The resolution context; empty when absent.
    #[serde(default)]
    pub context: Value,
}

/// What an operation made observable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The value that `expect` points into.
    pub value: Value,
    /// The diagnostics that were produced.
    pub diagnostics: Vec<Diagnostic>,
}

/// The document that an operation is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A document without an item root.
    Alone(Arc<[u8]>),
    /// An item.
    Item(Item),
}

impl Behavior {
    /// The document of the case: the item of its `tree`, else its `input` as JSON text.
    pub fn subject(&self) -> Option<Subject> {
        let Some(document) = &self.document else {
            let input = self.input.as_ref()?;
            return Some(Subject::Alone(Arc::from(input.to_string().into_bytes())));
        };
        let root = document.rsplit_once('/').map_or("", |(root, _)| root);
        let name = root.rsplit('/').next().unwrap_or_default();
        let files = self.tree.iter().filter_map(|(path, text)| {
            let inside = if root.is_empty() {
                path.as_str()
            } else {
                path.strip_prefix(root)?.strip_prefix('/')?
            };
            Some((inside, text.clone().into_bytes()))
        });
        Some(Subject::Item(Item::from_files(name, files)))
    }

    /// Validates the case's document under `profile`.
    pub fn validate(&self, suite: Suite, profile: Profile) -> Option<Validation> {
        let family = suite.document_family().unwrap_or(Family::Blueprint);
        let published = Published::from_context(&self.context);
        Some(match self.subject()? {
            Subject::Alone(bytes) => validate_document(Some(family), &bytes, &published, profile),
            Subject::Item(item) => validate_item(&item, &published, profile),
        })
    }
}

pub(super) fn run(suite: Suite, case: &Behavior) -> Outcome {
    let Some(observation) = operation::observe(suite, case) else {
        return Outcome::Skipped {
            reason: format!("the operation `{}` is not offered", case.operation),
        };
    };
    let disagreement = expectation::unexpected_values(&case.expect, &observation.value)
        .or_else(|| expectation::missing_diagnostics(&case.diagnostics, &observation.diagnostics));
    match disagreement {
        None => Outcome::Passed,
        Some(reason) => Outcome::Failed { reason },
    }
}
