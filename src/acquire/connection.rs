//! Connections (BP-CONNECTION-002, -003): a Connection of the namespace that the Installation names, whole, else the
//! ClusterConnection of the path where the namespace may use it. There is no fallback from one to the other.

use std::collections::{BTreeMap, BTreeSet};

use kube::{Resource, ResourceExt};

use super::catalog::{Claims, called, listed};
use super::findings::{Document, Findings};
use super::secret::Key;
use super::{Reader, Unavailable};
use crate::api::connection::{ConnectionCredential, ConnectionView};
use crate::api::installation::{ConnectionChoice, SecretFormat, SecretKeyReference};
use crate::api::{ClusterConnection, Connection};
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::connection::{Answer, Kind, ScopedCredential, Selection, Source, View};
use crate::resolution::secret::{Secret, SecretJson};

/// A connection parameter of an installation, and what it asks for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The installation, as issuers know it.
    pub installation: &'a str,
    /// The connection parameter.
    pub parameter: &'a str,
    /// Its `from` as authored.
    pub from: &'a str,
    /// The dotted path in it.
    pub path: &'a str,
    /// What the Installation names in its place.
    pub choice: Option<&'a ConnectionChoice>,
}

/// What the cluster says of a connection, before any Secret is read.
pub enum Offered {
    /// Nothing has this path.
    NotFound,
    /// The Connection that the Installation names is not there.
    NotThere(String),
    /// Several objects claim the path, by kind and name.
    Contested(Vec<String>),
    /// The namespace may not use it.
    Denied,
    /// One object offers it.
    Found(Box<Offer>),
}

/// A connection as an object offers it.
pub struct Offer {
    /// The object's kind and name.
    pub called: String,
    /// Its UID.
    pub identity: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Who provides it.
    pub kind: Kind,
    /// Who pays.
    pub cost_owner: String,
    /// What authenticates its use.
    pub credential: ConnectionCredential,
    /// The namespace of its Secret.
    pub namespace: String,
    /// How it is reached.
    pub views: BTreeMap<String, ConnectionView>,
}

/// What became of a connection that was asked for.
pub enum Asked {
    /// Its answer.
    Answered(Answer),
    /// The Connection or the Secret behind it is not there; the text says what to do.
    Waiting(String),
    /// It cannot be told what it is; the text says why and what to do.
    Wrong(String),
}

/// The connections of a blueprint, and the parameters that have none although that has been reported.
#[derive(Default)]
pub struct Connections {
    /// The evidence, by connection parameter.
    pub answers: BTreeMap<String, Secret<SecretJson>>,
    /// Parameters of which resolution says nothing.
    pub withheld: BTreeSet<String>,
}

impl Reader {
    /// Acquires the connection of every parameter of `contracts` that `pinned` does not hold. `before` is what was selected
    /// last: a selection that is still the same keeps its version, and a credential of another value is the next rotation.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_connections(
        &self,
        contracts: &Contracts,
        installation: &str,
        choices: &BTreeMap<String, ConnectionChoice>,
        pinned: impl Fn(&Request<'_>) -> Option<Selection>,
        before: &BTreeMap<String, Selection>,
        findings: &mut Findings,
    ) -> Result<Connections, Unavailable> {
        refuse_unknown(contracts, choices, findings);
        let mut acquired = Connections::default();
        for (parameter, from, path) in references(contracts) {
            let request = Request {
                installation,
                parameter,
                from,
                path: &path,
                choice: choices.get(parameter),
            };
            let asked = match pinned(&request) {
                Some(selection) => Asked::Answered(selected(selection)),
                None => self.ask_connection(&request, before.get(parameter)).await?,
            };
            match asked {
                Asked::Answered(answer) => {
                    let evidence = answer.evidence();
                    acquired.answers.insert(parameter.to_owned(), evidence);
                    continue;
                }
                Asked::Waiting(remedy) => {
                    let (document, place) = place(&request);
                    let missing = format!("connection:{parameter}");
                    findings.wait(document, "BP-CONNECTION-002", place, missing, remedy);
                }
                Asked::Wrong(message) => {
                    findings.wrong(Document::Blueprint, refused(parameter, message));
                }
            }
            acquired.withheld.insert(parameter.to_owned());
        }
        Ok(acquired)
    }

