//! `controller`: runs the operator.

use std::io::IsTerminal;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use super::client::client;
use crate::controller::run;
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
    /// The namespace of the operator itself, where it keeps which Installation has which public host name. All operators
    /// of a cluster share one. The one that it runs in, or the kubeconfig's, when left out.
    #[arg(long, env = "OPERATOR_NAMESPACE")]
    operator_namespace: Option<String>,
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
    /// When there is no cluster to talk to, or the log filter is malformed.
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
            run(
                client,
                Settings {
                    namespace: self.namespace,
                    platform: self.platform,
                    operator_namespace,
                },
            )
            .await;
            tracing::info!("stopped");
            Ok(())
        })
    }
}
