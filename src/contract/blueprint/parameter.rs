//! Installation parameters and the one way each is supplied (blueprint §5).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{Display, IntoStaticStr};

use super::Blueprint;
use super::assess::Graph;
use super::binding::Binding;
use crate::contract::component::literal::Receiver;
use crate::contract::component::value_schema::ValueType;
use crate::contract::component::{Input, input};
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;
use crate::document::reference::{Namespace, Template};

/// One parameter of the installation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// The value of a submitted parameter that is not submitted. `Some(Value::Null)` is an authored null.
    #[serde(default, deserialize_with = "crate::contract::component::present")]
    pub default: Option<Value>,
    /// Makes it a generated credential.
    #[serde(default)]
    pub generator: Option<Generator>,
    /// Makes it a variable or a connection: one whole reference, as authored.
    #[serde(default)]
    pub from: Option<String>,
    /// How an install form presents it.
    #[serde(default)]
    pub ui: Option<Ui>,
}

/// How a credential is generated (BP-PARAM-004).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generator {
    /// How many random bytes, 16..64.
    #[serde(default = "thirty_two")]
    pub byte_length: u8,
    /// How they become text.
    #[serde(default)]
    pub encoding: Encoding,
}

/// How a generated credential's bytes become text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Encoding {
    /// Lowercase hexadecimal digits.
    #[default]
    Hex,
    /// Standard alphabet, padded.
    Base64,
    /// URL-safe alphabet, not padded.
    Base64url,
}

/// How an install form presents a parameter (blueprint §5.4).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ui {
    /// The field's label.
    pub label: String,
    /// Ascending; unspecified is last.
    #[serde(default)]
    pub order: Option<i64>,
    /// How prominent the field is.
    #[serde(default)]
    pub prominence: Prominence,
    /// Labels of enum members, by their string representation.
    #[serde(default)]
    pub enum_labels: BTreeMap<String, String>,
    /// Examples; never submitted.
    #[serde(default)]
    pub examples: Vec<String>,
}

/// How prominent a form field is (BP-UI-002).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Display, IntoStaticStr,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Prominence {
    /// Shown first.
    #[default]
    Primary,
    /// Shown on demand.
    Secondary,
}

fn thirty_two() -> u8 {
    32
}

/// The one way in which a parameter is supplied (blueprint §5).
#[derive(Clone, Debug, PartialEq)]
pub enum Supply<'a> {
    /// A submitted value, else the default.
    Submitted {
        /// The authored default; `Some(Value::Null)` is an authored null.
        default: Option<&'a Value>,
    },
    /// A generated credential.
    Generated(Generator),
    /// The organization variable of this exact dotted path.
    Variable(String),
    /// The organization connection of this exact dotted path.
    Connection(String),
}

impl Parameter {
    /// How the parameter is supplied. For a parameter that passed the rules; a `from` that breaks BP-REF-001 counts as
    /// a variable of no path, which nothing can supply.
    pub fn supply(&self) -> Supply<'_> {
        match (&self.from, self.generator) {
            (Some(from), _) => source(from).unwrap_or_else(|_| Supply::Variable(String::new())),
            (None, Some(generator)) => Supply::Generated(generator),
            (None, None) => Supply::Submitted {
                default: self.default.as_ref(),
            },
        }
    }
}

/// What a `from` names: exactly one whole reference to a variable or a connection (BP-REF-001).
fn source(from: &str) -> Result<Supply<'static>, Vec<(Code, String)>> {
    let template = Template::parse(from).map_err(|malformed| {
        malformed
            .into_iter()
            .map(|reference| {
                let message = format!(
                    "`{}` begins no well-formed reference; write `${{{{ variables.NAME }}}}` or `${{{{ connections.NAME }}}}`",
                    reference.text
                );
                (Code::MalformedReference, message)
            })
            .collect::<Vec<_>>()
    })?;
    let mut problems = Vec::new();
    for reference in template.references() {
        match reference.admitted(&[Namespace::Variables, Namespace::Connections]) {
            Ok(namespace) if template.whole().is_some() => {
                return Ok(match namespace {
                    Namespace::Connections => Supply::Connection(reference.dotted()),
                    _ => Supply::Variable(reference.dotted()),
                });
            }
            Ok(_) => {}
            Err(code) => problems.push((
                code,
                format!(
                    "`{}`: a parameter takes a variable or a connection; write `${{{{ variables.NAME }}}}` or \
                     `${{{{ connections.NAME }}}}`",
                    reference.text
                ),
            )),
        }
    }
    if template.whole().is_none() {
        problems.push((
            Code::InvalidParameterSource,
            "`from` has to be exactly one reference and no other text; write `${{ variables.NAME }}` or \
             `${{ connections.NAME }}`"
                .to_owned(),
        ));
    }
    Err(problems)
}

/// What kind of parameter each is, as far as its `from` can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Submitted,
    Generated,
    Variable,
    Connection,
    /// Its `from` is refused, so no rule that depends on the kind says more.
    Unclear,
}

pub(super) type Kinds<'a> = BTreeMap<&'a str, Kind>;

/// The place of parameter `name` in a blueprint.
pub(super) fn pointer(name: &str) -> Pointer {
    Pointer::of(["spec", "parameters", name])
}

