//! What an update would select, as far as it can be told with the caller's rights and without a Secret: the blueprint, the
//! compute profiles and the variables, read as the operator reads them. What is not read is named.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::ask::unavailable;
use super::session::Session;
use super::view::records::{Difference, differences};
use crate::acquire::variable::{Offered, ValueSource};
use crate::acquire::{Findings, Reader, Unavailable};
use crate::api::{Installation, ResolutionRecord};
use crate::contract::Published;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::resolution::record::{Record, SourceKind};

/// What was found.
#[derive(Default)]
pub struct Outlook {
    /// What an update would make another.
    pub differences: Vec<Difference>,
    /// Why it would be refused.
    pub problems: Vec<String>,
    /// What could not be read, or is not read here.
    pub not_compared: Vec<String>,
}

/// Reads what `installation` would be given now, and compares it with its record `current`.
///
/// # Errors
/// When the cluster does not answer. What the caller may not read is named instead.
pub async fn outlook(
    session: &Session,
    installation: &Installation,
    current: &ResolutionRecord,
) -> anyhow::Result<Outlook> {
    let reader = Reader {
        client: session.client.clone(),
        namespace: session.namespace.clone(),
        // No Secret is read, wherever it is.
        operator_namespace: String::new(),
        notebook: None,
    };
    let record = &current.spec.0;
    let mut outlook = Outlook::default();
    outlook.blueprint(&reader, installation, record).await?;
    outlook.profiles(&reader, record).await?;
    outlook.variables(&reader, record).await?;
    outlook.not_compared.push(
        "image digests, submitted Secrets, connections, addresses and Platform terms: the operator compares them"
            .to_owned(),
    );
    Ok(outlook)
}

impl Outlook {
    async fn blueprint(
        &mut self,
        reader: &Reader,
        installation: &Installation,
        record: &Record,
    ) -> anyhow::Result<()> {
        let source = &installation.spec.blueprint;
        if source.oci.is_some() {
            let what = "the artifact: a registry is asked by the operator alone";
            self.not_compared.push(what.to_owned());
            return Ok(());
        }
        let mut findings = Findings::default();
        let read = async {
            let Some(item) = reader.acquire_item(source, &mut findings).await? else {
                return Ok(None);
            };
            reader
                .validate(&item, Published::default(), &mut findings)
                .await
        };
        let contracts = self.allowed(read.await)?.flatten();
        let diagnostics = findings.diagnostics.iter();
        self.problems.extend(
            diagnostics
                .map(|(_, found)| format!("{} at {}: {}", found.code, found.path, found.message)),
        );
        let missing = findings.missing.iter();
        self.problems.extend(
            missing
                .map(|found| format!("it waits for {}: {}", found.deferred.missing, found.remedy)),
        );
        if let Some(contracts) = contracts {
            let (before, after) = (documents(record), offered(&contracts));
            self.differences.extend(differences(&before, &after));
        }
        Ok(())
    }

    async fn profiles(&mut self, reader: &Reader, record: &Record) -> anyhow::Result<()> {
        let used = record.components.values();
        let used = used.filter_map(|component| component.compute.as_ref());
        let used: BTreeMap<&str, &str> = used
            .map(|compute| (compute.identity.as_str(), compute.version.as_str()))
            .collect();
        for (slug, pinned) in used {
            let found = reader.current_profile(slug).await;
            if let Some(Some(found)) = self.allowed(found)?
                && found.version != pinned
            {
                self.differ(
                    format!("computeProfiles.{slug}.version"),
                    pinned,
                    &found.version,
                );
            }
        }
        Ok(())
    }

