//! How long a failing Installation waits: longer with every failure in a row, forgotten on success.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use kube::runtime::reflector::ObjectRef;

use crate::api::Installation;

/// One growing delay per failing Installation: from half a second to five minutes, with jitter.
#[derive(Default)]
pub struct Backoffs(Mutex<HashMap<ObjectRef<Installation>, ExponentialBackoff>>);

impl Backoffs {
    /// The delay after one more failure of `installation`.
    pub fn next(&self, installation: &Installation) -> Duration {
        let mut delays = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let delay = delays
            .entry(ObjectRef::from_obj(installation))
            .or_insert_with(|| {
                ExponentialBuilder::new()
                    .with_min_delay(Duration::from_millis(500))
                    .with_max_delay(Duration::from_secs(300))
                    .with_jitter()
                    .without_max_times()
                    .build()
            });
        delay.next().unwrap_or(Duration::from_secs(300))
    }

    /// Forgets the failures of `installation`.
    pub fn reset(&self, installation: &Installation) {
        let mut delays = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        delays.remove(&ObjectRef::from_obj(installation));
    }
}
