//! That no secret leaves by a print, a panic or a public form, wherever it came in.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};

use super::accept::{Sources, accept};
use super::connection::Answer;
use super::context::Context;
use super::record::{Record, Selection, SpecificationDependencies, record};
use super::secret::Secret;
use super::snapshot::Snapshot;
use super::testing::{app, context};
use super::{Resolution, resolve};
use crate::contract::contracts::Contracts;

/// What every secret here begins with.
const MARK: &str = "hunter2";

/// A worker that receives a secret from every supplier there is, and hands one on.
const APP: &str = "
    parameters:
      submitted: {}
      generated: { generator: {} }
      variable: { from: '${{ variables.own.secret }}' }
      llm: { from: '${{ connections.llm.default }}' }
    nodes:
      app:
        connectionBindings: { llm: { parameter: llm } }
        requirements:
          llm:
            protocol: OPENAI_CHAT_COMPLETIONS
            inputs: { baseURL: url, apiKey: key, model: model }
        bindings:
          submitted: { parameter: submitted }
          generated: { parameter: generated }
          variable: { parameter: variable }
        inputs:
          submitted: { schema: { type: string, maxLength: 30 }, sensitive: true }
          generated: { schema: { type: string }, sensitive: true }
          variable: { schema: { type: string, pattern: '^[a-z]+2-variable$' }, sensitive: true }
          url: { schema: { type: string } }
          key: { schema: { type: string, maxLength: 30 }, sensitive: true }
          model: { schema: { type: string } }
        outputs: { out: { schema: { type: string }, sensitive: true, from: { input: submitted } } }
      next:
        bindings: { in: { node: app, output: out } }
        inputs: { in: { schema: { type: string } } }
    ";

fn secrets() -> Value {
    let url = "https://llm.example/v1";
    json!({
        "parameters": {"submitted": {"value": format!("{MARK}-submitted"), "sensitive": true}},
        "credentials": {"generated": {"identity": "c", "rotation": 0, "value": format!("{MARK}-generated")}},
        "variables": {"own.secret": {
            "identity": "v", "version": "1", "authorized": true, "sensitive": true,
            "value": format!("{MARK}-variable"),
        }},
        "connections": {"installation": "i", "parameters": {"llm": {
            "status": "SELECTED", "persisted": true,
            "selection": {
                "identity": "connection", "version": "1", "installation": "i", "parameter": "llm",
                "source": {"identity": "policy", "version": "3", "reference": "${{ connections.llm.default }}"},
                "kind": "MANAGED", "costOwner": "org",
                "credential": {
                    "identity": "credential", "rotation": 0, "permittedBaseURLs": [url],
                    "value": format!("{MARK}-connection"),
                },
                "views": {"OPENAI_CHAT_COMPLETIONS": {"baseURL": url, "model": "m", "capabilities": []}},
            },
        }}},
    })
}

/// Panics as any code does that is sure of its outcome, and wrong.
fn insist<T: Debug>(outcome: Result<(), T>) {
    outcome.expect("a failure");
}

/// Asserts that neither printing `value` nor a panic that shows it tells a secret.
#[track_caller]
fn is_mute<T: Debug>(what: &str, value: T) {
    let printed = format!("{value:?} {value:#?}");
    let panicked = catch_unwind(AssertUnwindSafe(|| insist(Err(value))));
    let payload = panicked.expect_err("a panic");
    let panicked = payload
        .downcast::<String>()
        .expect("a panic with a message");
    assert!(
        panicked.contains("a failure"),
        "{what} panics with its message"
    );
    for text in [printed, *panicked] {
        assert!(!text.contains(MARK), "{what} prints a secret");
    }
}

fn recorded(contracts: &Contracts, context: &Context) -> (Record, Snapshot) {
    let snapshot = Snapshot::of("s", "1", context);
    let selection = Selection {
        image_digest: Some(format!("sha256:{}", "a".repeat(64))),
        git_commit: None,
        compute_version: Some("3".to_owned()),
    };
    let nodes = contracts.components.keys();
    let selections = nodes.map(|node| (node.clone(), selection.clone()));
    (
        record(contracts, &selections.collect(), &snapshot),
        snapshot,
    )
}

#[test]
fn nothing_that_holds_a_secret_prints_it_or_panics_with_it() {
    let contracts = app(APP);
    let context = context(&secrets());
    let resolution = resolve(&contracts, &context);
    let resolved = resolution.resolved.clone().expect("VALID");
    let environment = &resolved.environment["next"]["IN"];
    assert_eq!(
        environment.text.expose(),
        "hunter2-submitted",
        "the secrets are there"
    );
    let (record, snapshot) = recorded(&contracts, &context);
    let values = context.credentials.iter();
    let values: BTreeMap<String, Secret<String>> = values
        .map(|(name, credential)| (name.clone(), credential.value.clone()))
        .collect();
    let joined = snapshot.clone().join(values);
    let sources = Sources::of(&contracts);
    let editions = SpecificationDependencies::of_this_edition();
    let accepted = accept(record.clone(), joined.clone(), &sources, &editions).expect("accepted");

    is_mute("an answer", Answer::read(&context.connections["llm"]));
    is_mute("a resolution", resolution);
    is_mute("a value", resolved.inputs["app"]["key"].clone());
    is_mute("a variable of an environment", environment.clone());
    is_mute("what was resolved", resolved);
    is_mute("persisted bytes", snapshot.to_secret_bytes());
    is_mute("a snapshot", joined);
    is_mute("a context", context);
    is_mute("an accepted record", Arc::new(accepted));
}

#[test]
fn no_public_form_holds_a_secret() {
    let contracts = app(APP);
    let context = context(&secrets());
    let Resolution { result, resolved } = resolve(&contracts, &context);
    let inspection = resolved.expect("VALID").inspection();
    let (record, _) = recorded(&contracts, &context);
    let public = json!({"result": result, "inspection": inspection, "record": record});
    assert!(
        public["inspection"]["next:in:in"]["redacted"]
            .as_bool()
            .expect("a truth")
    );
    assert!(!public.to_string().contains(MARK));
}

#[test]
fn what_is_said_of_a_refused_secret_does_not_quote_it() {
    let contracts = app(APP);
    let long = format!("{MARK}-{}", "x".repeat(40));
    let key = "/connections/parameters/llm/selection/credential/value";
    for (name, place, value) in [
        ("too long", "/parameters/submitted/value", json!(long)),
        (
            "of another type",
            "/parameters/submitted/value",
            json!([MARK]),
        ),
        (
            "with a NUL",
            "/parameters/submitted/value",
            json!(format!("{MARK}\0")),
        ),
        (
            "against a pattern",
            "/variables/own.secret/value",
            json!(MARK),
        ),
        ("a key that is too long", key, json!(long)),
        (
            "evidence that is none",
            "/connections/parameters/llm/status",
            json!(MARK),
        ),
    ] {
        let mut evidence = secrets();
        *evidence.pointer_mut(place).expect(place) = value;
        let resolution = resolve(&contracts, &context(&evidence));
        assert!(!resolution.result.diagnostics.is_empty(), "{name}");
        let said = format!("{:?} {}", resolution, json!(resolution.result));
        assert!(!said.contains(MARK), "{name}: {said}");
    }
    for text in [
        json!({"parameters": {"a": {"value": 1, "sensitive": MARK}}}),
        json!({"parameters": MARK}),
        json!({"credentials": {"a": {"value": [MARK]}}}),
    ] {
        let refused = Context::parse(text.to_string().as_bytes()).expect_err("malformed");
        is_mute("a refused context", refused);
        assert!(!refused.to_string().contains(MARK));
    }
}
