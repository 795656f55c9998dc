//! Probes: the contract's numbers, one to one, with the one exception that Kubernetes forces.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{HTTPGetAction, Probe as PodProbe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::contract::component::endpoint::{Endpoint, Protocol};
use crate::contract::component::health::Probe;

/// What a probe decides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Startup,
    Readiness,
    Liveness,
}

/// The contract's numbers map one to one, with one exception that Kubernetes forces: it admits no success threshold but
/// 1 for startup and liveness probes. A startup or liveness probe that asks for more succeeds at its first success.
pub(super) fn probe(
    probe: &Probe,
    endpoints: &BTreeMap<String, Endpoint>,
    stage: Stage,
) -> PodProbe {
    let endpoint = &endpoints[&probe.http.endpoint];
    let number = |number: u32| Some(i32::try_from(number).unwrap_or(i32::MAX));
    PodProbe {
        http_get: Some(HTTPGetAction {
            path: Some(probe.http.path.clone()),
            port: IntOrString::Int(i32::from(endpoint.target_port)),
            scheme: Some(
                if endpoint.protocol == Protocol::Https {
                    "HTTPS"
                } else {
                    "HTTP"
                }
                .to_owned(),
            ),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: number(probe.initial_delay_seconds),
        period_seconds: number(probe.period_seconds),
        timeout_seconds: number(probe.timeout_seconds),
        success_threshold: number(if stage == Stage::Readiness {
            probe.success_threshold
        } else {
            1
        }),
        failure_threshold: number(probe.failure_threshold),
        ..PodProbe::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(protocol: &str) -> BTreeMap<String, Endpoint> {
        serde_json::from_value(
            serde_json::json!({"web": {"targetPort": 8443, "protocol": protocol}}),
        )
        .expect("an endpoint")
    }

    #[test]
    fn a_probe_has_the_contracts_numbers_and_not_kubernetes_defaults() {
        let authored =
            serde_json::json!({"http": {"endpoint": "web", "path": "/up"}, "successThreshold": 2});
        let authored: Probe = serde_json::from_value(authored).expect("a probe");
        for (stage, successes) in [
            (Stage::Startup, 1),
            (Stage::Readiness, 2),
            (Stage::Liveness, 1),
        ] {
            let rendered = probe(&authored, &endpoints("HTTPS"), stage);
            let numbers = [
                rendered.initial_delay_seconds,
                rendered.period_seconds,
                rendered.timeout_seconds,
                rendered.success_threshold,
                rendered.failure_threshold,
            ];
            assert_eq!(numbers, [10, 10, 5, successes, 3].map(Some));
            let request = rendered.http_get.expect("an HTTP probe");
            assert_eq!(request.scheme.as_deref(), Some("HTTPS"));
            assert_eq!(request.port, IntOrString::Int(8443));
        }
    }
}
