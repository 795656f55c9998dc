//! The shelf: everything precious that one identity has, read from the API server itself, never from a cache, because
//! what is decided on it cannot be taken back.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::failure::{Asked, Failure};
use super::precious;
use super::shell::Shell;
use crate::api::ResolutionRecord;
use crate::api::names::{IDENTITY_LABEL, Precious};

/// The precious objects of one identity, unchecked.
#[derive(Default)]
pub struct Shelf {
    /// The claim, if one carries the identity's label.
    pub claim: Option<Secret>,
    /// Generations of generated credentials.
    pub credentials: Vec<Secret>,
    /// Chunks of accepted documents.
    pub sources: Vec<Secret>,
    /// Snapshots.
    pub snapshots: Vec<Secret>,
    /// Records.
    pub records: Vec<ResolutionRecord>,
    /// Claims of volumes.
    pub volumes: Vec<PersistentVolumeClaim>,
}

impl Shelf {
    /// Reads the shelf of `identity` in `namespace`.
    ///
    /// # Errors
    /// As [`Asked::asked`] says.
    pub async fn read(client: &Client, namespace: &str, identity: &str) -> Result<Self, Failure> {
        let labelled = ListParams::default().labels(&format!("{IDENTITY_LABEL}={identity}"));
        let secrets = Api::<Secret>::namespaced(client.clone(), namespace)
            .list(&labelled)
            .await
            .asked(|| format!("list Secrets of {identity}"))?;
        let records = Api::<ResolutionRecord>::namespaced(client.clone(), namespace)
            .list(&labelled)
            .await
            .asked(|| format!("list ResolutionRecords of {identity}"))?;
        let volumes = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace)
            .list(&labelled)
            .await
            .asked(|| format!("list PersistentVolumeClaims of {identity}"))?;
        let mut shelf = Self {
            records: records.items,
            volumes: volumes.items,
            ..Self::default()
        };
        for secret in secrets {
            match precious::kind(&secret) {
                Some(Precious::Claim) => shelf.claim = Some(secret),
                Some(Precious::Credential) => shelf.credentials.push(secret),
                Some(Precious::Source) => shelf.sources.push(secret),
                Some(Precious::Snapshot) => shelf.snapshots.push(secret),
                // A Secret of another type with the identity's label is none of the identity's own.
                Some(Precious::Record | Precious::Hostname) | None => {}
            }
        }
        Ok(shelf)
    }

    /// How many objects hold state: everything but the claim.
    pub fn state(&self) -> usize {
        self.credentials.len()
            + self.sources.len()
            + self.snapshots.len()
            + self.records.len()
            + self.volumes.len()
    }

    /// Refuses state of a newer format: nothing is written beside it, not even a finalizer or a claim.
    ///
    /// # Errors
    /// [`Failure::NewerState`].
    pub fn refuse_newer(&self) -> Result<(), Failure> {
        let secrets = [&self.credentials, &self.sources, &self.snapshots];
        let secrets = secrets.into_iter().flatten().chain(&self.claim);
        let secrets = secrets.map(|secret| (&secret.metadata, precious::describe(secret)));
        let records = self.records.iter().map(|record| {
            (
                &record.metadata,
                format!("ResolutionRecord {}", record.name_any()),
            )
        });
        let volumes = self.volumes.iter().map(|volume| {
            (
                &volume.metadata,
                format!("PersistentVolumeClaim {}", volume.name_any()),
            )
        });
        for (metadata, object) in secrets.chain(records).chain(volumes) {
            // What is wrong with an object otherwise is for whoever reads it to say.
            if let Err(newer @ Failure::NewerState { .. }) =
                precious::check_format(metadata, || object.clone())
            {
                return Err(newer);
            }
        }
        Ok(())
    }
}

impl Shell {
    /// [`Shelf::read`] with the operator's client.
    ///
    /// # Errors
    /// As [`Shelf::read`].
    pub async fn read_shelf(&self, namespace: &str, identity: &str) -> Result<Shelf, Failure> {
        Shelf::read(&self.client, namespace, identity).await
    }
}
