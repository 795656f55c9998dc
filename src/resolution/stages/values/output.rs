//! The value of an output, from its origin: a literal, an input, an address property or a template.

use serde_json::Value;

use super::{Evaluation, Place};
use crate::contract::component::endpoint::{self, Property};
use crate::contract::component::{Origin, output};
use crate::contract::contracts::Contracts;
use crate::document::canonical;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::reference::{Segment, Template};
use crate::resolution::secret::Held;
use crate::resolution::stages::Fact;
use crate::resolution::stages::findings::{self, Missing};

impl<'a> Evaluation<'a> {
    /// The fact of an output whose input, if it forwards one, has been evaluated.
    pub(super) fn output(&mut self, node: &'a str, name: &'a str) -> Fact {
        let declared = self.declared_output(node, name);
        let held = match &declared.from {
            Origin::Value(value) => Some(Held::plain(value.clone())),
            Origin::Input(input) => self.forwarded(node, name, input),
            Origin::Endpoint { endpoint, property } => {
                self.address(node, endpoint, *property).map(Held::plain)
            }
            Origin::Template(template) => self.rendered(node, template).map(Held::plain),
        };
        let contracts = self.contracts;
        held.map_or(Fact::Withheld, Fact::unselected)
            .checked(&declared.schema, self.findings, |violation| {
                let message = format!("the value of output `{name}` is refused: {violation}; supply what it is made of accordingly");
                about_output(contracts, node, name, Code::ValueConstraint, message)
            })
            .or_sensitive(declared.sensitive)
    }

    /// The value of the node's own input that an output forwards, which has to be there (BP-RESOLVE-001).
    fn forwarded(&mut self, node: &'a str, output: &str, input: &'a str) -> Option<Held> {
        let fact = &self.facts[&Place::Input(node, input)];
        if *fact == Fact::Absent {
            self.findings.report(about_output(
                self.contracts,
                node,
                output,
                Code::UnsatisfiedRequiredInput,
                format!("output `{output}` forwards input `{input}`, which nothing supplies; bind the input"),
            ));
            return None;
        }
        fact.known().map(|supplied| supplied.held.clone())
    }

    /// An address property of the node's own endpoint. Facts that are not allocated are deferred.
    fn address(&mut self, node: &str, endpoint: &str, property: Property) -> Option<Value> {
        let value = self.addresses.read(node, endpoint, property);
        if value == Ok(None) {
            self.findings.missing(Missing::Allocation {
                node: node.to_owned(),
                endpoint: endpoint.to_owned(),
                property: property.into(),
            });
        }
        value.ok().flatten()
    }

    /// A template with its references substituted, in one pass. All of them are read, so that every missing fact is
    /// deferred at once.
    fn rendered(&mut self, node: &str, template: &str) -> Option<String> {
        let template = Template::parse(template).ok()?;
        let pieces: Vec<Option<String>> = template
            .segments()
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => Some(text.clone()),
                Segment::Reference(reference) => {
                    let (endpoint, property) = endpoint::address(reference)?;
                    self.address(node, endpoint, property.parse().ok()?)
                        .map(text)
                }
            })
            .collect();
        pieces.into_iter().collect()
    }
}

/// A value embedded in text.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => canonical::text(&other),
    }
}

fn about_output(
    contracts: &Contracts,
    node: &str,
    output: &str,
    code: Code,
    message: String,
) -> Diagnostic {
    let path = findings::component_ref(node);
    let artifact = &findings::authored(contracts, node).component_ref;
    Diagnostic::resolution(Stage::Values, code, path, message)
        .related(artifact, output::pointer(output))
}
