//! `context`: a context file for `resolve` and `render`, from what a cluster offers. No Secret is read, so that no secret
//! can get into the file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::{Context as _, bail};
use clap::Args;
use kube::{Api, ResourceExt};
use serde_json::{Map, Value, json};

use super::client::client;
use super::resolve::explain;
use super::stand_in;
use crate::acquire::address::Addresses;
use crate::acquire::allocation::{Allocations, Allocator};
use crate::acquire::parameter::written_secret;
use crate::acquire::{Document, Findings, Reader};
use crate::api::installation::SubmittedValue;
use crate::api::platform::PlatformSpec;
use crate::api::{Installation, ResolutionRecord};
use crate::contract::Published;
use crate::contract::component::source::Source;
use crate::contract::contracts::Contracts;
use crate::document::pointer::Pointer;
use crate::document::result::Status;

/// Write a context file from a cluster: what an item would be installed with there.
///
/// Reads with your own rights, and no Secret: a value that an Installation takes from one is stood in for. What the
/// cluster does not have is left out, and `resolve` with the file says so. What is wrong or missing in the Installation
/// itself goes to standard error. Exit status: 0 written whole, 1 something of the Installation is INVALID, 2 something
/// cannot be read, 3 something of it is missing.
#[derive(Debug, Args)]
pub struct Context {
    /// The namespace of the Installation.
    #[arg(long, default_value = "default")]
    namespace: String,
    /// An Installation, whose submitted values and addresses come along; without one, what every item would find.
    #[arg(long, value_name = "NAME")]
    installation: Option<String>,
    /// The name of the Platform object that says what the cluster offers.
    #[arg(long, default_value = "default")]
    platform: String,
}

impl Context {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the cluster cannot be asked, has no such Installation, or nothing can be written.
    pub fn run(&self) -> anyhow::Result<Status> {
        let runtime = tokio::runtime::Runtime::new()?;
        let (file, findings) = runtime.block_on(self.read())?;
        writeln!(io::stdout().lock(), "{:#}", Value::Object(file))?;
        if findings.status() != Status::Valid {
            explain(&mut io::stderr().lock(), &findings)?;
        }
        Ok(findings.status())
    }

    async fn read(&self) -> anyhow::Result<(Map<String, Value>, Findings)> {
        let reader = Reader {
            client: client().await?,
            namespace: self.namespace.clone(),
            // No Secret is read, wherever it is.
            operator_namespace: String::new(),
            notebook: None,
        };
        let platform = reader.platform(&self.platform).await?;
        let profiles = reader.current_profiles().await?;
        let mut file = Map::new();
        file.insert("platform".to_owned(), json!(platform));
        file.insert("computeProfiles".to_owned(), json!(profiles));
        let mut findings = Findings::default();
        if let Some(name) = &self.installation {
            let installation = self.installation(&reader, name).await?;
            if installation.spec.blueprint.oci.is_some() {
                findings.wait(
                    Document::Installation,
                    "BP-RESOLVE-001",
                    Pointer::of(["spec", "blueprint", "oci"]),
                    "support:oci",
                    "this verb fetches no artifact: its addresses and parameters are left out",
                );
            }
            let item = reader
                .acquire_item(&installation.spec.blueprint, &mut findings)
                .await?;
            if let Some(item) = item {
                let contracts = reader
                    .validate(&item, Published::default(), &mut findings)
                    .await?;
                if let Some(contracts) = contracts {
                    let catalog = reader
                        .catalog_for(&contracts, &installation.spec.connections, &mut findings)
                        .await?;
                    let submitted = &installation.spec.parameters;
                    let (parameters, mut stand_ins) =
                        parameters(&contracts, submitted, &mut findings);
                    stand_ins.extend(catalog.stand_ins);
                    file.extend(catalog.members);
                    file.insert("parameters".to_owned(), parameters);
                    file.insert("standIns".to_owned(), json!(stand_ins));
                    let addresses = reader.acquire_addresses(&installation, &contracts).await?;
                    let allocations = self.allocations(
                        &contracts,
                        &installation,
                        &platform,
                        &addresses,
                        &mut findings,
                    );
                    file.insert("allocations".to_owned(), allocations);
                    let images = pinned_images(&reader, &installation, &contracts).await?;
                    file.insert("images".to_owned(), images);
                }
            }
        } else {
            let catalog = reader.whole_catalog().await?;
            file.extend(catalog.members);
            file.insert("standIns".to_owned(), json!(catalog.stand_ins));
        }
        Ok((file, findings))
    }

    async fn installation(&self, reader: &Reader, name: &str) -> anyhow::Result<Installation> {
        let installations: Api<Installation> =
            Api::namespaced(reader.client.clone(), &self.namespace);
        let found = installations
            .get_opt(name)
            .await
            .with_context(|| format!("cannot read Installation {name}"))?;
        let Some(installation) = found else {
            bail!(
                "there is no Installation {name} in namespace {}: name one that is there",
                self.namespace
            );
        };
        Ok(installation)
    }

