//! The `installation-operator` binary; everything is in the library.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

// Reading documents makes many small values: the system's allocator takes a third of the time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // One provider for every TLS connection of the process. It fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    installation_operator::cli::Cli::parse().run()
}
