//! One binary, one file a verb.

pub mod crds;

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};

use crate::resolution::record::EDITION;

/// Installs applications described by Musher blueprints on Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "installation-operator", version = version(), propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the custom resource definitions, the admission policy of precious objects and the cluster roles.
    Crds(crds::Crds),
}

impl Cli {
    /// Does what was asked and says how it ended.
    pub fn run(self) -> ExitCode {
        match self.verb {
            Verb::Crds(args) => outcome(args.run()),
        }
    }
}

fn outcome(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The program's version and the specification editions that it holds, as an unknown-field diagnostic asks for.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        format!("{version} (core {EDITION}, component {EDITION}, blueprint {EDITION})")
    });
    &VERSION
}
