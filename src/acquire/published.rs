//! Published components (BP-REF-002): the ComponentRevisions that an item's nodes name by identity and revision. Their
//! digests are verified where they are validated.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Api;
use kube::api::ListParams;

use super::catalog::{Claims, listed};
use super::findings::{Document, Findings};
use super::{Reader, Reading, Unavailable};
use crate::api::ComponentRevision;
use crate::api::component_revision::{ComponentRevisionSpec, named};
use crate::contract::contracts::Contracts;
use crate::contract::item::Item;
use crate::contract::published::{Published, Source};
use crate::contract::validate::validate_item;
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::document::result::{Deferred, Profile};

/// What the obligation to acquire a published component begins with.
const CONTRACT: &str = "contract:";

impl Reader {
    /// Validates `item` together with the published components that its nodes name: those of `pinned`, else those that the
    /// cluster has. What is wrong and what is missing goes to `findings`.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn validate(
        &self,
        item: &Item,
        mut published: Published,
        findings: &mut Findings,
    ) -> Result<Option<Arc<Contracts>>, Unavailable> {
        let mut validation = validate_item(item, &published, Profile::Document);
        let wanted = wanted(&validation.result.deferred);
        let mut contested = BTreeMap::new();
        for (identity, revision) in &wanted {
            match self.revisions(identity, *revision).await? {
                Claims::None => {}
                Claims::One(found) => published.insert(identity, *revision, source(&found)),
                Claims::Several(names) => {
                    contested.insert(missing(identity, *revision), names);
                }
            }
        }
        if !wanted.is_empty() {
            validation = validate_item(item, &published, Profile::Document);
        }
        validation.result.deferred.retain(|deferred| {
            let names = contested.get(&deferred.missing);
            if let Some(names) = names {
                findings.wrong(Document::Blueprint, refusal(&deferred.path, names));
            }
            names.is_none()
        });
        findings.absorb(validation.result);
        Ok(validation.contracts)
    }

    /// Every ComponentRevision.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn published_revisions(&self) -> Result<Vec<ComponentRevisionSpec>, Unavailable> {
        let api = Api::<ComponentRevision>::all(self.client.clone());
        let found = api.list(&ListParams::default()).await;
        let found = found.reading(|| "ComponentRevisions".to_owned())?;
        Ok(found.items.into_iter().map(|found| found.spec).collect())
    }

    /// The ComponentRevisions of an identity and a revision.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn revisions(
        &self,
        identity: &str,
        revision: u64,
    ) -> Result<Claims<ComponentRevision>, Unavailable> {
        let fields = format!("spec.identity={identity},spec.revision={revision}");
        self.claims_by(&named(identity, revision), &fields).await
    }
}

/// The published components of `contracts`, to be used again.
pub fn pinned(contracts: &Contracts) -> Published {
    references(contracts)
        .map(|(node, identity, revision)| {
            let contract = &contracts.components[node];
            let source = Source {
                bytes: contract.source.clone(),
                digest: contract.digest.to_string(),
            };
            ((identity.to_owned(), revision), source)
        })
        .collect()
}

/// The published references of `contracts`: node, identity and revision.
pub fn references(contracts: &Contracts) -> impl Iterator<Item = (&str, &str, u64)> {
    let nodes = contracts.blueprint.spec.components.iter();
    nodes.filter_map(|(name, node)| {
        let revision = node.revision.filter(|_| !node.is_local())?;
        Some((name.as_str(), node.component_ref.as_str(), revision))
    })
}

fn source(found: &ComponentRevision) -> Source {
    Source {
        bytes: found.spec.document.as_bytes().into(),
        digest: found.spec.digest.clone(),
    }
}

/// The identities and revisions that are waited for, each once.
fn wanted(deferred: &[Deferred]) -> Vec<(String, u64)> {
    let mut wanted: Vec<(String, u64)> = deferred
        .iter()
        .filter_map(|deferred| {
            let (identity, revision) = deferred.missing.strip_prefix(CONTRACT)?.split_once('@')?;
            Some((identity.to_owned(), revision.parse().ok()?))
        })
        .collect();
    wanted.sort();
    wanted.dedup();
    wanted
}

/// What a node waits for whose component is not there.
fn missing(identity: &str, revision: u64) -> String {
    format!("{CONTRACT}{}", named(identity, revision))
}

fn refusal(path: &Pointer, names: &[String]) -> Diagnostic {
    let message = format!(
        "{} claim this identity and revision, and which of them was published cannot be told: delete all but one",
        listed(names)
    );
    Diagnostic::semantic(Code::InvalidDependency, path.clone(), message)
}
