//! What runs the pods of a node, as last seen, and whether it has come to rest. Pure.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::CronJob;
use kube::ResourceExt;
use kube::api::DynamicObject;

/// A controller of pods.
pub enum Running {
    /// Of a node without a volume of its own.
    Deployment(Deployment),
    /// Of a node with one.
    StatefulSet(StatefulSet),
    /// Of a node that runs on a schedule.
    CronJob(Box<CronJob>),
}

impl Running {
    /// The object as what its kind says.
    pub(super) fn of(object: &DynamicObject, kind: &str) -> Option<Self> {
        let object = object.clone();
        match kind {
            "Deployment" => object.try_parse().ok().map(Self::Deployment),
            "StatefulSet" => object.try_parse().ok().map(Self::StatefulSet),
            "CronJob" => object
                .try_parse()
                .ok()
                .map(|object| Self::CronJob(Box::new(object))),
            _ => None,
        }
    }

    /// `Kind/name`.
    pub fn describe(&self) -> String {
        match self {
            Self::Deployment(object) => format!("Deployment/{}", object.name_any()),
            Self::StatefulSet(object) => format!("StatefulSet/{}", object.name_any()),
            Self::CronJob(object) => format!("CronJob/{}", object.name_any()),
        }
    }

    /// Whether every pod is of the newest template and available.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Deployment(deployment) => {
                let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
                deployment.status.as_ref().is_some_and(|status| {
                    let updated = status.updated_replicas.unwrap_or(0);
                    status.observed_generation == deployment.metadata.generation
                        && updated >= wanted.unwrap_or(1)
                        && status.available_replicas.unwrap_or(0) >= wanted.unwrap_or(1)
                        && status.replicas.unwrap_or(0) == updated
                })
            }
            Self::StatefulSet(set) => {
                let wanted = set.spec.as_ref().and_then(|spec| spec.replicas);
                set.status.as_ref().is_some_and(|status| {
                    status.observed_generation == set.metadata.generation
                        && status.updated_replicas.unwrap_or(0) >= wanted.unwrap_or(1)
                        && status.available_replicas.unwrap_or(0) >= wanted.unwrap_or(1)
                        && status.replicas == wanted.unwrap_or(1)
                })
            }
            // It waits for its time, and what it runs is its own affair.
            Self::CronJob(_) => true,
        }
    }

    /// Whether it has the pods that it needs, of whichever template.
    pub fn is_available(&self) -> bool {
        match self {
            Self::Deployment(deployment) => deployment
                .status
                .iter()
                .flat_map(|status| status.conditions.iter().flatten())
                .any(|condition| condition.type_ == "Available" && condition.status == "True"),
            Self::StatefulSet(set) => {
                let wanted = set.spec.as_ref().and_then(|spec| spec.replicas);
                set.status.as_ref().is_some_and(|status| {
                    status.available_replicas.unwrap_or(0) >= wanted.unwrap_or(1)
                })
            }
            Self::CronJob(_) => true,
        }
    }

    /// What the controller itself says that it cannot do: a quota or an admission policy that refuses its pods, or a
    /// rollout that came to no end.
    pub fn trouble(&self) -> Option<Trouble> {
        let Self::Deployment(deployment) = self else {
            return None;
        };
        let conditions = deployment
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let of = |type_: &str, status: &str| {
            let found = conditions
                .clone()
                .find(|condition| condition.type_ == type_ && condition.status == status);
            found.map(|condition| condition.message.clone().unwrap_or_default())
        };
        of("ReplicaFailure", "True")
            .map(Trouble::Refused)
            .or_else(|| of("Progressing", "False").map(Trouble::Deadline))
    }
}

/// What a controller of pods says that it cannot do.
#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The API server refuses its pods.
    Refused(String),
    /// Its rollout came to no end in time.
    Deadline(String),
}
