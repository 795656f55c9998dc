//! Document cases: a document, and whether it is accepted.

use serde_json::Value;

use super::Outcome;
use super::corpus::{Case, Expected, Subject, Suite};
use super::expectation;
use crate::contract::normalize::normalize;
use crate::contract::{Family, Published, validate_document, validate_item};
use crate::document::diagnostic::{Diagnostic, Phase};
use crate::document::result::{Profile, Status};
use crate::document::yaml;

/// What a case came to.
struct Reached {
    status: Status,
    phase: Phase,
    diagnostics: Vec<Diagnostic>,
    effective: Value,
}

pub(super) fn run(suite: Suite, case: &Case) -> Outcome {
    match case.subject() {
        Err(error) => Outcome::Failed {
            reason: format!("the case cannot be read: {error}"),
        },
        Ok(subject) => match disagreement(case, &reach(suite, case, &subject)) {
            None => Outcome::Passed,
            Some(reason) => Outcome::Failed { reason },
        },
    }
}

fn reach(suite: Suite, case: &Case, subject: &Subject) -> Reached {
    let bytes = match subject {
        Subject::Alone(bytes) | Subject::Inside(bytes) => Some(bytes),
        Subject::Item(item) => item
            .files()
            .find(|(path, _)| *path == crate::contract::item::BLUEPRINT)
            .map(|(_, bytes)| bytes),
    };
    let parsed = yaml::parse(bytes.map_or(&[], |bytes| bytes.as_ref()));
    let Some(family) = suite.document_family() else {
        return match parsed {
            Ok(document) => reached(Status::Valid, Vec::new(), document.value),
            Err(diagnostics) => reached(Status::Invalid, diagnostics, Value::Null),
        };
    };
    let profile = if case.metadata.phase == "semantic" {
        Profile::Document
    } else {
        Profile::Structural
    };
    let none = Published::default();
    let validation = match subject {
        Subject::Alone(bytes) | Subject::Inside(bytes) => {
            validate_document(Some(family), bytes, &none, profile)
        }
        Subject::Item(item) => validate_item(item, &none, profile),
    };
    Reached {
        status: validation.result.status,
        phase: validation.result.phase,
        diagnostics: validation.result.diagnostics,
        effective: effective(family, parsed.ok()),
    }
}

fn effective(family: Family, document: Option<yaml::Document>) -> Value {
    document.map_or(Value::Null, |document| normalize(family, document.value))
}

fn reached(status: Status, diagnostics: Vec<Diagnostic>, effective: Value) -> Reached {
    Reached {
        status,
        phase: Phase::Parser,
        diagnostics,
        effective,
    }
}

fn disagreement(case: &Case, reached: &Reached) -> Option<String> {
    let expected = match case.metadata.expected {
        Expected::Pass => Status::Valid,
        Expected::Fail => Status::Invalid,
        Expected::Incomplete => Status::Incomplete,
    };
    let rejected_elsewhere =
        expected == Status::Invalid && reached.phase.to_string() != case.metadata.phase;
    if reached.status != expected || rejected_elsewhere {
        let produced: Vec<_> = reached
            .diagnostics
            .iter()
            .map(|diagnostic| {
                format!(
                    "{} at `{}`: {}",
                    diagnostic.code, diagnostic.path, diagnostic.message
                )
            })
            .collect();
        return Some(format!(
            "expected {expected} in phase {}, got {} in phase {} [{}]",
            case.metadata.phase,
            reached.status,
            reached.phase,
            produced.join("; ")
        ));
    }
    expectation::missing_diagnostics(&case.diagnostics, &reached.diagnostics)
        .or_else(|| expectation::unexpected_values(&case.metadata.effective, &reached.effective))
}
