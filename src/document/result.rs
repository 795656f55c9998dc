//! The result of validation and resolution as core §6.0 has it: a status, the profile asked for, the phase reached,
//! diagnostics and deferred obligations.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantNames};

use super::diagnostic::{Diagnostic, Phase};
use super::pointer::Pointer;

/// Whether an input meets every obligation of its profile. A known failure wins over incompleteness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Status {
    /// Every obligation is met.
    Valid,
    /// At least one diagnostic.
    Invalid,
    /// No diagnostic, but something needed is not available. Never approval.
    Incomplete,
}

/// How far validation goes (core §6).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Profile {
    /// Parser and structural phases.
    Structural,
    /// And the semantic phase.
    #[default]
    Document,
    /// And the catalog's rules, which are deferred offline.
    Publication,
    /// And resolution and current policy, which are deferred offline.
    Deployment,
}

/// An obligation that could not be met for want of one fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Deferred {
    /// The id of the rule that waits.
    pub rule: Cow<'static, str>,
    /// The place in the submitted document.
    pub path: Pointer,
    /// The fact that is missing, as `kind:name`.
    pub missing: String,
}

/// The outcome of validating one document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidationResult {
    /// VALID, INVALID or INCOMPLETE, derived from the two lists.
    pub status: Status,
    /// The profile asked for.
    pub validation_profile: Profile,
    /// The phase that rejected, else the last one reached.
    pub phase: Phase,
    /// What is wrong, in a stable order.
    pub diagnostics: Vec<Diagnostic>,
    /// What is missing, in the specification's order.
    pub deferred: Vec<Deferred>,
}

impl ValidationResult {
    /// The result whose status follows from `diagnostics` and `deferred`.
    pub fn new(
        profile: Profile,
        phase: Phase,
        diagnostics: Vec<Diagnostic>,
        deferred: Vec<Deferred>,
    ) -> Self {
        Self {
            status: status(&diagnostics, &deferred),
            validation_profile: profile,
            phase,
            diagnostics,
            deferred,
        }
    }
}

/// INVALID as soon as anything is wrong, INCOMPLETE as soon as anything is missing, else VALID.
pub fn status(diagnostics: &[Diagnostic], deferred: &[Deferred]) -> Status {
    match (diagnostics, deferred) {
        ([], []) => Status::Valid,
        ([], _) => Status::Incomplete,
        _ => Status::Invalid,
    }
}
