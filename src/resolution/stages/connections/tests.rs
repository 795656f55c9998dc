//! What becomes of connections, from evidence to inputs.

use serde_json::{Value, json};

use crate::resolution::resolve;
use crate::resolution::testing::{app, context, found, resolved};

const APP: &str = "
    parameters:
      first: { from: '${{ connections.llm.default }}' }
      second: { from: '${{ connections.llm.other }}' }
    nodes:
      app:
        connectionBindings: { one: { parameter: first }, two: { parameter: second } }
        requirements:
          one:
            protocol: OPENAI_CHAT_COMPLETIONS
            capabilities: [STREAMING]
            inputs: { baseURL: url, apiKey: key, model: model }
          two:
            protocol: ANTHROPIC_MESSAGES
            inputs: { baseURL: url2, apiKey: key2, model: model2 }
        inputs:
          url: { schema: { type: string } }
          key: { schema: { type: string }, sensitive: true }
          model: { schema: { type: string, enum: [model-a] } }
          url2: { schema: { type: string } }
          key2: { schema: { type: string }, sensitive: true }
          model2: { schema: { type: string } }
    ";

fn selection(name: &str, reference: &str) -> Value {
    let url = format!("https://{name}.example/v1");
    let view = json!({"baseURL": url, "model": "model-a", "capabilities": ["STREAMING"]});
    json!({"status": "SELECTED", "persisted": true, "selection": {
        "identity": format!("connection-{name}"), "version": "1", "installation": "i", "parameter": name,
        "source": {"identity": "policy", "version": "3", "reference": reference},
        "kind": "MANAGED", "costOwner": "org",
        "credential": {"identity": format!("credential-{name}"), "rotation": 0, "value": "s3cret", "permittedBaseURLs": [url]},
        "views": {"OPENAI_CHAT_COMPLETIONS": view, "ANTHROPIC_MESSAGES": view},
    }})
}

/// Both connections selected, and `change` made to the answer for `first`.
fn acquired(change: impl FnOnce(&mut Value)) -> Value {
    let mut first = selection("first", "${{ connections.llm.default }}");
    change(&mut first);
    let second = selection("second", "${{ connections.llm.other }}");
    json!({"connections": {"installation": "i", "parameters": {"first": first, "second": second}}})
}

#[test]
fn a_connection_that_was_withheld_is_not_missed_and_releases_nothing() {
    let mut evidence = acquired(|_| ());
    let answers = evidence["connections"]["parameters"].as_object_mut();
    answers.expect("answers").remove("first");
    let mut context = context(&evidence);
    context.withheld.insert("first".to_owned());
    let resolution = resolve(&app(APP), &context);
    assert_eq!(resolution.result.diagnostics, []);
    assert_eq!(resolution.result.deferred, []);
    assert_eq!(resolution.resolved, None);
}

#[test]
fn a_requirement_receives_the_members_of_its_view() {
    let resolved = resolved(APP, &acquired(|_| ()));
    let inputs = &resolved.inputs["app"];
    for (input, expected, sensitive) in [
        ("url", "https://first.example/v1", false),
        ("key", "s3cret", true),
        ("model", "model-a", false),
        ("url2", "https://second.example/v1", false),
    ] {
        assert_eq!(inputs[input].held.expose(), expected);
        assert_eq!(inputs[input].held.is_sensitive(), sensitive, "{input}");
    }
    let selected = inputs["model"].selected.as_ref().expect("a selection");
    assert_eq!(
        (selected.identity.as_str(), selected.version.as_str()),
        ("connection-first", "1")
    );
}

#[test]
fn acquisitions_own_answers_are_reported_at_the_parameter() {
    for (status, expected) in [
        (
            "NOT_ACQUIRED",
            "deferred BP-CONNECTION-002 /spec/parameters/first connection:first",
        ),
        (
            "NOT_FOUND",
            "connections ERR_CONNECTION_NOT_FOUND /spec/parameters/first",
        ),
        (
            "DENIED",
            "connections ERR_CONNECTION_DENIED /spec/parameters/first",
        ),
        (
            "INCOMPATIBLE",
            "connections ERR_CONNECTION_INCOMPATIBLE /spec/parameters/first",
        ),
        (
            "PERHAPS",
            "connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/first",
        ),
    ] {
        let context = acquired(|answer| *answer = json!({"status": status}));
        assert_eq!(found(APP, &context), [expected], "{status}");
    }
}

