//! Rules of one input: a usable schema, and a default that it admits.

use super::literal::Receiver;
use super::{Input, Spec};
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

/// The place of input `name` in a component document.
pub(crate) fn pointer(name: &str) -> Pointer {
    Pointer::of(["spec", "contract", "inputs", name])
}

pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    for (name, input) in &spec.contract.inputs {
        check_one(name, input, findings);
    }
}

fn check_one(name: &str, input: &Input, findings: &mut Findings<'_>) {
    if let Some(fault) = input.schema.fault() {
        findings.push(
            Code::InvalidValueSchema,
            pointer(name).child("schema"),
            format!("the schema of input `{name}` cannot be used: {fault}"),
        );
    } else if let Some(default) = &input.default {
        receiver(name, input).check(default, &pointer(name).child("default"), findings);
    }
}

/// The input as the receiver of a literal.
pub(crate) fn receiver<'a>(name: &str, input: &'a Input) -> Receiver<'a> {
    Receiver {
        schema: &input.schema,
        sensitive: input.sensitive,
        name: format!("input `{name}`"),
    }
}
