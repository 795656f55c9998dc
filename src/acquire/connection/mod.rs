//! Connections (BP-CONNECTION-002, -003): a Connection of the namespace that the Installation names, whole, else the
//! ClusterConnection of the path where the namespace may use it. There is no fallback from one to the other.

mod offer;

use std::collections::{BTreeMap, BTreeSet};

use kube::{Resource, ResourceExt};

use self::offer::following;
pub use self::offer::{Offer, differs};
use super::catalog::{Claims, called, listed};
use super::findings::{Document, Findings};
use super::secret::Key;
use super::{Reader, Unavailable};
use crate::api::installation::{ConnectionChoice, SecretFormat, SecretKeyReference};
use crate::api::{ClusterConnection, Connection};
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::connection::{Answer, Kind, Selection};
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

/// The connection parameters of a blueprint, each with its `from` and the path in it.
pub fn references(contracts: &Contracts) -> impl Iterator<Item = (&str, &str, String)> {
    let parameters = contracts.blueprint.spec.parameters.iter();
    parameters.filter_map(|(name, parameter)| match parameter.supply() {
        Supply::Connection(path) => Some((name.as_str(), parameter.from.as_deref()?, path)),
        _ => None,
    })
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
