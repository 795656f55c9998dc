//! The semantic phase of a blueprint: obtain the contract of every node, then hold every rule against them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::node::{Acquired, Components};
use super::{Blueprint, Node, binding, compute, connection, exposure, flow, form, parameter};
use crate::contract::component::Component;
use crate::contract::contracts::{ComponentContract, Contracts};
use crate::contract::findings::Findings;
use crate::contract::item::Item;
use crate::contract::published::Published;
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::digest::Digest;
use crate::document::pointer::Pointer;
use crate::document::result::Deferred;
use crate::document::yaml::Document;

/// What the semantic phase found.
pub(crate) struct Assessment {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) deferred: Vec<Deferred>,
    /// There when nothing is wrong and nothing is missing.
    pub(crate) contracts: Option<Arc<Contracts>>,
    /// There when nothing is wrong, whatever is missing: the blueprint with the components that are known.
    pub(crate) partial: Option<Contracts>,
}

/// A blueprint and the contracts of those of its nodes whose component is available and valid. A rule that reads a
/// component says nothing about the other nodes.
pub(super) struct Graph<'a> {
    pub(super) blueprint: &'a Blueprint,
    pub(super) components: BTreeMap<&'a str, Arc<ComponentContract>>,
}

impl<'a> Graph<'a> {
    /// The graph of contracts that were assessed before.
    pub(super) fn of(contracts: &'a Contracts) -> Self {
        Self {
            blueprint: &contracts.blueprint,
            components: contracts
                .components
                .iter()
                .map(|(name, contract)| (name.as_str(), Arc::clone(contract)))
                .collect(),
        }
    }

    /// The component of `node`, when it is known.
    pub(super) fn component(&self, node: &str) -> Option<&Component> {
        self.components
            .get(node)
            .map(|contract| &contract.component)
    }

    /// Every node whose component is known, in the order of names.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&'a str, &'a Node, &Component)> {
        self.blueprint
            .spec
            .components
            .iter()
            .filter_map(|(name, node)| Some((name.as_str(), node, self.component(name)?)))
    }
}

/// The place of `node` in a blueprint.
pub(super) fn pointer(node: &str) -> Pointer {
    Pointer::of(["spec", "components", node])
}

/// Holds every semantic rule against a blueprint that passed the structural phase.
pub(crate) fn assess(
    document: &Document,
    source: &Arc<[u8]>,
    item: Option<&Item>,
    published: &Published,
) -> Assessment {
    let blueprint: Blueprint = match crate::contract::typed(document) {
        Ok(blueprint) => blueprint,
        Err(diagnostics) => {
            return Assessment {
                diagnostics,
                deferred: Vec::new(),
                contracts: None,
                partial: None,
            };
        }
    };
    let mut findings = Findings::new(&document.places);
    let mut deferred = Vec::new();
    identity(&blueprint, item, &mut findings, &mut deferred);

    let mut sources = Components::new(item, published);
    let mut graph = Graph {
        blueprint: &blueprint,
        components: BTreeMap::new(),
    };
    let mut unpublished = Vec::new();
    for (name, node) in &blueprint.spec.components {
        match sources.acquire(name, node) {
            Acquired::Known(contract) => {
                graph.components.insert(name, contract);
            }
            Acquired::NoItemRoot(entry) => deferred.push(entry),
            Acquired::NotSupplied(entry) => unpublished.push(entry),
            Acquired::Refused(diagnostics) => {
                for diagnostic in diagnostics {
                    findings.add(diagnostic);
                }
            }
        }
    }
    deferred.extend(unpublished);
    sources.unreferenced(&mut findings);

    compute::check(&graph, &mut findings);
    exposure::check(&graph, &mut findings);
    let parameters = parameter::classify(&blueprint, &mut findings);
    binding::check(&graph, &mut findings);
    connection::check(&graph, &parameters, &mut findings);
    parameter::check(&graph, &parameters, &mut findings);
    form::check(&graph, &mut findings);
    flow::check(&graph, &mut findings);

    let components: BTreeMap<String, _> = graph
        .components
        .into_iter()
        .map(|(name, contract)| (name.to_owned(), contract))
        .collect();
    let diagnostics = findings.into_diagnostics();
    let partial = diagnostics.is_empty().then(|| Contracts {
        blueprint,
        digest: Digest::of(source),
        source: Arc::clone(source),
        components,
    });
    Assessment {
        contracts: partial
            .as_ref()
            .filter(|_| deferred.is_empty())
            .map(|contracts| Arc::new(contracts.clone())),
        partial,
        diagnostics,
        deferred,
    }
}

/// The slug is the name of the item directory (CORE-ITEM-001); without an item root that is deferred.
fn identity(
    blueprint: &Blueprint,
    item: Option<&Item>,
    findings: &mut Findings<'_>,
    deferred: &mut Vec<Deferred>,
) {
    let slug = &blueprint.metadata.slug;
    let path = Pointer::of(["metadata", "slug"]);
    match item {
        None => deferred.push(Deferred {
            rule: "CORE-ITEM-001".into(),
            path,
            missing: super::node::ITEM_ROOT.to_owned(),
        }),
        Some(item) if item.name() != slug => findings.push(
            Code::SlugMismatch,
            path,
            format!(
                "the slug is `{slug}` and the item directory `{}`; make the two the same",
                item.name()
            ),
        ),
        Some(_) => {}
    }
}
