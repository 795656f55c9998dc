//! Random applications without a cycle, each with what it has to resolve to: the values are followed place by place,
//! with nothing of the engine but its specification.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// How many nodes an application has at most.
const NODES: usize = 4;

/// A value, and whether it is a secret.
pub(super) type Known = (Value, bool);

/// An application whose places depend on nothing but parameters and earlier places.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    parameters: Vec<Parameter>,
    pub(super) places: Vec<Place>,
}

/// An installation parameter together with what supplies it.
#[derive(Clone, Debug)]
struct Parameter {
    supply: Supply,
    value: Value,
    /// Whether the supplier calls it a secret.
    sensitive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Supply {
    Submitted,
    Default,
    SubmittedOverDefault,
    Generated,
    Variable,
}

/// An input or an output of a node.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) node: usize,
    pub(super) is_input: bool,
    pub(super) origin: Origin,
    /// Whether its own contract calls it sensitive.
    pub(super) sensitive: bool,
    /// A value of its type.
    sample: Value,
    /// Whether its value stands in a document, so that no contract may call it sensitive.
    is_authored: bool,
}

/// What supplies a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Origin {
    Parameter(usize),
    Place(usize),
    Literal(Value),
    /// The input's own default.
    Default(Value),
    Nothing,
    Port,
    Host,
    Template,
}

/// What a place or a parameter is made of; indices choose among what there is.
#[derive(Clone, Debug)]
struct Draw {
    node: usize,
    is_input: bool,
    kind: u8,
    chosen: Index,
    value: Value,
    sensitive: bool,
}

/// Any application of up to 24 places.
pub(super) fn graphs() -> impl Strategy<Value = Graph> {
    let draws = |most| prop::collection::vec(draw(), 1..most);
    (draws(5), draws(24)).prop_map(|(parameters, places)| Graph::of(parameters, places))
}

fn draw() -> impl Strategy<Value = Draw> {
    let value = prop_oneof![
        "[a-z \"\\\\é]{0,8}".prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::collection::vec("[a-z]{0,3}", 0..3).prop_map(Value::from),
    ];
    let shape = (0..NODES, any::<bool>(), 0_u8..8, any::<Index>());
    (shape, value, any::<bool>()).prop_map(|((node, is_input, kind, chosen), value, sensitive)| {
        Draw {
            node,
            is_input,
            kind,
            chosen,
            value,
            sensitive,
        }
    })
}

impl Graph {
    fn of(parameters: Vec<Draw>, places: Vec<Draw>) -> Self {
        let mut graph = Self {
            parameters: parameters.into_iter().map(Parameter::of).collect(),
            places: Vec::new(),
        };
        for draw in places {
            let place = if draw.is_input {
                graph.input(draw)
            } else {
                graph.output(draw)
            };
            graph.places.push(place);
        }
        graph
    }

    fn input(&self, draw: Draw) -> Place {
        let outputs = |place: &Place| !place.is_input;
        let origin = match draw.kind {
            0..=2 => self.earlier(&draw, outputs),
            3 => Some(Origin::Literal(draw.value.clone())),
            4 => Some(Origin::Default(draw.value.clone())),
            5 => Some(Origin::Nothing),
            _ => None,
        };
        let parameter = || Origin::Parameter(draw.chosen.index(self.parameters.len()));
        self.place(&draw, origin.unwrap_or_else(parameter))
    }

    fn output(&self, draw: Draw) -> Place {
        let own_inputs = |place: &Place| {
            place.is_input && place.node == draw.node && place.origin != Origin::Nothing
        };
        let origin = match draw.kind {
            0..=3 => self.earlier(&draw, own_inputs),
            4 => Some(Origin::Port),
            5 => Some(Origin::Host),
            6 => Some(Origin::Template),
            _ => None,
        };
        let literal = || Origin::Literal(draw.value.clone());
        self.place(&draw, origin.unwrap_or_else(literal))
    }

    /// One of the places so far that `fits`, if there is any.
    fn earlier(&self, draw: &Draw, fits: impl Fn(&Place) -> bool) -> Option<Origin> {
        let fitting: Vec<usize> = (0..self.places.len())
            .filter(|index| fits(&self.places[*index]))
            .collect();
        (!fitting.is_empty()).then(|| Origin::Place(*draw.chosen.get(&fitting)))
    }

