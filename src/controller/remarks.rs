//! What a person should know of a spec that is accepted, in words: an entry that is ignored silently is taken for one that
//! works. Pure.

use super::history::History;
use crate::api::InstallationSpec;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::materialize::pins::Pins;

/// Every entry of `credentials` and `migrate` that nothing follows from, given the blueprint that runs.
pub fn unheeded(spec: &InstallationSpec, contracts: &Contracts, history: &History) -> Vec<String> {
    let parameters = &contracts.blueprint.spec.parameters;
    let is_generated = |name: &String| {
        let parameter = parameters.get(name);
        parameter.is_some_and(|parameter| matches!(parameter.supply(), Supply::Generated(_)))
    };
    let credentials = spec.credentials.iter().filter_map(|(name, request)| {
        let asked = u64::from(request.generation);
        let place = format!("spec.credentials.{name}");
        match history.newest(name).filter(|newest| *newest > asked) {
            _ if !is_generated(name) => Some(format!(
                "{place} has no effect: the blueprint has no generated parameter of that name"
            )),
            Some(newest) => Some(format!(
                "{place}.generation is {asked}, and generation {newest} stays in use: set it to {newest}"
            )),
            None => None,
        }
    });
    let migrations = spec.migrate.iter().filter_map(|(name, migration)| {
        let place = format!("spec.migrate.{name}");
        let carried = |(at, generation): (&(String, u64), &super::history::Generation)| {
            at.0 == *name && generation.credential_of.as_ref() == Some(&migration.credential_of)
        };
        if !is_generated(name) {
            Some(format!(
                "{place} has no effect: the blueprint has no generated parameter of that name"
            ))
        } else if history.newest(name).is_some() && !history.credentials.iter().any(carried) {
            Some(format!(
                "{place} has no effect: {name} has a credential of its own already"
            ))
        } else {
            None
        }
    });
    credentials.chain(migrations).collect()
}

/// Every node with volumes whose image runs as a user that nobody could look up: they are not made writable for it.
pub fn unknown_users(contracts: &Contracts, pins: &Pins) -> Vec<String> {
    let unknown = pins.images.iter().filter_map(|(node, image)| {
        let user = image.unknown_user()?;
        let workload = contracts.component(node).spec.workload.as_ref()?;
        (!workload.volumes.is_empty()).then(|| {
            format!(
                "the image of node {node} runs as user {user}, whose number it does not tell in a way that can be read: \
                 its volumes keep the group that the storage gives them"
            )
        })
    });
    unknown.collect()
}
