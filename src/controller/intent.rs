//! The intent: the part of a spec that resolution acts on. The one last acted on is kept with the snapshot, so that an
//! update is the difference from it, whatever became of status.

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde::{Deserialize, Serialize};

use crate::api::Installation;
use crate::api::installation::{
    BlueprintSource, ConfigMapSource, ConnectionChoice, Hostnames, LocalReference, Migration,
    OciSource, Rollback, SubmittedValue, Trigger,
};
use crate::document::digest::Digest;

/// What an Installation asks resolution for. Files written out inline stand here by digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Intent {
    /// The Installation's name: workloads and addresses are named after it, so another holder means other addresses.
    pub installation: String,
    /// Where the blueprint comes from.
    pub blueprint: BlueprintIntent,
    /// Submitted values and references.
    #[serde(default)]
    pub parameters: BTreeMap<String, SubmittedValue>,
    /// Rotation generations above 0.
    #[serde(default)]
    pub credentials: BTreeMap<String, u32>,
    /// Connection choices.
    #[serde(default)]
    pub connections: BTreeMap<String, ConnectionChoice>,
    /// Public hostnames.
    #[serde(default)]
    pub hostnames: BTreeMap<String, Hostnames>,
    /// Pull secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalReference>,
    /// The update token.
    #[serde(default)]
    pub update: Option<Trigger>,
    /// Renamed generated parameters.
    #[serde(default)]
    pub migrate: BTreeMap<String, Migration>,
    /// A return to an old record.
    #[serde(default)]
    pub rollback: Option<Rollback>,
}

/// Where a blueprint comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BlueprintIntent {
    /// Files of the spec, by digest.
    Inline {
        /// The item's name.
        item: String,
        /// Path → digest.
        files: BTreeMap<String, Digest>,
    },
    /// A ConfigMap, by name: its content is looked at when this changes, and on an explicit update.
    ConfigMap(ConfigMapSource),
    /// An OCI artifact, by reference.
    Oci(OciSource),
}

impl Intent {
    /// What `installation` asks for; `None` without a blueprint source, which the API server refuses.
    pub fn of(installation: &Installation) -> Option<Self> {
        let spec = &installation.spec;
        Some(Self {
            installation: installation.name_any(),
            blueprint: BlueprintIntent::of(&spec.blueprint)?,
            parameters: spec.parameters.clone(),
            credentials: spec
                .credentials
                .iter()
                .filter(|(_, request)| request.generation > 0)
                .map(|(parameter, request)| (parameter.clone(), request.generation))
                .collect(),
            connections: spec.connections.clone(),
            hostnames: spec.hostnames.clone(),
            image_pull_secrets: spec.image_pull_secrets.clone(),
            update: spec.update.clone(),
            migrate: spec.migrate.clone(),
            rollback: spec.rollback.clone(),
        })
    }

    /// The wanted rotation generation of a generated parameter.
    pub fn generation(&self, parameter: &str) -> u64 {
        self.credentials
            .get(parameter)
            .copied()
            .map_or(0, u64::from)
    }
}

impl BlueprintIntent {
    /// The name of the item directory, where the source names it.
    pub fn item(&self) -> Option<&str> {
        match self {
            Self::Inline { item, .. } => Some(item),
            Self::ConfigMap(source) => Some(&source.item),
            Self::Oci(_) => None,
        }
    }

    fn of(source: &BlueprintSource) -> Option<Self> {
        let BlueprintSource {
            inline,
            config_map,
            oci,
        } = source;
        if let Some(inline) = inline {
            let files = inline
                .files
                .iter()
                .map(|(path, file)| (path.clone(), Digest::of(file.0.as_bytes())));
            return Some(Self::Inline {
                item: inline.item.clone(),
                files: files.collect(),
            });
        }
        config_map
            .clone()
            .map(Self::ConfigMap)
            .or_else(|| oci.clone().map(Self::Oci))
    }
}
