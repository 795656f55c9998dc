//! Stage `parameters`: what each parameter supplies, of submitted values, defaults, generated credentials and
//! variables. Connections have a stage of their own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Fact;
use super::findings::{self, Findings, Missing};
use crate::contract::blueprint::binding::Binding;
use crate::contract::blueprint::parameter::{Parameter, Supply};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Stage};
use crate::resolution::context::{Context, Variable};
use crate::resolution::record::VersionedIdentity;
use crate::resolution::resolved::Supplied;
use crate::resolution::secret::Held;

/// The fact that each parameter supplies, by name. `Absent` is a parameter that was neither submitted nor has a
/// default; connection parameters are not among them.
pub(in crate::resolution) type Parameters<'a> = BTreeMap<&'a str, Fact>;

/// Obtains every parameter's value, with the sensitivity that all its receivers share (BP-PARAM-002).
///
/// Reports ERR_UNKNOWN_PARAMETER, ERR_PARAMETER_NOT_SUBMITTABLE (BP-PARAM-004, BP-PARAM-005, BP-PARAM-009),
/// ERR_VARIABLE_NOT_AUTHORIZED and ERR_INVALID_RESOLUTION_CONTEXT for a variable without identity or version; defers
/// variables and credentials that are not available.
pub(in crate::resolution) fn obtain<'a>(
    contracts: &'a Contracts,
    context: &Context,
    findings: &mut Findings,
) -> Parameters<'a> {
    let declared = &contracts.blueprint.spec.parameters;
    for name in context.parameters.keys() {
        refuse_unsubmittable(name, declared.get(name), findings);
    }
    let receivers = receivers(contracts);
    let mut parameters = Parameters::new();
    for (name, parameter) in declared {
        let receivers = receivers.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let fact = match parameter.supply() {
            Supply::Connection(_) => continue,
            Supply::Submitted { default } => submitted(name, default, context),
            Supply::Generated(_) => generated(name, receivers, context, findings),
            Supply::Variable(path) => variable(name, &path, context, findings),
        };
        let sensitive = receivers.iter().any(|receiver| receiver.sensitive);
        parameters.insert(name, fact.or_sensitive(sensitive));
    }
    parameters
}

/// BP-PARAM-005, BP-PARAM-009: only a declared parameter that nothing else supplies can be submitted.
fn refuse_unsubmittable(name: &str, parameter: Option<&Parameter>, findings: &mut Findings) {
    let (code, path, message) = match parameter.map(Parameter::supply) {
        Some(Supply::Submitted { .. }) => return,
        None => (
            Code::UnknownParameter,
            findings::parameters(),
            format!(
                "a value is submitted for `{name}`, which the blueprint does not declare; correct the name or remove the value"
            ),
        ),
        Some(supply) => {
            let supplier = match supply {
                Supply::Generated(_) => "is generated; rotate its credential",
                Supply::Variable(_) => "comes from a variable; override the variable",
                _ => "comes from a connection; replace the whole connection",
            };
            (
                Code::ParameterNotSubmittable,
                findings::parameter(name),
                format!("`{name}` cannot be submitted, because it {supplier} instead"),
            )
        }
    };
    findings.wrong(Stage::Parameters, code, path, message);
}

fn submitted(name: &str, default: Option<&Value>, context: &Context) -> Fact {
    if context.withheld.contains(name) {
        return Fact::Withheld;
    }
    let submitted = context.parameters.get(name).cloned();
    submitted
        .or_else(|| default.cloned().map(Held::plain))
        .map_or(Fact::Absent, Fact::unselected)
}

/// BP-PARAM-004: always sensitive; never made here.
fn generated(
    name: &str,
    receivers: &[Receiver<'_>],
    context: &Context,
    findings: &mut Findings,
) -> Fact {
    if let Some(credential) = context.credentials.get(name) {
        return Fact::unselected(Held::sensitive(credential.value.expose().as_str()));
    }
    if let Some(first) = receivers.first() {
        findings.missing(Missing::Credential {
            node: first.node.to_owned(),
            input: first.input.to_owned(),
            parameter: name.to_owned(),
        });
    }
    Fact::Withheld
}

/// BP-PARAM-009: the exact path is the key, and its evidence names an identity and a version.
fn variable(name: &str, path: &str, context: &Context, findings: &mut Findings) -> Fact {
    let mut refuse = |code, message| {
        findings.wrong(
            Stage::Parameters,
            code,
            findings::parameter_source(name),
            message,
        );
        Fact::Withheld
    };
    match context.variables.get(path) {
        None => {
            findings.missing(Missing::Variable {
                parameter: name.to_owned(),
                path: path.to_owned(),
            });
            Fact::Withheld
        }
        Some(variable) if !variable.authorized => refuse(
            Code::VariableNotAuthorized,
            format!(
                "this installation may not read the variable `{path}`; ask its owner to permit it"
            ),
        ),
        Some(variable) => match selected(variable) {
            Some(selected) => Fact::Known(Supplied {
                held: variable.value.clone(),
                selected: Some(selected),
            }),
            None => refuse(
                Code::InvalidResolutionContext,
                format!(
                    "the variable `{path}` was acquired without an identity or a version; acquire it again from a source that tells both"
                ),
            ),
        },
    }
}

fn selected(variable: &Variable) -> Option<VersionedIdentity> {
    let told = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Some(VersionedIdentity {
        identity: told(&variable.identity)?,
        version: told(&variable.version)?,
    })
}

/// An input that a parameter is bound to.
struct Receiver<'a> {
    node: &'a str,
    input: &'a str,
    sensitive: bool,
}

/// The receivers of each parameter, by node name and then input name.
fn receivers(contracts: &Contracts) -> BTreeMap<&str, Vec<Receiver<'_>>> {
    let mut receivers: BTreeMap<&str, Vec<Receiver<'_>>> = BTreeMap::new();
    for (node, authored) in &contracts.blueprint.spec.components {
        let inputs = &contracts.component(node).spec.contract.inputs;
        for (input, binding) in &authored.bindings {
            if let Binding::Parameter(parameter) = binding {
                receivers.entry(parameter).or_default().push(Receiver {
                    node,
                    input,
                    sensitive: inputs[input].sensitive,
                });
            }
        }
    }
    receivers
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::resolution::testing::{found, resolved};

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
        for (app, remedy) in [
            (taking("{ generator: {} }"), "rotate its credential"),
            (taking(VARIABLE), "override the variable"),
            (connected.to_owned(), "replace the whole connection"),
        ] {
            let contracts = crate::resolution::testing::app(&app);
            let context = crate::resolution::testing::context(&submitted);
            let result = crate::resolution::resolve(&contracts, &context).result;
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
}
