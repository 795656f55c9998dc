//! Pods that become ready where no node runs them. Everything above the kubelet is real: the controllers of the control
//! plane count the pods and write the status of ReplicaSets and Deployments.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

use super::TestNamespace;

/// Plays the kubelet while it lives.
pub struct Rollout(Option<JoinHandle<()>>);

impl Drop for Rollout {
    fn drop(&mut self) {
        if let Some(playing) = &self.0 {
            playing.abort();
        }
    }
}

impl TestNamespace {
    /// Makes every pod of this namespace ready, unless there is a node that does so for real.
    pub fn pods_become_ready(&self) -> Rollout {
        self.play(|_| false)
    }

    /// The same, and the pods of Jobs succeed.
    pub fn pods_run_to_their_end(&self) -> Rollout {
        self.play(|pod| pod.labels().contains_key("batch.kubernetes.io/job-name"))
    }

    fn play(&self, ends: fn(&Pod) -> bool) -> Rollout {
        if self.cluster.lacks_node().is_none() {
            return Rollout(None);
        }
        let pods = self.api::<Pod>();
        let now = || {
            k8s_openapi::jiff::Timestamp::now()
                .strftime("%FT%TZ")
                .to_string()
        };
        Rollout(Some(tokio::spawn(async move {
            loop {
                let list = pods.list(&Default::default()).await;
                for pod in list.into_iter().flatten().filter(|pod| !is_over(pod)) {
                    let ready =
                        json!({"type": "Ready", "status": "True", "lastTransitionTime": now()});
                    let status = if ends(&pod) {
                        json!({"status": {"phase": "Succeeded"}})
                    } else {
                        json!({"status": {"phase": "Running", "conditions": [ready]}})
                    };
                    let name = pod.name_any();
                    let params = PatchParams::default();
                    // It may be gone already; the next round sees.
                    let _ = pods
                        .patch_status(&name, &params, &Patch::Strategic(status))
                        .await;
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        })))
    }
}

/// Whether there is nothing to do for a pod: it is ready, or has ended.
fn is_over(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase == Some("Succeeded") || is_ready(pod)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
