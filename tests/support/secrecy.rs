//! What anybody but a reader of Secrets can see, and that no secret is in it.

use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER};
use kube::api::{DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, ResourceExt as _};
use sha2::{Digest as _, Sha256};

use super::TestNamespace;

/// Fails when a trace of `secret`, of at least ten characters, is in what `visible` shows.
#[track_caller]
pub fn assert_hidden(secret: &str, visible: &[(String, String)]) {
    for needle in traces(secret) {
        for (what, text) in visible {
            // Not the secret itself: this text is a log, too.
            assert!(
                !text.contains(&needle),
                "{what} shows a secret of {} characters",
                secret.len()
            );
        }
    }
}

/// The value, its beginning, its base64 and its digest.
fn traces(secret: &str) -> Vec<String> {
    let digest = Sha256::digest(secret);
    vec![
        secret[..10].to_owned(),
        BASE64_NOPAD.encode(&secret.as_bytes()[..9]),
        HEXLOWER.encode(&digest)[..16].to_owned(),
        HEXLOWER.encode(&digest)[..16].to_uppercase(),
        BASE64.encode(&digest)[..16].to_owned(),
    ]
}

impl TestNamespace {
    /// Every object of the namespace and of the operator's own cluster-wide kinds, and the logs; all but Secrets.
    pub async fn visible(&self) -> Vec<(String, String)> {
        let discovery = Discovery::new(self.client())
            .run()
            .await
            .expect("what is served");
        let mut seen = Vec::new();
        for group in discovery.groups() {
            for version in group.versions() {
                for (kind, capabilities) in group.versioned_resources(version) {
                    let ours = kind.group == "install.musher.dev";
                    if kind.kind == "Secret" || !capabilities.supports_operation(verbs::LIST) {
                        continue;
                    }
                    let api: Api<DynamicObject> = match capabilities.scope {
                        Scope::Namespaced => Api::namespaced_with(self.client(), &self.name, &kind),
                        Scope::Cluster if ours => Api::all_with(self.client(), &kind),
                        Scope::Cluster => continue,
                    };
                    let list = api.list(&ListParams::default()).await;
                    for found in list.into_iter().flatten() {
                        let text = serde_json::to_string(&found).expect("JSON");
                        let name = found.name_any();
                        seen.push((format!("{}/{}/{name}", kind.kind, kind.api_version), text));
                    }
                }
            }
        }
        let logs = self.operator_logs().into_iter();
        seen.extend(logs.map(|log| ("log".to_owned(), log)));
        seen
    }
}
