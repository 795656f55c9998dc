//! The rules of the blueprint specification, in its order.

use super::{Rule, rule};
use crate::document::diagnostic::Code;

pub(super) const RULES: &[Rule] = &[
    rule(
        "BP-ID-003",
        &[Code::UnreferencedComponent],
        "Every component document of an item is named by a node.",
    ),
    rule(
        "BP-ID-004",
        &[Code::MissingField, Code::InvalidValue],
        "A blueprint has a description of 1 to 280 characters.",
    ),
    rule(
        "blueprint §4",
        &[Code::InvalidValue, Code::MissingField],
        "A blueprint has at least one node; a local reference has no revision and a published one has.",
    ),
    rule(
        "BP-REF-001",
        &[
            Code::InvalidParameterSource,
            Code::MalformedReference,
            Code::UnknownReferenceNamespace,
            Code::ReferenceNotInScope,
        ],
        "A parameter's `from` is exactly one whole reference to a variable or a connection.",
    ),
    rule(
        "BP-REF-002",
        &[
            Code::ComponentNotFound,
            Code::ReferenceEscape,
            Code::InvalidDependency,
        ],
        "A node's component lies in the item or was supplied intact, and is valid; what was not supplied is deferred.",
    ),
    rule(
        "BP-CONN-002",
        &[Code::ValueCycle],
        "No value depends on itself.",
    ),
    rule(
        "BP-CONN-003",
        &[Code::MissingField, Code::InvalidValue],
        "A binding names exactly one supplier.",
    ),
    rule(
        "BP-NODE-001",
        &[Code::ConflictingNodeCompute],
        "A node that runs has compute.",
    ),
    rule(
        "BP-NODE-002",
        &[Code::ConflictingNodeCompute],
        "A node that runs nothing has no compute.",
    ),
    rule(
        "BP-NODE-003",
        &[Code::MissingField, Code::InvalidValue],
        "Compute names one profile; placement only narrows it.",
    ),
    rule(
        "BP-NODE-004",
        &[Code::InvalidVolumeAllocation],
        "Every declared volume is allocated at or above its minimum, and nothing else is.",
    ),
    rule(
        "BP-NODE-005",
        &[
            Code::UnknownEndpoint,
            Code::EndpointNotExposable,
            Code::ReadinessRequired,
            Code::EndpointNotPublic,
        ],
        "Exposure names endpoints that can be exposed, and exposes what outputs read.",
    ),
    rule(
        "BP-PARAM-001",
        &[Code::UnboundParameter],
        "Every parameter is named by a binding.",
    ),
    rule(
        "BP-PARAM-002",
        &[Code::ConflictingInputSchema],
        "The recipients of one parameter have equal schemas.",
    ),
    rule(
        "BP-PARAM-003",
        &[Code::UnsatisfiedRequiredInput],
        "A required input has a binding or a default.",
    ),
    rule(
        "BP-PARAM-004",
        &[Code::ValueConstraint],
        "A generated parameter supplies strings.",
    ),
    rule(
        "BP-PARAM-005",
        &[Code::UnknownParameter, Code::MissingParameterValue],
        "Submitted names are declared, and a submitted parameter has a value or a default.",
    ),
    rule(
        "BP-PARAM-006",
        &[Code::UnknownNode, Code::UnknownOutput],
        "A node binding names an existing node and output.",
    ),
    rule(
        "BP-PARAM-007",
        &[Code::UnknownInput, Code::UnknownParameter],
        "Every binding names an existing input, and every parameter it names is declared.",
    ),
    rule(
        "BP-PARAM-008",
        &[
            Code::IncompatibleType,
            Code::ValueConstraint,
            Code::SecretLiteral,
        ],
        "Types agree between producer and consumer, and values that are known fit.",
    ),
    rule(
        "BP-PARAM-009",
        &[
            Code::ParameterNotSubmittable,
            Code::VariableNotAuthorized,
            Code::InvalidResolutionContext,
        ],
        "A variable, connection or generated parameter is never submitted; a variable is readable and has identity and version.",
    ),
    rule(
        "BP-PARAM-010",
        &[Code::InvalidValue],
        "A parameter has at most one of default, generator and from.",
    ),
    rule(
        "BP-RESOLVE-001",
        &[
            Code::UnsatisfiedRequiredInput,
            Code::InvalidResolutionContext,
        ],
        "Resolution is complete before anything runs.",
    ),
    rule(
        "BP-CONNECTION-001",
        &[Code::InvalidConnectionBinding],
        "Every connection requirement is bound to a connection parameter, and connection parameters to nothing else.",
    ),
    rule(
        "BP-CONNECTION-002",
        &[
            Code::ConnectionNotFound,
            Code::ConnectionDenied,
            Code::ConnectionIncompatible,
            Code::InvalidResolutionContext,
        ],
        "One authorized selection serves all consumers of a connection parameter, and serves each of them.",
    ),
    rule(
        "BP-CONNECTION-003",
        &[],
        "A selection is persisted before use and survives retries, updates and changed defaults.",
    ),
    rule(
        "BP-UI-001",
        &[Code::MissingField, Code::UnknownField],
        "A form presentation has a label and no unknown member.",
    ),
    rule(
        "BP-UI-002",
        &[Code::InvalidValue],
        "Prominence is PRIMARY or SECONDARY.",
    ),
    rule(
        "BP-UI-003",
        &[Code::UnknownEnumMember],
        "Enum labels name scalar enum members.",
    ),
    rule(
        "BP-UI-004",
        &[],
        "A form offers submitted and connection parameters with a presentation, in a fixed order and with fixed controls.",
    ),
];
