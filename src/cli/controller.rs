//! `controller`: runs the operator.

use std::io::IsTerminal;

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
    /// Take turns with other replicas: only the one that holds a Lease acts, the others wait.
    #[arg(long, env = "LEADER_ELECT")]
    leader_elect: bool,
    /// The namespace of that Lease; the pod's own when left out, or the one of the kubeconfig's context.
    #[arg(long, env = "LEASE_NAMESPACE", requires = "leader_elect")]
    lease_namespace: Option<String>,
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
            tracing::info!(
                namespace = self.namespace,
                platform = self.platform,
                version = env!("CARGO_PKG_VERSION"),
                "starting"
            );
            let election = if self.leader_elect {
                let namespace = self.lease_namespace.as_deref();
                let namespace = namespace.unwrap_or(client.default_namespace());
                let lease = names::lease(self.namespace.as_deref());
                Some(Election::new(client.clone(), namespace, lease)?)
            } else {
                None
            };
            let replica = Replica {
                client,
                settings: Settings {
                    namespace: self.namespace,
                    platform: self.platform,
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
