//! What the profile reads, and what it refuses.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::document::diagnostic::Code;

#[test]
fn one_value_has_many_spellings() {
    let expected = json!({"a": [1, "x", null], "b": {"c": true}});
    for (name, text) in [
        ("block", "a:\n  - 1\n  - x\n  - ~\nb:\n  c: true\n"),
        ("flow", "{a: [1, x, null], b: {c: true}}"),
        (
            "JSON",
            "{\"a\": [1.0, \"x\", null],\n\t\"b\": {\"c\": true}}",
        ),
        ("another order", "b: {c: true}\na: [1, x, null]\n"),
        (
            "comments",
            "# one\na: # two\n- 1\n- 'x' # three\n-\nb:\n  ? c\n  : true\n",
        ),
        (
            "markers",
            "---\n{a: [0x1, \"\\x78\", ~], \"b\": {'c': True}}\n...\n",
        ),
    ] {
        let document = parse(text.as_bytes()).expect(name);
        assert_eq!(document.value, expected, "{name}");
    }
}

#[test]
fn every_node_is_found_where_it_stands() {
    let document = parse("a:\n  - 1\n  - b: two\n".as_bytes()).expect("a document");
    for (pointer, line, column) in [
        ("", 1, 1),
        ("/a", 1, 1),
        ("/a/0", 2, 5),
        ("/a/1/b", 3, 8),
        ("/a/1/none", 3, 5),
    ] {
        let location = document
            .places
            .nearest(&pointer.parse().expect("a pointer"));
        assert_eq!(location, Location { line, column }, "{pointer}");
    }
}

#[test]
fn every_breach_that_can_be_told_is_told() {
    let text = "a: &x 1\na: !y 2\n1: .inf\n<<: {}\n";
    let codes: Vec<_> = parse(text.as_bytes())
        .expect_err("breaches")
        .into_iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert_eq!(
        codes,
        [
            Code::AnchorOrAlias,
            Code::DuplicateKey,
            Code::ExplicitTag,
            Code::NonStringKey,
            Code::InvalidNumber,
            Code::MergeKey
        ]
    );
}

#[test]
fn no_place_lies_behind_the_end_of_the_text() {
    for (text, line, column) in [
        ("a: 1'e999\nsuccessThreshold", 2, 17),
        ("a: 1\r\nb", 2, 2),
        ("a: 1\rb: [", 2, 5),
    ] {
        let breaches = parse(text.as_bytes()).expect_err(text);
        let end = Location { line, column };
        assert!(breaches[0].location <= Some(end), "{text:?}: {breaches:?}");
    }
    let document = parse(b"a:").expect("a document");
    assert_eq!(
        document
            .places
            .nearest(&"/a".parse().expect("a pointer"))
            .line,
        1
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = any::<String>().prop_filter("no merge key", |key| key != "<<");
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_json_document_is_a_document(value in any_json()) {
        for text in [value.to_string(), format!("{value:#}")] {
            let document = parse(text.as_bytes());
            prop_assert_eq!(document.map(|document| document.value), Ok(value.clone()));
        }
    }

    #[test]
    fn bytes_are_read_or_refused_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }
}
