//! The Platform object, or what holds without one.

use kube::Api;

use super::{Reader, Reading, Unavailable};
use crate::api::Platform;
use crate::api::platform::PlatformSpec;

impl Reader {
    /// The Platform named `name`; the defaults of its kind when there is none.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn platform(&self, name: &str) -> Result<PlatformSpec, Unavailable> {
        let found = Api::<Platform>::all(self.client.clone())
            .get_opt(name)
            .await
            .reading(|| format!("Platform {name}"))?;
        Ok(found.map(|platform| platform.spec).unwrap_or_default())
    }
}
