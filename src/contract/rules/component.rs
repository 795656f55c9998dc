//! The rules of the component specification, in its order.

use super::{Rule, rule};
use crate::document::diagnostic::Code;

pub(super) const RULES: &[Rule] = &[
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
];
