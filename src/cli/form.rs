//! `form PATH`: the install form that a blueprint asks for.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::{human, target, validate};
use crate::contract::Published;
use crate::contract::blueprint::form::form;
use crate::document::result::Profile;

/// Print a blueprint's install form as JSON. Exit status: 0 printed, 1 the blueprint is INVALID, 2 usage.
#[derive(Debug, Args)]
pub struct Form {
    /// An item directory or a blueprint; `-` reads from standard input.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// A JSON file with `contracts` that the blueprint names by identity and revision.
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Form) -> anyhow::Result<bool> {
    print(arguments, &mut io::stdout().lock())
}

fn print(arguments: &Form, out: &mut impl Write) -> anyhow::Result<bool> {
    let published = arguments
        .context
        .as_deref()
        .map_or_else(|| Ok(Published::default()), validate::context)?;
    let checked = target::only(&arguments.path)?.check(&published, Profile::Document)?;
    match &checked.validation.partial {
        Some(contracts) => {
            serde_json::to_writer_pretty(&mut *out, &form(contracts))?;
            writeln!(out)?;
            Ok(true)
        }
        None if checked.validation.component.is_some() => {
            anyhow::bail!("a component has no form; name a blueprint or its item")
        }
        None => {
            human::print(&[checked], &mut anstream::stderr().lock())?;
            Ok(false)
        }
    }
}
