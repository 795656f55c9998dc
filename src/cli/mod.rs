//! The command line: a file per verb.

mod conformance;
mod excerpt;
mod form;
mod human;
mod normalize;
mod target;
mod validate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Installs applications described by blueprints, and checks them before they are installed.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// The version, with the editions of the specifications that this program holds.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nspecifications: core 1.0.0, component 1.0.0, blueprint 1.0.0"
);

#[derive(Debug, Subcommand)]
enum Verb {
    Validate(validate::Validate),
    Form(form::Form),
    Normalize(normalize::Normalize),
    Conformance(conformance::Conformance),
}

/// Runs the verb that the command line names.
pub fn run() -> ExitCode {
    match Cli::parse().verb {
        Verb::Validate(arguments) => validate::run(&arguments),
        Verb::Form(arguments) => form::run(&arguments),
        Verb::Normalize(arguments) => normalize::run(&arguments),
        Verb::Conformance(arguments) => conformance::run(&arguments),
    }
}
