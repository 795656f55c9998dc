//! The apply engine: what a record means is made true, what differs is mended, what it no longer means is pruned.
//! An object that is as it was applied is not written again.

mod job;
mod kinds;
mod ownership;
mod refusal;
mod running;
mod volume;

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use kube::api::{ApiResource, DynamicObject, PatchParams, PropagationPolicy};
use kube::{Api, Resource, ResourceExt};

use self::ownership::{delete_one, is_owned, labelled, refuse_strangers};
pub use self::running::{Running, Trouble};
pub use self::volume::size;
use super::drift::is_intact;
use super::failure::{Asked, Failure, is_absent};
use super::patch;
use super::removal::finalizers_of_others;
use super::shell::{Created, Shell};
use crate::api::ResolutionRecord;
use crate::api::names::{FIELD_MANAGER, NODE_LABEL};
use crate::api::reason::NodeReason;
use crate::api::status::{InventoryEntry, JobStatus};
use crate::materialize::Objects;
use crate::materialize::environment::EnvironmentSecret;
use crate::materialize::metadata::Owner;

/// How many objects are written at once.
const AT_ONCE: usize = 8;

/// What stands in the cluster after an apply.
#[derive(Default)]
pub struct Applied {
    /// What runs the pods of each node, as last seen.
    pub running: BTreeMap<String, Running>,
    /// Every pod, as last seen.
    pub pods: Vec<Pod>,
    /// The runs of the record's JOB nodes, by node.
    pub jobs: BTreeMap<String, JobStatus>,
    /// What keeps an object of a node from being as it is wanted, by node.
    pub notes: BTreeMap<String, (NodeReason, String)>,
    /// Whether everything that runs is of this record, and every Job has ended.
    pub is_settled: bool,
    /// Every object of the record.
    pub inventory: Vec<InventoryEntry>,
}

/// One kind in the cluster.
struct Shelf {
    kind: ApiResource,
    api: Api<DynamicObject>,
    live: BTreeMap<String, DynamicObject>,
}

impl Shell {
    /// Makes `objects` of `record` true for `owner`: Secrets with environments and claims of volumes
    /// first, then the rest in its order, then pruning. `made` names the claims of volumes that were made before.
    ///
    /// # Errors
    /// [`Failure::StateLost`] for one of those that is gone; [`Failure::ForeignObject`] for an object of another owner under one of the names; what writing ends in.
    pub async fn apply(
        &self,
        owner: &Owner,
        record: &ResolutionRecord,
        objects: &Objects,
        made: &BTreeSet<String>,
    ) -> Result<Applied, Failure> {
        let mut applied = Applied::default();
        let secrets = labelled(&self.secrets(&owner.namespace), owner).await?;
        self.ensure_environments(owner, objects, &secrets, &mut applied)
            .await?;
        self.ensure_volumes(owner, &objects.volumes, made, &mut applied)
            .await?;
        let looks = kinds::all().map(|kind| self.look(owner, kind));
        let shelves = together(looks).await?;
        for shelf in &shelves {
            self.apply_kind(owner, objects, shelf, &shelves, &mut applied)
                .await?;
        }
        let jobs = labelled(&self.api::<Job>(&owner.namespace), owner).await?;
        self.run_jobs(owner, record, &objects.jobs, &jobs, &mut applied)
            .await?;
        for shelf in &shelves {
            prune(owner, objects, shelf).await?;
        }
        applied.pods = labelled(&self.api::<Pod>(&owner.namespace), owner)
            .await?
            .into_values()
            .collect();
        self.note_refusals(owner, &mut applied).await?;
        applied.is_settled = applied.notes.is_empty()
            && applied.running.values().all(Running::is_settled)
            && jobs.values().all(job::has_ended);
        if applied.is_settled {
            self.prune_environments(owner, objects, &secrets).await?;
        }
        applied.inventory.sort();
        Ok(applied)
    }