    /// Asks for one connection, its credential included.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn ask_connection(
        &self,
        request: &Request<'_>,
        before: Option<&Selection>,
    ) -> Result<Asked, Unavailable> {
        let offer = match self.offered_connection(request).await? {
            Offered::NotFound => return Ok(Asked::Answered(Answer::NotFound)),
            Offered::Denied => return Ok(Asked::Answered(Answer::Denied)),
            Offered::NotThere(name) => {
                return Ok(Asked::Waiting(format!(
                    "Connection {name} does not exist in namespace {}: create it, or name another",
                    self.namespace
                )));
            }
            Offered::Contested(names) => {
                return Ok(Asked::Wrong(contested(request.path, &names)));
            }
            Offered::Found(offer) => offer,
        };
        let reference = SecretKeyReference {
            name: offer.credential.secret_key_ref.name.clone(),
            key: offer.credential.secret_key_ref.key.clone(),
            format: SecretFormat::Text,
        };
        Ok(match self.read_key(&offer.namespace, &reference).await? {
            Key::Value { value, version } => {
                let api_key = Secret::new(value.expose().as_str().unwrap_or_default().to_owned());
                let version = format!("{}-{version}", offer.generation);
                let found = offer.select(request, api_key, version);
                Asked::Answered(selected(match before {
                    Some(before) => following(found, before),
                    None => found,
                }))
            }
            Key::Absent(remedy) => Asked::Waiting(format!("{}: {remedy}", offer.called)),
            Key::Malformed(message) => Asked::Wrong(format!("{}: {message}", offer.called)),
        })
    }

    /// Which object offers the connection that is asked for. No Secret is read.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn offered_connection(&self, request: &Request<'_>) -> Result<Offered, Unavailable> {
        if let Some(choice) = request.choice {
            let name = &choice.connection_ref.name;
            return Ok(match self.read::<Connection>(name).await? {
                None => Offered::NotThere(name.clone()),
                Some(found) => Offered::Found(Box::new(Offer {
                    called: called(&found),
                    identity: found.uid().unwrap_or_default(),
                    generation: found.meta().generation.unwrap_or_default(),
                    kind: Kind::User,
                    cost_owner: found.spec.cost_owner,
                    credential: found.spec.credential,
                    namespace: self.namespace.clone(),
                    views: found.spec.views,
                })),
            });
        }
        Ok(
            match self.claims::<ClusterConnection>(request.path).await? {
                Claims::None => Offered::NotFound,
                Claims::Several(names) => Offered::Contested(names),
                Claims::One(found) if !self.may_use(&found).await? => Offered::Denied,
                Claims::One(found) => Offered::Found(Box::new(Offer {
                    called: called(&found),
                    identity: found.uid().unwrap_or_default(),
                    generation: found.meta().generation.unwrap_or_default(),
                    kind: Kind::Managed,
                    cost_owner: found.spec.cost_owner,
                    credential: found.spec.credential,
                    namespace: self.operator_namespace.clone(),
                    views: found.spec.views,
                })),
            },
        )
    }
}

impl Offer {
    /// The selection that this offer is for `request`, with the credential's value. A managed credential is known by the
    /// installation and the parameter that use it, so that no other one shares its identity.
    pub fn select(
        self,
        request: &Request<'_>,
        api_key: Secret<String>,
        version: String,
    ) -> Selection {
        let credential = match self.kind {
            Kind::Managed => format!(
                "{}/{}/{}",
                self.identity, request.installation, request.parameter
            ),
            Kind::User => self.identity.clone(),
        };
        let views = self.views.into_iter().filter_map(|(protocol, view)| {
            let known = view.capabilities.iter().map(|name| name.parse().ok());
            let view = View {
                base_url: view.base_url,
                model: view.model,
                capabilities: known.flatten().collect(),
            };
            Some((protocol.parse().ok()?, view))
        });
        Selection {
            version,
            installation: request.installation.to_owned(),
            parameter: request.parameter.to_owned(),
            source: Source {
                reference: request.from.to_owned(),
                identity: self.identity.clone(),
                version: self.generation.to_string(),
            },
            kind: self.kind,
            cost_owner: self.cost_owner,
            credential: ScopedCredential {
                identity: credential,
                rotation: 0,
                value: api_key,
                permitted_base_urls: self.credential.permitted_base_urls.into_iter().collect(),
            },
            views: views.collect(),
            identity: self.identity,
        }
    }
}

/// The connection parameters of a blueprint, each with its `from` and the path in it.
pub fn references(contracts: &Contracts) -> impl Iterator<Item = (&str, &str, String)> {
    let parameters = contracts.blueprint.spec.parameters.iter();
    parameters.filter_map(|(name, parameter)| match parameter.supply() {
        Supply::Connection(path) => Some((name.as_str(), parameter.from.as_deref()?, path)),
        _ => None,
    })
}

/// Whether selecting `now` in the place of `before` would change what an installation gets.
pub fn differs(before: &Selection, now: &Selection) -> bool {
    let mut same = now.clone();
    same.identity.clone_from(&before.identity);
    same.version.clone_from(&before.version);
    same.source.clone_from(&before.source);
    same.credential
        .identity
        .clone_from(&before.credential.identity);
    same.credential.rotation = before.credential.rotation;
    same != *before
}

/// What a path says that several objects claim.
pub fn contested(path: &str, names: &[String]) -> String {
    format!(
        "{} claim the connection {path}, and which of them holds cannot be told: delete all but one",
        listed(names)
    )
}

