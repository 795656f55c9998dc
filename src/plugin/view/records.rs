//! Records as a log, and what differs between two of them. A record holds no secret, so that all of it may be shown.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;
use serde_json::Value;

use super::age::age;
use super::plain;
use super::style::{BAD, FAINT, GOOD, OPEN, STRONG, paint};
use super::table::table;
use crate::api::ResolutionRecord;
use crate::api::names::{CHANGES_ANNOTATION, RecordState, STATE_ANNOTATION, VERSION_LABEL};

/// The version of a record; `None` for one that has none.
pub fn version(record: &ResolutionRecord) -> Option<u64> {
    record.labels().get(VERSION_LABEL)?.parse().ok()
}

/// `records` by ascending version.
pub fn by_version(mut records: Vec<ResolutionRecord>) -> Vec<ResolutionRecord> {
    records.sort_by_key(version);
    records
}

/// What a version changed, as it says itself.
pub fn words(record: &ResolutionRecord) -> &str {
    let said = record.annotations().get(CHANGES_ANNOTATION);
    said.map_or("", String::as_str)
}

/// A line for each of `records`, as of `now`. `running` is the version that status tells of.
pub fn log(records: &[ResolutionRecord], now: Timestamp) -> String {
    let newest = records.iter().filter_map(version).max();
    let rows: Vec<Vec<String>> = records
        .iter()
        .map(|record| {
            let number = version(record);
            let said = record.annotations().get(STATE_ANNOTATION);
            let state =
                said.map_or_else(|| derived(number == newest).to_string(), |said| plain(said));
            let style = match state == RecordState::Current.as_ref() {
                true => GOOD,
                false => FAINT,
            };
            vec![
                number.map_or_else(|| "?".to_owned(), |number| number.to_string()),
                paint(style, &state),
                age(record.creation_timestamp().map(|time| time.0), now),
                plain(words(record)),
            ]
        })
        .collect();
    table(&["VERSION", "STATE", "AGE", "CHANGED"], &rows)
}

/// Whether a record counts that does not say so itself: the newest does.
fn derived(is_newest: bool) -> RecordState {
    match is_newest {
        true => RecordState::Current,
        false => RecordState::Superseded,
    }
}

/// One place where two records differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The way to it, with dots.
    pub path: String,
    /// What stands there in the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// What stands there in the second one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// Where `after` differs from `before`, scalar by scalar. What only numbers the versions is left out.
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let (before, after) = (leaves(before), leaves(after));
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let differs = paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path));
    differs
        .map(|path| Difference {
            path: path.clone(),
            from: before.get(path).cloned(),
            to: after.get(path).cloned(),
        })
        .collect()
}

/// The scalars of `value` by their way, but those that number a version.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    collect("", value, &mut found);
    found.retain(|path, _| !path.starts_with("installationSnapshot."));
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    let below = |step: &str| match path {
        "" => step.to_owned(),
        path => format!("{path}.{step}"),
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                collect(&below(name), member, found);
            }
        }
        Value::Array(entries) => {
            for (number, entry) in entries.iter().enumerate() {
                collect(&below(&number.to_string()), entry, found);
            }
        }
        scalar => {
            found.insert(path.to_owned(), scalar.clone());
        }
    }
}

/// `differences` as lines: `+` what came, `-` what went, `~` what is another.
pub fn lines(differences: &[Difference]) -> String {
    let lines = differences.iter().map(|difference| {
        let path = plain(&difference.path);
        let shown = |value: &Value| match value {
            Value::String(text) => plain(text),
            other => plain(&other.to_string()),
        };
        match (&difference.from, &difference.to) {
            (Some(from), Some(to)) => format!(
                "  {} {path}: {} → {}\n",
                paint(OPEN, "~"),
                shown(from),
                shown(to)
            ),
            (None, Some(to)) => format!("  {} {path}: {}\n", paint(GOOD, "+"), shown(to)),
            (Some(from), None) => format!("  {} {path}: {}\n", paint(BAD, "-"), shown(from)),
            (None, None) => String::new(),
        }
    });
    lines.collect()
}

/// A heading of a report.
pub fn heading(text: &str) -> String {
    format!("{}\n", paint(STRONG, text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::testing;

    fn record(number: u64, beside: Value) -> ResolutionRecord {
        let spec = testing::version(number).record;
        serde_json::from_value(json!({
            "apiVersion": "install.musher.dev/v1alpha1", "kind": "ResolutionRecord",
            "metadata": {
                "name": format!("r{number}"), "labels": {VERSION_LABEL: number.to_string()},
                "annotations": beside, "creationTimestamp": "2026-12-01T09:00:00Z",
            },
            "spec": spec,
        }))
        .expect("a record")
    }

    #[test]
    fn the_history_reads_like_a_log_by_number_and_not_by_name() {
        let records = by_version(vec![
            record(
                10,
                json!({CHANGES_ANNOTATION: "credential dbPassword generation 0 → 1"}),
            ),
            record(
                9,
                json!({STATE_ANNOTATION: "Superseded", CHANGES_ANNOTATION: "parameter siteTitle"}),
            ),
        ]);
        let shown = log(&records, "2026-12-01T10:00:00Z".parse().expect("a time"));
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let expected = "\
VERSION   STATE        AGE   CHANGED
9         Superseded   60m   parameter siteTitle
10        Current      60m   credential dbPassword generation 0 → 1
";
        similar_asserts::assert_eq!(shown, expected);
    }

    #[test]
    fn records_differ_scalar_by_scalar_and_not_in_their_number() {
        let before = testing::version(1).record;
        let after = testing::changed(2, |all| {
            all["record"]["components"]["web"]["revision"] = json!(4);
            all["record"]["components"]["web"]["volumes"] = json!({});
            all["record"]["credentials"] = json!({"key": {"identity": "c", "rotation": 1}});
        });
        let found = differences(&json!(before), &json!(after.record));
        let shown = anstream::adapter::strip_str(&lines(&found)).to_string();
        let expected = "  - components.web.volumes.data.sizeGiB: 1
";
        assert!(
            shown.contains("  ~ components.web.revision: 3 → 4\n"),
            "{shown}"
        );
        assert!(shown.contains(expected), "{shown}");
        assert!(
            shown.contains("  + credentials.key.rotation: 1\n"),
            "{shown}"
        );
        assert!(!shown.contains("installationSnapshot"), "{shown}");
    }
}
