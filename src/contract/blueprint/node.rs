//! Nodes: a component's place in a blueprint (blueprint §4).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::binding::{Binding, ConnectionBinding};
use super::compute::{Compute, VolumeAllocation};
use super::exposure::Exposure;
use crate::contract::contracts::ComponentContract;
use crate::contract::envelope::{self, Family};
use crate::contract::findings::Findings;
use crate::contract::item::{BLUEPRINT, Item, Lookup};
use crate::contract::published::Published;
use crate::contract::{component, structure};
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::document::result::Deferred;
use crate::document::yaml;

/// The fact that a document handed over without its directory lacks.
pub(crate) const ITEM_ROOT: &str = "itemRoot";

/// One node of the component graph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The component, as authored: a path inside the item, or a UUID.
    pub component_ref: String,
    /// Only for a published reference: the revision of it.
    #[serde(default)]
    pub revision: Option<u64>,
    /// What supplies each input.
    #[serde(default)]
    pub bindings: BTreeMap<String, Binding>,
    /// What it runs on: present unless its component is EXTERNAL.
    #[serde(default)]
    pub compute: Option<Compute>,
    /// The size of each volume.
    #[serde(default)]
    pub volumes: BTreeMap<String, VolumeAllocation>,
    /// Which endpoints are public; one left out is private.
    #[serde(default)]
    pub exposure: BTreeMap<String, Exposure>,
    /// Which connection parameter satisfies each connection requirement.
    #[serde(default)]
    pub connection_bindings: BTreeMap<String, ConnectionBinding>,
}

impl Node {
    /// Whether the component is a file of the item rather than a published revision.
    pub fn is_local(&self) -> bool {
        self.component_ref.starts_with('.')
    }

    /// The exposure of `endpoint`; PRIVATE when left out (BP-NODE-005).
    pub fn exposure(&self, endpoint: &str) -> Exposure {
        self.exposure.get(endpoint).copied().unwrap_or_default()
    }
}

/// The outcome of obtaining one node's component.
pub(super) enum Acquired {
    /// The component, valid.
    Known(Arc<ComponentContract>),
    /// A local reference of a document that stands in no item.
    NoItemRoot(Deferred),
    /// A published reference that nobody supplied.
    NotSupplied(Deferred),
    /// A component that is not there, lies outside the item, or is not valid.
    Refused(Vec<Diagnostic>),
}

/// Obtains the components of a blueprint's nodes from what was handed in (BP-REF-002), each document once.
pub(super) struct Components<'a> {
    item: Option<&'a Item>,
    published: &'a Published,
    /// Documents that were read: local ones by real path, published ones by identity and revision.
    read: BTreeMap<Key, Result<Arc<ComponentContract>, Vec<Diagnostic>>>,
}

/// What a document is known by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Local(String),
    Published(String, u64),
}

impl<'a> Components<'a> {
    pub(super) fn new(item: Option<&'a Item>, published: &'a Published) -> Self {
        Self {
            item,
            published,
            read: BTreeMap::new(),
        }
    }