/// ERR_INVALID_RESOLUTION_CONTEXT of the connection parameter `name`.
pub fn refused(name: &str, message: String) -> Diagnostic {
    Diagnostic::resolution(
        Stage::Connections,
        Code::InvalidResolutionContext,
        Pointer::of(["spec", "parameters", name]),
        message,
    )
}

/// Where a connection is waited for: where the Installation names it, else at the blueprint's parameter.
pub fn place(request: &Request<'_>) -> (Document, Pointer) {
    if request.choice.is_some() {
        let path = ["spec", "connections", request.parameter, "connectionRef"];
        (Document::Installation, Pointer::of(path))
    } else {
        let path = ["spec", "parameters", request.parameter];
        (Document::Blueprint, Pointer::of(path))
    }
}

/// Nothing is chosen for a parameter that is no connection parameter.
pub fn refuse_unknown(
    contracts: &Contracts,
    choices: &BTreeMap<String, ConnectionChoice>,
    findings: &mut Findings,
) {
    let known: BTreeSet<&str> = references(contracts).map(|(name, ..)| name).collect();
    for name in choices.keys().filter(|name| !known.contains(name.as_str())) {
        let message = format!(
            "the blueprint has no connection parameter `{name}`; correct the name or remove the entry"
        );
        let path = Pointer::of(["spec", "connections", name]);
        let diagnostic =
            Diagnostic::resolution(Stage::Connections, Code::UnknownParameter, path, message);
        findings.wrong(Document::Installation, diagnostic);
    }
}

/// A selection is durable as soon as it is used: the snapshot that holds it is persisted before anything is made from it.
fn selected(selection: Selection) -> Answer {
    Answer::Selected {
        persisted: true,
        selection: Box::new(selection),
    }
}

/// `found`, as what follows `before`: the same selection keeps its version, and the same credential with another value is
/// the next rotation. Values are compared in memory.
fn following(mut found: Selection, before: &Selection) -> Selection {
    if found.credential.identity == before.credential.identity {
        let is_rotated = found.credential.value != before.credential.value;
        found.credential.rotation = before.credential.rotation + u64::from(is_rotated);
    }
    let mut same = found.clone();
    same.version.clone_from(&before.version);
    same.source.version.clone_from(&before.source.version);
    if same == *before { same } else { found }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selection(parameter: &str, api_key: &str, version: &str) -> Selection {
        let offer = Offer {
            called: "ClusterConnection llm".to_owned(),
            identity: "uid".to_owned(),
            generation: 3,
            kind: Kind::Managed,
            cost_owner: "platform".to_owned(),
            credential: serde_json::from_value(json!({
                "secretKeyRef": {"name": "llm", "key": "apiKey"},
                "permittedBaseURLs": ["https://llm.example/v1"],
            }))
            .expect("a credential"),
            namespace: "operator".to_owned(),
            views: serde_json::from_value(json!({"OPENAI_CHAT_COMPLETIONS": {
                "baseURL": "https://llm.example/v1", "model": "m", "capabilities": ["STREAMING"],
            }}))
            .expect("views"),
        };
        let request = Request {
            installation: "i",
            parameter,
            from: "${{ connections.llm.default }}",
            path: "llm.default",
            choice: None,
        };
        offer.select(
            &request,
            Secret::new(api_key.to_owned()),
            version.to_owned(),
        )
    }

    #[test]
    fn evidence_is_read_back_as_it_was_selected() {
        let answer = selected(selection("llm", "key", "1"));
        assert_eq!(Answer::read(&answer.evidence()), Ok(answer));
        for answer in [
            Answer::NotAcquired,
            Answer::NotFound,
            Answer::Denied,
            Answer::Incompatible,
        ] {
            assert_eq!(Answer::read(&answer.evidence()), Ok(answer));
        }
    }

    #[test]
    fn a_managed_credential_is_of_one_parameter_alone() {
        let [one, two] = ["one", "two"].map(|name| selection(name, "key", "1"));
        assert_ne!(one.credential.identity, two.credential.identity);
        assert_eq!(one.identity, two.identity);
    }

    #[test]
    fn what_is_still_the_same_keeps_its_version_and_another_value_is_the_next_rotation() {
        let before = selection("llm", "key", "1");
        assert_eq!(following(selection("llm", "key", "2"), &before), before);
        let rotated = following(selection("llm", "other", "2"), &before);
        assert_eq!(
            (rotated.version.as_str(), rotated.credential.rotation),
            ("2", 1)
        );
        // The same answer to a retry.
        assert_eq!(following(selection("llm", "other", "2"), &before), rotated);
        let back = following(selection("llm", "key", "3"), &rotated);
        assert_eq!((back.version.as_str(), back.credential.rotation), ("3", 2));
        assert!(differs(&before, &rotated) && !differs(&before, &selection("llm", "key", "2")));
    }
}
