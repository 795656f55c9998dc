//! Connection requirements: the endpoint, credential and model that a component takes as one (component §6.4).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use super::value_schema::ValueType;
use super::{Contract, Input, Spec};
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

/// One requirement of one atomic connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ConnectionRequirement {
    /// The protocol view it wants.
    pub protocol: ConnectionProtocol,
    /// What that view must be able to do.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// The inputs that receive the members.
    pub inputs: RequirementInputs,
}

/// The inputs that receive a connection's members.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RequirementInputs {
    /// Receives the base URL.
    #[serde(rename = "baseURL")]
    pub base_url: String,
    /// Receives the API key; always sensitive.
    #[serde(rename = "apiKey")]
    pub api_key: String,
    /// Receives the model's name.
    pub model: String,
}

impl RequirementInputs {
    /// Role and input name, in the UTF-8 order of roles.
    pub fn roles(&self) -> [(&'static str, &str); 3] {
        [
            ("apiKey", &self.api_key),
            ("baseURL", &self.base_url),
            ("model", &self.model),
        ]
    }
}

/// A protocol that a connection is viewed through.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs, reason = "the specification's terms")]
pub enum ConnectionProtocol {
    OpenaiChatCompletions,
    AnthropicMessages,
}

/// What a view must be able to do.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs, reason = "the specification's terms")]
pub enum Capability {
    Streaming,
    ToolCalls,
}

impl Contract {
    /// The inputs that connection requirements own, each with its requirement's name.
    pub fn owned_inputs(&self) -> BTreeMap<&str, &str> {
        self.connection_requirements
            .iter()
            .flat_map(|(name, requirement)| {
                requirement
                    .inputs
                    .roles()
                    .map(|(_, input)| (input, name.as_str()))
            })
            .collect()
    }
}

/// Each role of a requirement has an input of its own that only a connection can supply (COMP-CONNECTION-001).
pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    let mut owners = BTreeMap::new();
    for (name, requirement) in &spec.contract.connection_requirements {
        for (role, input) in requirement.inputs.roles() {
            let problem = match spec.contract.inputs.get(input) {
                None => Some("which the component does not declare; name one of its inputs".to_owned()),
                Some(_) if owners.contains_key(input) => owners
                    .get(input)
                    .map(|(name, role)| format!("which is the {role} of `{name}` already; give each role an input of its own")),
                Some(declared) => unfit(role, declared).map(str::to_owned),
            };
            owners.entry(input).or_insert((name, role));
            if let Some(problem) = problem {
                findings.push(
                    Code::InvalidConnectionRequirement,
                    Pointer::of([
                        "spec",
                        "contract",
                        "connectionRequirements",
                        name,
                        "inputs",
                        role,
                    ]),
                    format!("the {role} of `{name}` is input `{input}`, {problem}"),
                );
            }
        }
    }
}

fn unfit(role: &str, input: &Input) -> Option<&'static str> {
    if input.schema.r#type != ValueType::String {
        Some("which is no string; declare `type: string`")
    } else if !input.required {
        Some("which is optional; make it required")
    } else if input.default.is_some() {
        Some("which has a default; remove the default")
    } else if role == "apiKey" && !input.sensitive {
        Some("which is not sensitive; declare `sensitive: true`")
    } else {
        None
    }
}
