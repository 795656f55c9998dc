//! What stands in a namespace: the precious objects of each identity, and what was made from them.

use std::collections::BTreeMap;

use installation_operator::api::ResolutionRecord;
use installation_operator::api::names::{
    GENERATION_LABEL, INSTALLATION_LABEL, PARAMETER_ANNOTATION, Precious,
};
use installation_operator::controller::history::key;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::api::ListParams;
use kube::{Resource, ResourceExt};

use super::TestNamespace;

/// Everything precious in a namespace.
#[derive(Debug)]
pub struct Stock {
    /// By type, `claim` and so on.
    pub secrets: BTreeMap<String, Vec<Secret>>,
    /// Records.
    pub records: Vec<ResolutionRecord>,
}

/// How many precious objects there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each names what it counts")]
pub struct Counts {
    pub claims: usize,
    pub credentials: usize,
    pub sources: usize,
    pub snapshots: usize,
    pub records: usize,
}

/// What one whole install of the item leaves.
pub const ONE_INSTALL: Counts = Counts {
    claims: 1,
    credentials: 1,
    sources: 3,
    snapshots: 1,
    records: 1,
};

/// What an Installation leaves that never began.
pub const NOTHING: Counts = Counts {
    claims: 0,
    credentials: 0,
    sources: 0,
    snapshots: 0,
    records: 0,
};

impl Stock {
    /// The Secrets of one kind.
    pub fn of(&self, kind: Precious) -> &[Secret] {
        self.secrets.get(kind.as_ref()).map_or(&[], Vec::as_slice)
    }

    /// How many there are of each.
    pub fn counts(&self) -> Counts {
        Counts {
            claims: self.of(Precious::Claim).len(),
            credentials: self.of(Precious::Credential).len(),
            sources: self.of(Precious::Source).len(),
            snapshots: self.of(Precious::Snapshot).len(),
            records: self.records.len(),
        }
    }

    /// The value of a credential, if it exists.
    pub fn password(&self, parameter: &str, generation: u64) -> Option<String> {
        let found = self.of(Precious::Credential).iter().find(|secret| {
            secret
                .annotations()
                .get(PARAMETER_ANNOTATION)
                .map(String::as_str)
                == Some(parameter)
                && secret.labels().get(GENERATION_LABEL) == Some(&generation.to_string())
        })?;
        let bytes = found.data.as_ref()?.get(key::CREDENTIAL)?;
        String::from_utf8(bytes.0.clone()).ok()
    }

    /// Every object as it is: equal to an earlier answer if and only if none was touched.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let secrets = self.secrets.values().flatten().map(version);
        secrets.chain(self.records.iter().map(version)).collect()
    }
}

/// Name, and what changes with every write.
pub fn version<K: Resource>(object: &K) -> (String, String) {
    let (uid, version) = (object.uid(), object.resource_version());
    (
        object.name_any(),
        format!("{uid:?} {}", version.unwrap_or_default()),
    )
}

impl TestNamespace {
    /// Everything precious here.
    pub async fn stock(&self) -> Stock {
        let mut stock = Stock {
            secrets: BTreeMap::new(),
            records: self.list().await,
        };
        for secret in self.list::<Secret>().await {
            let kind = secret.type_.as_deref().unwrap_or_default();
            if let Some(kind) = kind.strip_prefix("install.musher.dev/") {
                let kind = kind.to_owned();
                stock.secrets.entry(kind).or_default().push(secret);
            }
        }
        stock
    }

    /// Every object of a kind here.
    pub async fn list<K>(&self) -> Vec<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
        K::DynamicType: Default,
    {
        let list = self.api::<K>().list(&ListParams::default()).await;
        list.expect("the API server lists").items
    }

    /// The Deployments here, by name.
    pub async fn deployments(&self) -> BTreeMap<String, Deployment> {
        let found = self.list::<Deployment>().await.into_iter();
        found.map(|found| (found.name_any(), found)).collect()
    }

    /// The Secrets that hold environments, by name.
    pub async fn environments(&self) -> BTreeMap<String, Secret> {
        let found = self.list::<Secret>().await.into_iter();
        found
            .filter(|secret| secret.labels().contains_key(INSTALLATION_LABEL))
            .map(|secret| (secret.name_any(), secret))
            .collect()
    }

    /// The reasons and messages of an Installation's events.
    pub async fn events(&self, name: &str) -> Vec<(String, String)> {
        let about = |event: &Event| {
            event.involved_object.kind.as_deref() == Some("Installation")
                && event.involved_object.name.as_deref() == Some(name)
        };
        let said = |event: Event| {
            (
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default(),
            )
        };
        let events = self.list::<Event>().await.into_iter();
        events.filter(about).map(said).collect()
    }

    /// Waits until an event of `reason` tells of the Installation; says its message.
    pub async fn wait_for_event(&self, name: &str, reason: &str) -> String {
        let what = format!("an event {reason} of {name}");
        super::wait::eventually(&what, async || {
            let events = self.events(name).await.into_iter();
            let mut found = events.filter(|(said, _)| said == reason);
            found.next().map(|(_, message)| message)
        })
        .await
    }
}
