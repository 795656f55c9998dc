//! What a person reads about a document of the wrong shape: the field, what is wrong with it, and what to write.

use serde_json::{Value, json};

use crate::contract::{Published, validate_document};
use crate::document::result::Profile;

/// The messages about a worker whose member at `place` is `value`.
fn messages(place: &str, value: Value) -> Vec<String> {
    let mut document = json!({
        "specVersion": "v1",
        "kind": "COMPONENT",
        "metadata": {"revision": 1, "description": "A worker."},
        "spec": {
            "type": "WORKER",
            "workload": {
                "source": {"image": "example/worker:1"},
                "endpoints": {"web": {"targetPort": 8080, "protocol": "HTTP"}},
                "health": {"readiness": {"http": {"endpoint": "web", "path": "/"}}},
            },
            "contract": {"inputs": {"token": {
                "schema": {"type": "string"},
                "description": "A token.",
                "target": {"envVarKey": "TOKEN"},
            }}},
        },
    });
    let (parent, name) = place.rsplit_once('/').expect("a pointer");
    document.pointer_mut(parent).expect("a place")[name] = value;
    let text = document.to_string();
    let result = validate_document(
        None,
        text.as_bytes(),
        &Published::default(),
        Profile::Structural,
    )
    .result;
    result
        .diagnostics
        .into_iter()
        .map(|found| found.message)
        .collect()
}

#[test]
fn a_message_says_what_is_wrong_and_what_to_write() {
    for (place, value, expected) in [
        (
            "/extra",
            json!(1),
            "`extra`: no such field in a document with `specVersion`, `kind`, `metadata` and `spec`; its fields are `kind`, `metadata`, `spec`, `specVersion`. Correct the spelling or remove it; if a newer release of the specification defines it, update this tool",
        ),
        (
            "/specVersion",
            json!("v2"),
            "this tool reads `specVersion: v1` only; write v1, or update this tool for a newer version",
        ),
        (
            "/spec/type",
            json!("DAEMON"),
            "`type` has a value that is not allowed; write SERVICE, WORKER, JOB or EXTERNAL",
        ),
        (
            "/spec/type",
            json!(["WORKER"]),
            "`type` is of the wrong type; write SERVICE, WORKER, JOB or EXTERNAL",
        ),
        (
            "/spec/workload/source",
            json!({}),
            "`source` names none of its choices; write a source: `image` or `git`",
        ),
        (
            "/spec/workload/source",
            json!({"image": "a:1", "git": {"repositoryURL": "https://example.org/a", "build": {}}}),
            "`source` names more than one of its choices; keep one: a source: `image` or `git`",
        ),
        (
            "/spec/workload/health/readiness",
            json!({}),
            "`readiness` lacks `http`; add it",
        ),
        (
            "/spec/workload/endpoints/Web",
            json!({"targetPort": 1, "protocol": "TCP"}),
            "`endpoints` has the key `Web`, which has to be an endpoint name: a lowercase letter, then up to 19 lowercase letters or digits; rename it",
        ),
    ] {
        let messages = messages(place, value.clone());
        assert_eq!(
            messages.first().map(String::as_str),
            Some(expected),
            "{place}: {value}"
        );
    }
}

#[test]
fn of_many_or_long_names_a_message_lists_some() {
    let fields = |count: usize| -> Value {
        let fields = (1..=count).map(|field| (format!("f{field}"), json!(1)));
        Value::Object(fields.collect())
    };
    let listed = |value: Value| {
        let message = messages("/spec/workload/health/liveness", value).remove(0);
        message
            .split_once(": no such")
            .map(|(names, _)| names.to_owned())
    };
    for (value, expected) in [
        (
            fields(8),
            "`f1`, `f2`, `f3`, `f4`, `f5`, `f6`, `f7`, `f8`".to_owned(),
        ),
        (
            fields(10),
            "`f1`, `f10`, `f2`, `f3`, `f4`, `f5`, `f6`, `f7` and 2 more".to_owned(),
        ),
        (json!({"x".repeat(80): 1}), format!("`{}`", "x".repeat(80))),
        (json!({"x".repeat(81): 1}), format!("`{}…`", "x".repeat(80))),
    ] {
        assert_eq!(listed(value), Some(expected));
    }
}