    /// The version of a variable whose value is in a Secret is not told without that: its object is.
    async fn variables(&mut self, reader: &Reader, record: &Record) -> anyhow::Result<()> {
        for (path, pinned) in &record.variables {
            let place = format!("variables.{path}");
            let offered = reader.offered_variable(path).await;
            match self.allowed(offered)? {
                None => {}
                Some(Offered::Found(object)) => {
                    let generation = pinned.version.split('-').next().unwrap_or_default();
                    if object.identity != pinned.identity {
                        self.differ(
                            place,
                            &pinned.identity,
                            &format!("{} ({})", object.identity, object.called),
                        );
                    } else if object.generation.to_string() != generation {
                        let now = match object.source {
                            ValueSource::Written(_) => object.generation.to_string(),
                            ValueSource::Secret(..) => format!("{}-…", object.generation),
                        };
                        self.differ(format!("{place}.version"), &pinned.version, &now);
                    }
                }
                Some(Offered::Absent) => self
                    .problems
                    .push(format!("nothing has the variable path {path} any more")),
                Some(Offered::Denied) => self.problems.push(format!(
                    "this namespace may not read the variable {path} any more"
                )),
                Some(Offered::Contested(names)) => self.problems.push(format!(
                    "several claim the variable path {path}: {}",
                    names.join(", ")
                )),
            }
        }
        Ok(())
    }

    fn differ(&mut self, path: String, from: &str, to: &str) {
        self.differences.push(Difference {
            path,
            from: Some(json!(from)),
            to: Some(json!(to)),
        });
    }

    /// What was read; `None`, and named, where the caller may not.
    fn allowed<T>(&mut self, read: Result<T, Unavailable>) -> anyhow::Result<Option<T>> {
        match read {
            Ok(found) => Ok(Some(found)),
            Err(denied) if is_forbidden(&denied) => {
                let what = format!("{}: you may not", denied.what);
                if !self.not_compared.contains(&what) {
                    self.not_compared.push(what);
                }
                Ok(None)
            }
            Err(other) => Err(unavailable(&other)),
        }
    }
}

fn is_forbidden(error: &Unavailable) -> bool {
    matches!(&*error.source, kube::Error::Api(status) if status.code == 403)
}

/// What a record says of its documents alone.
fn documents(record: &Record) -> Value {
    let components: BTreeMap<&String, Value> = record
        .components
        .iter()
        .map(|(node, component)| {
            let compute = component.compute.as_ref().map(|compute| &compute.identity);
            let told = json!({
                "identity": component.identity, "revision": component.revision, "digest": component.digest,
                "source": component.source, "profile": compute,
                "volumes": component.volumes, "exposure": component.exposure,
            });
            (node, told)
        })
        .collect();
    let credentials: BTreeSet<&String> = record.credentials.keys().collect();
    json!({
        "blueprintDigest": record.blueprint_digest, "components": components,
        "credentials": named(credentials),
    })
}

/// The same of documents that would be accepted now.
fn offered(contracts: &Contracts) -> Value {
    let components: BTreeMap<&String, Value> = contracts
        .blueprint
        .spec
        .components
        .iter()
        .map(|(node, authored)| {
            let contract = &contracts.components[node];
            let source = SourceKind::of(&contract.component);
            let compute = authored.compute.as_ref().map(|compute| &compute.profile);
            let told = json!({
                "identity": authored.component_ref, "revision": contract.component.metadata.revision,
                "digest": contract.digest, "source": source, "profile": compute,
                "volumes": authored.volumes, "exposure": authored.exposure,
            });
            (node, told)
        })
        .collect();
    let parameters = contracts.blueprint.spec.parameters.iter();
    let generated =
        parameters.filter(|(_, parameter)| matches!(parameter.supply(), Supply::Generated(_)));
    json!({
        "blueprintDigest": contracts.digest, "components": components,
        "credentials": named(generated.map(|(name, _)| name)),
    })
}

/// Names as members, so that one that comes or goes shows as one.
fn named<'a>(names: impl IntoIterator<Item = &'a String>) -> Value {
    names
        .into_iter()
        .map(|name| (name.clone(), json!("generated")))
        .collect()
}
