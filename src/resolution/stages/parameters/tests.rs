//! What each parameter supplies, and who may submit it.

use serde_json::{Value, json};

use crate::resolution::resolve;
use crate::resolution::testing::{app, context, found, resolved};

/// A node with one input that takes the parameter `p`, declared as given.
fn taking(parameter: &str) -> String {
    format!(
        "
        parameters: {{ p: {parameter} }}
        nodes:
          web:
            bindings: {{ in: {{ parameter: p }} }}
            inputs: {{ in: {{ schema: {{ type: string }} }} }}
        "
    )
}

fn variable(member: &str, value: Value) -> Value {
    let mut variable = json!({
        "value": "eu", "sensitive": false, "identity": "v", "version": "7", "authorized": true,
    });
    variable[member] = value;
    json!({"variables": {"cloud.region": variable}})
}

const VARIABLE: &str = "{ from: '${{ variables.cloud.region }}' }";

#[test]
fn a_submitted_value_replaces_the_default() {
    for (name, context, expected) in [
        ("default", json!({}), json!("info")),
        (
            "submitted",
            json!({"parameters": {"p": {"value": "debug", "sensitive": false}}}),
            json!("debug"),
        ),
    ] {
        let resolved = resolved(&taking("{ default: info }"), &context);
        assert_eq!(
            resolved.inputs["web"]["in"].held.public(),
            Some(&expected),
            "{name}"
        );
    }
}

#[test]
fn a_value_that_was_withheld_is_not_missed_and_releases_nothing() {
    for parameter in ["{}", "{ default: info }", VARIABLE] {
        let mut context = context(&json!({}));
        context.withheld.insert("p".to_owned());
        let resolution = resolve(&app(&taking(parameter)), &context);
        assert_eq!(resolution.result.diagnostics, [], "{parameter}");
        assert_eq!(resolution.result.deferred, [], "{parameter}");
        assert_eq!(resolution.resolved, None, "{parameter}");
    }
}

#[test]
fn only_a_declared_parameter_that_nothing_else_supplies_can_be_submitted() {
    let submitted = json!({"value": "x", "sensitive": false});
    let credential = json!({"value": "secret"});
    for (name, parameter, context, expected) in [
        (
            "misspelt, although the default would do",
            "{ default: info }",
            json!({"parameters": {"q": submitted}}),
            "parameters ERR_UNKNOWN_PARAMETER /spec/parameters",
        ),
        (
            "generated",
            "{ generator: {} }",
            json!({"parameters": {"p": submitted}, "credentials": {"p": credential}}),
            "parameters ERR_PARAMETER_NOT_SUBMITTABLE /spec/parameters/p",
        ),
    ] {
        assert_eq!(found(&taking(parameter), &context), [expected], "{name}");
    }
    let mut context = variable("version", json!("7"));
    context["parameters"] = json!({"p": submitted});
    assert_eq!(
        found(&taking(VARIABLE), &context),
        ["parameters ERR_PARAMETER_NOT_SUBMITTABLE /spec/parameters/p"],
    );
}

#[test]
fn who_cannot_submit_is_told_what_to_do_instead() {
    let submitted = json!({"parameters": {"p": {"value": "x", "sensitive": false}}});
    let connected = "
        parameters: { p: { from: '${{ connections.llm.default }}' } }
        nodes:
          web:
            connectionBindings: { llm: { parameter: p } }
            requirements:
              llm:
                protocol: OPENAI_CHAT_COMPLETIONS
                inputs: { baseURL: url, apiKey: key, model: model }
            inputs:
              url: { schema: { type: string } }
              key: { schema: { type: string }, sensitive: true }
              model: { schema: { type: string } }
        ";
    for (sketch, remedy) in [
        (taking("{ generator: {} }"), "rotate its credential"),
        (taking(VARIABLE), "override the variable"),
        (connected.to_owned(), "replace the whole connection"),
    ] {
        let contracts = app(&sketch);
        let result = resolve(&contracts, &context(&submitted)).result;
        let messages: Vec<_> = result
            .diagnostics
            .iter()
            .map(|found| &found.message)
            .collect();
        assert!(
            matches!(messages[..], [message] if message.contains(remedy)),
            "{remedy}: {messages:?}"
        );
    }
}

#[test]
fn a_variable_is_taken_by_its_exact_path_and_named_by_identity_and_version() {
    let resolved = resolved(&taking(VARIABLE), &variable("sensitive", json!(true)));
    let supplied = &resolved.inputs["web"]["in"];
    let selected = supplied.selected.as_ref().expect("a selection");
    assert_eq!(
        (selected.identity.as_str(), selected.version.as_str()),
        ("v", "7")
    );
    assert!(supplied.held.is_sensitive());
}

