//! The door to this room: bytes in, a validation result out, and a typed contract once everything holds.

use std::sync::Arc;

use super::blueprint::assess::{self, Assessment};
use super::component;
use super::contracts::{ComponentContract, Contracts};
use super::envelope::{self, Family};
use super::item::{BLUEPRINT, Item, Lookup};
use super::published::Published;
use super::structure;
use crate::document::diagnostic::{Code, Diagnostic, Phase};
use crate::document::pointer::Pointer;
use crate::document::result::{Deferred, Profile, ValidationResult};
use crate::document::yaml;

/// What validation found.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The result as core §6.0 has it.
    pub result: ValidationResult,
    /// The blueprint with all its components: there exactly when a blueprint is VALID under the document profile,
    /// whatever a later profile adds.
    pub contracts: Option<Arc<Contracts>>,
    /// A blueprint of which nothing is wrong, with those of its components that are known; what is missing stands in the
    /// result. Enough for a form, never for a resolution.
    pub partial: Option<Contracts>,
    /// The component: there exactly when a component is VALID under the document profile.
    pub component: Option<Arc<ComponentContract>>,
}

/// Validates the blueprint of an item together with its components.
pub fn validate_item(item: &Item, published: &Published, profile: Profile) -> Validation {
    match item.file(BLUEPRINT) {
        Lookup::File { bytes, .. } => match yaml::parse(bytes) {
            Err(diagnostics) => rejected(profile, Phase::Parser, diagnostics),
            Ok(document) => blueprint(&document, bytes, Some(item), published, profile),
        },
        Lookup::Escape | Lookup::Missing => unreadable(profile),
    }
}

/// Validates a document that stands in no item. What needs an item root is deferred, never reported.
///
/// `family` is the family that the caller asks for; without one the document's `kind` chooses.
pub fn validate_document(
    family: Option<Family>,
    bytes: &[u8],
    published: &Published,
    profile: Profile,
) -> Validation {
    let document = match yaml::parse(bytes) {
        Err(diagnostics) => return rejected(profile, Phase::Parser, diagnostics),
        Ok(document) => document,
    };
    let family = match family.map_or_else(|| envelope::family(&document), Ok) {
        Err(diagnostic) => return rejected(profile, Phase::Structural, vec![*diagnostic]),
        Ok(family) => family,
    };
    match family {
        Family::Blueprint => blueprint(&document, &Arc::from(bytes), None, published, profile),
        Family::Component => component(&document, &Arc::from(bytes), profile),
    }
}

/// Whether a component's revision may follow what is published of its lineage (COMP-ID-001).
pub fn monotonic(revision: u64, highest_published: u64) -> ValidationResult {
    let diagnostics = if revision > highest_published {
        Vec::new()
    } else {
        vec![Diagnostic::new(
            Phase::Capability,
            Code::VersionNotMonotonic,
            Pointer::of(["metadata", "revision"]),
            format!(
                "revision {revision} does not exceed {highest_published}, the highest that is published; raise it"
            ),
        )]
    };
    ValidationResult::new(
        Profile::Publication,
        Phase::Capability,
        diagnostics,
        Vec::new(),
    )
}

fn blueprint(
    document: &yaml::Document,
    bytes: &Arc<[u8]>,
    item: Option<&Item>,
    published: &Published,
    profile: Profile,
) -> Validation {
    if let Some(validation) = misshapen(Family::Blueprint, document, profile) {
        return validation;
    }
    let Assessment {
        diagnostics,
        mut deferred,
        contracts,
        partial,
    } = assess::assess(document, bytes, item, published);
    deferred.extend(admission(Family::Blueprint, profile));
    Validation {
        contracts,
        partial,
        ..rejected_or_not(profile, Phase::Semantic, diagnostics, deferred)
    }
}

