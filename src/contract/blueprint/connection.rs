//! Atomic connections: every requirement is bound to a connection parameter, and connection parameters to nothing else
//! (BP-CONNECTION-001).

use super::Node;
use super::assess::{self, Graph};
use super::binding::Binding;
use super::parameter::{Kind, Kinds};
use crate::contract::component::Component;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;

pub(super) fn check(graph: &Graph<'_>, parameters: &Kinds<'_>, findings: &mut Findings<'_>) {
    for (name, node) in &graph.blueprint.spec.components {
        check_parameters(name, node, parameters, findings);
    }
    for (name, node, component) in graph.nodes() {
        if findings.is_full() {
            return;
        }
        check_requirements(name, node, component, findings);
    }
}

/// Rules that read the parameters alone.
fn check_parameters(name: &str, node: &Node, parameters: &Kinds<'_>, findings: &mut Findings<'_>) {
    let path = assess::pointer(name);
    for (requirement, binding) in &node.connection_bindings {
        let parameter = binding.parameter.as_str();
        if parameters
            .get(parameter)
            .is_some_and(|kind| !matches!(kind, Kind::Connection | Kind::Unclear))
        {
            findings.push(
                Code::InvalidConnectionBinding,
                path.child("connectionBindings")
                    .child(requirement)
                    .child("parameter"),
                format!(
                    "parameter `{parameter}` is no connection parameter; name one whose `from` is \
                     `${{{{ connections.NAME }}}}`"
                ),
            );
        }
    }
    for (input, binding) in &node.bindings {
        if let Binding::Parameter(parameter) = binding
            && parameters.get(parameter.as_str()) == Some(&Kind::Connection)
        {
            findings.push(
                Code::InvalidConnectionBinding,
                path.child("bindings").child(input).child("parameter"),
                format!("`{parameter}` is a connection parameter, which only `connectionBindings` may name; bind it there"),
            );
        }
    }
}

/// Rules that read the node's component.
fn check_requirements(name: &str, node: &Node, component: &Component, findings: &mut Findings<'_>) {
    let path = assess::pointer(name);
    let contract = &component.spec.contract;
    for requirement in node.connection_bindings.keys() {
        if !contract.connection_requirements.contains_key(requirement) {
            findings.push(
                Code::InvalidConnectionBinding,
                path.child("connectionBindings").child(requirement),
                format!("the component has no connection requirement `{requirement}`; name one that it declares"),
            );
        }
    }
    for requirement in contract.connection_requirements.keys() {
        if !node.connection_bindings.contains_key(requirement) {
            findings.push(
                Code::InvalidConnectionBinding,
                path.child("componentRef"),
                format!(
                    "the component's connection requirement `{requirement}` is not bound; add \
                     `connectionBindings: {{ {requirement}: {{ parameter: … }} }}`"
                ),
            );
        }
    }
    let owned = contract.owned_inputs();
    for input in node.bindings.keys() {
        if let Some(requirement) = owned.get(input.as_str()) {
            findings.push(
                Code::InvalidConnectionBinding,
                path.child("bindings").child(input),
                format!(
                    "input `{input}` belongs to connection requirement `{requirement}`, which alone supplies it; remove the \
                     binding"
                ),
            );
        }
    }
}