#[test]
fn a_variable_that_cannot_be_used_is_reported_once_at_its_source() {
    const SHARED: &str = "
        parameters: { p: { from: '${{ variables.cloud.region }}' } }
        nodes:
          web:
            bindings: { a: { parameter: p }, b: { parameter: p } }
            inputs: { a: { schema: { type: string } }, b: { schema: { type: string } } }
            outputs: { out: { schema: { type: string }, from: { input: a } } }
        ";
    for (name, context, expected) in [
        (
            "unavailable",
            json!({}),
            "deferred BP-PARAM-009 /spec/parameters/p/from variable:cloud.region",
        ),
        (
            "only a prefix is available",
            json!({"variables": {"cloud": {"value": {"region": "eu"}, "sensitive": false, "identity": "v", "version": "7", "authorized": true}}}),
            "deferred BP-PARAM-009 /spec/parameters/p/from variable:cloud.region",
        ),
        (
            "denied",
            variable("authorized", json!(false)),
            "parameters ERR_VARIABLE_NOT_AUTHORIZED /spec/parameters/p/from",
        ),
        (
            "without identity",
            variable("identity", json!(null)),
            "parameters ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/p/from",
        ),
        (
            "with an empty version",
            variable("version", json!("")),
            "parameters ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/p/from",
        ),
    ] {
        assert_eq!(found(SHARED, &context), [expected], "{name}");
    }
}

#[test]
fn a_generated_value_is_sensitive_whatever_its_receiver_says() {
    let context = json!({"credentials": {"p": {"value": "s3cret"}}});
    let resolved = resolved(&taking("{ generator: {} }"), &context);
    let held = &resolved.inputs["web"]["in"].held;
    assert_eq!(
        (held.expose(), held.is_sensitive()),
        (&json!("s3cret"), true)
    );
}

#[test]
fn a_missing_credential_is_deferred_once_at_its_first_receiver() {
    let shared = "
        parameters: { key: { generator: {} } }
        nodes:
          web:
            bindings: { a: { parameter: key } }
            inputs: { a: { schema: { type: string } } }
          db:
            bindings: { y: { parameter: key }, x: { parameter: key } }
            inputs: { x: { schema: { type: string } }, y: { schema: { type: string } } }
        ";
    assert_eq!(
        found(shared, &json!({})),
        ["deferred BP-RESOLVE-001 /spec/components/db/bindings/x credential:key"],
    );
}

#[test]
fn one_sensitive_receiver_makes_every_receiver_sensitive() {
    let resolved = resolved(
        "
        parameters: { p: {} }
        nodes:
          web:
            bindings: { plain: { parameter: p } }
            inputs: { plain: { schema: { type: string } } }
          db:
            bindings: { secret: { parameter: p } }
            inputs: { secret: { schema: { type: string }, sensitive: true } }
        ",
        &json!({"parameters": {"p": {"value": "x", "sensitive": false}}}),
    );
    assert!(resolved.inputs["web"]["plain"].held.is_sensitive());
    assert!(resolved.environment["web"]["PLAIN"].sensitive);
}

#[test]
fn a_connection_parameter_is_never_submitted() {
    let app = "
        parameters: { llm: { from: '${{ connections.llm.default }}' } }
        nodes:
          web:
            connectionBindings: { llm: { parameter: llm } }
            requirements:
              llm:
                protocol: ANTHROPIC_MESSAGES
                inputs: { baseURL: url, apiKey: key, model: model }
            inputs:
              url: { schema: { type: string } }
              key: { schema: { type: string }, sensitive: true }
              model: { schema: { type: string } }
        ";
    let context =
        json!({"parameters": {"llm": {"value": "https://own.example", "sensitive": false}}});
    assert_eq!(
        found(app, &context),
        [
            "parameters ERR_PARAMETER_NOT_SUBMITTABLE /spec/parameters/llm",
            "deferred BP-CONNECTION-002 /spec/parameters/llm connection:llm",
        ],
    );
}

#[test]
fn a_parameter_is_sensitive_as_soon_as_one_of_its_receivers_is() {
    let contracts = app("
        parameters: {shared: {}, open: {}}
        nodes:
          first:
            inputs: {plain: {schema: {type: string}}, other: {schema: {type: string}}}
            bindings: {plain: {parameter: shared}, other: {parameter: open}}
          second:
            inputs: {secret: {schema: {type: string}, sensitive: true}}
            bindings: {secret: {parameter: shared}}");
    assert!(contracts.is_sensitive("shared"));
    assert!(!contracts.is_sensitive("open"));
}
