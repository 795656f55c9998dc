//! Stage `environment`: what each workload is given, as text (component §5.3).

use std::collections::BTreeMap;

use serde_json::Value;

use super::findings::{self, Findings};
use crate::contract::component::Component;
use crate::contract::contracts::Contracts;
use crate::document::canonical;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::resolved::{EnvironmentValue, Supplied};
use crate::resolution::secret::Secret;

/// Encodes the constants and the present `inputs` of every node; a node without either has an empty environment.
///
/// Reports ERR_ENV_ENCODING for a text with a NUL.
pub(in crate::resolution) fn encode(
    contracts: &Contracts,
    inputs: &BTreeMap<String, BTreeMap<String, Supplied>>,
    findings: &mut Findings,
) -> BTreeMap<String, BTreeMap<String, EnvironmentValue>> {
    contracts
        .nodes()
        .zip(inputs.values())
        .map(|((node, _, component), inputs)| {
            let mut environment = constants(contracts, node, component, findings);
            environment.extend(variables(contracts, node, component, inputs, findings));
            (node.to_owned(), environment)
        })
        .collect()
}

/// The authored `envVars` of `node`.
fn constants(
    contracts: &Contracts,
    node: &str,
    component: &Component,
    findings: &mut Findings,
) -> BTreeMap<String, EnvironmentValue> {
    let workload = component.spec.workload.as_ref();
    let mut constants = BTreeMap::new();
    for (key, text) in workload.iter().flat_map(|workload| &workload.env_vars) {
        if holds_nul(text) {
            let diagnostic = refusal(findings::component_ref(node), key).related(
                &findings::authored(contracts, node).component_ref,
                Pointer::of(["spec", "workload", "envVars", key]),
            );
            findings.report(diagnostic);
        }
        let constant = EnvironmentValue {
            text: Secret::new(text.clone()),
            sensitive: false,
            constant: true,
        };
        constants.insert(key.clone(), constant);
    }
    constants
}

/// The inputs of `node` that are present and have a target.
fn variables(
    contracts: &Contracts,
    node: &str,
    component: &Component,
    inputs: &BTreeMap<String, Supplied>,
    findings: &mut Findings,
) -> BTreeMap<String, EnvironmentValue> {
    let declared = &component.spec.contract.inputs;
    let mut variables = BTreeMap::new();
    for (input, supplied) in inputs {
        let Some(target) = &declared[input].target else {
            continue;
        };
        let text = Secret::new(encoded(supplied.held.expose()));
        if holds_nul(text.expose()) {
            findings.report(refusal(
                findings::supply(contracts, node, input),
                &target.env_var_key,
            ));
        }
        let variable = EnvironmentValue {
            text,
            sensitive: supplied.held.is_sensitive(),
            constant: false,
        };
        variables.insert(target.env_var_key.clone(), variable);
    }
    variables
}

/// A string stands as it is; anything else as compact JSON with sorted keys and ECMAScript numbers.
fn encoded(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => canonical::text(other),
    }
}

fn holds_nul(text: &str) -> bool {
    text.contains('\0')
}

fn refusal(path: Pointer, key: &str) -> Diagnostic {
    Diagnostic::resolution(
        Stage::Environment,
        Code::EnvEncoding,
        path,
        format!(
            "the value of environment variable `{key}` holds a NUL character, which no environment can carry; supply it without"
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::resolution::testing::{found, resolved};

    #[test]
    fn values_are_encoded_to_the_letter() {
        for (name, value, expected) in [
            ("a string stands as it is", json!(" \"a\"\n"), " \"a\"\n"),
            ("an empty string is a value", json!(""), ""),
            ("true", json!(true), "true"),
            ("null", json!(null), "null"),
            ("an integer", json!(5432), "5432"),
            ("an integral float", json!(1.0), "1"),
            ("minus zero", json!(-0.0), "0"),
            ("a fraction", json!(0.1), "0.1"),
            (
                "the largest plain integer",
                json!(1e20),
                "100000000000000000000",
            ),
            ("an exponent from 1e21 on", json!(1e21), "1e+21"),
            ("a small fraction", json!(0.000_001), "0.000001"),
            ("an exponent below 1e-6", json!(1e-7), "1e-7"),
            (
                "compact, arrays in order",
                json!([2, "b", [1.5, null]]),
                r#"[2,"b",[1.5,null]]"#,
            ),
            (
                "keys by code point, at every depth",
                json!({"b": {"\u{ff5e}": 1, "\u{1f980}": 2, "Z": -0.0}, "a": []}),
                "{\"a\":[],\"b\":{\"Z\":0,\"\u{ff5e}\":1,\"\u{1f980}\":2}}",
            ),
            ("a nested NUL is escaped", json!(["\0"]), r#"["\u0000"]"#),
        ] {
            assert_eq!(encoded(&value), expected, "{name}");
        }
    }

    #[test]
    fn every_node_has_an_environment_of_constants_and_present_inputs() {
        let resolved = resolved(
            "
            nodes:
              web:
                envVars: { MODE: production, EMPTY: '' }
                bindings: { port: { value: 8080 } }
                inputs:
                  port: { schema: { type: integer } }
                  title: { schema: { type: string }, default: Wiki }
                  absent: { schema: { type: string }, required: false }
              idle: {}
              db:
                type: EXTERNAL
                bindings: { host: { value: db.example } }
                inputs: { host: { schema: { type: string } } }
                outputs: { host: { schema: { type: string }, from: { input: host } } }
            ",
            &json!({}),
        );
        let texts = |node: &str| {
            let environment = resolved.environment[node].iter();
            environment
                .map(|(key, value)| (key.clone(), value.text.expose().clone(), value.constant))
                .collect::<Vec<_>>()
        };
        let entry = |key: &str, text: &str, constant| (key.to_owned(), text.to_owned(), constant);
        assert_eq!(
            texts("web"),
            [
                entry("EMPTY", "", true),
                entry("MODE", "production", true),
                entry("PORT", "8080", false),
                entry("TITLE", "Wiki", false),
            ]
        );
        assert_eq!(texts("idle"), []);
        assert_eq!(texts("db"), []);
    }

    #[test]
    fn a_nul_is_refused_where_it_is_supplied() {
        let bound = "
            parameters: { p: {} }
            nodes:
              web:
                bindings: { in: { parameter: p } }
                inputs: { in: { schema: { type: string } } }
            ";
        let unbound = r#"
            nodes: { web: { inputs: { in: { schema: { type: string }, default: "a\0b" } } } }
            "#;
        let constant = r#"
            nodes: { web: { envVars: { BAD: "a\0b" } } }
            "#;
        for (name, app, context, expected) in [
            (
                "bound",
                bound,
                json!({"parameters": {"p": {"value": "a\0b", "sensitive": true}}}),
                "environment ERR_ENV_ENCODING /spec/components/web/bindings/in",
            ),
            (
                "unbound",
                unbound,
                Value::Object(Default::default()),
                "environment ERR_ENV_ENCODING /spec/components/web/componentRef",
            ),
            (
                "a constant",
                constant,
                Value::Object(Default::default()),
                "environment ERR_ENV_ENCODING /spec/components/web/componentRef (./web.yaml#/spec/workload/envVars/BAD)",
            ),
        ] {
            assert_eq!(found(app, &context), [expected], "{name}");
        }
    }
}