    /// Obtains the component of the node `name`.
    pub(super) fn acquire(&mut self, name: &str, node: &Node) -> Acquired {
        let path = super::assess::pointer(name).child("componentRef");
        let reference = node.component_ref.as_str();
        let deferred = |missing: String| Deferred {
            rule: "BP-REF-002".into(),
            path: path.clone(),
            missing,
        };
        let refused = |code, message: &str| {
            Acquired::Refused(vec![Diagnostic::semantic(code, path.clone(), message)])
        };
        if let Some(revision) = node.revision.filter(|_| !node.is_local()) {
            let Some(source) = self.published.get(reference, revision) else {
                return Acquired::NotSupplied(deferred(format!("contract:{reference}@{revision}")));
            };
            let key = Key::Published(reference.to_owned(), revision);
            // One that was read already is intact.
            if !self.read.contains_key(&key) && !source.is_intact() {
                return refused(
                    Code::InvalidDependency,
                    "the contract supplied for this reference does not have the digest it was published under; obtain \
                     the published bytes again",
                );
            }
            return match self.read(key, &source.bytes) {
                Ok(found) if found.component.metadata.revision != revision => refused(
                    Code::InvalidDependency,
                    "the contract supplied for this reference is of another revision; supply the revision that the \
                     node names",
                ),
                outcome => acquired(outcome, reference, &path),
            };
        }
        let Some(item) = self.item else {
            return Acquired::NoItemRoot(deferred(ITEM_ROOT.to_owned()));
        };
        match item.file(reference) {
            Lookup::Escape => refused(
                Code::ReferenceEscape,
                "the reference leaves the item directory, links followed; move the component into the item",
            ),
            Lookup::Missing => refused(
                Code::ComponentNotFound,
                "the item has no such file; correct the path or add the component",
            ),
            Lookup::File { real, bytes } => {
                acquired(self.read(Key::Local(real), bytes), reference, &path)
            }
        }
    }

    /// Holds every rule against a component's bytes, once.
    fn read(
        &mut self,
        key: Key,
        bytes: &Arc<[u8]>,
    ) -> Result<Arc<ComponentContract>, Vec<Diagnostic>> {
        match self.read.entry(key) {
            Entry::Vacant(vacant) => vacant.insert(contract(bytes).map(Arc::new)).clone(),
            // The first node tells every fault; one is enough to refuse the others, however many they are.
            Entry::Occupied(known) => match known.get() {
                Ok(contract) => Ok(Arc::clone(contract)),
                Err(faults) => Err(faults.iter().take(1).cloned().collect()),
            },
        }
    }

    /// Every component document of the item is named by a node (BP-ID-003).
    pub(super) fn unreferenced(&self, findings: &mut Findings<'_>) {
        let Some(item) = self.item else {
            return;
        };
        let local = self.read.keys().filter_map(|key| match key {
            Key::Local(path) => Some(path.as_str()),
            Key::Published(..) => None,
        });
        let referenced: BTreeSet<&str> = local.collect();
        for (path, bytes) in item.files() {
            if path == BLUEPRINT || referenced.contains(path) || !is_yaml(path) {
                continue;
            }
            let family = yaml::parse(bytes)
                .ok()
                .and_then(|document| envelope::family(&document).ok());
            if family == Some(Family::Component) {
                findings.push(
                    Code::UnreferencedComponent,
                    Pointer::of(["spec", "components"]),
                    format!("no node names the component document `{path}`; add a node for it, or delete the file"),
                );
            }
        }
    }
}

fn is_yaml(path: &str) -> bool {
    path.ends_with(".yaml") || path.ends_with(".yml")
}

/// Every phase of the document profile over a component's bytes.
fn contract(bytes: &Arc<[u8]>) -> Result<ComponentContract, Vec<Diagnostic>> {
    let document = yaml::parse(bytes)?;
    match structure::check(Family::Component, &document) {
        diagnostics if diagnostics.is_empty() => component::assess(&document, bytes),
        diagnostics => Err(diagnostics),
    }
}

/// What a node gets of its component; each of its faults becomes one of the blueprint's, at the reference.
fn acquired(
    outcome: Result<Arc<ComponentContract>, Vec<Diagnostic>>,
    reference: &str,
    path: &Pointer,
) -> Acquired {
    match outcome {
        Ok(contract) => Acquired::Known(contract),
        Err(faults) => Acquired::Refused(
            faults
                .into_iter()
                .map(|fault| {
                    let message = format!(
                        "the component `{reference}` is not valid, {}: {}",
                        fault.code, fault.message
                    );
                    Diagnostic::semantic(Code::InvalidDependency, path.clone(), message)
                        .on_behalf_of(reference, fault)
                })
                .collect(),
        ),
    }
}
