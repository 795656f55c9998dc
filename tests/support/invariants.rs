//! The design's invariants, checked from the API server's state alone: what stands in a namespace when nothing is under
//! way. What must not happen in between is for who watches to say.

use std::collections::{BTreeMap, BTreeSet};

use installation_operator::api::names::{
    IDENTITY_LABEL, INSTALLATION_LABEL, RecordState, STATE_ANNOTATION,
};
use installation_operator::api::{Installation, ResolutionRecord};
use installation_operator::controller::claim::Claim;
use installation_operator::controller::history::History;
use installation_operator::controller::journal::Rollout;
use installation_operator::controller::shelf::Shelf;
use installation_operator::materialize::metadata::Owner;
use installation_operator::materialize::objects;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};

use super::TestNamespace;

/// What stands in a namespace.
struct State {
    installations: Vec<Installation>,
    shelves: BTreeMap<String, Shelf>,
    environments: BTreeMap<String, Secret>,
    /// What runs pods for good: kind and name, whose it says to be, and the UID of its owner.
    workloads: Vec<(String, String, String)>,
}

impl TestNamespace {
    /// Every invariant that does not hold here, in words that hold no value.
    pub async fn broken_invariants(&self) -> Vec<String> {
        let state = self.state().await;
        let mut broken = Vec::new();
        for (identity, shelf) in &state.shelves {
            if let Err(wrong) = state.check(identity, shelf, &mut broken) {
                broken.push(format!("{identity}: {wrong}"));
            }
        }
        let live: BTreeSet<_> = state.installations.iter().map(Installation::uid).collect();
        for (what, of, owner) in &state.workloads {
            if !live.contains(&Some(owner.clone())) {
                broken.push(format!("{what} of {of} has an owner that is gone"));
            }
        }
        broken
    }

    async fn state(&self) -> State {
        let (secrets, records) = (
            self.list::<Secret>().await,
            self.list::<ResolutionRecord>().await,
        );
        let volumes = self.list::<PersistentVolumeClaim>().await;
        let metadata = secrets.iter().map(Resource::meta);
        let metadata = metadata.chain(records.iter().map(Resource::meta));
        let metadata = metadata.chain(volumes.iter().map(Resource::meta));
        let identity =
            |metadata: &ObjectMeta| metadata.labels.as_ref()?.get(IDENTITY_LABEL).cloned();
        let identities: BTreeSet<String> = metadata.filter_map(identity).collect();
        let mut shelves = BTreeMap::new();
        for identity in identities {
            let shelf = Shelf::read(&self.client(), &self.name, &identity).await;
            shelves.insert(identity, shelf.expect("what is of an identity"));
        }
        let environments = secrets.into_iter();
        let environments = environments
            .filter(|secret| secret.labels().contains_key(INSTALLATION_LABEL))
            .map(|secret| (secret.name_any(), secret))
            .collect();
        let deployments = self.list::<Deployment>().await.into_iter();
        let sets = self.list::<StatefulSet>().await.into_iter();
        let deployments = deployments.map(|found| ("Deployment", found.metadata));
        let sets = sets.map(|found| ("StatefulSet", found.metadata));
        let workloads = deployments.chain(sets).map(|(kind, metadata)| {
            let owner = metadata.owner_references.iter().flatten().next();
            let label = |labels: &BTreeMap<String, String>| labels.get(INSTALLATION_LABEL).cloned();
            (
                format!("{kind} {}", metadata.name.unwrap_or_default()),
                metadata.labels.as_ref().and_then(label).unwrap_or_default(),
                owner.map(|owner| owner.uid.clone()).unwrap_or_default(),
            )
        });
        State {
            installations: self.list().await,
            shelves,
            environments,
            workloads: workloads.collect(),
        }
    }
}

impl State {
    /// Everything about one identity. What stops the check is an error: the rest cannot be said.
    fn check(&self, identity: &str, shelf: &Shelf, broken: &mut Vec<String>) -> Result<(), String> {
        let claim = shelf.claim.as_ref().ok_or("it has no claim")?;
        let claim = Claim::read(claim, identity).map_err(|error| error.to_string())?;
        // Names, types, immutability, one object each, digests of documents, a snapshot behind each record, a Secret
        // behind each credential that is named, as whoever restores reads them.
        let history = History::read(identity, claim.versions, shelf).map_err(|e| e.to_string())?;
        let mut say = |wrong: String| broken.push(format!("{identity}: {wrong}"));
        let latest = history.latest().map_or(0, |version| version.number);
        if latest != claim.versions {
            say(format!(
                "its claim counts {} versions, and the newest is {latest}",
                claim.versions
            ));
        }
        for version in &history.versions {
            let number = version.number;
            // By a replay of the whole resolution from what is persisted.
            if let Err(error) = history.accept(version) {
                say(format!("version {number} is not accepted: {error}"));
            }
            match history.recorded.get(&number) {
                None => say(format!("version {number} has no record")),
                Some(record) => {
                    let state = record.annotations().get(STATE_ANNOTATION);
                    let wanted = if number == latest {
                        RecordState::Current
                    } else {
                        RecordState::Superseded
                    };
                    if state.map(String::as_str) != Some(wanted.as_ref()) {
                        say(format!("record {number} says that it is {state:?}"));
                    }
                }
            }
        }
        let mut holders = self
            .installations
            .iter()
            .filter(|found| found.identity() == identity);
        let Some(holder) = holders.find(|found| found.uid().as_deref() == Some(&claim.holder.uid))
        else {
            // It is retained, unless somebody lives on it whom the claim does not name.
            let status = |found: &&Installation| found.status.as_ref()?.record.clone();
            if self.living(identity).any(|found| status(&found).is_some()) {
                say("what runs is not its holder's".to_owned());
            }
            return Ok(());
        };
        // A holder whose spec was never valid has nothing yet.
        let Some(latest) = history.latest() else {
            return Ok(());
        };
        let accepted = history.accept(latest).map_err(|error| error.to_string())?;
        let record = history.record(latest.number).map_err(|e| e.to_string())?;
        let rollout = Rollout::of(record).map_err(|error| error.to_string())?;
        let rollout = rollout.unwrap_or_default().count;
        let wanted = objects(&accepted, &latest.pins, &Owner::of(holder), rollout);
        for environment in &wanted.environments {
            match self.environments.get(environment.name()) {
                None => say(format!("environment {} is not there", environment.name())),
                Some(found) if found.data != environment.expose().data => {
                    say(format!("environment {} is another", environment.name()));
                }
                Some(_) => {}
            }
        }
        let is_wanted = |what: &str| {
            let mut wanted = wanted.applied.iter();
            wanted.any(|object| {
                let kind = object.types.as_ref().map_or("", |types| &types.kind);
                what == format!("{kind} {}", object.name_any())
            })
        };
        let name = holder.name_any();
        let mut own = self.workloads.iter().filter(|(_, of, _)| *of == name);
        if let Some((stray, ..)) = own.find(|(what, ..)| !is_wanted(what)) {
            say(format!("{stray} is not of the current record"));
        }
        for volume in &claim.volumes {
            if !shelf
                .volumes
                .iter()
                .any(|found| found.name_any() == *volume)
            {
                say(format!("its volume {volume} is gone"));
            }
        }
        Ok(())
    }

    fn living(&self, identity: &str) -> impl Iterator<Item = &Installation> {
        let of = identity.to_owned();
        self.installations
            .iter()
            .filter(move |found| found.identity() == of)
    }
}
