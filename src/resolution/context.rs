//! What resolution may know beside the documents: acquired evidence, handed in by the shell. What is unavailable is
//! absent, never a made-up empty value.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::secret::{Held, Secret, SecretJson};
use super::wire::{self, Malformed};
use crate::document::optional;

/// Everything an installation takes from outside the documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The installation that evidence must have been acquired for, as issuers know it.
    pub installation: String,
    /// Submitted values, by parameter.
    pub parameters: BTreeMap<String, Held>,
    /// Parameters whose value is not available although it is known where it would come from. Whoever could not acquire it
    /// has reported that, so that resolution stays silent about them and whatever depends on them.
    pub withheld: BTreeSet<String>,
    /// Organization variables, by exact dotted path.
    pub variables: BTreeMap<String, Variable>,
    /// Persisted generated credentials, by parameter.
    pub credentials: BTreeMap<String, Credential>,
    /// Endpoint allocations as evidence, by node and endpoint. Kept as JSON until they are checked, so that evidence
    /// with a member too many is refused (COMP-EP-002) rather than silently trimmed; see [`Allocation`].
    pub allocations: BTreeMap<String, BTreeMap<String, Value>>,
    /// The answers to connection acquisition, by connection parameter, as evidence that is checked like allocations.
    pub connections: BTreeMap<String, Secret<SecretJson>>,
}

impl Context {
    /// Reads a context from JSON. Every member is optional, and absent means not available; what is not known is
    /// refused. A credential may lack identity and rotation, which a resolution does not need.
    ///
    /// # Errors
    /// [`Malformed`] for anything else, with the place and without the text.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let wire: Wire = serde_json::from_slice(bytes)?;
        let (installation, connections) = wire.connections.map_or_else(Default::default, |wire| {
            (wire.installation.clone(), wire.into_answers())
        });
        Ok(Self {
            installation,
            parameters: wire::held(wire.parameters),
            withheld: BTreeSet::new(),
            variables: wire::held(wire.variables),
            credentials: wire::held(wire.credentials),
            allocations: wire.allocations,
            connections,
        })
    }
}

/// One organization variable as acquired.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Opaque; absent evidence is refused.
    pub identity: Option<String>,
    /// Opaque; changes when the value does; absent evidence is refused.
    pub version: Option<String>,
    /// The logical value and its sensitivity.
    pub value: Held,
    /// Whether the installation may read it.
    pub authorized: bool,
}

/// One generation of a generated credential.
#[derive(Clone, Debug, PartialEq)]
pub struct Credential {
    /// Opaque identity of the credential.
    pub identity: String,
    /// The rotation generation, from 0.
    pub rotation: u64,
    /// The generated text.
    pub value: Secret<String>,
}

/// The routing facts of one endpoint (component §5.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Allocation {
    /// Opaque, non-empty.
    pub identity: String,
    /// Opaque, non-empty.
    pub version: String,
    /// The internal DNS name.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub private_hostname: Option<String>,
    /// Facts of the public edge; only for a PUBLIC endpoint.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub public: Option<PublicFacts>,
}

/// The public edge's facts about one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicFacts {
    /// Host name or address, nothing else.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub hostname: Option<String>,
    /// Port, 1..65535.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub port: Option<u16>,
    /// http, https, ws or wss.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub scheme: Option<String>,
    /// From `/`.
    #[serde(
        default,
        deserialize_with = "optional::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<String>,
}

/// The shape of a context as JSON.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wire {
    parameters: BTreeMap<String, wire::Supplied>,
    variables: BTreeMap<String, wire::Variable>,
    credentials: BTreeMap<String, WireCredential>,
    allocations: BTreeMap<String, BTreeMap<String, Value>>,
    connections: Option<wire::Connections>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCredential {
    #[serde(default)]
    identity: String,
    #[serde(default)]
    rotation: u64,
    value: String,
    /// Accepted and not needed: a generated value is always sensitive (BP-PARAM-004).
    #[serde(rename = "sensitive")]
    _sensitive: Option<bool>,
}

impl From<WireCredential> for Credential {
    fn from(credential: WireCredential) -> Self {
        Self {
            identity: credential.identity,
            rotation: credential.rotation,
            value: Secret::new(credential.value),
        }
    }
}
