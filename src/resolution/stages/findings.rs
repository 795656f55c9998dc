//! What the stages find wrong or missing, and where each finding is anchored.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::contract::blueprint::node::Node;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::document::result::Deferred;

/// Everything that the stages found. Nothing is released unless it stays empty.
#[derive(Debug, Default)]
pub(in crate::resolution) struct Findings {
    diagnostics: Vec<Diagnostic>,
    missing: BTreeSet<Missing>,
}

/// A fact that resolution needs and the context lacks. The order of the variants is the order of the deferred
/// obligations that they become, whichever stage notices them first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::resolution) enum Missing {
    /// A connection parameter without a selection.
    Connection { parameter: String },
    /// A variable that is not available to a parameter.
    Variable { parameter: String, path: String },
    /// A generated parameter without a persisted credential, and the first input that receives it.
    Credential {
        node: String,
        input: String,
        parameter: String,
    },
    /// A property that an output reads and no allocation tells.
    Allocation {
        node: String,
        endpoint: String,
        property: &'static str,
    },
}

impl Findings {
    /// Reports what is wrong; `message` ends with what to do and quotes no value.
    pub(in crate::resolution) fn wrong(
        &mut self,
        stage: Stage,
        code: Code,
        path: Pointer,
        message: impl Into<String>,
    ) {
        self.report(Diagnostic::resolution(stage, code, path, message));
    }

    /// Reports a diagnostic that carries more than a place.
    pub(in crate::resolution) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Defers what needs `fact`; the same fact is deferred once.
    pub(in crate::resolution) fn missing(&mut self, fact: Missing) {
        self.missing.insert(fact);
    }

    /// The diagnostics by stage and place, and the deferred obligations in the specification's order.
    pub(in crate::resolution) fn conclude(mut self) -> (Vec<Diagnostic>, Vec<Deferred>) {
        // Evaluation follows dependencies; readers look things up by place.
        self.diagnostics
            .sort_by(|a, b| (a.stage, a).cmp(&(b.stage, b)));
        let deferred = self.missing.into_iter().map(Missing::defer);
        (self.diagnostics, deferred.collect())
    }
}

impl Missing {
    fn defer(self) -> Deferred {
        let (rule, path, missing) = match self {
            Self::Connection { parameter: name } => (
                "BP-CONNECTION-002",
                parameter(&name),
                format!("connection:{name}"),
            ),
            Self::Variable {
                parameter: name,
                path,
            } => (
                "BP-PARAM-009",
                parameter_source(&name),
                format!("variable:{path}"),
            ),
            Self::Credential {
                node,
                input,
                parameter,
            } => (
                "BP-RESOLVE-001",
                binding(&node, &input),
                format!("credential:{parameter}"),
            ),
            Self::Allocation {
                node,
                endpoint,
                property,
            } => (
                "BP-RESOLVE-001",
                component_ref(&node),
                format!("allocation:{node}:{endpoint}:{property}"),
            ),
        };
        Deferred {
            rule: Cow::Borrowed(rule),
            path,
            missing,
        }
    }
}

/// `/spec/parameters`.
pub(in crate::resolution) fn parameters() -> Pointer {
    Pointer::of(["spec", "parameters"])
}

/// The parameter `name`.
pub(in crate::resolution) fn parameter(name: &str) -> Pointer {
    parameters().child(name)
}

/// The `from` of the parameter `name`.
pub(in crate::resolution) fn parameter_source(name: &str) -> Pointer {
    parameter(name).child("from")
}

/// `/spec/components`.
pub(in crate::resolution) fn components() -> Pointer {
    Pointer::of(["spec", "components"])
}

/// The `componentRef` of `node`.
pub(in crate::resolution) fn component_ref(node: &str) -> Pointer {
    components().child(node).child("componentRef")
}

/// The binding of `input` in `node`.
pub(in crate::resolution) fn binding(node: &str, input: &str) -> Pointer {
    components().child(node).child("bindings").child(input)
}

/// The connection binding of `requirement` in `node`.
pub(in crate::resolution) fn connection_binding(node: &str, requirement: &str) -> Pointer {
    components()
        .child(node)
        .child("connectionBindings")
        .child(requirement)
}

/// Where the supply of an input is authored: its binding, or the `componentRef` of an unbound one.
pub(in crate::resolution) fn supply(contracts: &Contracts, node: &str, input: &str) -> Pointer {
    if authored(contracts, node).bindings.contains_key(input) {
        binding(node, input)
    } else {
        component_ref(node)
    }
}

/// The node as authored.
pub(in crate::resolution) fn authored<'a>(contracts: &'a Contracts, node: &str) -> &'a Node {
    &contracts.blueprint.spec.components[node]
}
