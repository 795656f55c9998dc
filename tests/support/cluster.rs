//! The cluster of this test run, with everything installed that a cluster needs before an operator starts.

use std::sync::OnceLock;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::OnceCell;

use super::install;
use super::local::{self, State};

/// A connection of the cluster's administrator. Each test makes its own: a client lives in one runtime.
#[derive(Clone)]
pub struct Cluster {
    /// The administrator's client.
    pub client: Client,
    /// What the cluster says about itself.
    pub state: &'static State,
}

static STATE: OnceLock<State> = OnceLock::new();
static INSTALLED: OnceCell<()> = OnceCell::const_new();

impl Cluster {
    /// Finds or starts the cluster and installs definitions, policy and roles; once for each test binary, and safely
    /// when several begin at once.
    pub async fn get() -> Self {
        let state = tokio::task::spawn_blocking(|| STATE.get_or_init(local::state))
            .await
            .expect("a cluster");
        let kubeconfig = Kubeconfig::read_from(&state.kubeconfig).expect("a readable kubeconfig");
        let client = client_of(kubeconfig).await;
        let cluster = Self { client, state };
        INSTALLED.get_or_init(|| install::install(&cluster)).await;
        cluster
    }

    /// Why pods do not run here, if they do not: what a test that needs them reports before it skips itself.
    pub fn lacks_node(&self) -> Option<&str> {
        (!self.state.node.available).then_some(self.state.node.reason.as_str())
    }

    /// A kubeconfig for the bearer of `token`, reaching the API server at `server` if that is not where it is.
    pub fn kubeconfig(&self, token: &str, server: Option<&str>) -> Kubeconfig {
        let mut config =
            Kubeconfig::read_from(&self.state.kubeconfig).expect("a readable kubeconfig");
        for user in &mut config.auth_infos {
            user.auth_info = Some(
                serde_json::from_value(serde_json::json!({ "token": token })).expect("a user"),
            );
        }
        if let Some(server) = server {
            for cluster in &mut config.clusters {
                cluster.cluster = Some(
                    serde_json::from_value(serde_json::json!({ "server": server }))
                        .expect("a cluster"),
                );
            }
        }
        config
    }
}

/// A client that `kubeconfig` configures.
pub async fn client_of(kubeconfig: Kubeconfig) -> Client {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
}
