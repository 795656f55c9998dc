//! Probes (component §5.4), with the contract's own defaults, which are not Kubernetes's.

use serde::{Deserialize, Deserializer};

use super::Spec;
use super::endpoint::Protocol;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

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

/// One HTTP probe; all numbers are seconds or counts. A number beyond `u32`, which the contract admits, is read as
/// `u32::MAX`: no probe ever waits or counts that long.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// What is asked.
    pub http: HttpGet,
    /// Seconds before the first probe.
    #[serde(default = "ten", deserialize_with = "saturating")]
    pub initial_delay_seconds: u32,
    /// Seconds between probes.
    #[serde(default = "ten", deserialize_with = "saturating")]
    pub period_seconds: u32,
    /// Seconds until a probe counts as failed.
    #[serde(default = "five", deserialize_with = "saturating")]
    pub timeout_seconds: u32,
    /// Successes in a row that make it succeed.
    #[serde(default = "one", deserialize_with = "saturating")]
    pub success_threshold: u32,
    /// Failures in a row that make it fail.
    #[serde(default = "three", deserialize_with = "saturating")]
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

fn saturating<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    u64::deserialize(deserializer).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

impl Health {
    /// How long a pod may take to become ready, in seconds, before that is no progress any more: what the startup and
    /// the readiness probe allow together, and at least the ten minutes that Kubernetes allows a rollout.
    pub fn patience(&self) -> u64 {
        let allowed = |probe: &Probe| {
            let attempt = probe.period_seconds.max(probe.timeout_seconds);
            u64::from(probe.initial_delay_seconds)
                + u64::from(attempt) * u64::from(probe.failure_threshold)
        };
        let probes = self.startup.iter().chain(&self.readiness);
        probes.map(allowed).sum::<u64>().max(600)
    }

    /// The probes that are there, with their stage's name.
    pub fn probes(&self) -> impl Iterator<Item = (&'static str, &Probe)> {
        [
            ("startup", &self.startup),
            ("readiness", &self.readiness),
            ("liveness", &self.liveness),
        ]
        .into_iter()
        .filter_map(|(stage, probe)| Some((stage, probe.as_ref()?)))
    }
}

/// A probe asks an HTTP or HTTPS endpoint of the component itself (COMP-EP-001).
pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    let Some(workload) = &spec.workload else {
        return;
    };
    for (stage, probe) in workload.health.probes() {
        let name = &probe.http.endpoint;
        let problem = match workload
            .endpoints
            .get(name)
            .map(|endpoint| endpoint.protocol)
        {
            Some(Protocol::Http | Protocol::Https) => continue,
            Some(protocol) => (
                Code::EndpointNotHttp,
                format!(
                    "the {stage} probe asks `{name}` by HTTP and it speaks {protocol}; probe an HTTP or HTTPS endpoint"
                ),
            ),
            None => (
                Code::UnknownEndpoint,
                format!(
                    "the {stage} probe asks `{name}`, which `workload.endpoints` does not declare; name one that it does"
                ),
            ),
        };
        let path = Pointer::of(["spec", "workload", "health", stage, "http", "endpoint"]);
        findings.push(problem.0, path, problem.1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patience_is_what_the_probes_allow_together_and_ten_minutes_at_least() {
        let probe = |delay: u32, period: u32, timeout: u32, failures: u32| {
            json!({
                "http": {"endpoint": "web", "path": "/"}, "initialDelaySeconds": delay,
                "periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures,
            })
        };
        for (health, expected) in [
            (json!({}), 600),
            (json!({"startup": probe(30, 10, 1, 100)}), 1030),
            (json!({"startup": probe(0, 10, 20, 100)}), 2000),
            (
                json!({"startup": probe(30, 10, 1, 100), "readiness": probe(5, 10, 1, 3)}),
                1065,
            ),
            (json!({"liveness": probe(9000, 10, 1, 3)}), 600),
        ] {
            let authored: Health = serde_json::from_value(health.clone()).expect("health");
            assert_eq!(authored.patience(), expected, "{health}");
        }
    }
}
