//! What a kubelet asks: whether a restart would help, and whether this replica does its part. What it answers is said by
//! who knows it; nothing is looked up here.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use kube::Api;
use kube::api::ListParams;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::api::Installation;

/// How long between two tries to list Installations.
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// Whether this replica does its part: it waits for its turn, or it leads and the API server lists Installations to it.
#[derive(Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Says so, or that it does not yet.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn answer(&self) -> (StatusCode, &'static str) {
        if self.0.load(Ordering::Relaxed) {
            (StatusCode::OK, "ok\n")
        } else {
            let why =
                "the API server has not answered yet: the operator's log says what it waits for\n";
            (StatusCode::SERVICE_UNAVAILABLE, why)
        }
    }
}

/// Serves `/healthz` and `/readyz` at `port` of every address, for ever.
///
/// `/healthz` answers well whenever it answers: what a restart mends ends the process by itself, and a process that is
/// stuck does not answer. An API server that is away makes neither fail, for a restart would not bring it back.
///
/// # Errors
/// When the port cannot be listened at.
pub async fn serve(port: u16, readiness: Readiness) -> std::io::Result<()> {
    // IPv6 takes IPv4 along, where the machine has IPv6.
    let listener = match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?,
    };
    axum::serve(listener, router(readiness)).await
}

/// Waits until the API server lists Installations: it can be reached, it knows them, and the operator may read them.
///
/// The store of a controller cannot be waited for: it wakes one who waits, and that is the controller itself.
pub async fn until_listed(installations: &Api<Installation>) {
    let one = ListParams::default().limit(1);
    while let Err(error) = installations.list_metadata(&one).await {
        tracing::warn!(%error, "the API server does not list Installations");
        sleep(RETRY_PERIOD).await;
    }
}

fn router(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(async move || readiness.answer()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_ready_as_soon_as_it_is_said_to_be() {
        let readiness = Readiness::default();
        assert_eq!(readiness.answer().0, StatusCode::SERVICE_UNAVAILABLE);
        readiness.set(true);
        assert_eq!(readiness.answer().0, StatusCode::OK);
    }
}
