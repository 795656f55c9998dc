//! The apply engine: what a record means is made true, what differs is mended, what it no longer means is pruned.
//! An object that is as it was applied is not written again.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};

use super::drift::is_intact;
use super::failure::{Asked, Failure};
use super::precious::foreign;
use super::shell::{Created, Shell};
use crate::api::names::{FIELD_MANAGER, INSTALLATION_LABEL};
use crate::api::status::InventoryEntry;
use crate::api::{GROUP, Installation};
use crate::materialize::Objects;
use crate::materialize::environment::EnvironmentSecret;
use crate::materialize::metadata::Owner;

/// What stands in the cluster after an apply.
#[derive(Default)]
pub struct Applied {
    /// The Deployments, by name, as last seen.
    pub deployments: BTreeMap<String, Deployment>,
    /// Every object of the record.
    pub inventory: Vec<InventoryEntry>,
}

/// The kinds that are applied and pruned.
fn kinds() -> [ApiResource; 2] {
    [
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<Deployment>(&()),
    ]
}

impl Shell {
    /// Makes `objects` true for `owner`: Secrets with environments first, then the rest in its order, then pruning.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] for an object of another owner under one of the names; what writing ends in.
    pub async fn apply(&self, owner: &Owner, objects: &Objects) -> Result<Applied, Failure> {
        let mut applied = Applied::default();
        let secrets = self
            .owned(
                &Api::<Secret>::namespaced(self.client.clone(), &owner.namespace),
                owner,
            )
            .await?;
        for wanted in &objects.environments {
            self.ensure_environment(owner, wanted, secrets.get(wanted.name()))
                .await?;
            applied.inventory.push(entry("v1", "Secret", wanted.name()));
        }
        for kind in kinds() {
            let api =
                Api::<DynamicObject>::namespaced_with(self.client.clone(), &owner.namespace, &kind);
            let mut live = self.owned(&api, owner).await?;
            for wanted in objects.applied.iter().filter(|object| is_of(object, &kind)) {
                let name = wanted.name_any();
                let object = match live.remove(&name) {
                    Some(live) if is_intact(wanted, &live) => live,
                    Some(live) => {
                        self.apply_one(&api, &kind, owner, wanted, Some(&live))
                            .await?
                    }
                    None => {
                        let standing = api
                            .get_opt(&name)
                            .await
                            .asked(|| format!("read {} {name}", kind.kind))?;
                        self.apply_one(&api, &kind, owner, wanted, standing.as_ref())
                            .await?
                    }
                };
                applied
                    .inventory
                    .push(entry(&kind.api_version, &kind.kind, &name));
                if kind.kind == Deployment::kind(&()) {
                    applied
                        .deployments
                        .extend(object.try_parse().ok().map(|deployment| (name, deployment)));
                }
            }
            for (name, live) in live.iter().filter(|(_, live)| is_owned(*live, owner)) {
                tracing::info!(
                    kind = kind.kind,
                    name,
                    "pruning what the record no longer means"
                );
                delete_one(&api, live, &kind.kind).await?;
            }
        }
        if applied.deployments.values().all(is_settled) {
            let wanted = |name: &str| {
                objects
                    .environments
                    .iter()
                    .any(|secret| secret.name() == name)
            };
            for (name, secret) in secrets
                .iter()
                .filter(|(name, secret)| !wanted(name) && is_owned(*secret, owner))
            {
                tracing::info!(name, "pruning an environment that no pod uses any more");
                delete_one(&self.secrets(&owner.namespace), secret, "Secret").await?;
            }
        }
        applied.inventory.sort();
        Ok(applied)
    }

