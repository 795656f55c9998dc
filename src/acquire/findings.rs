//! What acquisition and resolution found of one spec: what is wrong and what is missing, each with the document that its
//! pointer leads into.

use crate::document::diagnostic::Diagnostic;
use crate::document::pointer::Pointer;
use crate::document::result::{Deferred, Status, ValidationResult};

/// The document that a pointer leads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The item's `blueprint.yaml`.
    Blueprint,
    /// The Installation itself.
    Installation,
}

/// A missing fact and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// The obligation.
    pub deferred: Deferred,
    /// The document its pointer leads into.
    pub document: Document,
    /// What to do.
    pub remedy: String,
}

/// Everything found of one spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What is wrong.
    pub diagnostics: Vec<(Document, Diagnostic)>,
    /// What is missing.
    pub missing: Vec<Missing>,
}

impl Findings {
    /// VALID, INVALID or INCOMPLETE.
    pub fn status(&self) -> Status {
        match (self.diagnostics.is_empty(), self.missing.is_empty()) {
            (true, true) => Status::Valid,
            (true, false) => Status::Incomplete,
            (false, _) => Status::Invalid,
        }
    }

    /// Adds what the contract's own rules found of the blueprint.
    pub fn absorb(&mut self, result: ValidationResult) {
        self.diagnostics.extend(
            result
                .diagnostics
                .into_iter()
                .map(|diagnostic| (Document::Blueprint, diagnostic)),
        );
        for deferred in result.deferred {
            let remedy = remedy(&deferred.missing);
            self.missing.push(Missing {
                deferred,
                document: Document::Blueprint,
                remedy,
            });
        }
    }

    /// Adds something that is wrong.
    pub fn wrong(&mut self, document: Document, diagnostic: Diagnostic) {
        self.diagnostics.push((document, diagnostic));
    }

    /// Adds something that is missing: `rule` waits for it at `path`.
    pub fn wait(
        &mut self,
        document: Document,
        rule: &'static str,
        path: Pointer,
        missing: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let deferred = Deferred {
            rule: rule.into(),
            path,
            missing: missing.into(),
        };
        self.missing.push(Missing {
            deferred,
            document,
            remedy: remedy.into(),
        });
    }
}

/// What to do about a fact that the contract's own rules miss.
fn remedy(missing: &str) -> String {
    let (kind, name) = missing.split_once(':').unwrap_or((missing, ""));
    match kind {
        "contract" => {
            format!(
                "no ComponentRevision has the identity and revision {name}: create it; offline, give it under contracts in the context file"
            )
        }
        "variable" => format!(
            "nothing has the variable path {name}: create a ClusterVariable with it, or a Variable in the namespace; offline, give it under variables in the context file"
        ),
        "connection" => format!(
            "the connection of parameter {name} has not been acquired: give it under connections in the context file"
        ),
        "allocation" => format!("{name} is not known: see what its endpoint waits for"),
        _ => format!("provide {missing}"),
    }
}
