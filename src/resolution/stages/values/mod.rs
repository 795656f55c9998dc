//! Stage `values`: the value of every input and output, each checked against its schema.
//!
//! Every value depends on at most one other: an input on the output that its binding names, an output on the input
//! that it forwards. So each is reached by walking to the nearest supplier that is known and back, and nothing is
//! evaluated twice. What is looked up for each value is found by hash, so that the time for one does not grow with the
//! application.

mod input;
mod output;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use super::Fact;
use super::allocation::Addresses;
use super::connections::Members;
use super::findings::{self, Findings};
use super::parameters::Parameters;
use crate::contract::blueprint::binding::Binding;
use crate::contract::blueprint::node::Node;
use crate::contract::component::{Component, Input, Origin, Output};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Stage};
use crate::resolution::resolved::Supplied;
use crate::resolution::secret::Held;

/// What is known of every value, by node and name; a node without values has an empty map.
#[derive(Debug)]
pub(in crate::resolution) struct Values {
    /// The inputs that are present and right.
    pub(in crate::resolution) inputs: BTreeMap<String, BTreeMap<String, Supplied>>,
    /// The outputs that are right.
    pub(in crate::resolution) outputs: BTreeMap<String, BTreeMap<String, Held>>,
}

/// An input or an output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        nodes: contracts
            .nodes()
            .map(|(name, authored, component)| (name, (authored, component)))
            .collect(),
        parameters,
        addresses,
        members,
        findings,
        facts: HashMap::new(),
    };
    for place in places(contracts) {
        evaluation.reach(place);
    }
    Values::known(contracts, evaluation.facts)
}

impl Values {
    /// The values that are known among `facts`.
    fn known<'a>(contracts: &'a Contracts, mut facts: HashMap<Place<'a>, Fact>) -> Self {
        let mut take = |place| match facts.remove(&place) {
            Some(Fact::Known(supplied)) => Some(supplied),
            Some(Fact::Absent | Fact::Withheld) | None => None,
        };
        let inputs = contracts.nodes().map(|(node, _, component)| {
            let names = component.spec.contract.inputs.keys();
            let known =
                names.filter_map(|name| Some((name.clone(), take(Place::Input(node, name))?)));
            (node.to_owned(), known.collect())
        });
        let inputs = inputs.collect();
        let outputs = contracts.nodes().map(|(node, _, component)| {
            let names = component.spec.contract.outputs.keys();
            let known = names
                .filter_map(|name| Some((name.clone(), take(Place::Output(node, name))?.held)));
            (node.to_owned(), known.collect())
        });
        let outputs = outputs.collect();
        Self { inputs, outputs }
    }
}

/// Every input and output of every node.
fn places(contracts: &Contracts) -> impl Iterator<Item = Place<'_>> {
    contracts.nodes().flat_map(|(node, _, component)| {
        let contract = &component.spec.contract;
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
    /// Every node as authored, and the component that it deploys.
    nodes: HashMap<&'a str, (&'a Node, &'a Component)>,
    parameters: &'a Parameters<'a>,
    addresses: &'a Addresses<'a>,
    members: &'a Members<'a>,
    findings: &'a mut Findings,
    /// What has been evaluated; a place on the way to its supplier stands here as withheld until it is.
    facts: HashMap<Place<'a>, Fact>,
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
        self.nodes[node].0.bindings.get(input)
    }

    fn declared_input(&self, node: &str, name: &str) -> &'a Input {
        &self.nodes[node].1.spec.contract.inputs[name]
    }

    fn declared_output(&self, node: &str, name: &str) -> &'a Output {
        &self.nodes[node].1.spec.contract.outputs[name]
    }
}
