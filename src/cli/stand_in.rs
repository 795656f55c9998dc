//! Values that stand in for secrets: worth nothing, and of the form that their receivers ask for. Pure.

use serde_json::{Map, Number, Value, json};

use crate::contract::blueprint::binding::Binding;
use crate::contract::component::value_schema::{ValueSchema, ValueType};
use crate::contract::contracts::Contracts;

/// What a text says that stands in.
pub(super) const TEXT: &str = "stand-in";

/// A value that stands in for the parameter `name`; nothing when its schema asks for a form that no simple value has.
pub(super) fn of_parameter(contracts: &Contracts, name: &str) -> Option<Value> {
    let nodes = &contracts.blueprint.spec.components;
    // All receivers of a parameter have the same schema (BP-PARAM-002).
    let receiver = nodes.iter().find_map(|(node, authored)| {
        let bound =
            |binding: &Binding| matches!(binding, Binding::Parameter(bound) if bound == name);
        let (input, _) = authored
            .bindings
            .iter()
            .find(|(_, binding)| bound(binding))?;
        contracts.component(node).spec.contract.inputs.get(input)
    });
    receiver.map_or_else(|| Some(TEXT.into()), |input| of_schema(&input.schema))
}

/// A text that stands in for the API key of the connection parameter `name`, and fits one that receives it.
pub(super) fn of_api_key(contracts: &Contracts, name: &str) -> String {
    let nodes = &contracts.blueprint.spec.components;
    let receiver = nodes.iter().find_map(|(node, authored)| {
        let mut bindings = authored.connection_bindings.iter();
        let (requirement, _) = bindings.find(|(_, binding)| binding.parameter == name)?;
        let contract = &contracts.component(node).spec.contract;
        let inputs = &contract.connection_requirements.get(requirement)?.inputs;
        contract.inputs.get(&inputs.api_key)
    });
    let fitting = receiver.and_then(|input| of_schema(&input.schema));
    let fitting = fitting.and_then(|value| value.as_str().map(str::to_owned));
    fitting.unwrap_or_else(|| TEXT.to_owned())
}

/// The first of some simple values that `schema` admits.
fn of_schema(schema: &ValueSchema) -> Option<Value> {
    let listed = schema
        .r#enum
        .iter()
        .flat_map(|members| members.iter().cloned());
    listed
        .chain(candidates(schema))
        .find(|candidate| schema.check(candidate).is_ok())
}

fn candidates(schema: &ValueSchema) -> Vec<Value> {
    match schema.r#type {
        ValueType::String => texts(schema),
        ValueType::Integer | ValueType::Number => numbers(schema),
        ValueType::Boolean => vec![json!(false)],
        ValueType::Null => vec![Value::Null],
        ValueType::Array => {
            let length = usize::try_from(schema.min_items.unwrap_or(0)).unwrap_or(usize::MAX);
            let item = schema.items.as_deref().and_then(of_schema);
            // More than a few need not be tried: whoever asks for them asks for more than a simple value.
            vec![item.into_iter().cycle().take(length.min(100)).collect()]
        }
        ValueType::Object => {
            let properties = schema.properties.as_ref();
            let required = schema.required.iter().flatten();
            let members = required.map(|name| {
                let member = properties.and_then(|properties| properties.get(name));
                Some((name.clone(), member.map_or(Some(TEXT.into()), of_schema)?))
            });
            let members: Option<Map<_, _>> = members.collect();
            members.into_iter().map(Value::Object).collect()
        }
    }
}

/// Texts of a length that the schema admits: what they are for, digits and letters, an address.
fn texts(schema: &ValueSchema) -> Vec<Value> {
    let shortest = schema.min_length.unwrap_or(0);
    let longest = schema.max_length.unwrap_or(u64::MAX);
    let patterns = [TEXT, "0", "a", "A", "a0", "Aa0-"].into_iter();
    let fitted = patterns.map(|pattern| {
        let length = (pattern.len() as u64).clamp(shortest, longest.max(shortest));
        let length = usize::try_from(length.min(65_536)).unwrap_or(usize::MAX);
        pattern.chars().cycle().take(length).collect::<String>()
    });
    let shaped = ["https://stand-in.invalid", "stand-in@stand-in.invalid"];
    fitted
        .chain(shaped.map(str::to_owned))
        .map(Value::from)
        .collect()
}

/// Numbers at and beside the schema's bounds.
fn numbers(schema: &ValueSchema) -> Vec<Value> {
    let beside = |bound: &Option<Number>, step: f64| {
        let bound = bound.as_ref().and_then(Number::as_f64)?;
        Number::from_f64(bound + step).map(Value::Number)
    };
    let exact = |bound: &Option<Number>| bound.clone().map(Value::Number);
    [
        Some(json!(0)),
        Some(json!(1)),
        exact(&schema.minimum),
        exact(&schema.maximum),
        beside(&schema.exclusive_minimum, 1.0),
        beside(&schema.exclusive_maximum, -1.0),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_has_the_form_that_its_receiver_asks_for() {
        for (schema, expected) in [
            (json!({"type": "string"}), json!("stand-in")),
            (
                json!({"type": "string", "minLength": 10}),
                json!("stand-inst"),
            ),
            (json!({"type": "string", "maxLength": 5}), json!("stand")),
            (json!({"type": "string", "enum": ["x", "y"]}), json!("x")),
            (json!({"type": "string", "pattern": "^[0-9]+$"}), json!("0")),
            (
                json!({"type": "string", "pattern": "^https://"}),
                json!("https://stand-in.invalid"),
            ),
            (json!({"type": "integer", "minimum": 1024}), json!(1024)),
            (
                json!({"type": "number", "exclusiveMaximum": -4}),
                json!(-5.0),
            ),
            (json!({"type": "boolean"}), json!(false)),
            (json!({"type": "null"}), json!(null)),
            (
                json!({"type": "array", "items": {"type": "integer"}, "minItems": 2}),
                json!([0, 0]),
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}, "b": {"type": "null"}}}),
                json!({"a": false}),
            ),
        ] {
            let parsed: ValueSchema = serde_json::from_value(schema.clone()).expect("a schema");
            assert_eq!(of_schema(&parsed), Some(expected), "{schema}");
        }
    }

    #[test]
    fn nothing_stands_in_for_what_has_no_simple_form() {
        let schema = json!({"type": "string", "pattern": "^[0-9]{4}-[A-Z]{4}$"});
        let schema: ValueSchema = serde_json::from_value(schema).expect("a schema");
        assert_eq!(of_schema(&schema), None);
    }
}
