//! Images: the digest and the configuration of each, from its registry, with the pull secrets of the Installation and of
//! its namespace's default ServiceAccount.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};

use super::findings::{Document, Findings};
use super::registry::keyring::Keyring;
use super::registry::{Refusal, RegistryClient};
use super::selection::ImageFacts;
use super::{Reader, Unavailable};
use crate::contract::component::source::{ImageReference, Source};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::record::Record;

/// The kind of the missing fact that a registry has not told.
pub const IMAGE_DIGEST: &str = "imageDigest:";
/// How many images are asked for at once.
const AT_ONCE: usize = 8;
/// The key of a pull secret.
const DOCKER_CONFIG: &str = ".dockerconfigjson";

impl Reader {
    /// The pull secrets that pods of this Installation have: `named`, and those of the default ServiceAccount. Says the
    /// names beside the keyring.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_keyring(
        &self,
        named: &[String],
        findings: &mut Findings,
    ) -> Result<(Keyring, Vec<String>), Unavailable> {
        let account = self.read::<ServiceAccount>("default").await?;
        let inherited = account
            .into_iter()
            .flat_map(|account| account.image_pull_secrets.unwrap_or_default())
            .map(|reference| reference.name);
        let mut names: Vec<String> = named.to_vec();
        names.extend(inherited);
        let mut keyring = Keyring::default();
        for (index, name) in names.iter().enumerate() {
            let unusable = self.read_pull_secret(name, &mut keyring).await?;
            // What a ServiceAccount names and nobody made is no concern of the Installation's: the kubelet passes it over.
            if let Some(what) = unusable
                && index < named.len()
            {
                findings.wait(
                    Document::Installation,
                    "BP-RESOLVE-001",
                    Pointer::of(["spec", "imagePullSecrets"]).index(index),
                    format!("secret:{name}"),
                    format!("Secret {name} in namespace {} {what}", self.namespace),
                );
            }
        }
        Ok((keyring, names))
    }

    /// Adds what the pull secret `name` holds to `keyring`; or says what is wrong with it.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) async fn read_pull_secret(
        &self,
        name: &str,
        keyring: &mut Keyring,
    ) -> Result<Option<&'static str>, Unavailable> {
        let secret = self.read::<Secret>(name).await?;
        let held = secret.as_ref().and_then(|secret| secret.data.as_ref());
        let understood = held
            .and_then(|data| data.get(DOCKER_CONFIG))
            .is_some_and(|config| keyring.add(&config.0));
        Ok(match (understood, secret) {
            (true, _) => None,
            (false, Some(_)) => {
                Some("is no pull secret: give it type kubernetes.io/dockerconfigjson")
            }
            (false, None) => Some("does not exist: create it, or name another one or none"),
        })
    }

    /// Asks the registries about the image of every node that `known` says nothing of. An image by digest needs no answer;
    /// where there is one, its configuration is taken.
    pub async fn acquire_images(
        &self,
        contracts: &Contracts,
        known: impl Fn(&str) -> Option<ImageFacts>,
        registries: &RegistryClient<'_>,
        findings: &mut Findings,
    ) -> BTreeMap<String, ImageFacts> {
        let mut images = BTreeMap::new();
        let mut asked = Vec::new();
        for (node, contract) in &contracts.components {
            let workload = contract.component.spec.workload.as_ref();
            let Some(Source::Image(reference)) = workload.map(|workload| &workload.source) else {
                continue;
            };
            match known(node) {
                Some(facts) => {
                    images.insert(node.clone(), facts);
                }
                None => asked.push((node.clone(), reference.clone())),
            }
        }
        let questions: Vec<_> = asked
            .into_iter()
            .map(|(node, reference)| async move {
                let answer = registries.inspect(&reference).await;
                (node, reference, answer)
            })
            .collect();
        let answers: Vec<_> = stream::iter(questions).buffered(AT_ONCE).collect().await;
        for (node, reference, answer) in answers {
            match answer {
                Ok(facts) => {
                    images.insert(node, facts);
                }
                // The digest says which image it is, and the node pulls it with credentials of its own.
                Err(refusal) if ImageReference::parse(&reference).digest.is_some() => {
                    tracing::info!(node, %refusal, "the image's configuration is not known");
                }
                Err(refusal) => report(&node, &reference, &refusal, findings),
            }
        }
        images
    }

    /// Asks the registries whether they still have every image that `record` pins. Only a registry's own word that one is
    /// gone makes it missing: a node may have it, or reach the registry where the operator does not.
    pub async fn find_images(
        &self,
        contracts: &Contracts,
        record: &Record,
        registries: &RegistryClient<'_>,
        findings: &mut Findings,
    ) {
        for (node, recorded) in &record.components {
            let workload = contracts.component(node).spec.workload.as_ref();
            let (Some(Source::Image(authored)), Some(digest)) = (
                workload.map(|workload| &workload.source),
                &recorded.image_digest,
            ) else {
                continue;
            };
            let reference = format!("{}@{digest}", ImageReference::parse(authored).name);
            if let Err(refusal @ Refusal::Absent { .. }) = registries.inspect(&reference).await {
                findings.wait(
                    Document::Blueprint,
                    "BP-RESOLVE-001",
                    Pointer::of(["spec", "components", node, "componentRef"]),
                    format!("{IMAGE_DIGEST}{node}:{reference}"),
                    format!(
                        "{refusal}, which the record pins for node {node}: push that very image again, or change spec.update.token to select what there is"
                    ),
                );
            }
        }
    }
}

/// Tells what is authoritative from what may change by itself.
fn report(node: &str, reference: &str, refusal: &Refusal, findings: &mut Findings) {
    let path = Pointer::of(["spec", "components", node, "componentRef"]);
    let remedy =
        refusal.remedy("spec.imagePullSecrets, or the namespace's default ServiceAccount,");
    if refusal.is_authoritative() {
        let diagnostic = Diagnostic::resolution(
            Stage::Allocation,
            Code::InvalidResolutionContext,
            path,
            format!("node `{node}`: {remedy}"),
        );
        findings.wrong(Document::Blueprint, diagnostic);
        return;
    }
    findings.wait(
        Document::Blueprint,
        "BP-RESOLVE-001",
        path,
        format!("{IMAGE_DIGEST}{node}:{reference}"),
        remedy,
    );
}
