//! From an accepted record to the Kubernetes objects that it means. Pure: everything comes from the record, its snapshot
//! and sources (all inside [`AcceptedRecord`]) and from the [`Pins`] kept beside the snapshot.
//!
//! Nothing here talks to a cluster; `controller::apply` does.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod environment;
mod image;
pub mod metadata;
mod network;
mod node;
pub mod pins;
mod placement;
mod pod;
mod probe;
mod route;
mod service;
mod volume;
mod workload;

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Resource;
use kube::api::DynamicObject;
use kube::api::TypeMeta;

use self::environment::EnvironmentSecret;
use self::metadata::Owner;
use self::node::Node;
use self::pins::Pins;
use self::workload::Controller;
use crate::api::platform::{LoadBalancer, NetworkPolicyMode};
use crate::contract::component::endpoint::Endpoint;
use crate::resolution::accept::AcceptedRecord;

/// The version of these rules. A change that would alter what an old record becomes raises it, and keeps the old
/// rendering for records pinned to the old version.
pub const RENDERER_VERSION: u32 = 1;

/// Everything that a record runs as.
#[derive(Debug, Default)]
pub struct Objects {
    /// Immutable Secrets with the environment of each node, to be created before anything that refers to them.
    pub environments: Vec<EnvironmentSecret>,
    /// Claims of volumes: created once, grown where they are too small, never made smaller.
    pub volumes: Vec<PersistentVolumeClaim>,
    /// Objects for server-side apply, in the order in which they are best applied. None holds a secret.
    pub applied: Vec<DynamicObject>,
    /// Jobs that run once for this record: created once, never again.
    pub jobs: Vec<Job>,
    /// Services that stand beside the record's, because another record will need the address that they wait for.
    pub awaited: Vec<DynamicObject>,
}

impl Objects {
    /// Leaves out whatever leads a host name here that is not among `held`: it is somebody else's.
    pub fn lead_only(&mut self, held: &BTreeSet<String>) {
        let leads = |object: &DynamicObject| {
            let mut led = route::hostnames(object);
            led.all(|hostname| held.contains(hostname))
        };
        self.applied.retain(leads);
    }
}

/// The objects of `accepted`, all in `owner`'s namespace; all but the claims of volumes are owned by it. `rollout` counts
/// how often pods were rolled out again: another number is another template of every pod, and another run of every JOB.
///
/// Guarantees: the same arguments give the same objects; no object but an [`EnvironmentSecret`] holds a value that is
/// not authored in a document; an EXTERNAL node becomes nothing.
pub fn objects(accepted: &AcceptedRecord, pins: &Pins, owner: &Owner, rollout: u64) -> Objects {
    let contracts = accepted.contracts();
    let mut objects = Objects::default();
    let mut policies = Vec::new();
    let mut controllers = Vec::new();
    let mut routes = Vec::new();
    for (name, recorded) in &accepted.record().components {
        let component = contracts.component(name);
        let Some(running) = &component.spec.workload else {
            continue;
        };
        let node = Node {
            name,
            slug: &contracts.blueprint.metadata.slug,
            category: component.spec.r#type,
            running,
            recorded,
            rollout,
        };
        let edge = pins.platform.edge.as_ref();
        if pins.platform.network_policy == NetworkPolicyMode::Enabled {
            policies.push(dynamic(&network::policy(&node, edge, owner)));
        }
        objects.volumes.extend(volume::claims(&node, pins, owner));
        objects
            .applied
            .extend(service::service(&node, owner).map(|service| dynamic(&service)));
        if let Some(edge) = edge {
            routes.extend(route::routes(&node, accepted.snapshot(), edge, owner));
        }
        let environment = &accepted.resolved().environment[name];
        let secret = environment::secret(name, node.slug, environment, pins, owner);
        match workload::controller(
            &node,
            secret.as_ref(),
            pins,
            owner,
            &accepted.snapshot().version,
        ) {
            Controller::Applied(controller) => controllers.push(*controller),
            Controller::Once(job) => objects.jobs.push(*job),
        }
        objects.environments.extend(secret);
    }
    // A pod is not to start before what guards it and what names it; routes lead to what is there.
    objects.applied.splice(0..0, policies);
    objects.applied.append(&mut controllers);
    objects.applied.append(&mut routes);
    objects
}

/// The Service of a PUBLIC endpoint of TCP or UDP as it stands before the record: a load balancer gives it an address, and
/// it leads nowhere.
pub fn awaited(
    node: &str,
    slug: &str,
    endpoint: (&str, &Endpoint),
    balancer: &LoadBalancer,
    owner: &Owner,
) -> DynamicObject {
    let mut service = service::load_balancer(node, slug, endpoint, balancer, owner);
    if let Some(spec) = &mut service.spec {
        spec.selector = None;
    }
    dynamic(&service)
}

/// A typed object as the generic one that the apply engine works on.
fn dynamic<K>(object: &K) -> DynamicObject
where
    K: serde::Serialize + Resource<DynamicType = ()>,
{
    let value = serde_json::to_value(object).expect("Kubernetes types serialize to JSON objects");
    let mut object: DynamicObject =
        serde_json::from_value(value).expect("what was serialized is an object with metadata");
    object.types = Some(TypeMeta::resource::<K>());
    object
}
