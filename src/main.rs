//! The `installation-operator` binary; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    installation_operator::cli::run()
}
