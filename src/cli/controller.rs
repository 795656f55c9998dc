//! `controller`: runs the operator.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use super::client::client;
use crate::api::names;
use crate::controller::leader::Election;
use crate::controller::replica::Replica;
use crate::controller::shell::Settings;

/// Run the operator until SIGTERM.
#[derive(Debug, Args)]
pub struct Controller {
    /// Watch this namespace only; all namespaces when left out.
    #[arg(long, env = "WATCH_NAMESPACE")]
    namespace: Option<String>,
    /// The name of the Platform object that says what the cluster offers.
    #[arg(long, env = "PLATFORM", default_value = "default")]
    platform: String,
    /// The operator's own namespace: there are its Lease, the Secrets that objects of the cluster name, and which
    /// Installation has which public host name. All operators of a cluster share one. The one that it runs in, or the kubeconfig's, when
    /// left out.
    #[arg(long, env = "OPERATOR_NAMESPACE")]
    operator_namespace: Option<String>,
    /// How often, at most, the registry is asked what the tags of one Installation name now, in seconds.
    #[arg(long, env = "TAG_INTERVAL", value_name = "SECONDS", default_value_t = 900,
        value_parser = clap::value_parser!(u64).range(1..))]
    tag_interval: u64,
    /// Take turns with other replicas: only the one that holds a Lease acts, the others wait.
    #[arg(long, env = "LEADER_ELECT")]
    leader_elect: bool,
    /// Serve /healthz and /readyz at this port; nowhere when left out.
    #[arg(long, env = "HEALTH_PORT", value_name = "PORT")]
    health_port: Option<u16>,
    /// What to log, as a tracing filter: a level, or target=level, separated by commas.
    #[arg(long, env = "LOG", default_value = "info")]
    log: String,
    /// How to log.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl Controller {
    /// Runs until a signal.
    ///
    /// # Errors
    /// When there is no cluster to talk to, the log filter is malformed, or the replica has to end: its Lease is lost, or its
    /// health cannot be served.
    pub fn run(self) -> anyhow::Result<()> {
        let filter = EnvFilter::try_new(&self.log)
            .with_context(|| format!("--log {:?} is not a filter", self.log))?;
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        match self.log_format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
        tokio::runtime::Runtime::new()?.block_on(async {
            let client = client().await?;
            let operator_namespace = self
                .operator_namespace
                .unwrap_or_else(|| client.default_namespace().to_owned());
            tracing::info!(
                namespace = self.namespace,
                platform = self.platform,
                operator_namespace,
                version = env!("CARGO_PKG_VERSION"),
                "starting"
            );
            let election = if self.leader_elect {
                let lease = names::lease(self.namespace.as_deref());
                Some(Election::new(client.clone(), &operator_namespace, lease)?)
            } else {
                None
            };
            let replica = Replica {
                client,
                settings: Settings {
                    namespace: self.namespace,
                    platform: self.platform,
                    operator_namespace,
                    tag_interval: Duration::from_secs(self.tag_interval),
                },
                election,
                health_port: self.health_port,
            };
            replica.run().await?;
            tracing::info!("stopped");
            Ok(())
        })
    }
}
