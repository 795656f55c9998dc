//! The operations of behavioural cases. One that is not named here, or that yields no observation, is skipped.

use serde_json::{Value, json};

use super::behavior::{Behavior, Observation, Subject};
use super::corpus::Suite;
use super::{lifecycle, resolution};
use crate::contract::blueprint::form::form;
use crate::contract::normalize::normalize;
use crate::contract::validate::monotonic;
use crate::document::result::{Profile, ValidationResult};
use crate::document::yaml;

/// What `case` makes observable; nothing when its operation is not offered.
pub(super) fn observe(suite: Suite, case: &Behavior) -> Option<Observation> {
    match case.operation.as_str() {
        "validate" => validated(suite, case),
        "form" => formed(suite, case),
        "normalize" => normalized(suite, case),
        "revision" => revised(case),
        "resolve" => resolution::resolved(suite, case),
        "record" => resolution::recorded(case),
        "credential" => lifecycle::credentials(case),
        "connection" => lifecycle::connections(case),
        _ => None,
    }
}

/// The observation of a validation result.
fn observation(result: ValidationResult) -> Observation {
    Observation {
        value: serde_json::to_value(&result).unwrap_or_default(),
        diagnostics: result.diagnostics,
    }
}

fn validated(suite: Suite, case: &Behavior) -> Option<Observation> {
    let profile = case
        .context
        .get("validationProfile")
        .and_then(Value::as_str)
        .map_or(Ok(Profile::Document), str::parse)
        .ok()?;
    Some(observation(case.validate(suite, profile)?.result))
}

/// The form of a blueprint that has no fault, as far as its components are known; else no form.
fn formed(suite: Suite, case: &Behavior) -> Option<Observation> {
    let validation = case.validate(suite, Profile::Document)?;
    let fields = validation.partial.as_ref().map(form).unwrap_or_default();
    Some(Observation {
        value: serde_json::to_value(fields).unwrap_or_default(),
        diagnostics: validation.result.diagnostics,
    })
}

fn normalized(suite: Suite, case: &Behavior) -> Option<Observation> {
    let family = suite.document_family()?;
    let bytes = match case.subject()? {
        Subject::Alone(bytes) => bytes,
        Subject::Item(_) => return None,
    };
    Some(match yaml::parse(&bytes) {
        Err(diagnostics) => Observation {
            value: Value::Null,
            diagnostics,
        },
        Ok(document) => {
            let once = normalize(family, document.value);
            let twice = normalize(family, once.clone());
            Observation {
                value: json!({"idempotent": once == twice, "value": once}),
                diagnostics: Vec::new(),
            }
        }
    })
}

fn revised(case: &Behavior) -> Option<Observation> {
    let number = |field: &str| case.input.as_ref()?.get(field)?.as_u64();
    Some(observation(monotonic(
        number("revision")?,
        number("highestPublishedRevision")?,
    )))
}
