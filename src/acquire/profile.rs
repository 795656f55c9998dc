//! Compute profiles: the current version of each that a node names and no pin holds.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::findings::{Document, Findings};
use super::{Reader, Reading, Unavailable};
use crate::api::ComputeProfile;
use crate::api::profile::ProfileVersion;
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;

impl Reader {
    /// Selects a version of every profile that a node of `contracts` names: the pinned one, else the current one.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_profiles(
        &self,
        contracts: &Contracts,
        pinned: impl Fn(&str) -> Option<ProfileVersion>,
        findings: &mut Findings,
    ) -> Result<BTreeMap<String, ProfileVersion>, Unavailable> {
        let mut profiles = BTreeMap::new();
        for (node, authored) in &contracts.blueprint.spec.components {
            let Some(compute) = &authored.compute else {
                continue;
            };
            let slug = &compute.profile;
            if profiles.contains_key(slug) {
                continue;
            }
            let selected = match pinned(slug) {
                Some(version) => Some(version),
                None => self.current_profile(slug).await?,
            };
            match selected {
                Some(version) => {
                    profiles.insert(slug.clone(), version);
                }
                None => findings.wait(
                    Document::Blueprint,
                    "BP-NODE-003",
                    Pointer::of(["spec", "components", node, "compute", "profile"]),
                    format!("computeProfile:{slug}"),
                    format!(
                        "ComputeProfile {slug} does not exist: create it, or name another profile"
                    ),
                ),
            }
        }
        Ok(profiles)
    }

    /// The current version of every profile.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn current_profiles(&self) -> Result<BTreeMap<String, ProfileVersion>, Unavailable> {
        let profiles = Api::<ComputeProfile>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .reading(|| "ComputeProfiles".to_owned())?;
        let current = profiles.iter().filter_map(|profile| {
            let version = profile.spec.version(&profile.spec.current_version)?;
            Some((profile.name_any(), version.clone()))
        });
        Ok(current.collect())
    }

    /// The current version of the profile `slug`, if it exists.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn current_profile(&self, slug: &str) -> Result<Option<ProfileVersion>, Unavailable> {
        let profile = self.read_cluster::<ComputeProfile>(slug).await?;
        Ok(
            profile
                .and_then(|profile| profile.spec.version(&profile.spec.current_version).cloned()),
        )
    }
}
