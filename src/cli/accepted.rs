//! What `resolve` and `render` take an item to: an accepted record, as a cluster would, with values that stand in for
//! generated credentials.

use std::collections::BTreeMap;

use super::offline::Selected;
use crate::acquire::{Document, Findings};
use crate::contract::blueprint::parameter::Supply;
use crate::document::result::Status;
use crate::materialize::RENDERER_VERSION;
use crate::materialize::pins::Pins;
use crate::resolution::accept::{AcceptedRecord, Sources, accept};
use crate::resolution::context::Credential;
use crate::resolution::credential::encode;
use crate::resolution::record::{SpecificationDependencies, record};
use crate::resolution::resolve;
use crate::resolution::secret::Secret;
use crate::resolution::snapshot::Snapshot;

impl Selected {
    /// The record that this resolves to, accepted as on a cluster, and what is pinned beside it. `None` unless everything
    /// found so far and now is VALID.
    pub fn accept(mut self, findings: &mut Findings) -> Option<(AcceptedRecord, Pins)> {
        stand_in(&mut self);
        let Self {
            contracts,
            context,
            profiles,
            selections,
            platform,
        } = self;
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
                    findings.wrong(Document::Blueprint, diagnostic);
                }
                return None;
            }
        };
        let nodes = contracts.components.keys();
        let pins = Pins {
            renderer_version: RENDERER_VERSION,
            profiles,
            environments: nodes.map(|node| (node.clone(), 1)).collect(),
            platform,
            images: selections.images,
            image_pull_secrets: Vec::new(),
            artifact: None,
        };
        Some((accepted, pins))
    }
}

/// Gives every generated parameter without a credential one that is worth nothing, and one without an identity a name.
fn stand_in(selected: &mut Selected) {
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
