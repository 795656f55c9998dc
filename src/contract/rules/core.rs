//! The rules of the core specification, in its order.

use super::{Rule, rule};
use crate::document::diagnostic::Code;

pub(super) const RULES: &[Rule] = &[
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
];
