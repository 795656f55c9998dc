//! One replica of the operator, from its start to its end: it waits for its turn where replicas take turns, leads, and
//! hands over. What it does while it leads is in `run`.

use futures::FutureExt as _;
use kube::Client;
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::health::{self, Readiness};
use super::leader::{Election, Leadership, Lost};
use super::shell::Settings;

/// What a replica is started with.
pub struct Replica {
    /// The Kubernetes client.
    pub client: Client,
    /// What the controller is told.
    pub settings: Settings,
    /// How it takes turns with others; without, it acts at once.
    pub election: Option<Election>,
    /// The port at which it says how it is.
    pub health_port: Option<u16>,
}

/// Why a replica ends that nobody asked to.
#[derive(Debug, Error)]
pub enum Ended {
    /// It leads no longer.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Nobody can ask how it is.
    #[error("cannot serve /healthz and /readyz at port {port}: {source}")]
    Health {
        /// Where.
        port: u16,
        /// Why not.
        source: std::io::Error,
    },
    /// It would not hear when to stop.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
}

impl Replica {
    /// Runs until SIGTERM or SIGINT: then no reconcile begins, those under way are finished, and the Lease is released. A
    /// second signal ends it at once.
    ///
    /// # Errors
    /// [`Ended`], with reconciles cut off wherever they are: a crash after any write is harmless.
    pub async fn run(self) -> Result<(), Ended> {
        let once = Signals::listen()?.times(1);
        let twice = Signals::listen()?.times(2);
        let readiness = Readiness::default();
        let health = self.health_port;
        let serve = async {
            match health {
                Some(port) => health::serve(port, readiness.clone())
                    .await
                    .map_err(|source| Ended::Health { port, source }),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = self.act(once, &readiness) => ended,
            ended = serve => ended,
            () = twice => {
                tracing::warn!("told to stop twice: ending at once");
                Ok(())
            }
        }
    }

    async fn act(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
        readiness: &Readiness,
    ) -> Result<(), Ended> {
        let stop = stop.boxed().shared();
        let Some(election) = self.election else {
            super::run(self.client, self.settings, readiness.clone(), stop).await;
            return Ok(());
        };
        let mut leadership: Leadership = tokio::select! {
            leadership = election.acquire(|| readiness.set(true)) => leadership,
            () = stop.clone() => return Ok(()),
        };
        readiness.set(false);
        let acting = super::run(self.client, self.settings, readiness.clone(), stop);
        let lost = tokio::select! {
            () = acting => None,
            lost = leadership.keep() => Some(lost),
        };
        match lost {
            None => {
                leadership.release().await;
                Ok(())
            }
            Some(lost) => Err(lost.into()),
        }
    }
}

/// What tells the process to stop, from when it began to listen.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Ended> {
        let listen = |kind| signal(kind).map_err(Ended::Signals);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits until it was told so often.
    async fn times(mut self, count: usize) {
        for _ in 0..count {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
        }
    }
}
