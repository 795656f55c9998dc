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
    /// The contract of each node of `blueprint`; of a blueprint of which something is missing, of those that are known.
    pub components: BTreeMap<String, Arc<ComponentContract>>,
}

impl Contracts {
    /// Every node whose component is known, by name, as authored and with that component.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node, &Component)> {
        let mut authored = self.blueprint.spec.components.iter();
        // Both maps are in the order of their names, so that one pass through them is enough.
        self.components.iter().filter_map(move |(name, contract)| {
            let (_, node) = authored.find(|(authored, _)| *authored == name)?;
            Some((name.as_str(), node, &contract.component))
        })
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

#[cfg(test)]
mod tests {
    use crate::contract::{Item, Published, validate_item};
    use crate::document::result::Profile;

    #[test]
    fn a_node_without_a_component_is_passed_over_and_moves_no_other() {
        let missing = |name: &str| {
            format!(
                "{name}: {{ componentRef: 00000000-0000-0000-0000-000000000001, revision: 1, compute: {{ profile: general.standard.small }} }}"
            )
        };
        let known = |name: &str| format!("{name}: {{ componentRef: ./{name}.yaml }}");
        let blueprint = format!(
            "specVersion: v1\nkind: BLUEPRINT\nmetadata: {{ slug: app, revision: 1, description: An application. }}\nspec:\n  components:\n    {}\n    {}\n    {}\n    {}\n",
            missing("aa"),
            known("bb"),
            missing("cc"),
            known("dd"),
        );
        let component = "specVersion: v1\nkind: COMPONENT\nmetadata: { revision: 1, description: Elsewhere. }\nspec: { type: EXTERNAL, contract: { outputs: { url: { schema: { type: string }, description: Where., from: { value: here } } } } }\n";
        let files = [
            ("blueprint.yaml", blueprint.as_str()),
            ("bb.yaml", component),
            ("dd.yaml", component),
        ]
        .map(|(path, text)| (path, text.as_bytes().to_vec()));
        let item = Item::from_files("app", files);
        let validation = validate_item(&item, &Published::default(), Profile::Document);
        assert_eq!(validation.contracts, None);
        let contracts = validation.partial.expect("nothing is wrong");
        let nodes: Vec<_> = contracts
            .nodes()
            .map(|(name, node, _)| (name, node.component_ref.as_str()))
            .collect();
        assert_eq!(nodes, [("bb", "./bb.yaml"), ("dd", "./dd.yaml")]);
    }
}
