//! The Platform object, or what holds without one.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

use super::interest::Interest;
use super::{Reader, Reading as _, Unavailable};
use crate::api::Platform;
use crate::api::platform::PlatformSpec;
use crate::api::pods::SecurityLevel;

/// The label of a namespace that says which pods it lets in.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

impl Reader {
    /// The Platform named `name`; the defaults of its kind when there is none. Where it says no pod security level, the
    /// one that the namespace enforces.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn platform(&self, name: &str) -> Result<PlatformSpec, Unavailable> {
        let found = self.read_cluster::<Platform>(name).await?;
        let mut platform = found.map(|platform| platform.spec).unwrap_or_default();
        if platform.pods.security_level.is_none() {
            platform.pods.security_level = self.enforced_level().await?;
        }
        Ok(platform)
    }

    /// The level that the namespace enforces, if pods have to be made for it.
    async fn enforced_level(&self) -> Result<Option<SecurityLevel>, Unavailable> {
        self.note(Interest::of::<Namespace>(None, &self.namespace));
        let found = Api::<Namespace>::all(self.client.clone())
            .get_metadata_opt(&self.namespace)
            .await
            .reading(|| format!("Namespace {}", self.namespace))?;
        let labels = found.and_then(|namespace| namespace.metadata.labels);
        let enforced = labels.and_then(|mut labels| labels.remove(ENFORCE));
        Ok((enforced.as_deref() == Some("restricted")).then_some(SecurityLevel::Restricted))
    }
}