    fn allocations(
        &self,
        contracts: &Contracts,
        installation: &Installation,
        platform: &PlatformSpec,
        addresses: &Addresses,
        findings: &mut Findings,
    ) -> Value {
        let allocator = Allocator {
            installation: &installation.name_any(),
            namespace: &self.namespace,
            cluster_domain: &platform.cluster_domain,
            edge: platform.edge.as_ref(),
            domains: platform.edge.as_ref().map_or(&[], |edge| &edge.domains),
            chosen: &installation.spec.hostnames,
            addresses,
            before: &Allocations::new(),
            kept: None,
            given: &Allocations::new(),
        };
        json!(allocator.allocate(contracts, findings))
    }
}

/// The member `images`: the digests that the current record of `installation` pins, by reference as authored.
async fn pinned_images(
    reader: &Reader,
    installation: &Installation,
    contracts: &Contracts,
) -> anyhow::Result<Value> {
    let status = installation.status.as_ref();
    let Some(record) = status.and_then(|status| status.record.as_ref()) else {
        return Ok(json!({}));
    };
    let records: Api<ResolutionRecord> = Api::namespaced(reader.client.clone(), &reader.namespace);
    let found = records
        .get_opt(&record.name)
        .await
        .with_context(|| format!("cannot read ResolutionRecord {}", record.name))?;
    let components = found
        .map(|found| found.spec.0.components)
        .unwrap_or_default();
    let mut images = Map::new();
    for (node, contract) in &contracts.components {
        let workload = contract.component.spec.workload.as_ref();
        let digest = components
            .get(node)
            .and_then(|recorded| recorded.image_digest.as_ref());
        if let (Some(Source::Image(reference)), Some(digest)) =
            (workload.map(|workload| &workload.source), digest)
        {
            images.insert(reference.clone(), json!({"digest": digest}));
        }
    }
    Ok(Value::Object(images))
}

/// The member `parameters`: each submitted value; and the names of those that are not the real ones.
fn parameters(
    contracts: &Contracts,
    submitted: &BTreeMap<String, SubmittedValue>,
    findings: &mut Findings,
) -> (Value, Vec<String>) {
    let (mut parameters, mut stand_ins) = (Map::new(), Vec::new());
    for (name, submitted) in submitted {
        let is_written = submitted.secret_key_ref.is_none();
        if is_written && contracts.is_sensitive(name) {
            findings.wrong(Document::Installation, written_secret(name));
        }
        // A value that nothing simple can stand in for is absent, and `resolve` says that it is missing.
        let given = if !is_written || contracts.is_sensitive(name) {
            stand_ins.push(name.clone());
            stand_in::of_parameter(contracts, name)
                .map(|value| json!({"value": value, "sensitive": true}))
        } else {
            Some(json!({"value": submitted.value, "sensitive": false}))
        };
        parameters.extend(given.map(|given| (name.clone(), given)));
    }
    (Value::Object(parameters), stand_ins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Item, validate_item};
    use crate::document::result::Profile;

    #[test]
    fn a_secret_that_is_written_in_an_installation_is_refused_and_stood_in_for() {
        let blueprint = json!({
            "specVersion": "v1", "kind": "BLUEPRINT",
            "metadata": {"slug": "app", "revision": 1, "description": "A worker."},
            "spec": {
                "parameters": {"token": {}},
                "components": {"web": {
                    "componentRef": "./web.yaml",
                    "compute": {"profile": "general.standard.small"},
                    "bindings": {"token": {"parameter": "token"}},
                }},
            },
        });
        let input = json!({
            "schema": {"type": "string"}, "sensitive": true, "description": "A token.",
            "target": {"envVarKey": "TOKEN"},
        });
        let web = json!({
            "specVersion": "v1", "kind": "COMPONENT",
            "metadata": {"revision": 1, "description": "The worker."},
            "spec": {
                "type": "WORKER",
                "workload": {"source": {"image": "example/web:1"}},
                "contract": {"inputs": {"token": input}},
            },
        });
        let files = [("blueprint.yaml", blueprint), ("web.yaml", web)]
            .map(|(path, document)| (path, document.to_string().into_bytes()));
        let item = Item::from_files("app", files);
        let validation = validate_item(&item, &Published::default(), Profile::Document);
        let contracts = validation.contracts.expect("VALID");
        let written = serde_json::from_value(json!({"value": "hunter2"})).expect("a value");
        let mut findings = Findings::default();
        let submitted = BTreeMap::from([("token".to_owned(), written)]);
        let members = parameters(&contracts, &submitted, &mut findings);
        assert_eq!(
            json!(members),
            json!([{"token": {"value": "stand-in", "sensitive": true}}, ["token"]])
        );
        assert_eq!(findings.status(), Status::Invalid);
        assert!(!format!("{findings:?}").contains("hunter2"));
    }
}
