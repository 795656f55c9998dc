//! Stage `parameters`: what each parameter supplies, of submitted values, defaults, generated credentials and
//! variables. Connections have a stage of their own.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

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
pub(in crate::resolution) type Parameters<'a> = HashMap<&'a str, Fact>;

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
        None if context.withheld.contains(name) => Fact::Withheld,
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
fn receivers(contracts: &Contracts) -> HashMap<&str, Vec<Receiver<'_>>> {
    let mut receivers: HashMap<&str, Vec<Receiver<'_>>> = HashMap::new();
    for (node, authored, component) in contracts.nodes() {
        let inputs = &component.spec.contract.inputs;
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
