//! The way to the cluster: the caller's own, as kubectl takes it.

use anyhow::Context as _;
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::{Client, Config};

/// A client for the cluster that `KUBECONFIG`, the default kubeconfig or the surrounding pod names.
///
/// # Errors
/// When there is none, or it is not usable.
pub(super) async fn client() -> anyhow::Result<Client> {
    let agent = concat!("installation-operator/", env!("CARGO_PKG_VERSION"));
    of(infer().await?, agent)
}

/// The cluster that `KUBECONFIG`, the default kubeconfig or the surrounding pod names.
///
/// # Errors
/// When there is none.
pub(crate) async fn infer() -> anyhow::Result<Config> {
    Config::infer()
        .await
        .context("no cluster to talk to: set KUBECONFIG, or run inside a cluster")
}

/// A client as `config` says, which calls itself `agent`.
///
/// # Errors
/// When `config` is not usable.
pub(crate) fn of(mut config: Config, agent: &'static str) -> anyhow::Result<Client> {
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(agent)));
    Client::try_from(config).context("the cluster's configuration is not usable")
}
