//! Stage `values`: the value of every input and output, each checked against its schema.
//!
//! Every value depends on at most one other: an input on the output that its binding names, an output on the input
//! that it forwards. So each is reached by walking to the nearest supplier that is known and back, and nothing is
//! evaluated twice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Fact;
use super::allocation::Addresses;
use super::connections::Members;
use super::findings::{self, Findings, Missing};
use super::parameters::Parameters;
use crate::contract::blueprint::binding::Binding;
use crate::contract::component::endpoint::{self, Property};
use crate::contract::component::{Input, Origin, Output, output};
use crate::contract::contracts::Contracts;
use crate::document::canonical;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::reference::{Segment, Template};
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

    /// The fact of an input whose supplier has been evaluated.
    fn input(&mut self, node: &'a str, name: &'a str) -> Fact {
        if let Some(member) = self.members.get(&(node, name)) {
            return member.clone();
        }
        let declared = self.declared_input(node, name);
        let literal = |value: &Value| Fact::unselected(Held::plain(value.clone()));
        let fact = match self.binding(node, name) {
            None => declared.default.as_ref().map_or(Fact::Absent, literal),
            Some(Binding::Value(value)) => literal(value),
            Some(Binding::Output { node, output }) => self.produced(node, output),
            Some(Binding::Parameter(parameter)) => self.parameter(parameter, node, name),
        };
        let contracts = self.contracts;
        fact.checked(&declared.schema, self.findings, |violation| {
            let path = findings::supply(contracts, node, name);
            let binding = contracts.blueprint.spec.components[node].bindings.get(name);
            let supplier = match binding {
                Some(Binding::Parameter(parameter)) => format!("parameter `{parameter}` for "),
                _ => String::new(),
            };
            let message = format!(
                "the value of {supplier}input `{name}` of node `{node}` is refused: {violation}; supply one that fits"
            );
            Diagnostic::resolution(Stage::Values, Code::ValueConstraint, path, message)
        })
        .or_sensitive(declared.sensitive)
    }

    /// What another node's output supplies. Which selection stands behind it is that node's own affair.
    fn produced(&self, node: &'a str, output: &'a str) -> Fact {
        match &self.facts[&Place::Output(node, output)] {
            Fact::Known(supplied) => Fact::unselected(supplied.held.clone()),
            Fact::Absent | Fact::Withheld => Fact::Withheld,
        }
    }

    /// What a parameter supplies. A bound input never falls back to its own default (BP-PARAM-003).
    fn parameter(&mut self, parameter: &str, node: &str, input: &str) -> Fact {
        match self.parameters.get(parameter) {
            Some(Fact::Absent) => {
                self.findings.wrong(
                    Stage::Values,
                    Code::MissingParameterValue,
                    findings::binding(node, input),
                    format!("parameter `{parameter}` has no default; submit a value for it"),
                );
                Fact::Withheld
            }
            Some(fact) => fact.clone(),
            None => Fact::Withheld,
        }
    }

    /// The fact of an output whose input, if it forwards one, has been evaluated.
    fn output(&mut self, node: &'a str, name: &'a str) -> Fact {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;
    use crate::document::result::Status;
    use crate::resolution::testing::{app, context, found, lines, resolved};
    use crate::resolution::{Resolution, resolve};

    #[test]
    fn each_supplier_supplies_and_an_unbound_input_falls_back_on_its_own_default() {
        let resolved = resolved(
            "
            parameters: { title: {} }
            nodes:
              db:
                outputs: { port: { schema: { type: integer }, from: { value: 5432 } } }
              web:
                bindings:
                  title: { parameter: title }
                  port: { node: db, output: port }
                  mode: { value: production }
                  nothing: { value: null }
                inputs:
                  title: { schema: { type: string } }
                  port: { schema: { type: number } }
                  mode: { schema: { type: string }, default: development }
                  nothing: { schema: { type: 'null' } }
                  level: { schema: { type: string }, default: info }
                  absent: { schema: { type: string }, required: false }
            ",
            &json!({"parameters": {"title": {"value": "Wiki", "sensitive": false}}}),
        );
        let inputs = &resolved.inputs["web"];
        for (input, expected) in [
            ("title", json!("Wiki")),
            ("port", json!(5432)),
            ("mode", json!("production")),
            ("nothing", json!(null)),
            ("level", json!("info")),
        ] {
            assert_eq!(inputs[input].held.public(), Some(&expected), "{input}");
        }
        assert!(!inputs.contains_key("absent"));
    }

    #[test]
    fn what_is_wrong_with_a_value_is_reported_once_where_it_enters() {
        /// The parameter enters `first`, which forwards it to `second`.
        const CHAIN: &str = "
            parameters: { p: {} }
            nodes:
              first:
                bindings: { in: { parameter: p } }
                inputs: { in: { schema: { type: string, maxLength: 3 }, required: false, default: x } }
                outputs: { out: { schema: { type: string, maxLength: 2 }, from: { input: in } } }
              second:
                bindings: { in: { node: first, output: out } }
                inputs: { in: { schema: { type: string, maxLength: 1 } } }
            ";
        let submitted = |value| json!({"parameters": {"p": {"value": value, "sensitive": true}}});
        for (name, context, expected) in [
            (
                "nothing submitted, and a bound input has no default",
                json!({}),
                "values ERR_MISSING_PARAMETER_VALUE /spec/components/first/bindings/in",
            ),
            (
                "refused by the input",
                submitted("four"),
                "values ERR_VALUE_CONSTRAINT /spec/components/first/bindings/in",
            ),
            (
                "refused by the output",
                submitted("abc"),
                "values ERR_VALUE_CONSTRAINT /spec/components/first/componentRef (./first.yaml#/spec/contract/outputs/out)",
            ),
            (
                "refused by the next input",
                submitted("ab"),
                "values ERR_VALUE_CONSTRAINT /spec/components/second/bindings/in",
            ),
        ] {
            assert_eq!(found(CHAIN, &context), [expected], "{name}");
        }
    }

    #[test]
    fn every_binding_of_a_value_that_was_never_submitted_is_told() {
        let app = "
            parameters: { p: {} }
            nodes:
              web:
                bindings: { a: { parameter: p }, b: { parameter: p } }
                inputs: { a: { schema: { type: string } }, b: { schema: { type: string } } }
            ";
        assert_eq!(
            found(app, &json!({})),
            [
                "values ERR_MISSING_PARAMETER_VALUE /spec/components/web/bindings/a",
                "values ERR_MISSING_PARAMETER_VALUE /spec/components/web/bindings/b",
            ]
        );
    }

    #[test]
    fn a_generated_value_that_fails_a_schema_is_an_error() {
        let app = "
            parameters: { key: { generator: {} } }
            nodes:
              web:
                bindings: { key: { parameter: key } }
                inputs: { key: { schema: { type: string, maxLength: 8 } } }
            ";
        assert_eq!(
            found(
                app,
                &json!({"credentials": {"key": {"value": "much too long"}}})
            ),
            ["values ERR_VALUE_CONSTRAINT /spec/components/web/bindings/key"],
        );
    }

    #[test]
    fn an_output_cannot_forward_an_absent_input() {
        let app = "
            nodes:
              web:
                inputs: { in: { schema: { type: string }, required: false } }
                outputs: { out: { schema: { type: string }, from: { input: in } } }
              user:
                bindings: { in: { node: web, output: out } }
                inputs: { in: { schema: { type: string } } }
            ";
        assert_eq!(
            found(app, &json!({})),
            [
                "values ERR_UNSATISFIED_REQUIRED_INPUT /spec/components/web/componentRef (./web.yaml#/spec/contract/outputs/out)"
            ],
        );
    }

    #[test]
    fn a_template_substitutes_once_and_escapes() {
        let resolved = resolved(
            "
            nodes:
              web:
                endpoints: { web: { targetPort: 8080, protocol: HTTP } }
                outputs:
                  dsn:
                    schema: { type: string }
                    from: { template: 'x://${{ self.endpoints.web.privateHostname }}:${{self.endpoints.web.privatePort}}/$${{ y }}$' }
            ",
            &json!({"allocations": {"web": {"web": {"identity": "a", "version": "1", "privateHostname": "web.internal"}}}}),
        );
        assert_eq!(
            resolved.outputs["web"]["dsn"].public(),
            Some(&json!("x://web.internal:8080/${{ y }}$")),
        );
    }

    #[test]
    fn nodes_may_discover_each_other() {
        let node = |other: &str| {
            format!(
                "
                endpoints: {{ web: {{ targetPort: 80, protocol: HTTP }} }}
                bindings: {{ peer: {{ node: {other}, output: address }} }}
                inputs: {{ peer: {{ schema: {{ type: string }} }} }}
                outputs: {{ address: {{ schema: {{ type: string }}, from: {{ endpoint: web, property: privateHostname }} }} }}
                "
            )
        };
        let app = format!(
            "nodes:\n  first:{}\n  second:{}",
            node("second"),
            node("first")
        );
        let allocation =
            |host| json!({"web": {"identity": host, "version": "1", "privateHostname": host}});
        let resolved = resolved(
            &app,
            &json!({"allocations": {"first": allocation("a.internal"), "second": allocation("b.internal")}}),
        );
        assert_eq!(
            resolved.inputs["first"]["peer"].held.public(),
            Some(&json!("b.internal"))
        );
        assert_eq!(
            resolved.inputs["second"]["peer"].held.public(),
            Some(&json!("a.internal"))
        );
    }

    #[test]
    fn sensitivity_follows_a_value_wherever_it_goes() {
        let resolved = resolved(
            "
            parameters: { p: {} }
            nodes:
              first:
                bindings: { in: { parameter: p } }
                inputs: { in: { schema: { type: string } } }
                outputs: { out: { schema: { type: string }, from: { input: in } } }
              second:
                bindings: { in: { node: first, output: out } }
                inputs: { in: { schema: { type: string } } }
              third:
                outputs: { own: { schema: { type: string }, sensitive: true, from: { endpoint: e, property: privateHostname } } }
                endpoints: { e: { targetPort: 80, protocol: HTTP } }
            ",
            &json!({
                "parameters": {"p": {"value": "x", "sensitive": true}},
                "allocations": {"third": {"e": {"identity": "a", "version": "1", "privateHostname": "c"}}},
            }),
        );
        assert!(resolved.outputs["first"]["out"].is_sensitive());
        assert!(resolved.environment["second"]["IN"].sensitive);
        assert!(
            resolved.outputs["third"]["own"].is_sensitive(),
            "by its own contract"
        );
    }

    /// A chain of `length` nodes, each forwarding what the one before it supplies.
    fn chain(length: usize) -> String {
        let mut app = "parameters: { p: {} }\nnodes:\n".to_owned();
        for index in 0..length {
            let binding = match index {
                0 => "{ parameter: p }".to_owned(),
                // The last node comes first in name order, so that its whole chain is walked at once.
                _ => format!("{{ node: n{}, output: out }}", length - index),
            };
            writeln!(
                app,
                "  n{}: {{ bindings: {{ in: {binding} }}, inputs: {{ in: {{ schema: {{ type: string }} }} }}, outputs: {{ out: {{ schema: {{ type: string }}, from: {{ input: in }} }} }} }}",
                length - index - 1
            )
            .expect("a string takes every line");
        }
        app
    }

    #[test]
    fn a_chain_of_a_thousand_values_needs_no_deep_stack() {
        let app = app(&chain(1_000));
        let context = context(&json!({"parameters": {"p": {"value": "x", "sensitive": false}}}));
        let resolve_on_small_stack = move || resolve(&app, &context);
        let thread = std::thread::Builder::new().stack_size(256 * 1024);
        let resolution = thread
            .spawn(resolve_on_small_stack)
            .unwrap()
            .join()
            .unwrap();
        let resolved = resolution.resolved.expect("VALID");
        assert_eq!(resolved.inputs["n0"]["in"].held.public(), Some(&json!("x")));
    }

    #[test]
    fn a_cycle_ends_even_if_the_documents_were_never_checked() {
        let sound = app(&chain(3));
        let mut contracts = (*sound).clone();
        let last = contracts.blueprint.spec.components.get_mut("n2").unwrap();
        let circle = Binding::Output {
            node: "n0".to_owned(),
            output: "out".to_owned(),
        };
        last.bindings.insert("in".to_owned(), circle);
        let Resolution { result, resolved } = resolve(&contracts, &context(&json!({})));
        assert_eq!(result.status, Status::Invalid);
        assert_eq!(
            lines(&result.diagnostics),
            ["values ERR_VALUE_CYCLE /spec/components"]
        );
        assert_eq!(resolved, None);
    }
}
