//! What a replica knows of a Lease, and what it may conclude. Pure: the time comes in.
//!
//! A waiting replica never compares its clock with the times in a Lease, which another machine's clock wrote. It notes by
//! its own monotonic clock when it saw the Lease change, and counts from there.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// A Lease as it was last seen, and since when it has stood like that.
pub(super) struct Sighting {
    lease: Option<Lease>,
    since: Option<Instant>,
    duration: Duration,
}

impl Sighting {
    /// Nothing seen yet; `duration` is what a Lease is taken for.
    pub(super) fn new(duration: Duration) -> Self {
        Self {
            lease: None,
            since: None,
            duration,
        }
    }

    /// Takes note of the Lease as it is at `now`. Time counts from the last change of its spec.
    pub(super) fn see(&mut self, lease: Option<Lease>, now: Instant) {
        let spec = |lease: &Option<Lease>| lease.as_ref().and_then(|lease| lease.spec.clone());
        if self.since.is_none() || spec(&self.lease) != spec(&lease) {
            self.since = Some(now);
        }
        self.lease = lease;
    }

    /// Whether the Lease may be taken at `now`: nobody holds it, or its holder has not renewed it for as long as it holds.
    pub(super) fn is_free(&self, now: Instant) -> bool {
        let (Some(since), Some(_)) = (self.since, self.holder()) else {
            return self.since.is_some();
        };
        let spec = self.lease.as_ref().and_then(|lease| lease.spec.as_ref());
        let seconds = spec
            .and_then(|spec| spec.lease_duration_seconds)
            .and_then(|seconds| u64::try_from(seconds).ok());
        let holds = seconds.map_or(self.duration, Duration::from_secs);
        now >= since + holds
    }

    /// The identity that holds the Lease.
    pub(super) fn holder(&self) -> Option<&str> {
        self.lease.as_ref().and_then(holder)
    }

    /// The Lease, taken by `identity`. Its resource version is the one that was seen, so that whoever wrote it since wins.
    pub(super) fn taken_by(&self, identity: &str, now: Timestamp) -> Lease {
        let mut lease = self.lease.clone().unwrap_or_default();
        let spec = lease.spec.get_or_insert_default();
        // The first holder takes it from nobody.
        spec.lease_transitions = Some(match spec.lease_transitions {
            Some(transitions) => transitions.saturating_add(1),
            None => 0,
        });
        spec.acquire_time = Some(MicroTime(now));
        renewed(lease, identity, self.duration, now)
    }
}

/// The identity that holds `lease`; empty after a release.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
    (!holder.is_empty()).then_some(holder)
}

/// `lease`, held by `identity` from `now` for `duration`.
pub(super) fn renewed(
    mut lease: Lease,
    identity: &str,
    duration: Duration,
    now: Timestamp,
) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(identity.to_owned());
    spec.lease_duration_seconds = Some(i32::try_from(duration.as_secs()).unwrap_or(i32::MAX));
    spec.renew_time = Some(MicroTime(now));
    spec.acquire_time.get_or_insert(MicroTime(now));
    spec.lease_transitions.get_or_insert(0);
    lease
}

/// `lease`, held by nobody.
pub(super) fn released(mut lease: Lease, now: Timestamp) -> Lease {
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(String::new()),
        // For those who look at the time alone.
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(now)),
        ..lease.spec.unwrap_or_default()
    });
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    fn long_ago() -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn later(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn held(renewed_at: Timestamp) -> Lease {
        renewed(Lease::default(), "first", DURATION, renewed_at)
    }

    #[test]
    fn nothing_is_free_before_it_was_looked_at() {
        assert!(!Sighting::new(DURATION).is_free(Instant::now()));
    }

    #[test]
    fn a_lease_that_is_not_there_or_that_nobody_holds_is_free_at_once() {
        let now = Instant::now();
        for lease in [
            None,
            Some(Lease::default()),
            Some(released(held(long_ago()), long_ago())),
        ] {
            let mut sighting = Sighting::new(DURATION);
            sighting.see(lease, now);
            assert!(sighting.is_free(now));
        }
    }

    #[test]
    fn the_time_in_a_lease_that_another_clock_wrote_is_not_believed() {
        let now = Instant::now();
        let mut sighting = Sighting::new(DURATION);
        sighting.see(Some(held(long_ago())), now);
        assert!(!sighting.is_free(now + seconds(14)));
        assert!(sighting.is_free(now + seconds(15)));
    }

    #[test]
    fn a_renewal_counts_from_when_it_was_seen_and_nothing_else_does() {
        let now = Instant::now();
        let mut sighting = Sighting::new(DURATION);
        sighting.see(Some(held(long_ago())), now);
        sighting.see(Some(held(later(1))), now + seconds(10));
        assert!(!sighting.is_free(now + seconds(24)));

        let mut labelled = held(later(1));
        labelled.metadata.resource_version = Some("2".to_owned());
        sighting.see(Some(labelled), now + seconds(20));
        assert!(sighting.is_free(now + seconds(25)));
    }

    #[test]
    fn a_lease_holds_for_as_long_as_its_holder_wrote() {
        let now = Instant::now();
        let mut sighting = Sighting::new(DURATION);
        let longer = renewed(Lease::default(), "first", seconds(60), long_ago());
        sighting.see(Some(longer), now);
        assert!(!sighting.is_free(now + seconds(59)));
        assert!(sighting.is_free(now + seconds(60)));
    }

    #[test]
    fn who_takes_a_lease_names_what_was_seen_and_counts_the_change() {
        let mut seen = held(long_ago());
        seen.metadata.resource_version = Some("7".to_owned());
        let mut sighting = Sighting::new(DURATION);
        sighting.see(Some(seen), Instant::now());
        let taken = sighting.taken_by("second", later(9));
        assert_eq!(taken.metadata.resource_version.as_deref(), Some("7"));
        let spec = taken.spec.expect("a spec");
        assert_eq!(spec.holder_identity.as_deref(), Some("second"));
        assert_eq!(spec.lease_transitions, Some(1));
        assert_eq!(spec.acquire_time, Some(MicroTime(later(9))));
        assert_eq!(spec.lease_duration_seconds, Some(15));
    }

    #[test]
    fn a_renewal_keeps_when_and_how_often_it_was_acquired() {
        let mut sighting = Sighting::new(DURATION);
        sighting.see(None, Instant::now());
        let first = sighting.taken_by("first", later(1));
        let spec = renewed(first, "first", DURATION, later(3))
            .spec
            .expect("a spec");
        assert_eq!(spec.acquire_time, Some(MicroTime(later(1))));
        assert_eq!(spec.renew_time, Some(MicroTime(later(3))));
        assert_eq!(spec.lease_transitions, Some(0));
    }
}
