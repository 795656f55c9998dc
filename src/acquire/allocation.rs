//! Endpoint allocation: private names from the Service that a node will have and the cluster's domain. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::names;
use crate::contract::contracts::Contracts;
use crate::resolution::context::Allocation;

/// Allocations as a resolution context takes them: node → endpoint → evidence.
pub type Allocations = BTreeMap<String, BTreeMap<String, Value>>;

/// Allocates a private name to every endpoint of every node. One that `pinned` holds under the same identity is kept as
/// it is; one whose facts changed gets the next version, so that no version ever means two things.
pub fn allocate(
    contracts: &Contracts,
    installation: &str,
    namespace: &str,
    cluster_domain: &str,
    pinned: &Allocations,
    keep: bool,
) -> Allocations {
    let mut allocations = Allocations::new();
    for (node, contract) in &contracts.components {
        let Some(running) = &contract.component.spec.workload else {
            continue;
        };
        for endpoint in running.endpoints.keys() {
            let service = names::workload(installation, node);
            let fresh = Allocation {
                identity: format!("{namespace}/{service}/{endpoint}"),
                version: "1".to_owned(),
                private_hostname: Some(format!("{service}.{namespace}.svc.{cluster_domain}")),
                public: None,
            };
            let before = pinned
                .get(node)
                .and_then(|endpoints| endpoints.get(endpoint));
            let before =
                before.and_then(|before| serde_json::from_value::<Allocation>(before.clone()).ok());
            let chosen = choose(fresh, before, keep);
            let evidence = serde_json::to_value(chosen).expect("an allocation is plain data");
            allocations
                .entry(node.clone())
                .or_default()
                .insert(endpoint.clone(), evidence);
        }
    }
    allocations
}

fn choose(fresh: Allocation, before: Option<Allocation>, keep: bool) -> Allocation {
    match before.filter(|before| before.identity == fresh.identity) {
        Some(before) if keep || before.private_hostname == fresh.private_hostname => before,
        Some(before) => {
            let next = before
                .version
                .parse::<u64>()
                .map_or(1, |version| version + 1);
            Allocation {
                version: next.to_string(),
                ..fresh
            }
        }
        None => fresh,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(identity: &str, version: &str, host: &str) -> Allocation {
        Allocation {
            identity: identity.into(),
            version: version.into(),
            private_hostname: Some(host.into()),
            public: None,
        }
    }

    #[test]
    fn an_allocation_is_kept_until_its_facts_may_change_and_then_gets_another_version() {
        let fresh = || allocation("web", "1", "new");
        let before = || Some(allocation("web", "3", "old"));
        for (name, before, keep, version, host) in [
            ("first", None, true, "1", "new"),
            ("kept", before(), true, "3", "old"),
            ("changed by an update", before(), false, "4", "new"),
            (
                "unchanged by an update",
                Some(allocation("web", "3", "new")),
                false,
                "3",
                "new",
            ),
            (
                "of another workload",
                Some(allocation("other", "3", "old")),
                true,
                "1",
                "new",
            ),
        ] {
            let chosen = choose(fresh(), before, keep);
            assert_eq!(
                (chosen.version.as_str(), chosen.private_hostname.as_deref()),
                (version, Some(host)),
                "{name}"
            );
        }
    }
}
