//! `normalize PATH`: a document with its defaults filled in.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::{human, target};
use crate::contract::normalize::normalize;
use crate::contract::{Published, envelope};
use crate::document::result::{Profile, Status};
use crate::document::yaml;

/// Print a document as JSON with every omitted field that has a default filled in. Exit status: 0 printed, 1 the document
/// does not have the shape of its family, 2 usage.
#[derive(Debug, Args)]
pub struct Normalize {
    /// An item directory, for its blueprint, or a document; `-` reads from standard input.
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Normalize) -> anyhow::Result<bool> {
    print(arguments, &mut io::stdout().lock())
}

fn print(arguments: &Normalize, out: &mut impl Write) -> anyhow::Result<bool> {
    let target = target::only(&arguments.path)?;
    let checked = target.check(&Published::default(), Profile::Structural)?;
    let document = yaml::parse(checked.document().1).ok();
    let shaped = document
        .filter(|_| checked.validation.result.status == Status::Valid)
        .and_then(|document| Some((envelope::family(&document).ok()?, document)));
    let Some((family, document)) = shaped else {
        human::print(&[checked], &mut anstream::stderr().lock())?;
        return Ok(false);
    };
    serde_json::to_writer_pretty(&mut *out, &normalize(family, document.value))?;
    writeln!(out)?;
    Ok(true)
}
