//! Bindings: the one supplier of an input (blueprint §4.2, §5.3).

use serde::Deserialize;
use serde_json::Value;

use super::Node;
use super::assess::{self, Graph};
use crate::contract::component::{Component, input};
use crate::contract::findings::Findings;
use crate::document::diagnostic::{Code, Diagnostic};

/// The supplier of one input.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "RawBinding")]
pub enum Binding {
    /// An installation parameter.
    Parameter(String),
    /// Another node's output.
    Output {
        /// The producing node.
        node: String,
        /// Its output.
        output: String,
    },
    /// A non-secret literal; `Value::Null` is an authored null.
    Value(Value),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum RawBinding {
    Parameter(String),
    Value(Value),
    #[serde(untagged)]
    Output {
        node: String,
        output: String,
    },
}

impl From<RawBinding> for Binding {
    fn from(raw: RawBinding) -> Self {
        match raw {
            RawBinding::Parameter(parameter) => Self::Parameter(parameter),
            RawBinding::Value(value) => Self::Value(value),
            RawBinding::Output { node, output } => Self::Output { node, output },
        }
    }
}

/// The connection parameter that satisfies one connection requirement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ConnectionBinding {
    /// The parameter's name.
    pub parameter: String,
}

/// Bindings name what exists (BP-PARAM-006, BP-PARAM-007), literals and types fit (BP-PARAM-008), and every required
/// input is supplied (BP-PARAM-003).
pub(super) fn check(graph: &Graph<'_>, findings: &mut Findings<'_>) {
    for (name, node) in &graph.blueprint.spec.components {
        for (input, binding) in &node.bindings {
            check_supplier(graph, name, input, binding, findings);
        }
        for (requirement, binding) in &node.connection_bindings {
            if !graph
                .blueprint
                .spec
                .parameters
                .contains_key(&binding.parameter)
            {
                let path = assess::pointer(name)
                    .child("connectionBindings")
                    .child(requirement)
                    .child("parameter");
                findings.push(
                    Code::UnknownParameter,
                    path,
                    unknown_parameter(&binding.parameter),
                );
            }
        }
    }
    for (name, node, component) in graph.nodes() {
        if findings.is_full() {
            return;
        }
        for (input, binding) in &node.bindings {
            check_consumer(graph, name, component, input, binding, findings);
        }
        check_required(name, node, component, findings);
    }
}

fn unknown_parameter(parameter: &str) -> String {
    format!(
        "the blueprint declares no parameter `{parameter}`; correct the name or declare it under `spec.parameters`"
    )
}

/// Rules that read the supplier alone.
fn check_supplier(
    graph: &Graph<'_>,
    node: &str,
    input: &str,
    binding: &Binding,
    findings: &mut Findings<'_>,
) {
    let path = assess::pointer(node).child("bindings").child(input);
    match binding {
        Binding::Parameter(parameter)
            if !graph.blueprint.spec.parameters.contains_key(parameter) =>
        {
            findings.push(
                Code::UnknownParameter,
                path.child("parameter"),
                unknown_parameter(parameter),
            );
        }
        Binding::Output { node: producer, .. }
            if !graph.blueprint.spec.components.contains_key(producer) =>
        {
            findings.push(
                Code::UnknownNode,
                path.child("node"),
                format!("the blueprint has no node `{producer}`; correct the name or add the node"),
            );
        }
        Binding::Output {
            node: producer,
            output,
        } => {
            let declared = graph
                .component(producer)
                .map(|component| &component.spec.contract.outputs);
            if declared.is_some_and(|outputs| !outputs.contains_key(output)) {
                findings.push(
                    Code::UnknownOutput,
                    path.child("output"),
                    format!("the component of node `{producer}` has no output `{output}`; name one that it declares"),
                );
            }
        }
        Binding::Parameter(_) | Binding::Value(_) => {}
    }
}

/// Rules that read the consuming component.
fn check_consumer(
    graph: &Graph<'_>,
    node: &str,
    component: &Component,
    name: &str,
    binding: &Binding,
    findings: &mut Findings<'_>,
) {
    let path = assess::pointer(node).child("bindings").child(name);
    let Some(declared) = component.spec.contract.inputs.get(name) else {
        findings.push(
            Code::UnknownInput,
            path,
            format!(
                "the component of node `{node}` has no input `{name}`; name one that it declares"
            ),
        );
        return;
    };
    match binding {
        Binding::Value(value) => {
            input::receiver(name, declared).check(value, &path.child("value"), findings);
        }
        Binding::Output {
            node: producer,
            output,
        } => {
            let produced = graph
                .component(producer)
                .and_then(|component| component.spec.contract.outputs.get(output))
                .map(|output| output.schema.r#type);
            let consumed = declared.schema.r#type;
            if let Some(produced) = produced.filter(|produced| !produced.supplies(consumed)) {
                findings.push(
                    Code::IncompatibleType,
                    path.child("output"),
                    format!(
                        "output `{output}` of node `{producer}` is of type {produced} and input `{name}` takes type \
                         {consumed}; bind an output of that type"
                    ),
                );
            }
        }
        Binding::Parameter(_) => {}
    }
}

/// Every required input has a binding, a default, or a connection that owns it.
fn check_required(name: &str, node: &Node, component: &Component, findings: &mut Findings<'_>) {
    let contract = &component.spec.contract;
    let owned = contract.owned_inputs();
    for (input, declared) in &contract.inputs {
        // What costs nothing is asked first: many nodes may deploy a component of many inputs.
        let supplied = !declared.required
            || declared.default.is_some()
            || node.bindings.contains_key(input)
            || owned.contains_key(input.as_str());
        if !supplied {
            let message = format!(
                "input `{input}` is required and nothing supplies it; add `bindings: {{ {input}: … }}` to node `{name}`"
            );
            findings.add(
                Diagnostic::semantic(
                    Code::UnsatisfiedRequiredInput,
                    assess::pointer(name).child("componentRef"),
                    message,
                )
                .related(&node.component_ref, input::pointer(input)),
            );
        }
    }
}
