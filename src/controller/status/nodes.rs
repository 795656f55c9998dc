//! The nodes of a record, as observed: ready, progressing or failing, and why, in words that a person can act on. Words of
//! Kubernetes are handed on, an application's own output never is.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;

use super::Subject;
use crate::api::names::NODE_LABEL;
use crate::api::reason::NodeReason;
use crate::api::status::NodeStatus;
use crate::contract::component::Workload;
use crate::controller::apply::{Applied, Running, Trouble};
use crate::controller::reconcile::Pass;
use crate::materialize::pins::PlacementPins;

pub(super) const READY: &str = "Ready";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const FAILING: &str = "Failing";

/// How a node stands.
#[derive(Debug, PartialEq, Eq)]
struct Standing {
    state: &'static str,
    reason: Option<NodeReason>,
    message: Option<String>,
}

impl Standing {
    fn ready() -> Self {
        Self {
            state: READY,
            reason: None,
            message: None,
        }
    }

    fn progressing(reason: NodeReason, message: impl Into<String>) -> Self {
        Self {
            state: PROGRESSING,
            reason: Some(reason),
            message: Some(message.into()),
        }
    }

    fn failing(reason: NodeReason, message: impl Into<String>) -> Self {
        Self {
            state: FAILING,
            ..Self::progressing(reason, message)
        }
    }
}

/// Every node of the current record.
pub(super) fn nodes(subject: &Subject, pass: &Pass) -> Vec<NodeStatus> {
    let (Some((version, accepted)), Some(applied)) = (&pass.current, &pass.applied) else {
        return Vec::new();
    };
    let contracts = accepted.contracts();
    contracts
        .components
        .keys()
        .map(|name| {
            let spec = &contracts.component(name).spec;
            let (workload, standing) = match &spec.workload {
                None => (None, Standing::ready()),
                Some(running) => (
                    controller(name, applied),
                    narrowed(
                        stand(name, running, applied, subject),
                        version.pins.platform.placement.get(name),
                    ),
                ),
            };
            NodeStatus {
                name: name.clone(),
                r#type: spec.r#type.to_string(),
                workload,
                state: standing.state.to_owned(),
                reason: standing.reason.map(|reason| reason.to_string()),
                message: standing.message,
            }
        })
        .collect()
}

/// `standing`, with the pins that leave no host where they do so.
fn narrowed(mut standing: Standing, pins: Option<&PlacementPins>) -> Standing {
    if standing.reason == Some(NodeReason::Unschedulable)
        && let (Some(message), Some(pins)) = (&mut standing.message, pins)
    {
        *message += &format!(" The node is pinned to {pins}.");
    }
    standing
}

fn controller(node: &str, applied: &Applied) -> Option<String> {
    let job = || applied.jobs.get(node).map(|job| format!("Job/{}", job.job));
    applied
        .running
        .get(node)
        .map(Running::describe)
        .or_else(job)
}

fn stand(node: &str, workload: &Workload, applied: &Applied, subject: &Subject) -> Standing {
    if let Some((reason, note)) = applied.notes.get(node) {
        return match reason {
            NodeReason::Replacing => Standing::progressing(*reason, note),
            _ => Standing::failing(*reason, note),
        };
    }
    let Some(running) = applied.running.get(node) else {
        // How the run of a JOB ends is told beside the nodes: it neither holds up nor fails an installation.
        return if applied.jobs.contains_key(node) {
            Standing::ready()
        } else {
            Standing::progressing(NodeReason::Starting, "its workload is not there yet")
        };
    };
    if running.is_settled() {
        return Standing::ready();
    }
    let trouble = running.trouble();
    if let Some(Trouble::Refused(message)) = trouble {
        return Standing::failing(NodeReason::Refused, message);
    }
    let patience = Duration::from_secs(workload.health.patience());
    let (leaving, staying): (Vec<&Pod>, Vec<&Pod>) = applied
        .pods
        .iter()
        .filter(|pod| pod.labels().get(NODE_LABEL).is_some_and(|of| of == node))
        .partition(|pod| pod.metadata.deletion_timestamp.is_some());
    let newest = staying.into_iter().max_by_key(|pod| {
        pod.metadata
            .creation_timestamp
            .as_ref()
            .map(|created| created.0)
    });
    match (newest.map(|pod| of_pod(pod, patience, subject)), trouble) {
        (Some(standing), _) if standing.state == FAILING => standing,
        (_, Some(Trouble::Deadline(message))) => {
            Standing::failing(NodeReason::DeadlineExceeded, message)
        }
        (Some(standing), _) => standing,
        (None, _) => match leaving.first() {
            Some(pod) => Standing::progressing(NodeReason::Replacing, awaited_end(pod)),
            None => Standing::progressing(
                NodeReason::Starting,
                format!("waiting for the pods of {}", running.describe()),
            ),
        },
    }
}