    /// Everything labelled as the owner's, by name.
    async fn owned<K>(&self, api: &Api<K>, owner: &Owner) -> Result<BTreeMap<String, K>, Failure>
    where
        K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let labelled =
            ListParams::default().labels(&format!("{INSTALLATION_LABEL}={}", owner.name));
        let list = api
            .list(&labelled)
            .await
            .asked(|| format!("list objects of {}", owner.name))?;
        Ok(list
            .into_iter()
            .map(|object| (object.name_any(), object))
            .collect())
    }

    async fn apply_one(
        &self,
        api: &Api<DynamicObject>,
        kind: &ApiResource,
        owner: &Owner,
        wanted: &DynamicObject,
        standing: Option<&DynamicObject>,
    ) -> Result<DynamicObject, Failure> {
        let name = wanted.name_any();
        if let Some(standing) = standing {
            refuse_strangers(standing, owner, &format!("{} {name}", kind.kind))?;
        }
        tracing::info!(kind = kind.kind, name, "applying");
        api.patch(
            &name,
            &PatchParams::apply(FIELD_MANAGER).force(),
            &Patch::Apply(wanted),
        )
        .await
        .asked(|| format!("apply {} {name}", kind.kind))
    }

    /// Makes sure that the Secret with an environment holds exactly that. It is immutable, so one that differs, or that
    /// belongs to a former holder and is about to be collected with it, is replaced.
    async fn ensure_environment(
        &self,
        owner: &Owner,
        wanted: &EnvironmentSecret,
        standing: Option<&Secret>,
    ) -> Result<(), Failure> {
        let api = self.secrets(&owner.namespace);
        let is_right = |found: &Secret| {
            found.data == wanted.expose().data
                && found.immutable == Some(true)
                && is_owned(found, owner)
        };
        let unlabelled = match standing {
            Some(_) => None,
            // One whose label was taken off is not in the list, and still is the one.
            None => api
                .get_opt(wanted.name())
                .await
                .asked(|| format!("read Secret {}", wanted.name()))?,
        };
        let standing = standing.or(unlabelled.as_ref());
        if standing.is_some_and(is_right) {
            return Ok(());
        }
        if let Some(standing) = standing {
            refuse_strangers(standing, owner, &format!("Secret {}", wanted.name()))?;
            delete_one(&api, standing, "Secret").await?;
        }
        match self.create_or_read(&api, wanted.expose()).await? {
            Created::Found(found) if !is_right(&found) => {
                refuse_strangers(&found, owner, &format!("Secret {}", wanted.name()))?;
                Err(Failure::Conflict {
                    object: format!("Secret {}", wanted.name()),
                })
            }
            _ => Ok(()),
        }
    }
}

async fn delete_one<K>(api: &Api<K>, object: &K, kind: &str) -> Result<(), Failure>
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let name = object.name_any();
    // Only the very object that was looked at: one made meanwhile under the same name stays.
    let params = kube::api::DeleteParams {
        preconditions: Some(kube::api::Preconditions {
            uid: object.uid(),
            resource_version: None,
        }),
        ..kube::api::DeleteParams::background()
    };
    match api.delete(&name, &params).await {
        Err(error) if !super::failure::is_absent(&error) => {
            Err(error).asked(|| format!("delete {kind} {name}"))
        }
        _ => Ok(()),
    }
}

fn entry(api_version: &str, kind: &str, name: &str) -> InventoryEntry {
    InventoryEntry {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

fn is_of(object: &DynamicObject, kind: &ApiResource) -> bool {
    object
        .types
        .as_ref()
        .is_some_and(|types| types.kind == kind.kind && types.api_version == kind.api_version)
}

/// Whether `object` belongs to this very Installation.
fn is_owned<K: Resource>(object: &K, owner: &Owner) -> bool {
    object
        .meta()
        .owner_references
        .iter()
        .flatten()
        .any(|reference| reference.uid == owner.uid)
}

/// Refuses to write an object that is controlled by anybody but an Installation of this name.
fn refuse_strangers<K: Resource>(standing: &K, owner: &Owner, object: &str) -> Result<(), Failure> {
    let ours = standing
        .meta()
        .owner_references
        .iter()
        .flatten()
        .any(|reference| {
            reference.kind == Installation::kind(&())
                && reference.api_version.starts_with(GROUP)
                && reference.name == owner.name
        });
    if ours {
        Ok(())
    } else {
        Err(foreign(
            object.to_owned(),
            "no Installation of this name owns it",
        ))
    }
}

/// Whether every pod of a Deployment is of its newest template and available.
pub fn is_settled(deployment: &Deployment) -> bool {
    let wanted = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    deployment.status.as_ref().is_some_and(|status| {
        status.observed_generation == deployment.metadata.generation
            && status.updated_replicas.unwrap_or(0) >= wanted
            && status.available_replicas.unwrap_or(0) >= wanted
            && status.replicas.unwrap_or(0) == status.updated_replicas.unwrap_or(0)
    })
}
