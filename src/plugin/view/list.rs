//! Installations as a table.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::age::age;
use super::plain;
use super::style::{OPEN, of_status, paint};
use super::table::table;
use crate::api::Installation;
use crate::api::condition::ConditionType;

/// A line for each of `installations`; `everywhere` with their namespaces.
pub fn list(installations: &[Installation], everywhere: bool, now: Timestamp) -> String {
    let mut header = vec![
        "NAME",
        "READY",
        "REASON",
        "BLUEPRINT",
        "REVISION",
        "RECORD",
        "NODES",
        "UPDATE",
        "AGE",
    ];
    if everywhere {
        header.insert(0, "NAMESPACE");
    }
    let rows: Vec<Vec<String>> = installations
        .iter()
        .map(|installation| {
            let mut row = row(installation, now);
            if everywhere {
                row.insert(0, installation.namespace().unwrap_or_default());
            }
            row
        })
        .collect();
    table(&header, &rows)
}

fn row(installation: &Installation, now: Timestamp) -> Vec<String> {
    let nothing = || "-".to_owned();
    let ready = installation.condition(ConditionType::Ready);
    let update = installation.condition(ConditionType::UpdateAvailable);
    let status = installation.status.clone().unwrap_or_default();
    let blueprint = status.blueprint.as_ref();
    let ready_nodes = status.nodes.iter().filter(|node| node.state == "Ready");
    let made = installation.creation_timestamp().map(|time| time.0);
    vec![
        installation.name_any(),
        ready.map_or_else(nothing, |ready| {
            paint(of_status(&ready.status, true), &plain(&ready.status))
        }),
        ready.map_or_else(nothing, |ready| plain(&ready.reason)),
        blueprint.map_or_else(nothing, |blueprint| plain(&blueprint.slug)),
        blueprint.map_or_else(nothing, |blueprint| blueprint.revision.to_string()),
        status
            .record
            .as_ref()
            .map_or_else(nothing, |record| record.version.to_string()),
        match status.nodes.len() {
            0 => nothing(),
            all => format!("{}/{all}", ready_nodes.count()),
        },
        match update {
            Some(update) if update.status == "True" => paint(OPEN, "yes"),
            _ => nothing(),
        },
        age(made, now),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_installation_has_a_line_and_what_is_not_known_a_dash() {
        let wiki = json!({
            "metadata": {"name": "wiki", "namespace": "demo", "creationTimestamp": "2026-12-01T09:59:00Z"},
            "spec": {"blueprint": {}},
            "status": {
                "observedGeneration": 1,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-12-01T09:59:00Z"},
                    {"type": "UpdateAvailable", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "2026-12-01T09:59:00Z"}],
                "record": {"name": "r", "version": 3},
                "blueprint": {"slug": "acme-wiki", "revision": 2, "digest": ""},
                "nodes": [{"name": "a", "type": "SERVICE", "state": "Ready"}, {"name": "b", "type": "SERVICE", "state": "Failing"}],
            },
        });
        let new =
            json!({"metadata": {"name": "new", "namespace": "demo"}, "spec": {"blueprint": {}}});
        let all = [wiki, new].map(|it| serde_json::from_value(it).expect("an Installation"));
        let now = "2026-12-01T10:00:00Z".parse().expect("a time");
        let shown = list(&all, true, now);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let expected = "\
NAMESPACE   NAME   READY   REASON   BLUEPRINT   REVISION   RECORD   NODES   UPDATE   AGE
demo        wiki   True    Ready    acme-wiki   2          3        1/2     yes      60s
demo        new    -       -        -           -          -        -       -        <unknown>
";
        similar_asserts::assert_eq!(shown, expected);
    }
}
