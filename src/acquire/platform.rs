//! The Platform object, or what holds without one.

use super::{Reader, Unavailable};
use crate::api::Platform;
use crate::api::platform::PlatformSpec;

impl Reader {
    /// The Platform named `name`; the defaults of its kind when there is none.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn platform(&self, name: &str) -> Result<PlatformSpec, Unavailable> {
        let found = self.read_cluster::<Platform>(name).await?;
        Ok(found.map(|platform| platform.spec).unwrap_or_default())
    }
}
