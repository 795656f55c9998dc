//! Addresses of PUBLIC endpoints of TCP and UDP: what load balancers have given the Services of an Installation.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;

use super::{Reader, Unavailable};
use crate::api::{Installation, names};
use crate::contract::blueprint::exposure::Exposure;
use crate::contract::component::endpoint::Endpoint;
use crate::contract::contracts::Contracts;

/// Node → endpoint → host names and addresses, in the load balancer's order.
pub type Addresses = BTreeMap<String, BTreeMap<String, Vec<String>>>;

impl Reader {
    /// What stands in the status of the Services that load balancers serve for `installation`. Another one's Service
    /// counts for nothing.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_addresses(
        &self,
        installation: &Installation,
        contracts: &Contracts,
    ) -> Result<Addresses, Unavailable> {
        let mut addresses = Addresses::new();
        for (node, endpoint, _) in public(contracts) {
            let name = names::route(&installation.name_any(), node, endpoint);
            let service = self.read::<Service>(&name).await?;
            let owned = |service: &Service| {
                let mut owners = service.owner_references().iter();
                owners.any(|owner| Some(&owner.uid) == installation.uid().as_ref())
            };
            if let Some(service) = service.filter(owned) {
                addresses
                    .entry(node.to_owned())
                    .or_default()
                    .insert(endpoint.to_owned(), given(service));
            }
        }
        Ok(addresses)
    }
}

/// The PUBLIC endpoints of TCP and UDP: node, name, endpoint.
pub fn public(contracts: &Contracts) -> impl Iterator<Item = (&str, &str, &Endpoint)> {
    contracts.components.iter().flat_map(|(node, contract)| {
        let authored = &contracts.blueprint.spec.components[node];
        let workload = contract.component.spec.workload.iter();
        workload
            .flat_map(|workload| &workload.endpoints)
            .filter(|(name, endpoint)| {
                authored.exposure(name) == Exposure::Public && !endpoint.protocol.is_http_family()
            })
            .map(move |(name, endpoint)| (node.as_str(), name.as_str(), endpoint))
    })
}

fn given(service: Service) -> Vec<String> {
    let balancer = service.status.and_then(|status| status.load_balancer);
    let ingress = balancer.and_then(|balancer| balancer.ingress);
    let given = ingress.into_iter().flatten();
    given
        .filter_map(|ingress| ingress.hostname.or(ingress.ip))
        .collect()
}
