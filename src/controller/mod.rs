//! The controller: reconcile, persist, apply, report, finalize, and what wakes it; and a replica's life around it. All writes to the cluster are here.

pub mod apply;
pub mod backoff;
pub mod carry_out;
pub mod changes;
pub mod claim;
pub mod credentials;
pub mod delivery;
pub mod dispose;
pub mod drift;
pub mod events;
pub mod failure;
pub mod finalize;
pub mod health;
pub mod history;
pub mod hostnames;
pub mod intent;
pub mod journal;
pub mod leader;
pub mod lookout;
pub mod patch;
pub mod persist;
pub mod plan;
pub mod precious;
pub mod prune;
pub mod reconcile;
pub mod remarks;
pub mod removal;
pub mod replica;
pub mod report;
pub mod select;
pub mod shelf;
pub mod shell;
pub mod sources;
pub mod start;
pub mod status;
#[cfg(test)]
pub(crate) mod testing;
pub mod updates;
pub mod watches;

use std::sync::Arc;

use futures::StreamExt;
use gateway_api::grpcroutes::GrpcRoute;
use gateway_api::httproutes::HttpRoute;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};

use self::backoff::Backoffs;
use self::health::Readiness;
use self::lookout::Lookout;
use self::shell::{Settings, Shell};
use self::watches::touched;
use crate::acquire::interest::Interests;
use crate::acquire::registry::Registries;
use crate::api::{ComputeProfile, Installation, Platform, ResolutionRecord};

/// Runs until `stop`, then finishes the reconciles that are under way. `readiness` is said as soon as the API server
/// lists Installations.
async fn run(
    client: Client,
    settings: Settings,
    readiness: Readiness,
    stop: impl Future<Output = ()> + Send + Sync + 'static,
) {
    let scope = Scope {
        client: client.clone(),
        namespace: settings.namespace.clone(),
    };
    let installations = scope.api::<Installation>();
    tokio::spawn(async move {
        health::until_listed(&installations).await;
        readiness.set(true);
    });
    let any = watcher::Config::default;
    let managed = || any().labels("app.kubernetes.io/managed-by=installation-operator");
    let interests = Interests::default();
    let shell = Arc::new(Shell {
        client: client.clone(),
        backoffs: Backoffs::default(),
        interests: interests.clone(),
        registries: Registries::default(),
        lookout: Lookout::new(settings.tag_interval),
        settings: settings.clone(),
    });

    let controller = watches::controller(scope.api::<Installation>());
    let controller = if serves_routes(&client).await {
        controller
            .owns_stream(touched(scope.api::<HttpRoute>(), managed()))
            .owns_stream(touched(scope.api::<GrpcRoute>(), managed()))
    } else {
        tracing::info!("the cluster serves no Gateway API: routes are not watched until a restart");
        controller
    };
    let controller = watches::catalog(controller, &scope, &settings, &interests);
    controller
        .owns_stream(touched(scope.api::<Deployment>(), managed()))
        .owns_stream(touched(scope.api::<StatefulSet>(), managed()))
        .owns_stream(touched(scope.api::<Job>(), managed()))
        .owns_stream(touched(scope.api::<CronJob>(), managed()))
        .owns_stream(touched(scope.api::<Service>(), managed()))
        .owns_stream(touched(scope.api::<NetworkPolicy>(), managed()))
        .owns_stream(touched(scope.api::<Ingress>(), managed()))
        .watches_stream(
            touched(scope.metadata::<Pod>(), managed()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(scope.metadata::<PersistentVolumeClaim>(), any()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(scope.metadata::<Secret>(), any()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(scope.metadata::<ConfigMap>(), any()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(scope.metadata::<ServiceAccount>(), any()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(scope.api::<ResolutionRecord>(), any()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(Api::<ComputeProfile>::all(client.clone()), any()),
            watches::waking(&interests),
        )
        .watches_stream(
            touched(Api::<Platform>::all(client), any()),
            watches::waking(&interests),
        )
        .watches_stream(touched(scope.api::<Installation>(), any()), move |rival| {
            watches::wake_rivals(&interests, &rival)
        })
        .graceful_shutdown_on(stop)
        .run(reconcile::reconcile, reconcile::retry, shell)
        // What came of a reconcile has been logged where its delay was chosen, and of a watch where it was interrupted.
        .for_each(|_| std::future::ready(()))
        .await;
}

/// Whether the cluster serves the routes of the Gateway API. One that cannot say so now is taken not to.
async fn serves_routes(client: &Client) -> bool {
    let version = HttpRoute::api_version(&());
    let served = client.list_api_group_resources(&version).await;
    served.is_ok_and(|list| {
        list.resources
            .iter()
            .any(|resource| resource.kind == HttpRoute::kind(&()))
    })
}

/// One namespace, or all.
struct Scope {
    client: Client,
    namespace: Option<String>,
}

impl Scope {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// The API of a kind of which metadata is enough.
    fn metadata<K>(&self) -> Api<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        self.api()
    }
}
