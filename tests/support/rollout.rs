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
                for pod in list.into_iter().flatten().filter(|pod| !is_ready(pod)) {
                    let ready =
                        json!({"type": "Ready", "status": "True", "lastTransitionTime": now()});
                    let status = json!({"status": {"phase": "Running", "conditions": [ready]}});
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

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
