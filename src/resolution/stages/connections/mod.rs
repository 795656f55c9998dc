//! Stage `connections`: one immutable selection for each connection parameter, and the members of it that each
//! requirement's inputs receive (BP-CONNECTION-002). There is no fallback: a selection that cannot serve is an error.

mod evidence;
mod service;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use self::evidence::{refuse_shared_credentials, selection};
use self::service::{Place, constrained, received, suitable};
use super::Fact;
use super::findings::Findings;
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::resolution::connection::Selection;
use crate::resolution::context::Context;

/// The fact that each input owned by a connection requirement receives, by node and input name.
pub(in crate::resolution) type Members<'a> = HashMap<(&'a str, &'a str), Fact>;

/// The selection of each connection parameter; nothing where it is missing or was refused.
type Selections<'a> = BTreeMap<&'a str, Option<Selection>>;

/// Views every connection through each requirement that is bound to it.
///
/// Reports acquisition's own answers, ERR_INVALID_RESOLUTION_CONTEXT for evidence that breaks a rule,
/// ERR_CONNECTION_INCOMPATIBLE and ERR_VALUE_CONSTRAINT for a selection that cannot serve a requirement; defers
/// connections that have not been acquired.
pub(in crate::resolution) fn view<'a>(
    contracts: &'a Contracts,
    context: &Context,
    findings: &mut Findings,
) -> Members<'a> {
    let mut selections = Selections::new();
    for (name, parameter) in &contracts.blueprint.spec.parameters {
        if let (Supply::Connection(_), Some(from)) = (parameter.supply(), &parameter.from) {
            selections.insert(name, selection(name, from, context, findings));
        }
    }
    refuse_shared_credentials(&mut selections, findings);

    let mut members = Members::new();
    for (node, authored, component) in contracts.nodes() {
        let contract = &component.spec.contract;
        for (name, requirement) in &contract.connection_requirements {
            let place = Place {
                contracts,
                node,
                name,
            };
            let selection = authored
                .connection_bindings
                .get(name)
                .and_then(|binding| selections.get(binding.parameter.as_str()))
                .and_then(Option::as_ref);
            let served = selection.and_then(|selection| {
                let view = suitable(&place, requirement, selection, findings)?;
                Some(received(requirement, selection, view))
            });
            let facts = match served {
                None => requirement
                    .inputs
                    .roles()
                    .map(|(_, input)| (input, Fact::Withheld)),
                Some(received) => received.map(|(input, supplied)| {
                    (input, constrained(&place, input, supplied, findings))
                }),
            };
            members.extend(facts.map(|(input, fact)| ((node, input), fact)));
        }
    }
    members
}