    fn place(&self, draw: &Draw, origin: Origin) -> Place {
        let (sample, is_authored) = match &origin {
            Origin::Parameter(index) => {
                let parameter = &self.parameters[*index];
                (parameter.value.clone(), parameter.has_default())
            }
            Origin::Place(index) => {
                let supplier = &self.places[*index];
                let parameter = matches!(supplier.origin, Origin::Parameter(_));
                // A default may be replaced, so that it binds nobody but the parameter's own receivers.
                (supplier.sample.clone(), supplier.is_authored && !parameter)
            }
            Origin::Literal(value) | Origin::Default(value) => (value.clone(), true),
            Origin::Nothing => (draw.value.clone(), false),
            Origin::Port => (json!(1), false),
            Origin::Host | Origin::Template => (json!(""), false),
        };
        Place {
            node: draw.node,
            is_input: draw.is_input,
            origin,
            sensitive: draw.sensitive && !is_authored,
            sample,
            is_authored,
        }
    }

    /// What the place at `index` has to hold, if anything; a secret if anything that flows into it is one.
    pub(super) fn expected(&self, index: usize) -> Option<Known> {
        let place = &self.places[index];
        let node = place.node;
        let (value, sensitive) = match &place.origin {
            Origin::Nothing => return None,
            Origin::Parameter(parameter) => self.expected_parameter(*parameter),
            Origin::Place(supplier) => self.expected(*supplier)?,
            Origin::Literal(value) | Origin::Default(value) => (value.clone(), false),
            Origin::Port => (json!(8000 + node), false),
            Origin::Host => (json!(format!("n{node}.internal")), false),
            Origin::Template => {
                let port = 8000 + node;
                (
                    json!(format!("n{node}.internal:{port}/${{{{ x }}}}")),
                    false,
                )
            }
        };
        Some((value, sensitive || place.sensitive))
    }

    fn expected_parameter(&self, index: usize) -> Known {
        let parameter = &self.parameters[index];
        let receivers = self.receivers(index);
        let by_receivers = receivers.iter().any(|place| place.sensitive);
        (parameter.value.clone(), parameter.sensitive || by_receivers)
    }

    fn receivers(&self, parameter: usize) -> Vec<&Place> {
        let receives = |place: &&Place| place.origin == Origin::Parameter(parameter);
        self.places.iter().filter(receives).collect()
    }

    /// The parameters that some input is bound to: the others may not be declared (BP-PARAM-001).
    fn bound(&self) -> impl Iterator<Item = (usize, &Parameter)> {
        let parameters = self.parameters.iter().enumerate();
        parameters.filter(|(index, _)| !self.receivers(*index).is_empty())
    }

    /// The application, as tests sketch one.
    pub(super) fn sketch(&self) -> String {
        let parameters: Map<_, _> = self
            .bound()
            .map(|(index, parameter)| (format!("p{index}"), parameter.declared(index)))
            .collect();
        let nodes: Map<_, _> = (0..NODES)
            .map(|node| (format!("n{node}"), self.node(node)))
            .collect();
        json!({"parameters": parameters, "nodes": nodes}).to_string()
    }

    fn node(&self, node: usize) -> Value {
        let (mut bindings, mut inputs, mut outputs) = (Map::new(), Map::new(), Map::new());
        let places = self.places.iter().enumerate();
        for (index, place) in places.filter(|(_, place)| place.node == node) {
            let name = self.name(index);
            let mut declared =
                json!({"schema": schema(&place.sample), "sensitive": place.sensitive});
            if place.is_input {
                match &place.origin {
                    Origin::Nothing => declared["required"] = json!(false),
                    Origin::Default(value) => declared["default"] = value.clone(),
                    origin => drop(bindings.insert(name.clone(), self.binding(origin))),
                }
                inputs.insert(name, declared);
            } else {
                declared["from"] = self.from(&place.origin);
                outputs.insert(name, declared);
            }
        }
        json!({
            "bindings": bindings,
            "inputs": inputs,
            "outputs": outputs,
            "endpoints": {"e": {"targetPort": 8000 + node, "protocol": "HTTP"}},
        })
    }

