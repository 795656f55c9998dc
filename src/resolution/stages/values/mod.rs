//! Stage `values`: the value of every input and output, each checked against its schema.
//!
//! Every value depends on at most one other: an input on the output that its binding names, an output on the input
//! that it forwards. So each is reached by walking to the nearest supplier that is known and back, and nothing is
//! evaluated twice.

mod input;
mod output;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::Fact;
use super::allocation::Addresses;
use super::connections::Members;
use super::findings::{self, Findings};
use super::parameters::Parameters;
use crate::contract::blueprint::binding::Binding;
use crate::contract::component::{Input, Origin, Output};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Stage};
use crate::resolution::resolved::Supplied;
use crate::resolution::secret::Held;

/// What is known of every value, by node and name; a node without values has an empty map.
#[derive(Debug, Default)]
pub(in crate::resolution) struct Values {
    /// The inputs that are present and right.
    pub(in crate::resolution) inputs: BTreeMap<String, BTreeMap<String, Supplied>>,
    /// The outputs that are right.
    pub(in crate::resolution) outputs: BTreeMap<String, BTreeMap<String, Held>>,
}

/// An input or an output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    Input(&'a str, &'a str),
    Output(&'a str, &'a str),
}

/// Evaluates every input and every output.
///
/// Reports ERR_MISSING_PARAMETER_VALUE (BP-PARAM-005), ERR_VALUE_CONSTRAINT (BP-PARAM-008) and
/// ERR_UNSATISFIED_REQUIRED_INPUT for an output that forwards an absent input; defers address properties that no
/// allocation tells. A cycle cannot come out of the document profile, but ends here as ERR_VALUE_CYCLE all the same
/// (BP-CONN-002).
pub(in crate::resolution) fn evaluate<'a>(
    contracts: &'a Contracts,
    parameters: &'a Parameters<'a>,
    addresses: &'a Addresses<'a>,
    members: &'a Members<'a>,
    findings: &'a mut Findings,
) -> Values {
    let mut evaluation = Evaluation {
        contracts,
        parameters,
        addresses,
        members,
        findings,
        facts: BTreeMap::new(),
    };
    for place in places(contracts) {
        evaluation.reach(place);
    }
    Values::known(contracts, evaluation.facts)
}

impl Values {
    /// The values that are known among `facts`.
    fn known(contracts: &Contracts, facts: BTreeMap<Place<'_>, Fact>) -> Self {
        let mut values = Self::default();
        for node in contracts.components.keys() {
            values.inputs.insert(node.clone(), BTreeMap::new());
            values.outputs.insert(node.clone(), BTreeMap::new());
        }
        for (place, fact) in facts {
            let Fact::Known(supplied) = fact else {
                continue;
            };
            match place {
                Place::Input(node, name) => {
                    let inputs = values.inputs.entry(node.to_owned()).or_default();
                    inputs.insert(name.to_owned(), supplied);
                }
                Place::Output(node, name) => {
                    let outputs = values.outputs.entry(node.to_owned()).or_default();
                    outputs.insert(name.to_owned(), supplied.held);
                }
            }
        }
        values
    }
}

/// Every input and output of every node.
fn places(contracts: &Contracts) -> impl Iterator<Item = Place<'_>> {
    contracts.components.iter().flat_map(|(node, contract)| {
        let contract = &contract.component.spec.contract;
        let inputs = contract.inputs.keys().map(|name| Place::Input(node, name));
        let outputs = contract
            .outputs
            .keys()
            .map(|name| Place::Output(node, name));
        inputs.chain(outputs)
    })
}

struct Evaluation<'a> {
    contracts: &'a Contracts,
    parameters: &'a Parameters<'a>,
    addresses: &'a Addresses<'a>,
    members: &'a Members<'a>,
    findings: &'a mut Findings,
    /// What has been evaluated; a place on the way to its supplier stands here as withheld until it is.
    facts: BTreeMap<Place<'a>, Fact>,
}

impl<'a> Evaluation<'a> {
    /// Evaluates `place` after everything that it depends on.
    fn reach(&mut self, place: Place<'a>) {
        let mut chain = Vec::new();
        let mut next = Some(place);
        while let Some(place) = next
            && !self.facts.contains_key(&place)
        {
            self.facts.insert(place, Fact::Withheld);
            chain.push(place);
            next = self.supplier(place);
        }
        if next.is_some_and(|supplier| chain.contains(&supplier)) {
            self.findings.wrong(
                Stage::Values,
                Code::ValueCycle,
                findings::components(),
                "values depend on each other in a circle; break it with a parameter or a literal",
            );
            return;
        }
        for place in chain.into_iter().rev() {
            let fact = match place {
                Place::Input(node, name) => self.input(node, name),
                Place::Output(node, name) => self.output(node, name),
            };
            self.facts.insert(place, fact);
        }
    }

    /// The one value that `place` depends on, if it depends on any.
    fn supplier(&self, place: Place<'a>) -> Option<Place<'a>> {
        match place {
            Place::Input(node, name) => match self.binding(node, name)? {
                Binding::Output { node, output } => Some(Place::Output(node, output)),
                Binding::Parameter(_) | Binding::Value(_) => None,
            },
            Place::Output(node, name) => match &self.declared_output(node, name).from {
                Origin::Input(input) => Some(Place::Input(node, input)),
                Origin::Value(_) | Origin::Endpoint { .. } | Origin::Template(_) => None,
            },
        }
    }

    fn binding(&self, node: &str, input: &str) -> Option<&'a Binding> {
        findings::authored(self.contracts, node).bindings.get(input)
    }

    fn declared_input(&self, node: &str, name: &str) -> &'a Input {
        &self.contracts.component(node).spec.contract.inputs[name]
    }

    fn declared_output(&self, node: &str, name: &str) -> &'a Output {
        &self.contracts.component(node).spec.contract.outputs[name]
    }
}
