//! `events`: what happened to an Installation and to what was made for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;
use kube::runtime::watcher::{self, Event as Change};

use super::ask::Ask;
use super::output::{Output, print};
use super::session::{Session, now};
use super::view::events::{Family, in_order, log};

/// Show the events of an Installation, of its workloads and of their pods, in the order in which they happened.
#[derive(Debug, Args)]
pub struct Events {
    /// The Installation.
    name: String,
    /// Go on with what happens next.
    #[arg(short, long, conflicts_with = "format")]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

/// How old what is known of an Installation may be when an event of an unknown object comes.
const FRESH: Duration = Duration::from_secs(1);

impl Events {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the cluster cannot be asked, or nothing is known of such an Installation.
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let installation = session.find(&self.name).await?;
        let mut family = Family::of(&self.name, installation.as_ref());
        let listed = session.api::<Event>().list(&ListParams::default()).await;
        let listed = listed.asking(|| "list Events".to_owned())?.items;
        let seen: BTreeMap<_, _> = listed.iter().map(version).collect();
        let about = listed.into_iter().filter(|event| family.includes(event));
        let found = in_order(about.collect());
        if installation.is_none() && found.is_empty() {
            return Err(session.absent(&self.name));
        }
        match self.output.format {
            Some(format) => return format.print_list(&found),
            None if found.is_empty() => anstream::eprintln!("there are no events of {}", self.name),
            None => print(&log(&found, now(), true))?,
        }
        match self.watch {
            true => self.go_on(session, seen, &mut family).await,
            false => Ok(()),
        }
    }

    /// Prints what happens next, until somebody stops it. `seen` is what has been printed or is of no interest.
    async fn go_on(
        &self,
        session: &Session,
        mut seen: BTreeMap<Option<String>, Option<String>>,
        family: &mut Family,
    ) -> anyhow::Result<()> {
        let events = watcher::watcher(session.api::<Event>(), watcher::Config::default());
        let mut events = events.boxed();
        let mut read = Instant::now();
        while let Some(event) = events
            .try_next()
            .await
            .asking(|| "watch Events".to_owned())?
        {
            let event = match event {
                Change::InitApply(event) | Change::Apply(event) => event,
                Change::Delete(event) => {
                    seen.remove(&event.uid());
                    continue;
                }
                Change::Init | Change::InitDone => continue,
            };
            let (uid, version) = version(&event);
            if seen.insert(uid, version.clone()) == Some(version) {
                continue;
            }
            // It may be of something that was made since.
            if !family.includes(&event) && read.elapsed() > FRESH {
                let installation = session.find(&self.name).await?;
                *family = Family::of(&self.name, installation.as_ref());
                read = Instant::now();
            }
            if family.includes(&event) {
                print(&log(&[event], now(), false))?;
            }
        }
        Ok(())
    }
}

/// By what an event that was seen is known again, and its repetition is told from it.
fn version(event: &Event) -> (Option<String>, Option<String>) {
    (event.uid(), event.resource_version())
}
