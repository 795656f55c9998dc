//! From an accepted record to the Kubernetes objects that it means. Pure: everything comes from the record, its snapshot
//! and sources (all inside [`AcceptedRecord`]) and from the [`Pins`] kept beside the snapshot.
//!
//! Nothing here talks to a cluster; `controller::apply` does.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod environment;
mod image;
pub mod metadata;
pub mod pins;
mod service;
mod workload;

use kube::api::DynamicObject;
use kube::api::TypeMeta;

use self::environment::EnvironmentSecret;
use self::metadata::Owner;
use self::pins::Pins;
use crate::resolution::accept::AcceptedRecord;

/// The version of these rules. A change that would alter what an old record becomes raises it, and keeps the old
/// rendering for records pinned to the old version.
pub const RENDERER_VERSION: u32 = 1;

/// Everything that a record runs as.
#[derive(Debug)]
pub struct Objects {
    /// Immutable Secrets with the environment of each node, to be created before anything that refers to them.
    pub environments: Vec<EnvironmentSecret>,
    /// Objects for server-side apply, in the order in which they are best applied. None holds a secret.
    pub applied: Vec<DynamicObject>,
}

/// The objects of `accepted`, all in `owner`'s namespace and owned by it.
///
/// Guarantees: the same arguments give the same objects; no object but an [`EnvironmentSecret`] holds a value that is
/// not authored in a document; an EXTERNAL node becomes nothing.
pub fn objects(accepted: &AcceptedRecord, pins: &Pins, owner: &Owner) -> Objects {
    let contracts = accepted.contracts();
    let mut environments = Vec::new();
    let mut services = Vec::new();
    let mut workloads = Vec::new();
    for (name, recorded) in &accepted.record().components {
        let component = contracts.component(name);
        let Some(running) = &component.spec.workload else {
            continue;
        };
        let node = workload::Node {
            name,
            slug: &contracts.blueprint.metadata.slug,
            running,
            recorded,
        };
        let secret = environment::secret(
            name,
            node.slug,
            &accepted.resolved().environment[name],
            pins,
            owner,
        );
        services.extend(service::service(&node, owner).map(|service| dynamic(&service)));
        workloads.push(dynamic(&workload::deployment(
            &node,
            secret.as_ref(),
            pins,
            owner,
        )));
        environments.extend(secret);
    }
    services.append(&mut workloads);
    Objects {
        environments,
        applied: services,
    }
}

/// A typed object as the generic one that the apply engine works on.
fn dynamic<K>(object: &K) -> DynamicObject
where
    K: serde::Serialize + k8s_openapi::Resource,
{
    let value = serde_json::to_value(object).expect("Kubernetes types serialize to JSON objects");
    let mut object: DynamicObject =
        serde_json::from_value(value).expect("what was serialized is an object with metadata");
    object.types = Some(TypeMeta {
        api_version: K::API_VERSION.to_owned(),
        kind: K::KIND.to_owned(),
    });
    object
}