    /// The name of the place at `index`.
    pub(super) fn name(&self, index: usize) -> String {
        let prefix = if self.places[index].is_input {
            "i"
        } else {
            "o"
        };
        format!("{prefix}{index}")
    }

    fn binding(&self, origin: &Origin) -> Value {
        match origin {
            Origin::Parameter(parameter) => json!({"parameter": format!("p{parameter}")}),
            Origin::Place(index) => {
                let node = self.places[*index].node;
                json!({"node": format!("n{node}"), "output": self.name(*index)})
            }
            Origin::Literal(value) => json!({"value": value}),
            other => unreachable!("{other:?} is no binding"),
        }
    }

    fn from(&self, origin: &Origin) -> Value {
        match origin {
            Origin::Place(index) => json!({"input": self.name(*index)}),
            Origin::Literal(value) => json!({"value": value}),
            Origin::Port => json!({"endpoint": "e", "property": "privatePort"}),
            Origin::Host => json!({"endpoint": "e", "property": "privateHostname"}),
            Origin::Template => {
                json!({"template": "${{ self.endpoints.e.privateAddress }}/$${{ x }}"})
            }
            other => unreachable!("{other:?} is no origin of an output"),
        }
    }

    /// What an installation supplies, in the shape of a context file.
    pub(super) fn evidence(&self) -> Value {
        let (mut parameters, mut credentials) = (Map::new(), Map::new());
        let mut variables = Map::new();
        for (index, parameter) in self.bound() {
            let (value, sensitive) = (&parameter.value, parameter.sensitive);
            let name = format!("p{index}");
            match parameter.supply {
                Supply::Default => {}
                Supply::Submitted | Supply::SubmittedOverDefault => {
                    parameters.insert(name, json!({"value": value, "sensitive": sensitive}));
                }
                Supply::Generated => {
                    let credential = json!({"identity": name, "rotation": 1, "value": value});
                    credentials.insert(name, credential);
                }
                Supply::Variable => {
                    let variable = json!({
                        "identity": name, "version": "7", "authorized": true,
                        "value": value, "sensitive": sensitive,
                    });
                    variables.insert(format!("own.{name}"), variable);
                }
            }
        }
        let allocation = |node: usize| {
            let host = format!("n{node}.internal");
            let evidence = json!({"identity": host, "version": "1", "privateHostname": host});
            (format!("n{node}"), json!({"e": evidence}))
        };
        json!({
            "parameters": parameters,
            "credentials": credentials,
            "variables": variables,
            "allocations": (0..NODES).map(allocation).collect::<Map<_, _>>(),
        })
    }
}

impl Parameter {
    fn of(draw: Draw) -> Self {
        let supply = match draw.kind {
            0 | 1 => Supply::Submitted,
            2 => Supply::Default,
            3 => Supply::SubmittedOverDefault,
            4 | 5 => Supply::Generated,
            _ => Supply::Variable,
        };
        Self {
            supply,
            value: match supply {
                Supply::Generated => json!(format!("generated {}", draw.value)),
                _ => draw.value,
            },
            sensitive: match supply {
                Supply::Default => false,
                Supply::Generated => true,
                _ => draw.sensitive,
            },
        }
    }

    fn has_default(&self) -> bool {
        matches!(self.supply, Supply::Default | Supply::SubmittedOverDefault)
    }

    fn declared(&self, index: usize) -> Value {
        match self.supply {
            Supply::Submitted => json!({}),
            Supply::Default => json!({"default": self.value}),
            Supply::SubmittedOverDefault => json!({"default": other(&self.value)}),
            Supply::Generated => json!({"generator": {}}),
            Supply::Variable => json!({"from": format!("${{{{ variables.own.p{index} }}}}")}),
        }
    }
}

/// Another value of the same type.
fn other(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(format!("{text}!")),
        Value::Number(_) => json!(1_u64 << 40),
        Value::Bool(truth) => json!(!truth),
        _ => json!(["another"]),
    }
}

fn schema(sample: &Value) -> Value {
    match sample {
        Value::String(_) => json!({"type": "string"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        _ => json!({"type": "array", "items": {"type": "string"}}),
    }
}