    /// Makes those of `services` that are not there. What runs already is left as it is.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn await_addresses(
        &self,
        owner: &Owner,
        services: &[DynamicObject],
    ) -> Result<(), Failure> {
        let shelf = self.look(owner, ApiResource::erase::<Service>(&())).await?;
        for service in services {
            if !shelf.live.contains_key(&service.name_any()) {
                self.apply_one(owner, service, &shelf).await?;
            }
        }
        Ok(())
    }

    async fn look(&self, owner: &Owner, kind: ApiResource) -> Result<Shelf, Failure> {
        let api = Api::namespaced_with(self.client.clone(), &owner.namespace, &kind);
        let live = labelled(&api, owner).await?;
        Ok(Shelf { kind, api, live })
    }

    /// Applies every object of one kind.
    async fn apply_kind(
        &self,
        owner: &Owner,
        objects: &Objects,
        shelf: &Shelf,
        shelves: &[Shelf],
        applied: &mut Applied,
    ) -> Result<(), Failure> {
        let mut wanted = Vec::new();
        for object in objects
            .applied
            .iter()
            .filter(|object| kinds::is_of(object, &shelf.kind))
        {
            match former(object, shelf, shelves, owner) {
                Some((shelf, former)) => {
                    let note = format!(
                        "waiting for the former {} {} and its pods to go{}",
                        shelf.kind.kind,
                        former.name_any(),
                        guarded(former)
                    );
                    applied
                        .notes
                        .insert(node(object), (NodeReason::Replacing, note));
                    delete_one(
                        &shelf.api,
                        former,
                        &shelf.kind.kind,
                        PropagationPolicy::Foreground,
                    )
                    .await?;
                }
                None => wanted.push(object),
            }
        }
        let writes = wanted
            .into_iter()
            .map(|object| self.apply_one(owner, object, shelf));
        for object in together(writes).await? {
            let name = object.name_any();
            applied
                .inventory
                .push(entry(&shelf.kind.api_version, &shelf.kind.kind, &name));
            if let Some(running) = Running::of(&object, &shelf.kind.kind) {
                applied.running.insert(node(&object), running);
            }
        }
        Ok(())
    }

    async fn apply_one(
        &self,
        owner: &Owner,
        wanted: &DynamicObject,
        shelf: &Shelf,
    ) -> Result<DynamicObject, Failure> {
        let (name, kind) = (wanted.name_any(), &shelf.kind);
        let live = shelf.live.get(&name);
        if let Some(live) = live.filter(|live| is_intact(wanted, live)) {
            return Ok(live.clone());
        }
        let unlabelled = match live {
            Some(_) => None,
            // One whose label was taken off is not in the list, and still is the one.
            None => shelf
                .api
                .get_opt(&name)
                .await
                .asked(|| format!("read {} {name}", kind.kind))?,
        };
        let standing = live.or(unlabelled.as_ref());
        if let Some(standing) = standing {
            refuse_strangers(standing, owner, &format!("{} {name}", kind.kind))?;
        }
        tracing::info!(kind = kind.kind, name, "applying");
        match shelf
            .api
            .patch(
                &name,
                &PatchParams::apply(FIELD_MANAGER).force(),
                &patch::apply(wanted),
            )
            .await
        {
            Err(error) if is_absent(&error) => Err(unserved(kind)),
            outcome => outcome.asked(|| format!("apply {} {name}", kind.kind)),
        }
    }

    async fn ensure_environments(
        &self,
        owner: &Owner,
        objects: &Objects,
        secrets: &BTreeMap<String, Secret>,
        applied: &mut Applied,
    ) -> Result<(), Failure> {
        let ensured = objects
            .environments
            .iter()
            .map(|wanted| self.ensure_environment(owner, wanted, secrets.get(wanted.name())));
        together(ensured).await?;
        let entries = objects.environments.iter();
        applied
            .inventory
            .extend(entries.map(|secret| entry("v1", "Secret", secret.name())));
        Ok(())
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
            delete_one(&api, standing, "Secret", PropagationPolicy::Background).await?;
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

    async fn prune_environments(
        &self,
        owner: &Owner,
        objects: &Objects,
        secrets: &BTreeMap<String, Secret>,
    ) -> Result<(), Failure> {
        let wanted = |name: &str| {
            objects
                .environments
                .iter()
                .any(|secret| secret.name() == name)
        };
        let api = self.secrets(&owner.namespace);
        for (name, secret) in secrets
            .iter()
            .filter(|(name, secret)| !wanted(name) && is_owned(*secret, owner))
        {
            tracing::info!(name, "pruning an environment that no pod uses any more");
            delete_one(&api, secret, "Secret", PropagationPolicy::Background).await?;
        }
        Ok(())
    }
}