/// Reads every parameter's `from` (BP-REF-001).
pub(super) fn classify<'a>(blueprint: &'a Blueprint, findings: &mut Findings<'_>) -> Kinds<'a> {
    blueprint
        .spec
        .parameters
        .iter()
        .map(|(name, parameter)| {
            let kind = match (&parameter.from, parameter.generator) {
                (None, None) => Kind::Submitted,
                (None, Some(_)) => Kind::Generated,
                (Some(from), _) => match source(from) {
                    Ok(Supply::Connection(_)) => Kind::Connection,
                    Ok(_) => Kind::Variable,
                    Err(problems) => {
                        for (code, message) in problems {
                            findings.push(code, pointer(name).child("from"), message);
                        }
                        Kind::Unclear
                    }
                },
            };
            (name.as_str(), kind)
        })
        .collect()
}

/// An input that a parameter supplies.
#[derive(Clone, Copy)]
pub(super) struct Recipient<'a> {
    pub(super) node: &'a str,
    pub(super) name: &'a str,
    pub(super) input: &'a Input,
}

impl<'a> Recipient<'a> {
    fn receiver(&self) -> Receiver<'a> {
        Receiver {
            name: format!("input `{}` of node `{}`", self.name, self.node),
            ..input::receiver(self.name, self.input)
        }
    }
}

/// The known inputs that each parameter supplies, by node name, then input name.
pub(super) fn recipients<'a>(graph: &'a Graph<'_>) -> BTreeMap<&'a str, Vec<Recipient<'a>>> {
    let mut recipients: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (node, authored, component) in graph.nodes() {
        for (name, binding) in &authored.bindings {
            if let Binding::Parameter(parameter) = binding
                && let Some(input) = component.spec.contract.inputs.get(name)
            {
                recipients
                    .entry(parameter)
                    .or_default()
                    .push(Recipient { node, name, input });
            }
        }
    }
    recipients
}

/// Parameters reach somebody (BP-PARAM-001), their recipients agree (BP-PARAM-002), and what is known of their values fits
/// (BP-PARAM-004, BP-PARAM-008).
pub(super) fn check(graph: &Graph<'_>, kinds: &Kinds<'_>, findings: &mut Findings<'_>) {
    let recipients = recipients(graph);
    let bound = bound(graph.blueprint);
    for (name, parameter) in &graph.blueprint.spec.parameters {
        if !bound.contains(name.as_str()) {
            findings.push(
                Code::UnboundParameter,
                pointer(name),
                format!("no binding names parameter `{name}`; bind it, or remove it"),
            );
        }
        let Some(recipients) = recipients
            .get(name.as_str())
            .filter(|_| kinds.get(name.as_str()) != Some(&Kind::Connection))
        else {
            continue;
        };
        check_agreement(name, recipients, findings);
        if let Some(default) = &parameter.default {
            check_default(name, default, recipients, findings);
        }
        if kinds.get(name.as_str()) == Some(&Kind::Generated) {
            check_generator(name, recipients, findings);
        }
    }
}

/// The parameters that some binding names, whatever is known of the node's component.
fn bound(blueprint: &Blueprint) -> BTreeSet<&str> {
    blueprint
        .spec
        .components
        .values()
        .flat_map(|node| {
            let ordinary = node.bindings.values().filter_map(|binding| match binding {
                Binding::Parameter(parameter) => Some(parameter.as_str()),
                Binding::Output { .. } | Binding::Value(_) => None,
            });
            ordinary.chain(
                node.connection_bindings
                    .values()
                    .map(|binding| binding.parameter.as_str()),
            )
        })
        .collect()
}

fn check_agreement(name: &str, recipients: &[Recipient<'_>], findings: &mut Findings<'_>) {
    let [first, others @ ..] = recipients else {
        return;
    };
    // Nodes that deploy the same component share its schemas, which may be long.
    let differs = |other: &&Recipient<'_>| {
        !std::ptr::eq(other.input, first.input) && other.input.schema != first.input.schema
    };
    if let Some(other) = others.iter().find(differs) {
        findings.push(
            Code::ConflictingInputSchema,
            pointer(name),
            format!(
                "parameter `{name}` supplies input `{}` of node `{}` and input `{}` of node `{}`, whose schemas differ; \
                 make the schemas equal, or use two parameters",
                first.name, first.node, other.name, other.node
            ),
        );
    }
}

fn check_default(
    name: &str,
    default: &Value,
    recipients: &[Recipient<'_>],
    findings: &mut Findings<'_>,
) {
    let path = pointer(name).child("default");
    if let Some(secret) = recipients
        .iter()
        .find(|recipient| recipient.input.sensitive)
    {
        findings.push(
            Code::SecretLiteral,
            path.clone(),
            secret.receiver().secret(),
        );
    }
    let mut judged = BTreeSet::new();
    if let Some(message) = recipients
        .iter()
        .filter(|recipient| judged.insert(std::ptr::from_ref(recipient.input)))
        .find_map(|recipient| recipient.receiver().unfit(default))
    {
        let message = format!("the default of parameter `{name}` reaches an input: {message}");
        findings.push(Code::ValueConstraint, path, message);
    }
}

fn check_generator(name: &str, recipients: &[Recipient<'_>], findings: &mut Findings<'_>) {
    let unfit = recipients
        .iter()
        .find(|recipient| recipient.input.schema.r#type != ValueType::String);
    if let Some(recipient) = unfit {
        findings.push(
            Code::ValueConstraint,
            pointer(name).child("generator"),
            format!(
                "parameter `{name}` is generated, so its value is a string, and input `{}` of node `{}` takes type {}; \
                 bind a string input",
                recipient.name, recipient.node, recipient.input.schema.r#type
            ),
        );
    }
}
