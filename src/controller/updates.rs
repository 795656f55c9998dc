//! What pinned things have changed outside. Reported, never applied: `spec.update.token` selects them.

use std::collections::BTreeSet;

use super::failure::Failure;
use super::history::Version;
use super::shell::Shell;
use crate::acquire::catalog::Claims;
use crate::acquire::{Findings, Reader, address, connection, hostname, offer, published, variable};
use crate::api::{Installation, component_revision};
use crate::contract::contracts::Contracts;
use crate::contract::item::Lookup;
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::connection::Answer;

impl Shell {
    /// Names every pinned thing that is another now: blueprint content, submitted Secrets, variables, connections,
    /// published components, compute profiles, addresses that load balancers gave, the pod security level, the Platform. What is
    /// gone is no update.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn changed_outside(
        &self,
        installation: &Installation,
        reader: &Reader,
        current: Option<&(Version, AcceptedRecord)>,
    ) -> Result<Vec<String>, Failure> {
        let Some((version, accepted)) = current else {
            return Ok(Vec::new());
        };
        // What cannot be acquired now is of no interest here: the running record needs none of it.
        let mut ignored = Findings::default();
        let mut changed = Vec::new();
        if let Some(config_map) = &installation.spec.blueprint.config_map
            && let Some(item) = reader
                .acquire_item(&installation.spec.blueprint, &mut ignored)
                .await?
        {
            let differs = files(accepted.contracts()).any(|(path, bytes)| match item.file(path) {
                Lookup::File { bytes: found, .. } => **found != *bytes,
                _ => true,
            });
            changed.extend(differs.then(|| format!("blueprint in ConfigMap {}", config_map.name)));
        }
        let held = version.snapshot.context().parameters;
        for (parameter, submitted) in &installation.spec.parameters {
            let Some(reference) = &submitted.secret_key_ref else {
                continue;
            };
            let found = reader
                .read_secret(parameter, reference, &mut ignored)
                .await?;
            let differs = found.is_some_and(|found| {
                held.get(parameter)
                    .is_some_and(|held| held.expose() != found.expose())
            });
            changed.extend(
                differs.then(|| format!("parameter {parameter} in Secret {}", reference.name)),
            );
        }
        changed.extend(changed_catalog(reader, version, accepted).await?);
        for (slug, pinned) in &version.pins.profiles {
            let found = reader.current_profile(slug).await?;
            let differs = found.is_some_and(|found| found.version != pinned.version);
            changed.extend(differs.then(|| format!("ComputeProfile {slug}")));
        }
        let addresses = reader
            .acquire_addresses(installation, accepted.contracts())
            .await?;
        for (node, endpoint, _) in address::public(accepted.contracts()) {
            let given = addresses.get(node).and_then(|node| node.get(endpoint));
            let pinned = version.snapshot.allocations().get(node);
            let pinned = pinned
                .and_then(|endpoints| endpoints.get(endpoint)?["public"]["hostname"].as_str());
            let differs = given.is_some_and(|given| {
                !given.is_empty() && !given.iter().any(|address| Some(address.as_str()) == pinned)
            });
            changed
                .extend(differs.then(|| format!("address of endpoint {endpoint} of node {node}")));
        }
        let name = &self.settings.platform;
        let platform = reader.platform(name).await?;
        let mut ignored = Findings::default();
        let mut offered = offer::select(accepted.contracts(), &platform, None, &mut ignored);
        // What is not on offer any more is no update: nothing could be selected instead.
        if ignored.missing.is_empty() {
            let mut pinned = version.pins.platform.clone();
            for edge in [&mut offered.edge, &mut pinned.edge].into_iter().flatten() {
                edge.domains = hostname::own(&edge.domains, &reader.namespace);
            }
            // Of the Platform or of the namespace, whichever says one.
            let level =
                std::mem::replace(&mut offered.pods.security_level, pinned.pods.security_level);
            let differs = level != pinned.pods.security_level;
            changed.extend(differs.then(|| "pod security level".to_owned()));
            changed.extend((offered != pinned).then(|| format!("Platform {name}")));
        }
        Ok(changed)
    }
}

/// What the organization's catalog says otherwise now: variables, connections, published components.
async fn changed_catalog(
    reader: &Reader,
    version: &Version,
    accepted: &AcceptedRecord,
) -> Result<BTreeSet<String>, Failure> {
    let contracts = accepted.contracts();
    let mut changed = BTreeSet::new();
    for (path, pinned) in version.snapshot.variables() {
        if let variable::Asked::Answered(found) = reader.ask_variable(path).await?
            && variable::differs(pinned, &found)
        {
            changed.insert(format!("variable {path}"));
        }
    }
    let pinned = version.snapshot.connections();
    for (parameter, from, path) in connection::references(contracts) {
        let Some(pinned) = pinned.get(parameter) else {
            continue;
        };
        let request = connection::Request {
            installation: &pinned.installation,
            parameter,
            from,
            path: &path,
            choice: version.intent.connections.get(parameter),
        };
        if let connection::Asked::Answered(Answer::Selected { selection, .. }) =
            reader.ask_connection(&request, Some(pinned)).await?
            && connection::differs(pinned, &selection)
        {
            changed.insert(format!("connection {parameter}"));
        }
    }
    for (node, identity, revision) in published::references(contracts) {
        if let Claims::One(found) = reader.revisions(identity, revision).await?
            && found.spec.document.as_bytes() != &*contracts.components[node].source
        {
            let called = component_revision::named(identity, revision);
            changed.insert(format!("ComponentRevision {called}"));
        }
    }
    Ok(changed)
}

/// The item's files as they were accepted, by their path inside the item.
fn files(contracts: &Contracts) -> impl Iterator<Item = (&str, &[u8])> {
    let components = contracts
        .blueprint
        .spec
        .components
        .iter()
        .filter(|(_, node)| node.is_local())
        .map(|(name, node)| {
            let path = node
                .component_ref
                .strip_prefix("./")
                .unwrap_or(&node.component_ref);
            (path, &*contracts.components[name].source)
        });
    std::iter::once(("blueprint.yaml", &*contracts.source)).chain(components)
}
