//! What `resolve` and `render` share: an item, a context file and submitted values, taken through the same steps as on a
//! cluster, without one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value};

use super::given_platform;
use crate::acquire::address::Addresses;
use crate::acquire::allocation::{Allocations, Allocator};
use crate::acquire::hostname::Chosen;
use crate::acquire::image::IMAGE_DIGEST;
use crate::acquire::selection::{ImageFacts, Selections};
use crate::acquire::{Document, Findings, directory, offer, placement, selection, variable};
use crate::api::platform::PlatformSpec;
use crate::api::profile::ProfileVersion;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::component::source::{ImageReference, Source};
use crate::contract::contracts::Contracts;
use crate::contract::{Published, validate_item};
use crate::document::pointer::Pointer;
use crate::document::result::Profile;
use crate::materialize::pins::PlatformPins;
use crate::resolution::context::Context;
use crate::resolution::secret::Held;

/// An item and what it is installed with.
#[derive(Debug, Args)]
pub struct Offline {
    /// The item directory.
    item: PathBuf,
    /// A JSON file with what an installation takes from outside: any of `parameters`, `variables`, `credentials`,
    /// `allocations`, `connections`, `contracts`, `computeProfiles`, `images`, `platform` and `standIns`. See
    /// docs/reference/context.md.
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Submit a value: JSON where it is JSON, else the text itself. Replaces the context file's.
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Submit the text of a file, as a secret.
    #[arg(long, value_name = "NAME=FILE", value_parser = assignment)]
    set_file: Vec<(String, String)>,
    /// The name of the Installation; the item's slug when left out.
    #[arg(long, value_parser = label)]
    name: Option<String>,
    /// The namespace of the Installation.
    #[arg(long, default_value = "default", value_parser = label)]
    namespace: String,
}

/// Everything selected for an item, as far as it is known.
pub struct Selected {
    /// The blueprint and its components.
    pub contracts: Arc<Contracts>,
    /// What the installation takes from outside.
    pub context: Context,
    /// The version of each compute profile.
    pub profiles: BTreeMap<String, ProfileVersion>,
    /// What is pinned of each running node.
    pub selections: Selections,
    /// What of the platform it is made with.
    pub platform: PlatformPins,
}

impl Offline {
    /// The name of the Installation.
    pub fn name<'a>(&'a self, contracts: &'a Contracts) -> &'a str {
        self.name
            .as_deref()
            .unwrap_or(&contracts.blueprint.metadata.slug)
    }

    /// The namespace of the Installation.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Selects everything that can be selected offline; what stands in the way is in the findings.
    ///
    /// # Errors
    /// When a file cannot be read or is malformed.
    pub fn select(&self) -> anyhow::Result<(Option<Selected>, Findings)> {
        let mut findings = Findings::default();
        if self.item.is_file() {
            bail!(
                "{} is a file; name the directory of the item",
                self.item.display()
            );
        }
        let item = directory::read(&self.item)
            .with_context(|| format!("cannot read {}", self.item.display()))?;
        let Given {
            mut context,
            profiles,
            images,
            platform,
            published,
        } = self.read_context()?;
        let validation = validate_item(&item, &published, Profile::Document);
        findings.absorb(validation.result);
        let Some(contracts) = validation.contracts else {
            return Ok((None, findings));
        };
        refuse_credentials(&contracts, &context)?;
        // A context file may serve many items, as a cluster does.
        let named: BTreeSet<String> = variable::paths(&contracts).map(|(_, path)| path).collect();
        context.variables.retain(|path, _| named.contains(path));
        let profiles = named_profiles(&contracts, profiles, &mut findings);
        placement::check(&contracts, &profiles, &mut findings);
        let images = named_images(&contracts, &images, &mut findings);
        let selections = selection::select(&contracts, &profiles, &images, &mut findings);
        let offered = offer::select(&contracts, &platform, None, &mut findings);
        let allocator = Allocator {
            installation: self.name(&contracts),
            namespace: &self.namespace,
            cluster_domain: &platform.cluster_domain,
            edge: platform.edge.as_ref(),
            domains: platform.edge.as_ref().map_or(&[], |edge| &edge.domains),
            chosen: &Chosen::new(),
            addresses: &Addresses::new(),
            before: &Allocations::new(),
            kept: None,
            given: &context.allocations,
        };
        context.allocations = allocator.allocate(&contracts, &mut findings);
        Ok((
            Some(Selected {
                contracts,
                context,
                profiles,
                selections,
                platform: offered,
            }),
            findings,
        ))
    }

