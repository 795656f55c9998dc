//! Blueprint sources in the cluster: the files of an item, inline or in a ConfigMap of the same namespace. Artifacts are
//! fetched by [`super::artifact`].

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;

use super::findings::{Document, Findings};
use super::{Reader, Unavailable};
use crate::api::installation::{BlueprintSource, ConfigMapSource};
use crate::contract::item::Item;
use crate::document::pointer::Pointer;

impl Reader {
    /// Reads the item that `source` names in the cluster. `None` when it is not there yet, which `findings` then says, and
    /// for an artifact.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_item(
        &self,
        source: &BlueprintSource,
        findings: &mut Findings,
    ) -> Result<Option<Item>, Unavailable> {
        if let Some(inline) = &source.inline {
            let files = inline
                .files
                .iter()
                .map(|(path, file)| (path.clone(), file.0.clone().into_bytes()));
            return Ok(Some(Item::from_files(&inline.item, files)));
        }
        let Some(config_map) = &source.config_map else {
            return Ok(None);
        };
        let found = self.read::<ConfigMap>(&config_map.name).await?;
        match found {
            Some(found) => Ok(item(config_map, &found, findings)),
            None => {
                findings.wait(
                    Document::Installation,
                    "BP-RESOLVE-001",
                    Pointer::of(["spec", "blueprint", "configMap", "name"]),
                    format!("configMap:{}", config_map.name),
                    format!(
                        "ConfigMap {} does not exist in namespace {}: create it, or name the right one",
                        config_map.name, self.namespace
                    ),
                );
                Ok(None)
            }
        }
    }
}

/// The item in `found`: mapped paths first, then every other key as a file of its own name.
fn item(source: &ConfigMapSource, found: &ConfigMap, findings: &mut Findings) -> Option<Item> {
    let text = found
        .data
        .iter()
        .flatten()
        .map(|(key, text)| (key, text.clone().into_bytes()));
    let binary = found
        .binary_data
        .iter()
        .flatten()
        .map(|(key, bytes)| (key, bytes.0.clone()));
    let mut content: std::collections::BTreeMap<&String, Vec<u8>> = text.chain(binary).collect();
    let mapped: BTreeSet<&String> = source.paths.values().map(|key| &key.0).collect();
    let mut files = Vec::new();
    let mut complete = true;
    for (path, key) in &source.paths {
        match content.get(&key.0) {
            Some(bytes) => files.push((path.clone(), bytes.clone())),
            None => {
                complete = false;
                findings.wait(
                    Document::Installation,
                    "BP-RESOLVE-001",
                    Pointer::of(["spec", "blueprint", "configMap", "paths", path]),
                    format!("configMap:{}/{}", source.name, key.0),
                    format!(
                        "ConfigMap {} has no key {}: add it, or name another key for {path}",
                        source.name, key.0
                    ),
                );
            }
        }
    }
    content.retain(|key, _| !mapped.contains(key));
    files.extend(content.into_iter().map(|(key, bytes)| (key.clone(), bytes)));
    complete.then(|| Item::from_files(&source.item, files))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::installation::ConfigMapKey;

    #[test]
    fn a_mapped_key_is_a_file_at_its_path_and_any_other_key_is_a_file_of_its_name() {
        let source = ConfigMapSource {
            name: "wiki".into(),
            item: "acme-wiki".into(),
            paths: [(
                "components/web.yaml".to_owned(),
                ConfigMapKey("components-web.yaml".into()),
            )]
            .into(),
        };
        let found = ConfigMap {
            data: Some(
                [("blueprint.yaml", "a"), ("components-web.yaml", "b")]
                    .map(|(k, v)| (k.into(), v.into()))
                    .into(),
            ),
            ..ConfigMap::default()
        };
        let mut findings = Findings::default();
        let item = item(&source, &found, &mut findings).expect("complete");
        let paths: Vec<&str> = item.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["blueprint.yaml", "components/web.yaml"]);
        assert_eq!(findings, Findings::default());
    }
}
