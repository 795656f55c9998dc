//! `render ITEM`: the Kubernetes objects that an item becomes, without a cluster, secrets redacted unless they are asked for.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::offline::Offline;
use super::resolve::explain;
use crate::contract::contracts::Contracts;
use crate::document::result::Status;
use crate::materialize::metadata::Owner;
use crate::materialize::objects;

/// Resolve an item offline and print the objects that it becomes.
///
/// A generated credential that the context file does not hold is stood in for: no object shows it. Exit status: 0 VALID,
/// 1 INVALID, 2 something cannot be read, 3 INCOMPLETE.
#[derive(Debug, Args)]
pub struct Render {
    #[command(flatten)]
    offline: Offline,
    /// Print the environments with their values, as they arrive in the pods: those of the context file, and stand-ins.
    #[arg(long)]
    show_secrets: bool,
}

impl Render {
    /// Runs the verb.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn run(&self) -> anyhow::Result<Status> {
        self.report(&mut io::stdout().lock())
    }

    fn report(&self, out: &mut impl Write) -> anyhow::Result<Status> {
        let (selected, mut findings) = self.offline.select()?;
        let accepted = selected.and_then(|selected| selected.accept(&mut findings));
        let rendered = accepted.map(|(accepted, pins)| {
            objects(&accepted, &pins, &self.owner(accepted.contracts()), 0)
        });
        match rendered {
            Some(objects) => {
                for secret in &objects.environments {
                    if self.show_secrets {
                        document(out, secret.expose())?;
                    } else {
                        document(out, &secret.redacted())?;
                    }
                }
                for claim in &objects.volumes {
                    document(out, claim)?;
                }
                for object in &objects.applied {
                    document(out, object)?;
                }
                for job in &objects.jobs {
                    document(out, job)?;
                }
            }
            None => explain(&mut io::stderr().lock(), &findings)?,
        }
        Ok(findings.status())
    }

    fn owner(&self, contracts: &Contracts) -> Owner {
        Owner {
            name: self.offline.name(contracts).to_owned(),
            namespace: self.offline.namespace().to_owned(),
            uid: String::new(),
            identity: self.offline.name(contracts).to_owned(),
        }
    }
}

fn document(out: &mut impl Write, object: &impl Serialize) -> anyhow::Result<()> {
    let mut value = serde_json::to_value(object)?;
    // Offline there is no Installation yet, so nothing can be owned.
    if let Some(metadata) = value
        .get_mut("metadata")
        .and_then(|metadata| metadata.as_object_mut())
    {
        metadata.remove("ownerReferences");
    }
    write!(out, "---\n{}", serde_saphyr::to_string(&value)?)?;
    Ok(())
}
