//! The kinds that are applied and pruned, in the order of applying: what guards and names pods first, then what runs
//! them, then what leads to them.

use gateway_api::grpcroutes::GrpcRoute;
use gateway_api::httproutes::HttpRoute;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use kube::api::{ApiResource, DynamicObject};

/// Every kind.
pub(super) fn all() -> [ApiResource; 8] {
    [
        ApiResource::erase::<NetworkPolicy>(&()),
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<StatefulSet>(&()),
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<CronJob>(&()),
        ApiResource::erase::<HttpRoute>(&()),
        ApiResource::erase::<GrpcRoute>(&()),
        ApiResource::erase::<Ingress>(&()),
    ]
}

/// Whether objects of the kind run pods, so that no two kinds may do so for one node at once.
pub(super) fn runs_pods(kind: &ApiResource) -> bool {
    matches!(kind.kind.as_str(), "StatefulSet" | "Deployment" | "CronJob")
}

/// Whether `object` is of this kind.
pub(super) fn is_of(object: &DynamicObject, kind: &ApiResource) -> bool {
    object
        .types
        .as_ref()
        .is_some_and(|types| types.kind == kind.kind && types.api_version == kind.api_version)
}
