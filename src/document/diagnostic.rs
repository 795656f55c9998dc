//! Diagnostics: what is wrong with an input, as data. Codes, phases, stages and pointers are contract; message text
//! is ours and ends with what to do. A diagnostic is never an `Err` and is never retried.

use serde::Serialize;
use strum::{AsRefStr, Display, EnumIter, IntoStaticStr};

use super::pointer::Pointer;

/// Every diagnostic code of the core, component and blueprint specifications, release 1.0.0.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    AsRefStr,
    Display,
    EnumIter,
    IntoStaticStr,
    Serialize,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE", prefix = "ERR_")]
#[serde(into = "&'static str")]
#[allow(
    missing_docs,
    reason = "each code's meaning stands in the rule table, `contract::rules`"
)]
pub enum Code {
    // core: parser
    InvalidUtf8,
    InvalidYaml,
    MultipleDocuments,
    NonStringKey,
    DuplicateKey,
    AnchorOrAlias,
    MergeKey,
    ExplicitTag,
    DocumentTooLarge,
    DepthExceeded,
    ScalarTooLong,
    InvalidNumber,
    // core: structural
    WrongKind,
    UnsupportedSpecVersion,
    UnknownField,
    MissingField,
    InvalidType,
    InvalidValue,
    // core: semantic
    SlugMismatch,
    MalformedReference,
    UnknownReferenceNamespace,
    ReferenceNotInScope,
    // component
    UnpinnedImage,
    ConflictingEnvKey,
    UnknownEndpoint,
    EndpointNotHttp,
    #[strum(serialize = "ENDPOINT_NOT_L4")]
    EndpointNotL4,
    UnknownAddressProperty,
    EndpointNotExposable,
    InvalidSchedule,
    UnknownInputReference,
    InvalidMount,
    InvalidValueSchema,
    ValueConstraint,
    SecretLiteral,
    InvalidConnectionRequirement,
    VersionNotMonotonic,
    EnvEncoding,
    // blueprint
    ComponentNotFound,
    ReferenceEscape,
    InvalidDependency,
    UnreferencedComponent,
    ConflictingNodeCompute,
    UnknownNode,
    UnknownOutput,
    UnknownInput,
    UnknownParameter,
    IncompatibleType,
    ConflictingInputSchema,
    UnboundParameter,
    UnsatisfiedRequiredInput,
    EndpointNotPublic,
    ReadinessRequired,
    UnknownEnumMember,
    InvalidParameterSource,
    InvalidVolumeAllocation,
    ValueCycle,
    InvalidConnectionBinding,
    ParameterNotSubmittable,
    MissingParameterValue,
    VariableNotAuthorized,
    InvalidResolutionContext,
    ConnectionNotFound,
    ConnectionDenied,
    ConnectionIncompatible,
}

/// The phase that found a diagnostic; a later phase never reports before the earlier ones pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Display, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Phase {
    /// Bytes to value: the restricted YAML profile.
    Parser,
    /// One document against the shape of its family.
    Structural,
    /// Rules that need more than one field, or more than one document.
    Semantic,
    /// Server-side rules of a catalog.
    Capability,
    /// An installation's resolution.
    Resolution,
}

/// Where in the resolution phase a diagnostic arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Display, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Stage {
    /// Submitted values, variables.
    Parameters,
    /// Endpoint facts.
    Allocation,
    /// Atomic connections.
    Connections,
    /// Inputs and outputs.
    Values,
    /// Encoding into environment values.
    Environment,
    /// Acceptance of a record.
    Record,
}

/// The place in another document that a cross-document diagnostic is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Related {
    /// The `componentRef` as authored.
    pub artifact: String,
    /// The place in that component document.
    pub path: Pointer,
    /// The place in its source text, where one is known. Not part of the contract, so never serialized.
    #[serde(skip)]
    pub location: Option<Location>,
    /// The code of the component's own diagnostic there, if it is one. Not part of the contract either.
    #[serde(skip)]
    pub code: Option<Code>,
}

/// A place in the source text, counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// One thing that is wrong with the input. Quotes references as written and never a value that may be secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Diagnostic {
    /// The place in the submitted document.
    pub path: Pointer,
    /// What is wrong, by the specification's name.
    pub code: Code,
    /// The phase that found it.
    pub phase: Phase,
    /// Only in the resolution phase: the stage that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// What is wrong and what to do, for a person.
    pub message: String,
    /// The place in a component that a blueprint's diagnostic is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// The place in the source text, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

impl Diagnostic {
    /// A diagnostic of `phase` at `path`; `message` ends with what to do.
    pub fn new(phase: Phase, code: Code, path: Pointer, message: impl Into<String>) -> Self {
        Self {
            path,
            code,
            phase,
            stage: None,
            message: message.into(),
            related: Vec::new(),
            location: None,
        }
    }

    /// A diagnostic of the semantic phase.
    pub fn semantic(code: Code, path: Pointer, message: impl Into<String>) -> Self {
        Self::new(Phase::Semantic, code, path, message)
    }

    /// A diagnostic of the resolution phase, found in `stage`.
    pub fn resolution(stage: Stage, code: Code, path: Pointer, message: impl Into<String>) -> Self {
        Self {
            stage: Some(stage),
            ..Self::new(Phase::Resolution, code, path, message)
        }
    }

    /// This diagnostic with the place in a component document that it is about.
    #[must_use]
    pub fn related(mut self, artifact: &str, path: Pointer) -> Self {
        self.related.push(Related {
            artifact: artifact.to_owned(),
            path,
            location: None,
            code: None,
        });
        self
    }

    /// This diagnostic with the component's own that it stands for.
    #[must_use]
    pub fn on_behalf_of(mut self, artifact: &str, fault: Self) -> Self {
        self.related.push(Related {
            artifact: artifact.to_owned(),
            path: fault.path,
            location: fault.location,
            code: Some(fault.code),
        });
        self
    }

    /// This diagnostic with the place in the source text where it is.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_spelled_as_the_specification_spells_them() {
        for (code, text) in [
            (Code::InvalidUtf8, "ERR_INVALID_UTF8"),
            (Code::EndpointNotL4, "ERR_ENDPOINT_NOT_L4"),
            (Code::EndpointNotHttp, "ERR_ENDPOINT_NOT_HTTP"),
            (Code::ConflictingEnvKey, "ERR_CONFLICTING_ENV_KEY"),
        ] {
            assert_eq!(code.to_string(), text);
        }
    }
}
