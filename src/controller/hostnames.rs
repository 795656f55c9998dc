//! Claims of public host names. A host name belongs to one identity of one namespace: whoever creates its claim, a Secret
//! in the operator's own namespace that is named after it, has it until it is let go. The holder is known by namespace and
//! identity, so that it finds its host names again after a restore.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ListParams;
use serde::{Deserialize, Serialize};

use super::failure::{Asked, Failure};
use super::precious;
use super::removal::remove;
use super::shell::{Created, Shell};
use crate::acquire::allocation::Allocations;
use crate::acquire::hostname::{self, Public};
use crate::acquire::interest::Interest;
use crate::acquire::{Findings, Reader};
use crate::api::Installation;
use crate::api::names::{
    self, HOLDER_IDENTITY_LABEL, HOLDER_NAMESPACE_LABEL, HOSTNAME_ANNOTATION, IDENTITY_LABEL,
    Precious,
};

const KEY: &str = "hostname.json";

/// A host name and who has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    hostname: String,
    namespace: String,
    identity: String,
}

impl Claim {
    fn of(installation: &Installation, hostname: &str) -> Self {
        Self {
            hostname: hostname.to_owned(),
            namespace: installation.namespace().unwrap_or_default(),
            identity: installation.identity().to_owned(),
        }
    }

    /// Reads what stands under the name of the claim of `hostname`.
    fn read(secret: &Secret, hostname: &str) -> Result<Self, Failure> {
        let object = || precious::describe(secret);
        precious::check_format(&secret.metadata, object)?;
        let claim = (precious::kind(secret) == Some(Precious::Hostname))
            .then(|| serde_json::from_slice::<Self>(precious::bytes(secret, KEY).ok()?).ok())
            .flatten();
        claim
            .filter(|claim| claim.hostname == hostname)
            .ok_or_else(|| precious::foreign(object(), "it does not say who has the host name"))
    }

    /// Readable without looking into it: the host name in an annotation, the holder in labels.
    fn secret(&self, namespace: &str) -> Secret {
        let mut metadata = precious::metadata(
            namespace,
            &self.identity,
            names::hostname_claim(&self.hostname),
        );
        let labels = metadata.labels.get_or_insert_default();
        // What carries the label of an identity belongs to one of the operator's own namespace.
        labels.remove(IDENTITY_LABEL);
        labels.insert(HOLDER_NAMESPACE_LABEL.to_owned(), self.namespace.clone());
        labels.insert(HOLDER_IDENTITY_LABEL.to_owned(), self.identity.clone());
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(HOSTNAME_ANNOTATION.to_owned(), self.hostname.clone());
        let content = serde_json::to_vec(self).expect("a claim is plain data");
        precious::secret(
            Precious::Hostname,
            metadata,
            [(KEY.to_owned(), content)].into(),
            true,
        )
    }
}

impl Shell {
    /// Notes that whatever becomes of a host name of `allocations` wakes the Installation.
    pub fn note_hostnames(&self, reader: &Reader, allocations: &Allocations) {
        for public in hostname::of(allocations) {
            let name = names::hostname_claim(&public.hostname);
            let interest = Interest::of::<Secret>(Some(self.home()), &name);
            reader
                .notebook
                .iter()
                .for_each(|notebook| notebook.note(interest.clone()));
        }
    }

    /// Adds every host name of `allocations` that somebody else has. Writes nothing.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] and [`Failure::NewerState`] for what is no claim, and what reading ends in.
    pub async fn check_hostnames(
        &self,
        installation: &Installation,
        allocations: &Allocations,
        findings: &mut Findings,
    ) -> Result<(), Failure> {
        for public in hostname::of(allocations) {
            let name = names::hostname_claim(&public.hostname);
            if let Some(secret) = self.read_claim(&name).await? {
                self.admit(installation, &public, &secret, findings)?;
            }
        }
        Ok(())
    }

    /// Claims every host name of `allocations` that is to be had, and says which of them the Installation has then. Of one
    /// that somebody else has, `findings` tell.
    ///
    /// # Errors
    /// As [`Self::check_hostnames`], and what writing ends in.
    pub async fn claim_hostnames(
        &self,
        installation: &Installation,
        allocations: &Allocations,
        findings: &mut Findings,
    ) -> Result<BTreeSet<String>, Failure> {
        let home = self.home();
        let mut held = BTreeSet::new();
        for public in hostname::of(allocations) {
            let claim = Claim::of(installation, &public.hostname);
            let name = names::hostname_claim(&public.hostname);
            let created = match self.read_claim(&name).await? {
                Some(secret) => Created::Found(secret),
                None => {
                    self.create_or_read(&self.secrets(home), &claim.secret(home))
                        .await?
                }
            };
            let is_held = match created {
                Created::New(_) => true,
                Created::Found(secret) => self.admit(installation, &public, &secret, findings)?,
            };
            if is_held {
                held.insert(public.hostname);
            }
        }
        Ok(held)
    }

    /// Lets every host name of the identity go that is not in `kept`.
    ///
    /// # Errors
    /// What reading and deleting ends in.
    pub async fn release_hostnames(
        &self,
        installation: &Installation,
        kept: &Allocations,
    ) -> Result<(), Failure> {
        let kept: BTreeSet<String> = hostname::of(kept)
            .map(|public| names::hostname_claim(&public.hostname))
            .collect();
        let labels = format!(
            "{HOLDER_NAMESPACE_LABEL}={},{HOLDER_IDENTITY_LABEL}={}",
            installation.namespace().unwrap_or_default(),
            installation.identity()
        );
        let held = self
            .secrets(self.home())
            .list(&ListParams::default().labels(&labels))
            .await
            .asked(|| format!("list claims of host names in namespace {}", self.home()))?;
        for secret in held {
            let is_claim = precious::kind(&secret) == Some(Precious::Hostname);
            if is_claim && !kept.contains(&secret.name_any()) {
                self.let_go(&secret).await?;
            }
        }
        Ok(())
    }

    /// The operator's own namespace.
    fn home(&self) -> &str {
        &self.settings.operator_namespace
    }

    /// What stands under the name of a claim.
    async fn read_claim(&self, name: &str) -> Result<Option<Secret>, Failure> {
        let found = self.secrets(self.home()).get_opt(name).await;
        found.asked(|| format!("read Secret {name}"))
    }

    /// Whether the claim that stands is this Installation's; if not, `findings` say so. Of another namespace's holder
    /// they tell nothing but where whoever runs the cluster finds it.
    fn admit(
        &self,
        installation: &Installation,
        public: &Public,
        secret: &Secret,
        findings: &mut Findings,
    ) -> Result<bool, Failure> {
        let wanted = Claim::of(installation, &public.hostname);
        let found = Claim::read(secret, &public.hostname)?;
        if found == wanted {
            return Ok(true);
        }
        let holder = if found.namespace == wanted.namespace {
            format!("identity {} of this namespace has it", found.identity)
        } else {
            format!(
                "an Installation of another namespace has it; whoever runs the cluster finds which in Secret {} of namespace {}",
                secret.name_any(),
                self.home()
            )
        };
        public.taken(&installation.spec.hostnames, &holder, findings);
        Ok(false)
    }

    /// Deletes one claim, and no other that has taken its place.
    async fn let_go(&self, secret: &Secret) -> Result<(), Failure> {
        remove(&self.secrets(self.home()), secret).await.map(drop)
    }
}