/// That a pod is deleted and has not ended: whoever runs it has to say so, because until then it may use its volumes.
fn awaited_end(pod: &Pod) -> String {
    let on = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let on = on.map_or_else(String::new, |on| {
        format!(", which cluster node {on} has to tell")
    });
    format!("waiting for the former pod {} to end{on}", pod.name_any())
}

/// How a pod that is not ready stands. Within `patience` from its creation, crashes and probes that fail are a first boot
/// on its way.
fn of_pod(pod: &Pod, patience: Duration, subject: &Subject) -> Standing {
    let name = pod.name_any();
    let status = pod.status.as_ref();
    let condition = |type_: &str| {
        let all = status.and_then(|status| status.conditions.as_ref());
        all.into_iter()
            .flatten()
            .find(|condition| condition.type_ == type_ && condition.status == "False")
    };
    if let Some(unscheduled) = condition("PodScheduled") {
        let message = unscheduled.message.as_deref().unwrap_or_default();
        return Standing::failing(
            NodeReason::Unschedulable,
            format!("no cluster node takes pod {name}: {message}"),
        );
    }
    let container = status
        .and_then(|status| status.container_statuses.as_ref())
        .and_then(|all| all.first());
    let Some(container) = container else {
        return Standing::progressing(NodeReason::Starting, format!("pod {name} is starting"));
    };
    let age = pod.metadata.creation_timestamp.as_ref().map_or(0, |made| {
        subject.now.0.as_second().saturating_sub(made.0.as_second())
    });
    let is_patient = u64::try_from(age).unwrap_or(0) < patience.as_secs();
    of_container(&name, container, is_patient)
}

fn of_container(pod: &str, container: &ContainerStatus, is_patient: bool) -> Standing {
    let state = container.state.as_ref();
    let waiting = state.and_then(|state| state.waiting.as_ref());
    let why = waiting.and_then(|waiting| waiting.reason.as_deref());
    let words = || {
        let message = waiting.and_then(|waiting| waiting.message.as_deref());
        message.or(why).unwrap_or_default().to_owned()
    };
    match why {
        Some(
            "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed",
        ) => {
            return Standing::failing(
                NodeReason::ImagePull,
                format!("pod {pod} cannot get its image: {}", words()),
            );
        }
        Some("CreateContainerConfigError" | "CreateContainerError" | "RunContainerError") => {
            return Standing::failing(
                NodeReason::ContainerConfig,
                format!("pod {pod} cannot start its container: {}", words()),
            );
        }
        _ => {}
    }
    let ended = state
        .and_then(|state| state.terminated.as_ref())
        .or_else(|| container.last_state.as_ref()?.terminated.as_ref());
    let is_running = state.is_some_and(|state| state.running.is_some());
    match ended {
        Some(ended) if !is_running || container.restart_count > 2 => {
            let cause = ended.reason.as_deref().filter(|reason| *reason != "Error");
            let message = format!(
                "pod {pod} ended with exit code {}{} and was started again {} times; see kubectl logs {pod} --previous",
                ended.exit_code,
                cause.map(|cause| format!(" ({cause})")).unwrap_or_default(),
                container.restart_count
            );
            graded(is_patient, NodeReason::Crashing, message)
        }
        _ if is_running => graded(
            is_patient,
            NodeReason::ProbeFailing,
            format!(
                "pod {pod} runs and its probes do not succeed yet; see kubectl describe pod {pod}"
            ),
        ),
        _ => Standing::progressing(NodeReason::Starting, format!("pod {pod} is starting")),
    }
}

