//! The watches that run through a proxy: a test can hold their events back, end them, or let them end as they do when the
//! API server has forgotten where they were.

use std::collections::BTreeSet;

use axum::body::{Body, Bytes};
use axum::http::Uri;
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::json;
use tokio::sync::watch;

/// What holds for all watches through one proxy.
#[derive(Clone, Debug, Default)]
struct Taps {
    /// The resources whose events are held back.
    held: BTreeSet<String>,
    /// How often all watches were ended.
    ended: usize,
    /// Whether they were told that they are out of date.
    expired: bool,
}

/// The handle to all watches through one proxy.
#[derive(Default)]
pub struct Watches(watch::Sender<Taps>);

/// The resource that `uri` watches, if it is a watch.
pub fn watched(uri: &Uri) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let is_watch = query.split('&').any(|part| part == "watch=true");
    let resource = uri.path().rsplit('/').next()?;
    is_watch.then(|| resource.to_owned())
}

impl Watches {
    /// Holds back the events of `resources` until [`Self::release`]; what an operator asks for is answered as ever.
    pub fn hold<const N: usize>(&self, resources: [&str; N]) {
        let resources = resources.map(str::to_owned);
        self.0.send_modify(|taps| taps.held.extend(resources));
    }

    /// Lets the events of `resources` through again, those that were held back first.
    pub fn release<const N: usize>(&self, resources: [&str; N]) {
        self.0
            .send_modify(|taps| taps.held.retain(|held| !resources.contains(&held.as_str())));
    }

    /// Lets all events through again.
    pub fn release_all(&self) {
        self.0.send_modify(|taps| taps.held.clear());
    }

    /// Ends every watch that runs.
    pub fn cut(&self) {
        self.0.send_modify(|taps| {
            taps.ended += 1;
            taps.expired = false;
        });
    }

    /// Tells every watch that runs that it is too old to go on, as the API server does with 410.
    pub fn expire(&self) {
        self.0.send_modify(|taps| {
            taps.ended += 1;
            taps.expired = true;
        });
    }

    /// The events of a watch of `resource`, as far as they may pass.
    pub(super) fn tap(&self, resource: String, events: Body) -> Body {
        let begun = self.0.borrow().ended;
        let tapped = Tapped {
            resource,
            begun,
            events: Some(events.into_data_stream().boxed()),
            taps: self.0.subscribe(),
        };
        Body::from_stream(stream::unfold(tapped, Tapped::next))
    }
}

struct Tapped {
    resource: String,
    begun: usize,
    /// None once it is over.
    events: Option<BoxStream<'static, Result<Bytes, axum::Error>>>,
    taps: watch::Receiver<Taps>,
}

impl Tapped {
    async fn next(mut self) -> Option<(Result<Bytes, axum::Error>, Self)> {
        let mut events = self.events.take()?;
        let (mut ends, mut opens) = (self.taps.clone(), self.taps.clone());
        let passed = async {
            let event = events.next().await;
            let open = opens.wait_for(|taps| !taps.held.contains(&self.resource));
            // A proxy that is gone holds nothing back.
            let _ = open.await;
            event
        };
        let ended = async {
            let ended = ends.wait_for(|taps| taps.ended > self.begun).await;
            ended.is_ok_and(|taps| taps.expired)
        };
        tokio::select! {
            biased;
            expired = ended => expired.then(|| (Ok(gone()), self)),
            event = passed => {
                self.events = Some(events);
                event.map(|event| (event, self))
            }
        }
    }
}

/// What the API server says to a watch that it cannot continue.
fn gone() -> Bytes {
    let status = super::proxy::status(410, "Expired", "too old resource version");
    let event = json!({"type": "ERROR", "object": status});
    format!("{event}\n").into()
}