    /// The context file, taken apart.
    fn read_context(&self) -> anyhow::Result<Given> {
        let mut members: Map<String, Value> = match &self.context {
            Some(path) => {
                serde_json::from_slice(&read(path)?).map_err(|error| malformed(path, &error))?
            }
            None => Map::new(),
        };
        let profiles = member(
            &mut members,
            "computeProfiles",
            "a version and resources for each slug",
        )?;
        let images: BTreeMap<String, ImageFacts> = member(
            &mut members,
            "images",
            "digest and user for each image reference",
        )?;
        if let Some((reference, _)) = images.iter().find(|(_, facts)| !has_digest(facts)) {
            bail!(
                "images.{reference}.digest of the context file is no digest: give sha256: and 64 hexadecimal digits"
            );
        }
        let platform = match members.remove("platform") {
            Some(platform) => given_platform::read(platform)?,
            None => PlatformSpec::default(),
        };
        // For readers: which values are not the real ones.
        members.remove("standIns");
        let published = Published::from_context(&Value::Object(members.clone()));
        members.remove("contracts");
        let mut context = parse(members)?;
        for (name, text) in &self.set {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
            context.parameters.insert(name.clone(), Held::plain(value));
        }
        for (name, path) in &self.set_file {
            let bytes = read(Path::new(path))?;
            let Ok(text) = String::from_utf8(bytes) else {
                bail!("{path} is not UTF-8 text")
            };
            context
                .parameters
                .insert(name.clone(), Held::sensitive(text));
        }
        Ok(Given {
            context,
            profiles,
            images,
            platform,
            published,
        })
    }
}

/// The members that are a resolution context. Which of them is wrong is said by its name, and by nothing that it holds.
fn parse(members: Map<String, Value>) -> anyhow::Result<Context> {
    let read = |members: &Value| Context::parse(members.to_string().as_bytes());
    let alone = |name: &str, value: &Value| {
        let members: Map<_, _> = [(name.to_owned(), value.clone())].into_iter().collect();
        read(&Value::Object(members))
    };
    for (name, value) in &members {
        if alone(name, value).is_ok() {
            continue;
        }
        if alone(name, &Value::Object(Map::new())).is_err() && name != "connections" {
            bail!(
                "the context file has the member `{name}`, which is unknown: see docs/reference/context.md"
            );
        }
        let entry = value
            .as_object()
            .into_iter()
            .flatten()
            .find(|(entry, value)| {
                let entries: Map<_, _> =
                    [((*entry).clone(), (*value).clone())].into_iter().collect();
                alone(name, &Value::Object(entries)).is_err()
            });
        let place = match entry {
            Some((entry, _)) if name != "connections" => format!("{name}.{entry}"),
            _ => name.clone(),
        };
        bail!("`{place}` in the context file is malformed: see docs/reference/context.md");
    }
    read(&Value::Object(members)).context("the context file is malformed")
}

/// Whether a digest that is given is one.
fn has_digest(facts: &ImageFacts) -> bool {
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    facts.digest.as_deref().is_none_or(|digest| {
        digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_hex))
    })
}

/// What a context file gives.
struct Given {
    context: Context,
    profiles: BTreeMap<String, ProfileVersion>,
    images: BTreeMap<String, ImageFacts>,
    platform: PlatformSpec,
    published: Published,
}

/// Takes the member `name` out of a context file; a map that is absent is empty.
fn member<T: serde::de::DeserializeOwned>(
    members: &mut Map<String, Value>,
    name: &str,
    shape: &str,
) -> anyhow::Result<BTreeMap<String, T>> {
    let value = members
        .remove(name)
        .unwrap_or_else(|| Value::Object(Map::new()));
    serde_json::from_value(value).with_context(|| format!("{name} is malformed: give {shape}"))
}

