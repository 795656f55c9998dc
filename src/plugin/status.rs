//! `status`: one Installation as a tree, or those of a namespace as a table.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use futures::{StreamExt, TryStreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use tokio::time::{Instant, interval_at};

use super::ask::Ask;
use super::output::{Output, print, reprint};
use super::session::{Session, now};
use super::view::list::list;
use super::view::tree::tree;
use crate::api::Installation;

/// Show where an Installation stands, as a tree; without NAME, those of the namespace.
#[derive(Debug, Args)]
pub struct Status {
    /// The Installation.
    name: Option<String>,
    /// Those of all namespaces.
    #[arg(short = 'A', long, conflicts_with = "name")]
    all_namespaces: bool,
    /// Go on showing it whenever it changes.
    #[arg(short, long, conflicts_with = "format")]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

/// Ages grow while nothing changes.
const REDRAW: Duration = Duration::from_secs(30);

impl Status {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the cluster cannot be asked, or there is no such Installation.
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        match (&self.name, self.watch) {
            (Some(name), true) => self.watch(session, Some(name)).await,
            (None, true) => self.watch(session, None).await,
            (Some(name), false) => {
                let found = session.installation(name).await?;
                match self.output.format {
                    Some(format) => format.print(&found),
                    None => print(&tree(&found, now())),
                }
            }
            (None, false) => {
                let found = self.api(session).list(&Default::default()).await;
                let found = found.asking(|| "list Installations".to_owned())?;
                match self.output.format {
                    Some(format) => format.print_list(&found.items),
                    None if found.items.is_empty() => {
                        anstream::eprintln!("there is no Installation{}", self.place(session));
                        Ok(())
                    }
                    None => print(&list(&found.items, self.all_namespaces, now())),
                }
            }
        }
    }

    fn api(&self, session: &Session) -> Api<Installation> {
        match self.all_namespaces {
            true => Api::all(session.client.clone()),
            false => session.api(),
        }
    }

    fn place(&self, session: &Session) -> String {
        match self.all_namespaces {
            true => String::new(),
            false => format!(" in namespace {}", session.namespace),
        }
    }

    /// Shows again whatever changes, until somebody stops it or the one Installation is gone.
    async fn watch(&self, session: &Session, name: Option<&String>) -> anyhow::Result<()> {
        let mut shown = BTreeMap::new();
        if let Some(name) = name {
            let found = session.installation(name).await?;
            shown.insert(key(&found), found);
        }
        let fields = name.map(|name| format!("metadata.name={name}"));
        let config = watcher::Config {
            field_selector: fields,
            ..watcher::Config::default()
        };
        let mut events = watcher::watcher(self.api(session), config).boxed();
        let mut redraw = interval_at(Instant::now() + REDRAW, REDRAW);
        let mut listed = BTreeMap::new();
        loop {
            tokio::select! {
                event = events.try_next() => {
                    let event = event.asking(|| "watch Installations".to_owned())?;
                    match event {
                        None => return Ok(()),
                        Some(Event::Init) => { listed.clear(); continue }
                        Some(Event::InitApply(found)) => { listed.insert(key(&found), found); continue }
                        Some(Event::InitDone) => shown = std::mem::take(&mut listed),
                        Some(Event::Apply(found)) => { shown.insert(key(&found), found); }
                        Some(Event::Delete(found)) => { shown.remove(&key(&found)); }
                    }
                }
                _ = redraw.tick() => {}
            }
            match (name, shown.values().next()) {
                (Some(name), None) => {
                    return print(&format!("Installation {name} is gone\n"));
                }
                (Some(_), Some(found)) => reprint(&tree(found, now()))?,
                (None, _) => {
                    let all: Vec<Installation> = shown.values().cloned().collect();
                    reprint(&list(&all, self.all_namespaces, now()))?;
                }
            }
        }
    }
}

fn key(installation: &Installation) -> (Option<String>, String) {
    (installation.namespace(), installation.name_any())
}