#[test]
fn evidence_that_breaks_a_rule_is_refused() {
    let set = |pointer: &'static str, value: Value| {
        (
            pointer,
            Box::new(move |answer: &mut Value| {
                *answer.pointer_mut(pointer).expect(pointer) = value;
            }) as Box<dyn FnOnce(&mut Value)>,
        )
    };
    let remove = |parent: &'static str, member: &'static str| {
        (
            member,
            Box::new(move |answer: &mut Value| {
                let parent = answer.pointer_mut(parent).and_then(Value::as_object_mut);
                parent.expect(member).remove(member).expect(member);
            }) as Box<dyn FnOnce(&mut Value)>,
        )
    };
    for (name, change) in [
        remove("", "persisted"),
        remove("", "selection"),
        remove("/selection", "credential"),
        remove("/selection", "views"),
        remove("/selection", "costOwner"),
        remove("/selection/source", "reference"),
        remove("/selection/credential", "value"),
        remove("/selection/credential", "rotation"),
        remove("/selection/views/OPENAI_CHAT_COMPLETIONS", "model"),
        set("/persisted", json!(false)),
        set("/selection/identity", json!("")),
        set("/selection/version", json!("")),
        set("/selection/installation", json!("another")),
        set("/selection/parameter", json!("second")),
        set(
            "/selection/source/reference",
            json!("${{ connections.llm.other }}"),
        ),
        set("/selection/source/identity", json!("")),
        set("/selection/source/version", json!("")),
        set("/selection/kind", json!("GIFT")),
        set("/selection/costOwner", json!("")),
        set("/selection/credential/identity", json!("")),
        set("/selection/credential/rotation", json!(-1)),
        set("/selection/credential/value", json!("")),
        set("/selection/credential/value", json!(7)),
        set("/selection/credential/permittedBaseURLs", json!([])),
        set(
            "/selection/credential/permittedBaseURLs",
            json!(["https://first.example/v1", "http://x.example"]),
        ),
        set(
            "/selection/views/OPENAI_CHAT_COMPLETIONS/baseURL",
            json!("https://first.example/v1/sub"),
        ),
        set("/selection/views/ANTHROPIC_MESSAGES/model", json!("")),
        set(
            "/selection/views/ANTHROPIC_MESSAGES",
            json!({"baseURL": "https://first.example/v1", "model": "m", "capabilities": [], "more": 1}),
        ),
    ] {
        let context = acquired(change);
        assert_eq!(
            found(APP, &context),
            ["connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/first"],
            "{name}"
        );
    }
}

#[test]
fn a_managed_credential_serves_one_parameter_alone() {
    let share = |kind: &'static str| {
        move |answer: &mut Value| {
            answer["selection"]["credential"]["identity"] = json!("credential-second");
            answer["selection"]["kind"] = json!(kind);
        }
    };
    for kind in ["MANAGED", "USER"] {
        assert_eq!(
            found(APP, &acquired(share(kind))),
            [
                "connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/first",
                "connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/second",
            ],
            "{kind}"
        );
    }
    let mut both_own = acquired(share("USER"));
    both_own["connections"]["parameters"]["second"]["selection"]["kind"] = json!("USER");
    assert_eq!(
        found(APP, &both_own),
        Vec::<String>::new(),
        "a user may reuse a credential"
    );
}

#[test]
fn equal_values_under_two_parameters_are_no_conflict() {
    let context = acquired(|answer| {
        let url = json!("https://second.example/v1");
        answer["selection"]["credential"]["permittedBaseURLs"] = json!([url]);
        for protocol in ["OPENAI_CHAT_COMPLETIONS", "ANTHROPIC_MESSAGES"] {
            answer["selection"]["views"][protocol]["baseURL"] = url.clone();
        }
    });
    assert_eq!(found(APP, &context), Vec::<String>::new());
}

#[test]
fn a_selection_that_cannot_serve_a_requirement_is_an_error_there() {
    let binding = "/spec/components/app/connectionBindings/one";
    for (name, change, expected) in [
        (
            "no view",
            (|answer: &mut Value| {
                answer["selection"]["views"] = json!({});
            }) as fn(&mut Value),
            format!("connections ERR_CONNECTION_INCOMPATIBLE {binding}"),
        ),
        (
            "a capability too few",
            |answer| {
                answer["selection"]["views"]["OPENAI_CHAT_COMPLETIONS"]["capabilities"] =
                    json!(["TOOL_CALLS"])
            },
            format!("connections ERR_CONNECTION_INCOMPATIBLE {binding}"),
        ),
        (
            "a member that its input refuses",
            |answer| {
                answer["selection"]["views"]["OPENAI_CHAT_COMPLETIONS"]["model"] = json!("model-b")
            },
            format!(
                "connections ERR_VALUE_CONSTRAINT {binding} (./app.yaml#/spec/contract/inputs/model)"
            ),
        ),
    ] {
        assert_eq!(found(APP, &acquired(change)), [expected], "{name}");
    }
}

#[test]
fn one_failing_connection_withholds_everything() {
    let mut context = acquired(|_| ());
    context["connections"]["parameters"]["second"] = json!({"status": "DENIED"});
    assert_eq!(
        found(APP, &context),
        ["connections ERR_CONNECTION_DENIED /spec/parameters/second"],
    );
}
