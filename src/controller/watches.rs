//! What wakes an Installation: its own objects, its precious state, and whatever it reads or waits for. Secrets and
//! ConfigMaps are watched as metadata only.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};

use crate::api::Installation;
use crate::api::condition::ConditionType;
use crate::api::names::{IDENTITY_LABEL, INSTALLATION_LABEL};

/// Installations of the cache that satisfy `wakes`.
fn woken(
    store: &Store<Installation>,
    wakes: impl Fn(&Installation) -> bool,
) -> Vec<ObjectRef<Installation>> {
    let state: Vec<Arc<Installation>> = store.state();
    state
        .iter()
        .filter(|installation| wakes(installation))
        .map(|found| ObjectRef::from_obj(&**found))
        .collect()
}

/// Whether `installation` is stalled over an object of this name, whose going has no label to tell of it.
fn is_stalled_over(installation: &Installation, name: &str) -> bool {
    let conditions = installation
        .status
        .iter()
        .flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| {
            condition.type_ == ConditionType::Stalled.as_ref() && condition.status == "True"
        })
        .any(|condition| condition.message.contains(name))
}

/// A Secret wakes those whose precious state or environment it is, those that name it, and those stalled over it.
pub fn by_secret(
    store: &Store<Installation>,
    secret: &PartialObjectMeta<Secret>,
) -> Vec<ObjectRef<Installation>> {
    let (name, namespace) = (secret.name_any(), secret.namespace());
    let labels = secret.labels();
    woken(store, |installation| {
        installation.namespace() == namespace
            && (labels
                .get(IDENTITY_LABEL)
                .is_some_and(|identity| identity == installation.identity())
                || labels.get(INSTALLATION_LABEL) == Some(&installation.name_any())
                || is_stalled_over(installation, &name)
                || installation
                    .spec
                    .image_pull_secrets
                    .iter()
                    .any(|secret| secret.name == name)
                || installation.spec.parameters.values().any(|submitted| {
                    submitted
                        .secret_key_ref
                        .as_ref()
                        .is_some_and(|reference| reference.name == name)
                }))
    })
}

/// A ConfigMap wakes those whose blueprint it holds.
pub fn by_config_map(
    store: &Store<Installation>,
    config_map: &PartialObjectMeta<ConfigMap>,
) -> Vec<ObjectRef<Installation>> {
    let (name, namespace) = (config_map.name_any(), config_map.namespace());
    woken(store, |installation| {
        installation.namespace() == namespace
            && installation
                .spec
                .blueprint
                .config_map
                .as_ref()
                .is_some_and(|source| source.name == name)
    })
}

/// A record or a volume claim wakes those whose identity it belongs to.
pub fn by_identity<K: kube::Resource>(
    store: &Store<Installation>,
    object: &K,
) -> Vec<ObjectRef<Installation>> {
    let identity = object.labels().get(IDENTITY_LABEL);
    woken(store, |installation| {
        installation.namespace() == object.namespace()
            && (identity.is_some_and(|found| found == installation.identity())
                || is_stalled_over(installation, &object.name_any()))
    })
}

/// An Installation wakes the others of its identity: they may have waited for it to go.
pub fn by_rival(store: &Store<Installation>, rival: &Installation) -> Vec<ObjectRef<Installation>> {
    woken(store, |installation| {
        installation.namespace() == rival.namespace()
            && installation.identity() == rival.identity()
            && installation.name_any() != rival.name_any()
    })
}

/// A pod wakes the Installation that its label names.
pub fn by_label<K: kube::Resource>(object: &K) -> Option<ObjectRef<Installation>> {
    let name = object.labels().get(INSTALLATION_LABEL)?;
    Some(ObjectRef::new(name).within(&object.namespace()?))
}

/// A ComputeProfile or the Platform may matter to any of them.
pub fn all(store: &Store<Installation>) -> Vec<ObjectRef<Installation>> {
    woken(store, |_| true)
}
