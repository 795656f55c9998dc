//! Where a pod may run: the node selector of its compute profile, and its node's placement pins as node affinity.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
};

use super::node::Node;
use super::pins::{Pins, PlacementPins};
use crate::api::placement::NodeLabels;

/// The labels of the cluster nodes that the profile runs on.
pub(super) fn selector(node: &Node, pins: &Pins) -> Option<NodeLabels> {
    let compute = node.recorded.compute.as_ref()?;
    let labels = &pins.profiles.get(&compute.identity)?.node_selector;
    (!labels.is_empty()).then(|| labels.clone())
}

/// What the pins of the node leave of them; nothing where every host will do.
pub(super) fn affinity(node: &Node, pins: &Pins) -> Option<Affinity> {
    let terms = terms(pins.platform.placement.get(node.name)?);
    (!terms.is_empty()).then(|| Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: terms,
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    })
}

/// Alternatives, of which a host meets one whole. None at all where one of them asks for nothing: to Kubernetes an empty
/// one would mean no host.
fn terms(pins: &PlacementPins) -> Vec<NodeSelectorTerm> {
    let every = [NodeLabels::new()];
    let alternatives = if pins.one_of.is_empty() {
        &every[..]
    } else {
        &pins.one_of
    };
    let terms: Vec<NodeSelectorTerm> = alternatives
        .iter()
        .map(|labels| NodeSelectorTerm {
            match_expressions: Some(expressions(labels, pins)),
            match_fields: None,
        })
        .collect();
    let asks = |term: &NodeSelectorTerm| term.match_expressions.iter().flatten().next().is_some();
    if terms.iter().all(asks) {
        terms
    } else {
        Vec::new()
    }
}

fn expressions(one: &NodeLabels, pins: &PlacementPins) -> Vec<NodeSelectorRequirement> {
    let expression = |key: &str, operator: &str, value: String| NodeSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: Some(vec![value]),
    };
    let labels: BTreeSet<(&String, &String)> = pins.all_of.iter().flatten().chain(one).collect();
    let labels = labels
        .into_iter()
        .map(|(key, value)| expression(key, "In", value.clone()));
    // Kubernetes compares with what is greater alone.
    let floor = pins.at_least.as_ref().map(|floor| {
        let below = floor.number.saturating_sub(1);
        expression(&floor.label, "Gt", below.to_string())
    });
    labels.chain(floor).collect()
}

/// The pins as the blueprint has them, and the labels that they mean here.
impl fmt::Display for PlacementPins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut asked = Vec::<(&str, String)>::new();
        for (pin, term) in self.asked.terms() {
            match asked.last_mut() {
                Some((last, terms)) if *last == <&str>::from(pin) => *terms += &format!(", {term}"),
                _ => asked.push((pin.into(), term.to_owned())),
            }
        }
        if let Some(gib) = self.asked.min_accelerator_memory_gib {
            asked.push(("minAcceleratorMemoryGiB", gib.to_string()));
        }
        let asked: Vec<String> = asked
            .into_iter()
            .map(|(pin, terms)| format!("{pin} {terms}"))
            .collect();
        let pair = |(key, value): (&String, &String)| format!("{key}={value}");
        let one_of: Vec<String> = self
            .one_of
            .iter()
            .map(|labels| labels.iter().map(pair).collect::<Vec<_>>().join(" and "))
            .collect();
        let mut labels: Vec<String> = Vec::new();
        labels.extend((!one_of.is_empty()).then(|| one_of.join(" or ")));
        labels.extend(self.all_of.iter().flatten().map(pair));
        let floor = self.at_least.iter();
        labels.extend(floor.map(|floor| format!("{}>={}", floor.label, floor.number)));
        write!(f, "{}", asked.join("; "))?;
        if labels.is_empty() {
            Ok(())
        } else {
            write!(f, " (labels {})", labels.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rendered(pins: Value) -> Value {
        let mut whole = json!({"asked": {}});
        whole
            .as_object_mut()
            .expect("an object")
            .extend(pins.as_object().expect("an object").clone());
        let pins = serde_json::from_value(whole).expect("pins");
        let terms = terms(&pins).into_iter();
        let shown = terms.map(|term| {
            let expressions = term.match_expressions.into_iter().flatten();
            let shown = expressions.map(|expression| {
                let values = expression.values.unwrap_or_default().join(",");
                format!("{} {} {values}", expression.key, expression.operator)
            });
            shown.collect::<Vec<_>>()
        });
        json!(shown.collect::<Vec<_>>())
    }

    #[test]
    fn a_host_meets_one_of_the_alternatives_and_everything_else() {
        for (pins, expected) in [
            (json!({}), json!([])),
            (json!({"allOf": [{}]}), json!([])),
            (json!({"allOf": [{"a": "1"}]}), json!([["a In 1"]])),
            (
                json!({"allOf": [{"a": "1"}, {"a": "2"}]}),
                json!([["a In 1", "a In 2"]]),
            ),
            (
                json!({"oneOf": [{"arch": "arm64"}, {"arch": "amd64"}], "allOf": [{"a": "1"}]}),
                json!([["a In 1", "arch In arm64"], ["a In 1", "arch In amd64"]]),
            ),
            (
                json!({"oneOf": [{"arch": "arm64"}, {}], "allOf": [{"a": "1"}]}),
                json!([["a In 1", "arch In arm64"], ["a In 1"]]),
            ),
            (json!({"oneOf": [{"arch": "arm64"}, {}]}), json!([])),
            (
                json!({"atLeast": {"label": "memory", "number": 80}}),
                json!([["memory Gt 79"]]),
            ),
        ] {
            assert_eq!(rendered(pins.clone()), expected, "{pins}");
        }
    }
}