fn component(document: &yaml::Document, bytes: &Arc<[u8]>, profile: Profile) -> Validation {
    if let Some(validation) = misshapen(Family::Component, document, profile) {
        return validation;
    }
    match component::assess(document, bytes) {
        Ok(contract) => Validation {
            component: Some(Arc::new(contract)),
            ..rejected_or_not(
                profile,
                Phase::Semantic,
                Vec::new(),
                admission(Family::Component, profile),
            )
        },
        Err(diagnostics) => rejected_or_not(
            profile,
            Phase::Semantic,
            diagnostics,
            admission(Family::Component, profile),
        ),
    }
}

/// The outcome of the structural phase, unless the document passes it and the profile goes on.
fn misshapen(family: Family, document: &yaml::Document, profile: Profile) -> Option<Validation> {
    let diagnostics = structure::check(family, document);
    let ends = !diagnostics.is_empty() || profile == Profile::Structural;
    ends.then(|| rejected(profile, Phase::Structural, diagnostics))
}

/// What publication and deployment still have to ask of a catalog and of an installation.
fn admission(family: Family, profile: Profile) -> Vec<Deferred> {
    let admission = Deferred {
        rule: "CORE-ADMISSION-001".into(),
        path: Pointer::root(),
        missing: "admission by the catalog".to_owned(),
    };
    let resolution = Deferred {
        rule: "BP-RESOLVE-001".into(),
        path: Pointer::of(["spec", "components"]),
        missing: "resolution of an installation".to_owned(),
    };
    match (profile, family) {
        (Profile::Structural | Profile::Document, _) => Vec::new(),
        (Profile::Publication, _) | (Profile::Deployment, Family::Component) => vec![admission],
        (Profile::Deployment, Family::Blueprint) => vec![admission, resolution],
    }
}

fn rejected(profile: Profile, phase: Phase, diagnostics: Vec<Diagnostic>) -> Validation {
    rejected_or_not(profile, phase, diagnostics, Vec::new())
}

fn rejected_or_not(
    profile: Profile,
    phase: Phase,
    mut diagnostics: Vec<Diagnostic>,
    deferred: Vec<Deferred>,
) -> Validation {
    // Parser diagnostics share one path and stand in source order already.
    if phase != Phase::Parser {
        diagnostics.sort();
        // A text that holds one mistake many times has it once.
        diagnostics.dedup();
    }
    Validation {
        result: ValidationResult::new(profile, phase, diagnostics, deferred),
        contracts: None,
        partial: None,
        component: None,
    }
}

fn unreadable(profile: Profile) -> Validation {
    let diagnostic = Diagnostic::new(
        Phase::Parser,
        Code::InvalidYaml,
        Pointer::root(),
        "the item holds no `blueprint.yaml` of its own; add one at the item's root",
    );
    rejected(profile, Phase::Parser, vec![diagnostic])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::digest::Digest;

    #[test]
    fn a_valid_component_is_handed_out_with_its_digest() {
        let text = b"{specVersion: v1, kind: COMPONENT, metadata: {revision: 1, description: A service elsewhere.}, \
                     spec: {type: EXTERNAL, contract: {outputs: {url: {schema: {type: string}, description: Where., \
                     from: {value: here}}}}}}";
        let validation = validate_document(None, text, &Published::default(), Profile::Document);
        assert_eq!(
            validation.component.map(|contract| contract.digest.clone()),
            Some(Digest::of(text)),
            "{:?}",
            validation.result
        );
    }

    #[test]
    fn diagnostics_stand_in_order_and_each_once() {
        let diagnostic = |message: &str| {
            Diagnostic::new(
                Phase::Semantic,
                Code::InvalidValueSchema,
                Pointer::root(),
                message,
            )
        };
        let given = ["b", "a", "b"].map(diagnostic).to_vec();
        let order = |phase| {
            let result =
                rejected_or_not(Profile::Document, phase, given.clone(), Vec::new()).result;
            result
                .diagnostics
                .into_iter()
                .map(|found| found.message)
                .collect::<String>()
        };
        assert_eq!(order(Phase::Semantic), "ab");
        assert_eq!(order(Phase::Parser), "bab", "the order of the source");
    }
}
