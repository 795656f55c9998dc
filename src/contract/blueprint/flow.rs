//! How values flow between nodes: cycles (BP-CONN-002), and what is known of values before installation (BP-PARAM-008).
//!
//! An input depends on at most one output and an output on at most one input, so every value has one chain of suppliers.
//! Chains are followed in loops and remembered, never by recursion: the cost is the number of inputs and outputs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::assess::{self, Graph};
use super::binding::Binding;
use crate::contract::component::endpoint::Property;
use crate::contract::component::{Origin, input, output};
use crate::contract::findings::Findings;
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::document::reference::Template;

/// A place where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    Input(&'a str, &'a str),
    Output(&'a str, &'a str),
}

/// A value that is known before installation. Shared, because a chain of suppliers may hand on a long one many times.
#[derive(Clone, Debug, PartialEq)]
struct Known<'a> {
    value: Rc<Cow<'a, Value>>,
    /// Whether an author wrote it down, so that it may be no secret.
    authored: bool,
}

/// What supplies a place.
enum Supplier<'a> {
    /// Another place.
    Place(Place<'a>),
    /// A value that is known.
    Known(Known<'a>),
    /// What only an installation brings, or nothing.
    Open,
}

pub(super) fn check(graph: &Graph<'_>, findings: &mut Findings<'_>) {
    let mut flow = Flow {
        graph,
        known: BTreeMap::new(),
        cycles: Vec::new(),
    };
    for (name, node, component) in graph.nodes() {
        if findings.is_full() {
            return;
        }
        for (input, binding) in &node.bindings {
            let Some(declared) = component.spec.contract.inputs.get(input) else {
                continue;
            };
            let Binding::Output {
                node: producer,
                output,
            } = binding
            else {
                continue;
            };
            let compatible = graph
                .component(producer)
                .and_then(|component| component.spec.contract.outputs.get(output))
                .is_some_and(|output| output.schema.r#type.supplies(declared.schema.r#type));
            // An incompatible type is reported as such; its values are not judged as well.
            if let Some(known) = flow.known(Place::Input(name, input)).filter(|_| compatible) {
                let receiver = input::receiver(input, declared);
                let path = || assess::pointer(name).child("bindings").child(input);
                if known.authored && declared.sensitive {
                    findings.push(Code::SecretLiteral, path(), receiver.secret());
                }
                if let Some(message) = receiver.unfit(&known.value) {
                    findings.push(Code::ValueConstraint, path(), message);
                }
            }
        }
        for (output, declared) in &component.spec.contract.outputs {
            let known = flow.known(Place::Output(name, output));
            let Some(known) = known.filter(|_| matches!(declared.from, Origin::Input(_))) else {
                continue;
            };
            let receiver = output::receiver(output, declared);
            let diagnostic = |code, message| {
                Diagnostic::semantic(code, assess::pointer(name).child("componentRef"), message)
                    .related(&node.component_ref, output::pointer(output))
            };
            if known.authored && declared.sensitive {
                findings.add(diagnostic(Code::SecretLiteral, receiver.secret()));
            }
            if let Some(message) = receiver.unfit(&known.value) {
                findings.add(diagnostic(Code::ValueConstraint, message));
            }
        }
    }
    for cycle in flow.cycles {
        findings.push(Code::ValueCycle, Pointer::of(["spec", "components"]), cycle);
    }
}

struct Flow<'a> {
    graph: &'a Graph<'a>,
    /// What is known of each place that was asked for.
    known: BTreeMap<Place<'a>, Option<Known<'a>>>,
    /// A message for each cycle.
    cycles: Vec<String>,
}

impl<'a> Flow<'a> {
    /// What is known of the value at `place`. A cycle on the way is recorded, and nothing on it is known.
    fn known(&mut self, place: Place<'a>) -> Option<Known<'a>> {
        let mut chain = Vec::new();
        let mut next = place;
        let known = loop {
            if let Some(known) = self.known.get(&next) {
                // A place of this very chain is marked before its supplier is known.
                if let Some(start) = chain.iter().position(|passed| *passed == next) {
                    self.cycles.push(cycle(&chain[start..]));
                }
                break known.clone();
            }
            self.known.insert(next, None);
            chain.push(next);
            match self.supplier(next) {
                Supplier::Place(supplier) => next = supplier,
                Supplier::Known(known) => break Some(known),
                Supplier::Open => break None,
            }
        };
        if known.is_some() {
            self.known
                .extend(chain.into_iter().map(|passed| (passed, known.clone())));
        }
        known
    }

    fn supplier(&self, place: Place<'a>) -> Supplier<'a> {
        match place {
            Place::Input(node, name) => self.input_supplier(node, name),
            Place::Output(node, name) => self.output_supplier(node, name),
        }
    }

    fn input_supplier(&self, node: &'a str, name: &str) -> Supplier<'a> {
        let graph = self.graph;
        let component = graph.component(node);
        let Some(input) = component.and_then(|component| component.spec.contract.inputs.get(name))
        else {
            return Supplier::Open;
        };
        match graph.blueprint.spec.components[node].bindings.get(name) {
            Some(Binding::Output { node, output }) => Supplier::Place(Place::Output(node, output)),
            Some(Binding::Value(value)) => authored(Cow::Borrowed(value)),
            Some(Binding::Parameter(_)) => Supplier::Open,
            None => input
                .default
                .as_ref()
                .map_or(Supplier::Open, |value| authored(Cow::Borrowed(value))),
        }
    }

    fn output_supplier(&self, node: &'a str, name: &str) -> Supplier<'a> {
        let graph = self.graph;
        let component = graph.component(node);
        let output = component.and_then(|component| component.spec.contract.outputs.get(name));
        match output.map(|output| &output.from) {
            Some(Origin::Value(value)) => authored(Cow::Borrowed(value)),
            Some(Origin::Input(input)) => Supplier::Place(Place::Input(node, input)),
            Some(Origin::Template(text)) => Template::parse(text)
                .ok()
                .and_then(|template| {
                    template
                        .literal()
                        .map(|literal| Value::from(literal.as_ref()))
                })
                .map_or(Supplier::Open, |value| authored(Cow::Owned(value))),
            // A private port is the endpoint's own, so no allocation is awaited.
            Some(Origin::Endpoint {
                endpoint,
                property: Property::PrivatePort,
            }) => component
                .and_then(|component| component.spec.workload.as_ref()?.endpoints.get(endpoint))
                .map_or(Supplier::Open, |endpoint| {
                    Supplier::Known(Known {
                        value: Rc::new(Cow::Owned(Value::from(endpoint.target_port))),
                        authored: false,
                    })
                }),
            Some(Origin::Endpoint { .. }) | None => Supplier::Open,
        }
    }
}

fn authored(value: Cow<'_, Value>) -> Supplier<'_> {
    Supplier::Known(Known {
        value: Rc::new(value),
        authored: true,
    })
}

fn cycle(places: &[Place<'_>]) -> String {
    let inputs: Vec<_> = places
        .iter()
        .filter_map(|place| match place {
            Place::Input(node, input) => Some(format!("`{node}`.`{input}`")),
            Place::Output(..) => None,
        })
        .collect();
    format!(
        "the values of these inputs depend on each other in a circle: {}; supply one of them from elsewhere",
        inputs.join(" ← ")
    )
}
