//! The evidence of a connection acquisition (BP-CONNECTION-002): the answer, and the one immutable selection behind
//! SELECTED. Read from JSON that acquisition persisted; nothing here grants anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use strum::{Display, IntoStaticStr};

use super::record::VersionedIdentity;
use super::secret::{Secret, SecretJson};
use crate::contract::component::requirement::{Capability, ConnectionProtocol};

/// What acquisition answered for one connection parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Not asked yet, or not answered yet.
    NotAcquired,
    /// Authoritatively: there is none.
    NotFound,
    /// The installation may not use it.
    Denied,
    /// There is one, and it cannot serve.
    Incompatible,
    /// One immutable selection.
    Selected {
        /// Whether the selection and its credential are durable; an undurable selection is refused.
        persisted: bool,
        /// The selection.
        selection: Box<Selection>,
    },
}

/// One atomic connection: an endpoint, a credential and a model acquired together. Members are as the evidence has
/// them; whether they keep the rules is for the `connections` stage to say.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selection {
    /// Opaque.
    pub identity: String,
    /// Opaque; changes with anything below.
    pub version: String,
    /// The installation that it was acquired for.
    pub installation: String,
    /// The connection parameter that it was acquired for.
    pub parameter: String,
    /// The acquisition request and the policy that answered it.
    pub source: Source,
    /// Who provides it.
    pub kind: Kind,
    /// Who pays for its use.
    pub cost_owner: String,
    /// What authenticates its use.
    pub credential: ScopedCredential,
    /// How it is reached, by protocol.
    pub views: BTreeMap<ConnectionProtocol, View>,
}

/// Where a selection comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The `from` of the connection parameter: what was asked for, not what was selected.
    pub reference: String,
    /// Opaque identity of the policy that selected.
    pub identity: String,
    /// Opaque revision of that policy.
    pub version: String,
}

/// Who provides a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Kind {
    /// The organization, with a credential scoped to installation, parameter and service.
    Managed,
    /// A user, as a complete replacement.
    User,
}

/// The credential of a connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScopedCredential {
    /// Opaque; a managed one serves one connection parameter alone.
    pub identity: String,
    /// The rotation generation, from 0.
    pub rotation: u64,
    /// The API key.
    #[serde(deserialize_with = "custody")]
    pub value: Secret<String>,
    /// The base URLs that it may be sent to.
    #[serde(rename = "permittedBaseURLs")]
    pub permitted_base_urls: Vec<String>,
}

/// One protocol's view of a connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// An absolute HTTPS URL without user information, query or fragment.
    #[serde(rename = "baseURL")]
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// What the view is able to do.
    pub capabilities: Vec<Capability>,
}

/// Evidence that is not of the shape. Says nothing more, because the evidence holds a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Answer {
    /// Reads one answer. Unknown members are refused.
    ///
    /// # Errors
    /// [`Malformed`] for anything else than the shape.
    pub fn read(evidence: &Secret<SecretJson>) -> Result<Self, Malformed> {
        // The parser's message may quote a secret; it ends here.
        let evidence = Evidence::deserialize(&evidence.expose().0).map_err(|_| Malformed)?;
        Ok(match evidence.status {
            Status::NotAcquired => Self::NotAcquired,
            Status::NotFound => Self::NotFound,
            Status::Denied => Self::Denied,
            Status::Incompatible => Self::Incompatible,
            Status::Selected => Self::Selected {
                persisted: evidence.persisted.unwrap_or(false),
                selection: evidence.selection.ok_or(Malformed)?,
            },
        })
    }
}

impl Answer {
    /// The evidence that [`Answer::read`] reads as this.
    pub fn evidence(&self) -> Secret<SecretJson> {
        let evidence = match self {
            Self::NotAcquired => json!({"status": "NOT_ACQUIRED"}),
            Self::NotFound => json!({"status": "NOT_FOUND"}),
            Self::Denied => json!({"status": "DENIED"}),
            Self::Incompatible => json!({"status": "INCOMPATIBLE"}),
            Self::Selected {
                persisted,
                selection,
            } => {
                json!({"status": "SELECTED", "persisted": persisted, "selection": selection.json()})
            }
        };
        Secret::new(SecretJson(evidence))
    }
}

impl Selection {
    /// Its shape as evidence, secret included: for custody alone.
    fn json(&self) -> Value {
        let credential = &self.credential;
        let views = self.views.iter().map(|(protocol, view)| {
            let view = json!({
                "baseURL": view.base_url,
                "model": view.model,
                "capabilities": view.capabilities,
            });
            (protocol.to_string(), view)
        });
        json!({
            "identity": self.identity,
            "version": self.version,
            "installation": self.installation,
            "parameter": self.parameter,
            "source": {
                "reference": self.source.reference,
                "identity": self.source.identity,
                "version": self.source.version,
            },
            "kind": self.kind.to_string(),
            "costOwner": self.cost_owner,
            "credential": {
                "identity": credential.identity,
                "rotation": credential.rotation,
                "value": credential.value.expose(),
                "permittedBaseURLs": credential.permitted_base_urls,
            },
            "views": views.collect::<Map<_, _>>(),
        })
    }

    /// Which version of which connection this is.
    pub fn versioned(&self) -> VersionedIdentity {
        VersionedIdentity {
            identity: self.identity.clone(),
            version: self.version.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evidence {
    status: Status,
    persisted: Option<bool>,
    selection: Option<Box<Selection>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Status {
    NotAcquired,
    NotFound,
    Denied,
    Incompatible,
    Selected,
}

fn custody<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<String>, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}
