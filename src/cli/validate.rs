//! scaffold
use clap::Args;
use std::process::ExitCode;
/// Validate.
#[derive(Debug, Args)]
pub struct Validate {}
/// Runs the verb.
pub fn run(_: &Validate) -> ExitCode {
    ExitCode::SUCCESS
}