fn graded(is_patient: bool, reason: NodeReason, message: String) -> Standing {
    if is_patient {
        Standing::progressing(reason, message)
    } else {
        Standing::failing(reason, message)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    /// How a pod that was made at second 0 stands at second `now`, with a patience of 600.
    fn standing(now: i64, status: Value) -> String {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "web-1", "creationTimestamp": "1970-01-01T00:00:00Z"},
            "status": status,
        }))
        .expect("a pod");
        let subject = Subject {
            name: "wiki",
            generation: 1,
            identity: "wiki",
            previous: None,
            now: Time(Timestamp::from_second(now).expect("a time")),
        };
        let Standing { state, reason, .. } = of_pod(&pod, Duration::from_secs(600), &subject);
        format!(
            "{state}({})",
            reason.expect("a pod that is not ready has a reason")
        )
    }

    fn container(state: Value, last: Value, restarts: u32) -> Value {
        json!({"containerStatuses": [{
            "name": "web", "image": "x", "imageID": "", "ready": false,
            "restartCount": restarts, "state": state, "lastState": last,
        }]})
    }

    #[test]
    fn a_pod_that_no_host_takes_says_which_pins_narrow_them() {
        let pins: PlacementPins = serde_json::from_value(json!({
            "asked": {"cpuArchitectures": ["riscv64", "arm64"], "networkClass": "fast"},
            "oneOf": [{"kubernetes.io/arch": "riscv64"}, {"kubernetes.io/arch": "arm64"}],
            "allOf": [{"net": "fast"}],
            "atLeast": {"label": "memory", "number": 80},
        }))
        .expect("pins");
        let standing = Standing::failing(NodeReason::Unschedulable, "no cluster node takes it.");
        let told = narrowed(standing, Some(&pins)).message;
        assert_eq!(
            told.as_deref(),
            Some(
                "no cluster node takes it. The node is pinned to cpuArchitectures riscv64, arm64; networkClass fast (labels kubernetes.io/arch=riscv64 or kubernetes.io/arch=arm64; net=fast; memory>=80)."
            )
        );
    }

    #[test]
    fn a_pod_that_is_to_end_says_which_cluster_node_has_to_tell() {
        for (spec, expected) in [
            (
                json!({"containers": []}),
                "waiting for the former pod web-1 to end",
            ),
            (
                json!({"containers": [], "nodeName": "a"}),
                "waiting for the former pod web-1 to end, which cluster node a has to tell",
            ),
        ] {
            let pod = json!({"metadata": {"name": "web-1"}, "spec": spec});
            let pod = serde_json::from_value(pod).expect("a pod");
            assert_eq!(awaited_end(&pod), expected);
        }
    }

    #[test]
    fn a_pod_that_is_not_ready_says_why() {
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let ended = json!({"terminated": {"exitCode": 1}});
        for (status, early, late) in [
            (json!({}), "Progressing(Starting)", "Progressing(Starting)"),
            (
                json!({"conditions": [{"type": "PodScheduled", "status": "False"}]}),
                "Failing(Unschedulable)",
                "Failing(Unschedulable)",
            ),
            (
                container(waiting("ContainerCreating"), json!({}), 0),
                "Progressing(Starting)",
                "Progressing(Starting)",
            ),
            (
                container(waiting("ImagePullBackOff"), json!({}), 0),
                "Failing(ImagePull)",
                "Failing(ImagePull)",
            ),
            (
                container(waiting("CreateContainerConfigError"), json!({}), 0),
                "Failing(ContainerConfig)",
                "Failing(ContainerConfig)",
            ),
            (
                container(waiting("CrashLoopBackOff"), ended.clone(), 3),
                "Progressing(Crashing)",
                "Failing(Crashing)",
            ),
            (
                container(ended.clone(), json!({}), 0),
                "Progressing(Crashing)",
                "Failing(Crashing)",
            ),
            (
                container(json!({"running": {}}), json!({}), 0),
                "Progressing(ProbeFailing)",
                "Failing(ProbeFailing)",
            ),
            (
                container(json!({"running": {}}), ended, 5),
                "Progressing(Crashing)",
                "Failing(Crashing)",
            ),
        ] {
            assert_eq!(standing(599, status.clone()), early, "{status}");
            assert_eq!(standing(600, status.clone()), late, "{status}");
        }
    }
}
