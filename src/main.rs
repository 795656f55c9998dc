//! The `installation-operator` binary; everything is in the library.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    installation_operator::cli::Cli::parse().run()
}
