//! What holds of every application, on random ones (BP-RESOLVE-001, BP-PARAM-002).

mod graph;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use self::graph::{Graph, Known, Origin, graphs};
use super::context::Context;
use super::record::{Selection, record};
use super::resolved::{EnvironmentValue, Resolved};
use super::secret::Held;
use super::snapshot::Snapshot;
use super::testing::{Documents, context};
use super::{resolve, testing};
use crate::contract::contracts::Contracts;
use crate::document::digest::Digest;

/// By node and name.
type Named<T> = BTreeMap<String, BTreeMap<String, T>>;

#[track_caller]
fn resolution(contracts: &Contracts, context: &Context) -> Resolved {
    let resolution = resolve(contracts, context);
    let found = testing::lines(&resolution.result.diagnostics);
    let deferred = resolution.result.deferred;
    resolution
        .resolved
        .unwrap_or_else(|| panic!("not VALID: {found:?} {deferred:?}"))
}

#[track_caller]
fn resolved(graph: &Graph) -> Resolved {
    testing::resolved(&graph.sketch(), &graph.evidence())
}

fn known(held: &Held) -> Known {
    (held.expose().clone(), held.is_sensitive())
}

/// What `resolved` holds of the place at `index`.
fn found(graph: &Graph, resolved: &Resolved, index: usize) -> Option<Known> {
    let place = &graph.places[index];
    let (node, name) = (format!("n{}", place.node), graph.name(index));
    if place.is_input {
        let supplied = resolved.inputs[&node].get(&name)?;
        Some(known(&supplied.held))
    } else {
        resolved.outputs[&node].get(&name).map(known)
    }
}

fn environment(resolved: &Resolved) -> Named<(String, bool)> {
    let of_node = |variables: &BTreeMap<String, EnvironmentValue>| {
        variables
            .iter()
            .map(|(key, value)| (key.clone(), (value.text.expose().clone(), value.sensitive)))
            .collect()
    };
    resolved
        .environment
        .iter()
        .map(|(node, variables)| (node.clone(), of_node(variables)))
        .collect()
}

/// The bytes of record and snapshot that a resolution with `context` is kept as.
fn kept(contracts: &Contracts, context: &Context) -> (String, Vec<u8>) {
    let snapshot = Snapshot::of("s", "1", context);
    let selection = Selection {
        image_digest: Some(format!("sha256:{}", "a".repeat(64))),
        git_commit: None,
        compute_version: Some("3".to_owned()),
    };
    let selections = contracts.components.keys();
    let selections = selections.map(|node| (node.clone(), selection.clone()));
    let record = record(contracts, &selections.collect(), &snapshot);
    let record = serde_json::to_string(&record).expect("a record is JSON");
    (record, snapshot.to_secret_bytes().expose().clone())
}

/// `value` as JSON, the members of each object in an order that `seed` determines.
fn shuffled(value: &Value, seed: u64) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| Digest::of(format!("{seed} {name}").as_bytes()));
            let members = members
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(&**name), shuffled(value, seed)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| shuffled(item, seed));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        leaf => leaf.to_string(),
    }
}

proptest! {
    // An application costs milliseconds, most of them spent on validating its documents.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_value_is_what_a_naive_evaluation_says(graph in graphs()) {
        let resolved = resolved(&graph);
        let mut texts = Named::new();
        for node in resolved.inputs.keys() {
            texts.insert(node.clone(), BTreeMap::new());
        }
        for (index, place) in graph.places.iter().enumerate() {
            let expected = graph.expected(index);
            prop_assert_eq!(found(&graph, &resolved, index), expected.clone(), "{}", graph.name(index));
            if let Some((value, sensitive)) = expected.filter(|_| place.is_input) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let variables = texts.entry(format!("n{}", place.node)).or_default();
                variables.insert(graph.name(index).to_uppercase(), (text, sensitive));
            }
        }
        prop_assert_eq!(environment(&resolved), texts);
        let values: usize = resolved.inputs.values().map(BTreeMap::len).sum::<usize>()
            + resolved.outputs.values().map(BTreeMap::len).sum::<usize>();
        let expected = (0..graph.places.len()).filter_map(|index| graph.expected(index)).count();
        prop_assert_eq!(values, expected, "and there is no other value");
    }

    #[test]
    fn a_receiver_of_a_secret_holds_a_secret(graph in graphs()) {
        let resolved = resolved(&graph);
        let is_secret = |index| found(&graph, &resolved, index).is_some_and(|(_, secret)| secret);
        for (index, place) in graph.places.iter().enumerate() {
            let present = place.origin != Origin::Nothing;
            prop_assert!(!place.sensitive || !present || is_secret(index), "by its own contract");
            if let Origin::Place(supplier) = place.origin {
                prop_assert!(!is_secret(supplier) || is_secret(index), "by its supplier");
            }
            if let Origin::Parameter(_) = place.origin {
                let others = graph.places.iter().enumerate();
                let others = others.filter(|(_, other)| other.origin == place.origin);
                for (other, _) in others {
                    prop_assert_eq!(is_secret(other), is_secret(index), "by its parameter");
                }
            }
            if place.is_input && present {
                let key = graph.name(index).to_uppercase();
                let variable = &resolved.environment[&format!("n{}", place.node)][&key];
                prop_assert_eq!(variable.sensitive, is_secret(index), "in the environment");
            }
        }
    }

    #[test]
    fn the_order_of_a_contexts_members_changes_no_byte(graph in graphs(), seed: u64) {
        let contracts = testing::app(&graph.sketch());
        let evidence = graph.evidence();
        let other = Context::parse(shuffled(&evidence, seed).as_bytes()).expect("a context");
        let context = context(&evidence);
        prop_assert_eq!(resolution(&contracts, &other), resolution(&contracts, &context));
        prop_assert_eq!(kept(&contracts, &other), kept(&contracts, &context));
    }

    #[test]
    fn the_order_of_a_documents_members_changes_no_byte_but_its_digest(graph in graphs(), seed: u64) {
        let documents = Documents::of(&graph.sketch());
        let context = context(&graph.evidence());
        let contracts = documents.contracts(Value::to_string);
        let other = documents.contracts(|document| shuffled(document, seed));
        prop_assert_eq!(resolution(&other, &context), resolution(&contracts, &context));

        let digests = |contracts: &Contracts| {
            let components = contracts.components.values().map(|component| component.digest.clone());
            components.chain([contracts.digest.clone()]).collect::<Vec<_>>()
        };
        let (mut record, snapshot) = kept(&other, &context);
        for (digest, original) in digests(&other).iter().zip(digests(&contracts)) {
            record = record.replace(digest.as_str(), original.as_str());
        }
        prop_assert_eq!((record, snapshot), kept(&contracts, &context));
    }
}
