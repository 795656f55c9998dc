//! Schedules of JOB components and their cron grammar (component §5.7).

use serde::Deserialize;

/// When a JOB runs by itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Schedule {
    /// Five fields, always read in UTC.
    pub cron: String,
}
