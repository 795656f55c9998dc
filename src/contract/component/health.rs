//! Probes (component §5.4), with the contract's own defaults, which are not Kubernetes's.

use serde::Deserialize;

/// `workload.health`: up to one probe a stage.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Health {
    /// Gates the other two; exhausted, it restarts the workload.
    #[serde(default)]
    pub startup: Option<Probe>,
    /// Whether the workload takes requests.
    #[serde(default)]
    pub readiness: Option<Probe>,
    /// Whether the workload still works.
    #[serde(default)]
    pub liveness: Option<Probe>,
}

/// One HTTP probe; all numbers are seconds or counts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// What is asked.
    pub http: HttpGet,
    /// Seconds before the first probe.
    #[serde(default = "ten")]
    pub initial_delay_seconds: u32,
    /// Seconds between probes.
    #[serde(default = "ten")]
    pub period_seconds: u32,
    /// Seconds until a probe counts as failed.
    #[serde(default = "five")]
    pub timeout_seconds: u32,
    /// Successes in a row that make it succeed.
    #[serde(default = "one")]
    pub success_threshold: u32,
    /// Failures in a row that make it fail.
    #[serde(default = "three")]
    pub failure_threshold: u32,
}

/// The request of a probe; a status from 200 to 399 succeeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct HttpGet {
    /// The endpoint asked, HTTP or HTTPS.
    pub endpoint: String,
    /// The path asked, from `/`.
    pub path: String,
}

fn ten() -> u32 {
    10
}

fn five() -> u32 {
    5
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}
