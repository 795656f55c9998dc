//! The value of every input and output, and what is found of it.

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
fn a_refused_value_is_told_by_the_input_and_the_parameter_that_supplies_it() {
    let app = app("
        parameters: { p: {} }
        nodes:
          first:
            bindings: { in: { parameter: p } }
            inputs: { in: { schema: { type: string, maxLength: 3 } } }
            outputs: { out: { schema: { type: string }, from: { input: in } } }
          second:
            bindings: { in: { node: first, output: out } }
            inputs: { in: { schema: { type: string, maxLength: 1 } } }
        ");
    for (value, message) in [
        (
            "long",
            "the value of parameter `p` for input `in` of node `first` is refused: `maxLength` fails: at most 3 characters are allowed; supply one that fits",
        ),
        (
            "abc",
            "the value of input `in` of node `second` is refused: `maxLength` fails: at most 1 characters are allowed; supply one that fits",
        ),
    ] {
        let context = context(&json!({"parameters": {"p": {"value": value, "sensitive": false}}}));
        let result = resolve(&app, &context).result;
        let messages: Vec<_> = result
            .diagnostics
            .iter()
            .map(|found| &found.message)
            .collect();
        assert_eq!(messages, [message], "{value}");
    }
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
