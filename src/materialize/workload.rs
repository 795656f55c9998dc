//! The controller of a node's pods, by its category and its volumes: Deployment, StatefulSet, CronJob, or a Job that runs
//! once for a record.

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::api::DynamicObject;

use super::dynamic;
use super::environment::EnvironmentSecret;
use super::metadata::Owner;
use super::node::Node;
use super::pins::Pins;
use super::pod::template;
use crate::api::names;
use crate::contract::component::ComponentType;
use crate::contract::component::job::Schedule;

/// What runs a node's pods.
pub(super) enum Controller {
    /// Kept as it is.
    Applied(Box<DynamicObject>),
    /// Created once.
    Once(Box<Job>),
}

/// How late, in seconds, a scheduled run may start. Without a limit Kubernetes would start a run that was due while the
/// previous one was still running as soon as that ends, and one that a changed schedule finds in the past; the contract
/// skips both.
const SCHEDULE_LATENESS: i64 = 15;

/// The controller of `node`, for the record of `version`.
pub(super) fn controller(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
    version: &str,
) -> Controller {
    match (node.category, &node.running.schedule) {
        (ComponentType::Job, Some(schedule)) => Controller::Applied(Box::new(dynamic(&cron_job(
            node, schedule, secret, pins, owner,
        )))),
        (ComponentType::Job, None) => {
            Controller::Once(Box::new(job(node, secret, pins, owner, version)))
        }
        _ if node.has_exclusive_volume() => {
            Controller::Applied(Box::new(dynamic(&stateful_set(node, secret, pins, owner))))
        }
        _ => Controller::Applied(Box::new(dynamic(&deployment(node, secret, pins, owner)))),
    }
}

fn metadata(node: &Node, pins: &Pins, owner: &Owner) -> ObjectMeta {
    let name = names::workload(&owner.name, node.name);
    let metadata = owner.metadata(name, node.name, node.slug);
    Owner::marked(metadata, &pins.platform.pods)
}

fn selector(node: &Node, owner: &Owner) -> LabelSelector {
    LabelSelector {
        match_labels: Some(owner.selector(node.name)),
        ..LabelSelector::default()
    }
}

/// It leaves `replicas` to whoever scales it.
fn deployment(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
) -> Deployment {
    Deployment {
        metadata: metadata(node, pins, owner),
        spec: Some(DeploymentSpec {
            progress_deadline_seconds: i32::try_from(node.running.health.patience()).ok(),
            selector: selector(node, owner),
            template: template(node, secret, pins, owner, None),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// One instance, which is gone before its successor starts, on a lost node too. Parallel management, because the ordered
/// one would wait for a broken pod before it replaced it by the template that mends it.
fn stateful_set(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
) -> StatefulSet {
    StatefulSet {
        metadata: metadata(node, pins, owner),
        spec: Some(StatefulSetSpec {
            replicas: Some(1),
            service_name: Some(names::workload(&owner.name, node.name)),
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: None,
            }),
            selector: selector(node, owner),
            template: template(node, secret, pins, owner, None),
            ..StatefulSetSpec::default()
        }),
        status: None,
    }
}

/// Runs once, whatever becomes of it: no retry of the pod, none of the container.
fn job(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
    version: &str,
) -> Job {
    let run = match node.rollout {
        0 => version.to_owned(),
        count => format!("{version}-{count}"),
    };
    Job {
        metadata: Owner::marked(
            owner.metadata(
                names::job(&owner.name, node.name, &run),
                node.name,
                node.slug,
            ),
            &pins.platform.pods,
        ),
        spec: Some(job_spec(node, secret, pins, owner)),
        status: None,
    }
}

fn job_spec(
    node: &Node,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
) -> JobSpec {
    JobSpec {
        backoff_limit: Some(0),
        template: template(node, secret, pins, owner, Some("Never")),
        ..JobSpec::default()
    }
}

/// The contract's grammar is a subset of Kubernetes's, with the same meaning: `n/s` runs to the end of the range, and of
/// two restricted day fields either matches.
fn cron_job(
    node: &Node,
    schedule: &Schedule,
    secret: Option<&EnvironmentSecret>,
    pins: &Pins,
    owner: &Owner,
) -> CronJob {
    let fields: Vec<&str> = schedule.cron.split_ascii_whitespace().collect();
    CronJob {
        metadata: metadata(node, pins, owner),
        spec: CronJobSpec {
            schedule: fields.join(" "),
            time_zone: Some("Etc/UTC".to_owned()),
            concurrency_policy: Some("Forbid".to_owned()),
            starting_deadline_seconds: Some(SCHEDULE_LATENESS),
            job_template: JobTemplateSpec {
                metadata: Some(Owner::marked(
                    ObjectMeta {
                        labels: Some(owner.labels(node.name, node.slug)),
                        ..ObjectMeta::default()
                    },
                    &pins.platform.pods,
                )),
                spec: Some(job_spec(node, secret, pins, owner)),
            },
            ..CronJobSpec::default()
        },
        status: None,
    }
}
