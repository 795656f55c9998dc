//! The way to the cluster: the caller's own, as kubectl takes it.

use anyhow::Context as _;
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::Client;

/// A client for the cluster that `KUBECONFIG`, the default kubeconfig or the surrounding pod names.
///
/// # Errors
/// When there is none, or it is not usable.
pub(super) async fn client() -> anyhow::Result<Client> {
    let mut config = kube::Config::infer()
        .await
        .context("no cluster to talk to: set KUBECONFIG, or run inside a cluster")?;
    let agent = concat!("installation-operator/", env!("CARGO_PKG_VERSION"));
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(agent)));
    Client::try_from(config).context("the cluster's configuration is not usable")
}
