//! What a spec says that has no effect, in words: an entry that is ignored silently is taken for one that works. Pure.

use super::history::History;
use crate::api::InstallationSpec;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;

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
