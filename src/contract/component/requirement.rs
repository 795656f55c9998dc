//! Connection requirements: the endpoint, credential and model that a component takes as one (component §6.4).

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

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
