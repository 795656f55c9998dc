//! What schemas admit and what they are refused for.

use super::*;
use serde_json::{Value, json};

#[track_caller]
fn schema(value: Value) -> ValueSchema {
    serde_json::from_value(value).expect("a schema")
}

#[test]
fn values_are_checked_without_coercion() {
    for (name, constraint, value, failing) in [
        (
            "integral float is an integer",
            json!({"type": "integer"}),
            json!(1.0),
            None,
        ),
        (
            "fraction is none",
            json!({"type": "integer"}),
            json!(1.5),
            Some("type"),
        ),
        (
            "unsafe is none",
            json!({"type": "integer"}),
            json!(9_007_199_254_740_992_i64),
            Some("type"),
        ),
        (
            "text is no number",
            json!({"type": "number"}),
            json!("1"),
            Some("type"),
        ),
        (
            "boolean is no text",
            json!({"type": "string"}),
            json!(true),
            Some("type"),
        ),
        (
            "code points count",
            json!({"type": "string", "maxLength": 1}),
            json!("🦀"),
            None,
        ),
        (
            "one too many",
            json!({"type": "string", "maxLength": 1}),
            json!("🦀a"),
            Some("maxLength"),
        ),
        (
            "one too few",
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            Some("minLength"),
        ),
        (
            "unanchored",
            json!({"type": "string", "pattern": "b"}),
            json!("abc"),
            None,
        ),
        (
            "no match",
            json!({"type": "string", "pattern": "^b"}),
            json!("abc"),
            Some("pattern"),
        ),
        (
            "at the bound",
            json!({"type": "number", "maximum": 3}),
            json!(3.0),
            None,
        ),
        (
            "at the exclusive bound",
            json!({"type": "number", "exclusiveMaximum": 3}),
            json!(3),
            Some("exclusiveMaximum"),
        ),
        (
            "below",
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            Some("minimum"),
        ),
        (
            "member by worth",
            json!({"type": "number", "enum": [1]}),
            json!(1.0),
            None,
        ),
        (
            "no member",
            json!({"type": "string", "enum": ["a"]}),
            json!("b"),
            Some("enum"),
        ),
        ("null", json!({"type": "null"}), json!(null), None),
        (
            "item",
            json!({"type": "array", "items": {"type": "string"}}),
            json!([1]),
            Some("type"),
        ),
        (
            "repetition",
            json!({"type": "array", "items": {"type": "number"}, "uniqueItems": true}),
            json!([1, 1.0]),
            Some("uniqueItems"),
        ),
        (
            "too many",
            json!({"type": "array", "items": {"type": "number"}, "maxItems": 1}),
            json!([1, 2]),
            Some("maxItems"),
        ),
        (
            "undeclared",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            json!({"a": 1}),
            Some("additionalProperties"),
        ),
        (
            "missing",
            json!({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": false, "required": ["a"]}),
            json!({}),
            Some("required"),
        ),
    ] {
        let outcome = schema(constraint).check(&value);
        assert_eq!(
            outcome.err().map(|violation| violation.keyword),
            failing,
            "{name}"
        );
    }
}

#[test]
fn a_bound_itself_is_within_unless_it_is_exclusive() {
    let string = |count: usize| json!("x".repeat(count));
    let array = |count: usize| json!(vec![1; count]);
    for (keyword, bound, kind, below, at, above) in [
        ("minLength", 2, "string", string(1), string(2), string(3)),
        ("maxLength", 2, "string", string(1), string(2), string(3)),
        ("minItems", 2, "array", array(1), array(2), array(3)),
        ("maxItems", 2, "array", array(1), array(2), array(3)),
        ("minimum", 2, "number", json!(1.5), json!(2), json!(2.5)),
        ("maximum", 2, "number", json!(1.5), json!(2), json!(2.5)),
        (
            "exclusiveMinimum",
            2,
            "number",
            json!(1.5),
            json!(2),
            json!(2.5),
        ),
        (
            "exclusiveMaximum",
            2,
            "number",
            json!(1.5),
            json!(2),
            json!(2.5),
        ),
    ] {
        let mut constraint = json!({"type": kind});
        constraint[keyword] = json!(bound);
        if kind == "array" {
            constraint["items"] = json!({"type": "integer"});
        }
        let schema = schema(constraint);
        let is_least = keyword.to_lowercase().contains("min");
        let is_exclusive = keyword.starts_with("exclusive");
        for (value, admitted) in [(below, !is_least), (at, !is_exclusive), (above, is_least)] {
            let expected = (!admitted).then_some(keyword);
            let found = schema
                .check(&value)
                .err()
                .map(|violation| violation.keyword);
            assert_eq!(found, expected, "{keyword}: {value}");
        }
    }
}

#[test]
fn a_violation_names_the_keyword_and_what_it_asks_for() {
    for (constraint, value, message) in [
        (
            json!({"type": "string"}),
            json!(1),
            "`type` fails: the value has to be of type string",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            "`minLength` fails: at least 2 characters are due",
        ),
        (
            json!({"type": "integer", "maximum": 2}),
            json!(3),
            "`maximum` fails: the value has to be at most 2",
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 2}),
            json!(2),
            "`exclusiveMinimum` fails: the value has to be more than 2",
        ),
    ] {
        let violation = schema(constraint).check(&value).expect_err("refused");
        assert_eq!(violation.to_string(), message);
    }
}

#[test]
fn a_violation_never_shows_the_value() {
    let strict = schema(json!({"type": "string", "pattern": "^x$", "enum": ["x"]}));
    let violation = strict.check(&json!("hunter2")).expect_err("no member");
    assert!(!violation.to_string().contains("hunter2"));
    let closed = schema(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    let violation = closed
        .check(&json!({"hunter2": 1}))
        .expect_err("undeclared");
    assert!(!violation.to_string().contains("hunter2"));
}

#[test]
fn a_schema_may_nest_sixteen_deep_and_no_deeper() {
    let in_items = |inner| json!({"type": "array", "items": inner});
    let in_properties = |inner| json!({"type": "object", "properties": {"a": inner}, "additionalProperties": false});
    for around in [in_items as fn(Value) -> Value, in_properties] {
        let nested = |depth: usize| {
            let text = json!({"type": "string"});
            schema((0..depth).fold(text, |inner, _| around(inner)))
        };
        assert_eq!(nested(16).fault(), None);
        assert!(nested(17).fault().is_some());
    }
}

#[test]
fn what_is_required_is_declared() {
    let requiring = |name: &str| {
        let text = json!({"type": "string"});
        schema(
            json!({"type": "object", "properties": {"a": text}, "additionalProperties": false, "required": [name]}),
        )
    };
    assert_eq!(requiring("a").fault(), None);
    let fault = requiring("b").fault().expect("undeclared");
    assert!(fault.starts_with("`required` names `b`"), "{fault}");
}

#[test]
fn members_are_listed_as_they_were_written() {
    let listed = schema(json!({"type": "string", "enum": ["b", "a"]}));
    let members = listed.r#enum.as_deref();
    assert_eq!(members, Some([json!("b"), json!("a")].as_slice()));
}

#[test]
fn an_integer_supplies_a_number_and_nothing_else_differs() {
    assert!(ValueType::Integer.supplies(ValueType::Number));
    assert!(!ValueType::Number.supplies(ValueType::Integer));
    assert!(ValueType::Array.supplies(ValueType::Array));
}
