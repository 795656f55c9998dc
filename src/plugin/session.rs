//! The way to the cluster, as kubectl takes it, and what every verb reads of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource, ResourceExt};

use super::ask::{Ask, refused};
use super::view::records::by_version;
use crate::api::names::IDENTITY_LABEL;
use crate::api::{Installation, ResolutionRecord};
use crate::cli::client;

/// Which cluster, and as whom.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct Connection {
    /// The namespace; the context's when left out.
    #[arg(short, long, global = true, value_name = "NAME")]
    namespace: Option<String>,
    /// The kubeconfig's context to use.
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
    /// The kubeconfig to use, in the place of KUBECONFIG.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

impl Connection {
    /// One of a command line that is not finished, from the values of its options.
    pub fn of(values: &BTreeMap<String, String>) -> Self {
        let value = |name: &str| values.get(name).cloned();
        Self {
            namespace: value("namespace"),
            context: value("context"),
            kubeconfig: value("kubeconfig").map(PathBuf::from),
        }
    }

    /// Connects.
    ///
    /// # Errors
    /// When there is no cluster to talk to.
    pub async fn open(&self) -> anyhow::Result<Session> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = match (&self.kubeconfig, &self.context) {
            (Some(path), _) => {
                let unusable = || format!("{} is no usable kubeconfig", path.display());
                let kubeconfig = Kubeconfig::read_from(path).with_context(unusable)?;
                Config::from_custom_kubeconfig(kubeconfig, &options)
                    .await
                    .with_context(unusable)?
            }
            (None, Some(context)) => Config::from_kubeconfig(&options)
                .await
                .with_context(|| format!("the kubeconfig has no usable context {context}"))?,
            (None, None) => client::infer().await?,
        };
        let client = client::of(
            config,
            concat!("kubectl-installation/", env!("CARGO_PKG_VERSION")),
        )?;
        let namespace = match &self.namespace {
            Some(namespace) => namespace.clone(),
            None => client.default_namespace().to_owned(),
        };
        Ok(Session { client, namespace })
    }
}

/// A connection to the cluster, in a namespace.
pub struct Session {
    /// The client.
    pub client: Client,
    /// The namespace.
    pub namespace: String,
}

/// What a NAME on the command line stands for: an Installation, or an identity whose state alone is left.
pub struct Subject {
    /// The effective identity.
    pub identity: String,
    /// The Installation, if it lives.
    pub installation: Option<Installation>,
}

impl Session {
    /// The API of a kind in the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The Installation `name`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub async fn installation(&self, name: &str) -> anyhow::Result<Installation> {
        let found = self.find(name).await?;
        found.ok_or_else(|| self.absent(name))
    }

    /// The Installation `name`, if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn find(&self, name: &str) -> anyhow::Result<Option<Installation>> {
        self.api()
            .get_opt(name)
            .await
            .asking(|| format!("read Installation {name}"))
    }

    /// Says that there is no Installation `name`.
    pub fn absent(&self, name: &str) -> anyhow::Error {
        anyhow::anyhow!(
            "there is no Installation {name} in namespace {}; `kubectl installation status` lists those that are there",
            self.namespace
        )
    }

    /// What `name` stands for.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn subject(&self, name: &str) -> anyhow::Result<Subject> {
        let installation = self.find(name).await?;
        let identity = installation.as_ref().map(Installation::identity);
        Ok(Subject {
            identity: identity.unwrap_or(name).to_owned(),
            installation,
        })
    }

    /// The records of `identity`, by ascending version.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn records(&self, identity: &str) -> anyhow::Result<Vec<ResolutionRecord>> {
        let labelled = ListParams::default().labels(&format!("{IDENTITY_LABEL}={identity}"));
        let found = self.api::<ResolutionRecord>().list(&labelled).await;
        let found = found.asking(|| format!("list ResolutionRecords of {identity}"))?;
        Ok(by_version(found.items))
    }
}

/// Refuses what an Installation that is being deleted would never carry out.
///
/// # Errors
/// When it is being deleted.
pub fn refuse_leaving(installation: &Installation) -> anyhow::Result<()> {
    match installation.metadata.deletion_timestamp {
        Some(_) => Err(refused(format!(
            "Installation {} is being deleted: nothing of its spec is acted on any more",
            installation.name_any()
        ))),
        None => Ok(()),
    }
}

/// Now, for ages.
pub fn now() -> Timestamp {
    Timestamp::now()
}
