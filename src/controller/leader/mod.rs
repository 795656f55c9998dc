//! Leader election by a Lease, with the terms and the meaning of client-go: acquire, renew, release, and the time at which
//! a leader that cannot renew has to end. What may be taken is decided in `sighting`, without a clock. What leads does is
//! none of this room's business.

mod sighting;

use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use self::sighting::{Sighting, holder, released, renewed};
use super::claim::random;
use super::failure::{Failure, exists_already, is_absent};
use crate::api::names::FIELD_MANAGER;

/// How long a Lease holds that nobody renews.
const DURATION: Duration = Duration::from_secs(15);
/// How long a leader tries to renew before it ends. The difference to [`DURATION`] is what it has for ending.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How long between two tries, of who leads and of who waits.
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// How long one request may take, so that more than one fits before the deadline.
const REQUEST: Duration = Duration::from_secs(4);

/// A replica that wants to lead.
pub struct Election {
    leases: Api<Lease>,
    namespace: String,
    name: String,
    identity: String,
}

/// A replica that leads for as long as [`Leadership::keep`] has not returned.
pub struct Leadership {
    election: Election,
    lease: Option<Lease>,
    /// When the last renewal that succeeded was sent, by this machine's monotonic clock.
    renewed: Instant,
}

/// Why a replica leads no longer. It has to end: what it has begun may be in the way of the next leader.
#[derive(Debug, Error)]
pub enum Lost {
    /// Another replica holds the Lease.
    #[error(
        "{holder} has taken Lease {lease}: this replica ends, so that only one acts. Its restart waits until it is its turn"
    )]
    Taken {
        /// Namespace and name.
        lease: String,
        /// The identity of the other replica.
        holder: String,
    },
    /// The API server has not confirmed the Lease for too long.
    #[error(
        "Lease {lease} could not be renewed for {} s ({why}): this replica ends before another one may take it. Look whether the API server can be reached, and whether the operator may get, create and update leases there",
        RENEW_DEADLINE.as_secs()
    )]
    NotRenewed {
        /// Namespace and name.
        lease: String,
        /// How the last try ended.
        why: String,
    },
}

/// Why one request for the Lease failed.
#[derive(Debug, Error)]
enum Attempt {
    #[error("{0}")]
    Refused(#[from] kube::Error),
    #[error("the API server did not answer in {} s", REQUEST.as_secs())]
    Silent(#[from] tokio::time::error::Elapsed),
    #[error("somebody else wrote it in between")]
    Overtaken,
}

impl Election {
    /// A candidate for the Lease `name` in `namespace`, under an identity that no other process has: the host, which in a
    /// cluster is the pod, and random characters.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn new(client: Client, namespace: &str, name: String) -> Result<Self, Failure> {
        let mut bytes = [0; 5];
        random(&mut bytes)?;
        let unique = BASE32_NOPAD.encode(&bytes).to_lowercase();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Self {
            leases: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name,
            identity: format!("{}_{unique}", host.trim()),
        })
    }

    /// Waits for this replica's turn. `waiting` is called once, as soon as the API server has said that another one leads.
    ///
    /// Goes on trying whatever the API server answers: there is nothing that a waiting replica could do wrong.
    pub async fn acquire(self, waiting: impl FnOnce()) -> Leadership {
        let mut waiting = Some(waiting);
        let mut sighting = Sighting::new(DURATION);
        loop {
            let asked = Instant::now();
            match self.try_take(&mut sighting).await {
                Ok(Some(lease)) => {
                    tracing::info!(lease = self.place(), identity = self.identity, "leading");
                    return Leadership {
                        election: self,
                        lease: Some(lease),
                        renewed: asked,
                    };
                }
                Ok(None) => {
                    if let Some(waiting) = waiting.take() {
                        let leader = sighting.holder();
                        tracing::info!(lease = self.place(), leader, "waiting");
                        waiting();
                    }
                }
                // Who was quicker is seen on the next try.
                Err(Attempt::Overtaken) => {}
                Err(error) => {
                    tracing::warn!(lease = self.place(), %error, "the lease cannot be asked for");
                }
            }
            sleep(RETRY_PERIOD).await;
        }
    }

