//! Every rule by its id: the codes it reports and what it asks for, in our words. Documentation and the coverage of the
//! corpus come from this table. A rule that the specifications state without an id goes by its section.

use crate::document::diagnostic::Code;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The specification's id, or the section that states it.
    pub id: &'static str,
    /// The codes it reports; none where it only admits, defers or orders.
    pub codes: &'static [Code],
    /// What it asks for.
    pub explanation: &'static str,
}

impl Rule {
    /// Whether the specification gives the rule an id, rather than only a section.
    pub fn has_id(&self) -> bool {
        !self.id.contains('§')
    }
}

const fn rule(id: &'static str, codes: &'static [Code], explanation: &'static str) -> Rule {
    Rule {
        id,
        codes,
        explanation,
    }
}

/// The rules that can report `code`.
pub fn reporting(code: Code) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(move |rule| rule.codes.contains(&code))
}

/// Every rule, in the order of the specifications.
pub const RULES: &[Rule] = &[
    rule(
        "CORE-YAML-001",
        &[Code::InvalidUtf8],
        "A document is UTF-8; malformed bytes are refused before anything is decoded.",
    ),
    rule(
        "CORE-YAML-002",
        &[],
        "A byte order mark at the start is ignored.",
    ),
    rule("CORE-YAML-003", &[], "Lines may end in LF or in CRLF."),
    rule(
        "CORE-YAML-004",
        &[Code::MultipleDocuments],
        "A file holds exactly one document.",
    ),
    rule(
        "CORE-YAML-005",
        &[Code::NonStringKey],
        "Every mapping key is a string.",
    ),
    rule(
        "CORE-YAML-006",
        &[Code::DuplicateKey],
        "No key stands twice in one mapping.",
    ),
    rule(
        "CORE-YAML-007",
        &[Code::AnchorOrAlias],
        "There are no anchors and no aliases.",
    ),
    rule(
        "CORE-YAML-008",
        &[Code::MergeKey],
        "There are no merge keys, plain or quoted.",
    ),
    rule(
        "CORE-YAML-009",
        &[Code::ExplicitTag],
        "There are no explicit tags.",
    ),
    rule(
        "CORE-YAML-010",
        &[Code::DocumentTooLarge],
        "A document has at most 1,048,576 bytes.",
    ),
    rule(
        "CORE-YAML-011",
        &[Code::DepthExceeded],
        "A value stands inside at most 64 collections.",
    ),
    rule(
        "CORE-YAML-012",
        &[Code::ScalarTooLong],
        "A scalar, key or value, has at most 65,536 bytes.",
    ),
    rule(
        "core §3",
        &[Code::InvalidYaml, Code::InvalidNumber],
        "A document is well-formed YAML 1.2, its integers lie within ±9007199254740991 and its other numbers are finite.",
    ),
    rule(
        "CORE-ENV-001",
        &[Code::MissingField],
        "`specVersion` is required.",
    ),
    rule(
        "CORE-ENV-002",
        &[Code::WrongKind, Code::MissingField],
        "`kind` is required and is the family's own.",
    ),
    rule(
        "CORE-ENV-003",
        &[Code::MissingField],
        "`metadata` is required.",
    ),
    rule("CORE-ENV-004", &[Code::MissingField], "`spec` is required."),
    rule(
        "CORE-ENV-005",
        &[Code::UnknownField],
        "A field that the specification does not define is refused at any level.",
    ),
    rule(
        "CORE-ENV-006",
        &[Code::UnsupportedSpecVersion],
        "`specVersion` is `v1`; another version is not guessed at.",
    ),
    rule(
        "CORE-ENV-007",
        &[Code::InvalidType],
        "An optional field is omitted; null is a value only where a field may hold it.",
    ),
    rule(
        "core §4",
        &[Code::InvalidType, Code::InvalidValue],
        "Every value has the type, the grammar and the bounds of its field.",
    ),
    rule(
        "CORE-ITEM-001",
        &[Code::SlugMismatch],
        "The slug of an item document is the name of its item directory.",
    ),
    rule(
        "CORE-REF-001",
        &[Code::MalformedReference],
        "An unescaped `${{` begins a well-formed reference.",
    ),
    rule(
        "CORE-REF-002",
        &[Code::UnknownReferenceNamespace],
        "A reference's namespace is one that core reserves.",
    ),
    rule(
        "CORE-REF-003",
        &[Code::ReferenceNotInScope],
        "A reference's namespace is one that its position admits.",
    ),
    rule(
        "CORE-ADMISSION-001",
        &[],
        "What only a catalog can decide is deferred offline, never passed.",
    ),
    rule(
        "COMP-ID-001",
        &[Code::VersionNotMonotonic],
        "A published revision exceeds every published one of its lineage.",
    ),
    rule(
        "component §4",
        &[Code::MissingField, Code::InvalidValue],
        "A component has a revision and a description of 1 to 280 characters.",
    ),
    rule(
        "component §5",
        &[Code::InvalidValue, Code::MissingField],
        "A component's type decides which fields it needs and which it may not have.",
    ),
    rule(
        "component §5.1",
        &[Code::InvalidValue, Code::MissingField],
        "A workload's source is an image with a tag or digest, or a Git repository and one way to build it.",
    ),
    rule(
        "COMP-SRC-003",
        &[Code::UnpinnedImage],
        "An image without a digest has a tag that does not move.",
    ),
    rule(
        "COMP-EP-001",
        &[Code::UnknownEndpoint],
        "An endpoint that a probe or an output reads is declared.",
    ),
    rule(
        "COMP-EP-004",
        &[Code::EndpointNotHttp, Code::EndpointNotL4],
        "An address property is read of an endpoint whose protocol has it.",
    ),
    rule(
        "COMP-TYPE-003",
        &[Code::EndpointNotExposable],
        "Nothing public is read of a WORKER's endpoints, and none is exposed.",
    ),
    rule(
        "COMP-ENVVAR-002",
        &[Code::ConflictingEnvKey],
        "Every environment variable has one owner.",
    ),
    rule(
        "component §5.4",
        &[Code::EndpointNotHttp],
        "A probe asks an HTTP or HTTPS endpoint.",
    ),
    rule(
        "component §5.5",
        &[Code::InvalidMount],
        "Mount paths are canonical, and none lies in another.",
    ),
    rule(
        "component §5.7",
        &[Code::InvalidSchedule],
        "A schedule's five fields keep the cron grammar.",
    ),
    rule(
        "COMP-OUT-002",
        &[Code::UnknownInputReference, Code::ValueConstraint],
        "An output that forwards an input names one of a fitting type.",
    ),
    rule(
        "COMP-REF-001",
        &[
            Code::UnknownEndpoint,
            Code::UnknownAddressProperty,
            Code::ValueConstraint,
        ],
        "A template reads properties of the component's own endpoints and yields a string.",
    ),
    rule(
        "COMP-CONNECTION-001",
        &[Code::InvalidConnectionRequirement],
        "Each role of a connection requirement has a required string input of its own, without a default; the key's is sensitive.",
    ),
    rule(
        "component §6.3",
        &[Code::InvalidValueSchema],
        "A value schema declares what it requires, nests at most 16 deep and keeps the pattern profile.",
    ),
    rule(
        "COMP-VAL-004",
        &[],
        "An omitted field has the contract's default; filling it in twice changes nothing.",
    ),
    rule(
        "COMP-VAL-005",
        &[Code::ValueConstraint, Code::SecretLiteral],
        "An authored literal satisfies the schema it supplies, and supplies nothing sensitive.",
    ),
    rule(
        "component §5.3",
        &[Code::EnvEncoding],
        "A resolved value can be an environment variable's text.",
    ),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use strum::IntoEnumIterator;

    #[test]
    fn every_code_belongs_to_a_rule_and_no_rule_stands_twice() {
        let ids: BTreeSet<_> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        let orphans: Vec<_> = Code::iter()
            .filter(|code| reporting(*code).next().is_none())
            .collect();
        assert!(orphans.is_empty(), "codes of no rule: {orphans:?}");
    }
}
