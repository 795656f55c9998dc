//! The `kubectl-installation` binary, which kubectl finds as `kubectl installation`; everything is in the library.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // One provider for every TLS connection of the process. It fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    installation_operator::plugin::Plugin::parse().run()
}
