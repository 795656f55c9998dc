//! A blueprint together with the component contract of each of its nodes, all of them valid: what resolution starts
//! from. Only the document profile's success constructs it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::blueprint::Blueprint;
use super::blueprint::binding::Binding;
use super::blueprint::node::Node;
use super::component::Component;
use crate::document::digest::Digest;

/// A component document that passed every rule of the document profile, with the bytes it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentContract {
    /// What the document says.
    pub component: Component,
    /// SHA-256 of `source`.
    pub digest: Digest,
    /// The document's bytes as they stood.
    pub source: Arc<[u8]>,
}

/// A valid blueprint and the contract of every node. Cheap to share; never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Contracts {
    /// What the blueprint says.
    pub blueprint: Blueprint,
    /// SHA-256 of `source`.
    pub digest: Digest,
    /// The blueprint's bytes as they stood.
    pub source: Arc<[u8]>,
    /// The contract of each node; the keys are exactly those of `blueprint.components`.
    pub components: BTreeMap<String, Arc<ComponentContract>>,
}

impl Contracts {
    /// Every node by name, as authored and with the component that it deploys.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node, &Component)> {
        let authored = self.blueprint.spec.components.iter();
        // Both maps have the same keys, hence the same order.
        authored
            .zip(self.components.values())
            .map(|((name, node), contract)| (name.as_str(), node, &contract.component))
    }

    /// The contract that `node` deploys.
    ///
    /// # Panics
    /// When `node` is not a node of the blueprint.
    pub fn component(&self, node: &str) -> &Component {
        &self.components[node].component
    }

    /// Whether any receiver of `parameter` is sensitive by its contract, so that all of them are (BP-PARAM-002).
    pub fn is_sensitive(&self, parameter: &str) -> bool {
        self.nodes().any(|(_, authored, component)| {
            let inputs = &component.spec.contract.inputs;
            authored.bindings.iter().any(|(input, binding)| {
                matches!(binding, Binding::Parameter(name) if name == parameter)
                    && inputs.get(input).is_some_and(|input| input.sensitive)
            })
        })
    }
}