/// The given versions of the profiles that nodes name; one that is not given is missing.
fn named_profiles(
    contracts: &Contracts,
    mut given: BTreeMap<String, ProfileVersion>,
    findings: &mut Findings,
) -> BTreeMap<String, ProfileVersion> {
    let mut named = BTreeMap::new();
    for (node, authored) in &contracts.blueprint.spec.components {
        let Some(slug) = authored.compute.as_ref().map(|compute| &compute.profile) else {
            continue;
        };
        if named.contains_key(slug) {
            continue;
        }
        match given.remove(slug) {
            Some(version) => {
                named.insert(slug.clone(), version);
            }
            None => findings.wait(
                Document::Blueprint,
                "BP-NODE-003",
                Pointer::of(["spec", "components", node, "compute", "profile"]),
                format!("computeProfile:{slug}"),
                format!("give a version of {slug} under computeProfiles in the context file"),
            ),
        }
    }
    named
}

/// A credential for a parameter that is not generated would be passed over in silence.
fn refuse_credentials(contracts: &Contracts, context: &Context) -> anyhow::Result<()> {
    let parameters = &contracts.blueprint.spec.parameters;
    let is_generated = |name: &String| {
        parameters
            .get(name)
            .is_some_and(|parameter| matches!(parameter.supply(), Supply::Generated(_)))
    };
    match context.credentials.keys().find(|name| !is_generated(name)) {
        Some(name) => bail!(
            "credentials.{name} of the context file is for no generated parameter: leave it out, or correct its name"
        ),
        None => Ok(()),
    }
}

/// What is given of the image of each node; a reference by tag whose digest is not given is missing.
fn named_images(
    contracts: &Contracts,
    given: &BTreeMap<String, ImageFacts>,
    findings: &mut Findings,
) -> BTreeMap<String, ImageFacts> {
    let mut images = BTreeMap::new();
    for (node, contract) in &contracts.components {
        let workload = contract.component.spec.workload.as_ref();
        let Some(Source::Image(reference)) = workload.map(|workload| &workload.source) else {
            continue;
        };
        let facts = given.get(reference).cloned().unwrap_or_default();
        if facts.digest.is_none() && ImageReference::parse(reference).digest.is_none() {
            findings.wait(
                Document::Blueprint,
                "BP-RESOLVE-001",
                Pointer::of(["spec", "components", node, "componentRef"]),
                format!("{IMAGE_DIGEST}{node}:{reference}"),
                format!("give the digest of {reference} under images in the context file"),
            );
        }
        images.insert(node.clone(), facts);
    }
    images
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Says where, never what: a context file may hold secrets.
fn malformed(path: &Path, error: &serde_json::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "{} is not a JSON object: line {}, column {}",
        path.display(),
        error.line(),
        error.column()
    )
}

/// Reads what names an object, as the API server would take it.
fn label(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = (1..=63).contains(&text.len())
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-');
    if is_label {
        Ok(text.to_owned())
    } else {
        Err("write a DNS label: lower-case letters, digits and -, at most 63".to_owned())
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(members: Value) -> String {
        let Value::Object(members) = members else {
            panic!("no object")
        };
        parse(members).expect_err("refused").to_string()
    }

    #[test]
    fn a_context_file_that_is_refused_tells_where_and_no_value() {
        for (members, told) in [
            (
                json!({"paramters": {"a": "hunter2"}}),
                "the member `paramters`, which is unknown",
            ),
            (
                json!({"parameters": "hunter2"}),
                "`parameters` in the context file is malformed",
            ),
            (
                json!({"parameters": {"b": {"value": 1, "sensitive": false}, "a": "hunter2"}}),
                "`parameters.a` in the context file is malformed",
            ),
            (
                json!({"variables": {"cloud.region": {"value": "hunter2"}}}),
                "`variables.cloud.region` in the context file is malformed",
            ),
            (
                json!({"connections": {"parameters": {}}}),
                "`connections` in the context file",
            ),
        ] {
            let message = refusal(members);
            assert!(message.contains(told), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
