//! `render ITEM`: the Kubernetes objects that an item becomes, without a cluster, secrets redacted.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::offline::{Offline, Selected};
use super::resolve::explain;
use crate::acquire::Findings;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::document::result::Status;
use crate::materialize::metadata::Owner;
use crate::materialize::pins::Pins;
use crate::materialize::{Objects, RENDERER_VERSION, objects};
use crate::resolution::accept::{Sources, accept};
use crate::resolution::context::Credential;
use crate::resolution::credential::encode;
use crate::resolution::record::{SpecificationDependencies, record};
use crate::resolution::resolve;
use crate::resolution::secret::Secret;
use crate::resolution::snapshot::Snapshot;

/// Resolve an item offline and print the objects that it becomes.
///
/// A generated credential that the context file does not hold is stood in for: no object shows it. Exit status: 0 VALID,
/// 1 INVALID, 2 something cannot be read, 3 INCOMPLETE.
#[derive(Debug, Args)]
pub struct Render {
    #[command(flatten)]
    offline: Offline,
}

impl Render {
    /// Runs the verb.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn run(&self) -> anyhow::Result<Status> {
        self.report(&mut io::stdout().lock())
    }

    fn report(&self, out: &mut impl Write) -> anyhow::Result<Status> {
        let (selected, mut findings) = self.offline.select()?;
        let rendered = selected.and_then(|selected| self.objects(selected, &mut findings));
        match rendered.filter(|_| findings.status() == Status::Valid) {
            Some(objects) => {
                for secret in &objects.environments {
                    document(out, &secret.redacted())?;
                }
                for claim in &objects.volumes {
                    document(out, claim)?;
                }
                for object in &objects.applied {
                    document(out, object)?;
                }
                for job in &objects.jobs {
                    document(out, job)?;
                }
            }
            None => explain(&mut io::stderr().lock(), &findings)?,
        }
        Ok(findings.status())
    }

    /// The objects of the record that `selected` resolves to, accepted as on a cluster.
    fn objects(&self, mut selected: Selected, findings: &mut Findings) -> Option<Objects> {
        stand_in(&mut selected);
        let Selected {
            contracts,
            context,
            profiles,
            selections,
            platform,
        } = selected;
        findings.absorb(resolve(&contracts, &context).result);
        if findings.status() != Status::Valid {
            return None;
        }
        let values = context.credentials.iter();
        let values: BTreeMap<String, Secret<String>> = values
            .map(|(name, credential)| (name.clone(), credential.value.clone()))
            .collect();
        let snapshot = Snapshot::of("offline", "1", &context).join(values);
        let record = record(&contracts, &selections.recorded, &snapshot);
        let dependencies = SpecificationDependencies::of_this_edition();
        let accepted = match accept(record, snapshot, &Sources::of(&contracts), &dependencies) {
            Ok(accepted) => accepted,
            Err(diagnostics) => {
                for diagnostic in diagnostics {
                    findings.wrong(crate::acquire::Document::Blueprint, diagnostic);
                }
                return None;
            }
        };
        let environments = contracts
            .components
            .keys()
            .map(|node| (node.clone(), 1))
            .collect();
        let pins = Pins {
            renderer_version: RENDERER_VERSION,
            profiles,
            environments,
            platform,
            images: selections.images,
            image_pull_secrets: Vec::new(),
        };
        Some(objects(&accepted, &pins, &self.owner(&contracts)))
    }

    fn owner(&self, contracts: &Contracts) -> Owner {
        Owner {
            name: self.offline.name(contracts).to_owned(),
            namespace: self.offline.namespace().to_owned(),
            uid: String::new(),
            identity: self.offline.name(contracts).to_owned(),
        }
    }
}

/// Gives every generated parameter without a credential one that is worth nothing, and one without an identity a name.
pub(super) fn stand_in(selected: &mut Selected) {
    for (name, parameter) in &selected.contracts.blueprint.spec.parameters {
        if let Supply::Generated(generator) = parameter.supply() {
            let identity = format!("offline/{name}");
            let credentials = &mut selected.context.credentials;
            let credential = credentials
                .entry(name.clone())
                .or_insert_with(|| Credential {
                    identity: String::new(),
                    rotation: 0,
                    value: encode(generator, &vec![0; generator.byte_length.into()]),
                });
            if credential.identity.is_empty() {
                credential.identity = identity;
            }
        }
    }
}

fn document(out: &mut impl Write, object: &impl Serialize) -> anyhow::Result<()> {
    let mut value = serde_json::to_value(object)?;
    // Offline there is no Installation yet, so nothing can be owned.
    if let Some(metadata) = value
        .get_mut("metadata")
        .and_then(|metadata| metadata.as_object_mut())
    {
        metadata.remove("ownerReferences");
    }
    write!(out, "---\n{}", serde_saphyr::to_string(&value)?)?;
    Ok(())
}
