//! The witness: watches everything precious and every Job by a connection of its own, from before the run to its end, and
//! keeps the ledger.

use std::sync::{Arc, Mutex};

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::task::JoinHandle;

use super::ledger::Ledger;
use crate::support::TestNamespace;

/// A witness, until it is dropped.
pub struct Witness {
    ledger: Arc<Mutex<Ledger>>,
    watching: [JoinHandle<()>; 2],
}

impl Drop for Witness {
    fn drop(&mut self) {
        for watching in &self.watching {
            watching.abort();
        }
    }
}

impl Witness {
    /// Watches the namespace of `test`.
    pub fn of(test: &TestNamespace) -> Self {
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let secrets = watcher(test.api::<Secret>(), watcher::Config::default());
        let jobs = watcher(test.api::<Job>(), watcher::Config::default());
        let watching = [
            tokio::spawn(follow(
                Arc::clone(&ledger),
                secrets,
                |ledger, event| match event {
                    Event::Apply(secret) | Event::InitApply(secret) => ledger.see(&secret),
                    Event::Delete(secret) => ledger.miss(&secret),
                    Event::Init | Event::InitDone => {}
                },
            )),
            tokio::spawn(follow(Arc::clone(&ledger), jobs, |ledger, event| {
                if let Event::Apply(job) | Event::InitApply(job) = event {
                    ledger.see_job(&job);
                }
            })),
        ];
        Self { ledger, watching }
    }

    /// Everything of `identity` is about to be deleted by its user.
    pub fn permit(&self, identity: &str) {
        self.ledger.lock().expect("the ledger").permit(identity);
    }

    /// How much was seen, of what was not disposed of.
    pub fn summary(&self) -> String {
        self.ledger.lock().expect("the ledger").summary()
    }

    /// What was found wrong so far.
    pub fn violations(&self) -> Vec<String> {
        let ledger = self.ledger.lock().expect("the ledger");
        ledger.violations().to_vec()
    }
}

async fn follow<K>(
    ledger: Arc<Mutex<Ledger>>,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    note: impl Fn(&mut Ledger, Event<K>),
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => note(&mut ledger.lock().expect("the ledger"), event),
            // It goes on from where it was.
            Err(error) => eprintln!("the witness was interrupted: {error}"),
        }
    }
}