/// Runs what is independent together, some at once, and keeps the order of their results.
async fn together<'a, T>(
    futures: impl IntoIterator<Item = impl Future<Output = Result<T, Failure>> + Send + 'a>,
) -> Result<Vec<T>, Failure> {
    // Boxed, because the compiler cannot see otherwise that a stream of borrowing futures may be sent.
    let futures: Vec<BoxFuture<'a, Result<T, Failure>>> =
        futures.into_iter().map(FutureExt::boxed).collect();
    stream::iter(futures).buffered(AT_ONCE).try_collect().await
}

/// What has to be gone before `wanted` may be: one of the same name that is being deleted, and what runs the pods of the
/// same node as another kind.
fn former<'a>(
    wanted: &DynamicObject,
    shelf: &'a Shelf,
    shelves: &'a [Shelf],
    owner: &Owner,
) -> Option<(&'a Shelf, &'a DynamicObject)> {
    let name = wanted.name_any();
    let leaving = shelf.live.get(&name);
    if let Some(leaving) = leaving.filter(|live| live.metadata.deletion_timestamp.is_some()) {
        return Some((shelf, leaving));
    }
    shelves
        .iter()
        .filter(|other| {
            kinds::runs_pods(&shelf.kind)
                && kinds::runs_pods(&other.kind)
                && other.kind.kind != shelf.kind.kind
        })
        .find_map(|other| {
            let live = other.live.get(&name).filter(|live| is_owned(*live, owner));
            live.map(|live| (other, live))
        })
}

/// Whom an object that is being deleted waits for, if it is nobody that Kubernetes itself sends.
fn guarded<K: Resource>(object: &K) -> String {
    match finalizers_of_others(object) {
        Some(finalizers) => format!("; whoever set its finalizer {finalizers} lets it go"),
        None => String::new(),
    }
}

/// Deletes what `owner` has of one kind and `objects` do not mean any more.
async fn prune(owner: &Owner, objects: &Objects, shelf: &Shelf) -> Result<(), Failure> {
    let wanted = |name: &str| {
        let mut wanted = objects.applied.iter().chain(&objects.awaited);
        wanted.any(|object| kinds::is_of(object, &shelf.kind) && object.name_any() == name)
    };
    for (name, live) in shelf
        .live
        .iter()
        .filter(|(name, live)| !wanted(name) && is_owned(*live, owner))
    {
        let kind = &shelf.kind.kind;
        tracing::info!(kind, name, "pruning what the record no longer means");
        delete_one(&shelf.api, live, kind, PropagationPolicy::Background).await?;
    }
    Ok(())
}

fn unserved(kind: &ApiResource) -> Failure {
    Failure::Refused {
        action: format!("apply a {}", kind.kind),
        message: format!(
            "the cluster does not serve {} of {}: install its custom resource definitions",
            kind.plural, kind.api_version
        ),
    }
}

/// The node that an object belongs to.
fn node<K: Resource>(object: &K) -> String {
    object.labels().get(NODE_LABEL).cloned().unwrap_or_default()
}

fn entry(api_version: &str, kind: &str, name: &str) -> InventoryEntry {
    InventoryEntry {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}