    async fn try_take(&self, sighting: &mut Sighting) -> Result<Option<Lease>, Attempt> {
        sighting.see(self.read().await?, Instant::now());
        if !sighting.is_free(Instant::now()) {
            return Ok(None);
        }
        let taken = sighting.taken_by(&self.identity, Timestamp::now());
        self.write(&taken).await.map(Some)
    }

    async fn read(&self) -> Result<Option<Lease>, Attempt> {
        Ok(timeout(REQUEST, self.leases.get_opt(&self.name)).await??)
    }

    /// Creates or replaces the Lease, if it is still as it was read.
    async fn write(&self, lease: &Lease) -> Result<Lease, Attempt> {
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let written = if lease.metadata.resource_version.is_some() {
            timeout(REQUEST, self.leases.replace(&self.name, &params, lease)).await?
        } else {
            let mut lease = lease.clone();
            lease.metadata.name = Some(self.name.clone());
            timeout(REQUEST, self.leases.create(&params, &lease)).await?
        };
        written.map_err(|error| {
            // Gone since it was read is overtaken, too.
            if exists_already(&error) || is_absent(&error) {
                Attempt::Overtaken
            } else {
                Attempt::Refused(error)
            }
        })
    }

    fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl Leadership {
    /// Renews the Lease until that fails for good: when another replica holds it, or when the last success is so long ago
    /// that another one may soon take it.
    pub async fn keep(&mut self) -> Lost {
        loop {
            sleep(RETRY_PERIOD).await;
            let mut why = "no answer".to_owned();
            let deadline = self.renewed + RENEW_DEADLINE;
            match timeout_at(deadline, self.renew(&mut why)).await {
                Ok(Ok(())) => {}
                Ok(Err(lost)) => return lost,
                Err(_) => {
                    return Lost::NotRenewed {
                        lease: self.election.place(),
                        why,
                    };
                }
            }
        }
    }

    /// Tries until it succeeds or another replica holds the Lease; `why` is how the last try ended.
    async fn renew(&mut self, why: &mut String) -> Result<(), Lost> {
        loop {
            let asked = Instant::now();
            let error = match self.try_renew().await {
                Ok(None) => {
                    self.renewed = asked;
                    return Ok(());
                }
                Ok(Some(holder)) => {
                    let lease = self.election.place();
                    return Err(Lost::Taken { lease, holder });
                }
                Err(error) => error,
            };
            tracing::warn!(lease = self.election.place(), %error, "the lease is not renewed");
            *why = error.to_string();
            if !matches!(error, Attempt::Overtaken) {
                sleep(RETRY_PERIOD).await;
            }
        }
    }

    /// Writes the Lease once more; says who holds it, if another one does.
    async fn try_renew(&mut self) -> Result<Option<String>, Attempt> {
        let lease = match self.lease.take() {
            Some(lease) => lease,
            // The last write may have arrived without its answer.
            None => self.election.read().await?.unwrap_or_default(),
        };
        match holder(&lease) {
            Some(holder) if holder != self.election.identity => {
                return Ok(Some(holder.to_owned()));
            }
            _ => {}
        }
        let renewed = renewed(lease, &self.election.identity, DURATION, Timestamp::now());
        self.lease = Some(self.election.write(&renewed).await?);
        Ok(None)
    }

    /// Gives the Lease away, so that the next replica need not wait until it has run out. Best effort: without it, that is
    /// what happens.
    pub async fn release(mut self) {
        for _ in 0..2 {
            match self.try_release().await {
                Ok(()) => return tracing::info!(lease = self.election.place(), "released"),
                // A renewal was under way.
                Err(Attempt::Overtaken) => {}
                Err(error) => {
                    return tracing::warn!(lease = self.election.place(), %error, "not released: the next leader waits until it has run out");
                }
            }
        }
    }

    async fn try_release(&mut self) -> Result<(), Attempt> {
        let lease = match self.lease.take() {
            Some(lease) => Some(lease),
            None => self.election.read().await?,
        };
        let ours = lease.filter(|lease| holder(lease) == Some(self.election.identity.as_str()));
        if let Some(lease) = ours {
            self.election
                .write(&released(lease, Timestamp::now()))
                .await?;
        }
        Ok(())
    }
}
