//! Events of an Installation and of what was made for it, in the order in which they happened.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Event, ObjectReference};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::age::age;
use super::plain;
use super::style::{OPEN, paint};
use super::table::table;
use crate::api::{Installation, names};

/// Whose events are told.
pub struct Family {
    installation: String,
    /// `Kind/name` of what was made for it.
    objects: BTreeSet<String>,
    /// Names of workloads. What their controllers make is named after them, and their names end with a hash, so that no
    /// other installation's begin with them.
    makers: BTreeSet<String>,
}

/// The kinds that the controllers of workloads make.
const MADE: [&str; 3] = ["Pod", "ReplicaSet", "Job"];

impl Family {
    /// The Installation `name`, and what its status says was made for it.
    pub fn of(name: &str, installation: Option<&Installation>) -> Self {
        let mut family = Self {
            installation: name.to_owned(),
            objects: BTreeSet::new(),
            makers: BTreeSet::new(),
        };
        let Some(status) = installation.and_then(|it| it.status.as_ref()) else {
            return family;
        };
        for entry in &status.inventory {
            family
                .objects
                .insert(format!("{}/{}", entry.kind, entry.name));
            family.makers.insert(entry.name.clone());
        }
        for node in &status.nodes {
            family.makers.insert(names::workload(name, &node.name));
        }
        for job in status.jobs.values() {
            family.objects.insert(format!("Job/{}", job.job));
            family.makers.insert(job.job.clone());
        }
        if let Some(record) = &status.record {
            family
                .objects
                .insert(format!("ResolutionRecord/{}", record.name));
        }
        family
    }

    /// Whether an event is about one of them.
    pub fn includes(&self, event: &Event) -> bool {
        let ObjectReference { kind, name, .. } = &event.involved_object;
        let (kind, name) = (
            kind.as_deref().unwrap_or_default(),
            name.as_deref().unwrap_or_default(),
        );
        if kind == "Installation" {
            return name == self.installation;
        }
        let made = || {
            let mut makers = self.makers.iter();
            MADE.contains(&kind)
                && makers.any(|maker| {
                    name == maker
                        || name
                            .strip_prefix(maker.as_str())
                            .is_some_and(|rest| rest.starts_with('-'))
                })
        };
        self.objects.contains(&format!("{kind}/{name}")) || made()
    }
}

/// When an event happened last.
pub fn time(event: &Event) -> Option<Timestamp> {
    let series = event
        .series
        .as_ref()
        .and_then(|series| series.last_observed_time.as_ref());
    let times = [
        series.map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.first_timestamp.as_ref().map(|time| time.0),
        event.creation_timestamp().map(|time| time.0),
    ];
    times.into_iter().flatten().next()
}

/// `events` by the second in which they happened last, which is all that most say, and within it in the order in which
/// the API server wrote them.
pub fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| {
        let written = event.resource_version();
        let written = written.and_then(|version| version.parse::<u128>().ok());
        (time(event).map(Timestamp::as_second), written)
    });
    events
}

/// A table of `events`, as of `now`; without a header where it goes on.
pub fn log(events: &[Event], now: Timestamp, header: bool) -> String {
    let rows: Vec<Vec<String>> = events.iter().map(|event| row(event, now)).collect();
    let text = table(&["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], &rows);
    match header {
        true => text,
        false => text.lines().skip(1).flat_map(|line| [line, "\n"]).collect(),
    }
}

fn row(event: &Event, now: Timestamp) -> Vec<String> {
    let text = |text: &Option<String>| text.as_deref().map(plain).unwrap_or_default();
    let count = event
        .series
        .as_ref()
        .and_then(|series| series.count)
        .or(event.count);
    let count = count.filter(|count| *count > 1);
    let count = count.map_or(String::new(), |count| format!(" (x{count})"));
    let kind = text(&event.type_);
    let object = &event.involved_object;
    vec![
        format!("{}{count}", age(time(event), now)),
        if kind == "Warning" {
            paint(OPEN, &kind)
        } else {
            kind
        },
        text(&event.reason),
        format!(
            "{}/{}",
            text(&object.kind).to_lowercase(),
            text(&object.name)
        ),
        text(&event.message),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(kind: &str, name: &str, at: Value) -> Event {
        let mut all = json!({
            "metadata": {"name": "e"}, "involvedObject": {"kind": kind, "name": name},
            "type": "Warning", "reason": "Because", "message": "so\nit is",
        });
        all.as_object_mut()
            .expect("an object")
            .extend(at.as_object().cloned().expect("times"));
        serde_json::from_value(all).expect("an event")
    }

    #[test]
    fn what_the_controllers_of_a_workload_make_belongs_to_its_installation() {
        let wiki: Installation = serde_json::from_value(json!({
            "metadata": {"name": "wiki"}, "spec": {"blueprint": {}},
            "status": {
                "observedGeneration": 1,
                "nodes": [{"name": "web", "type": "SERVICE", "state": "Ready"}],
                "inventory": [{"apiVersion": "v1", "kind": "Service", "name": "wiki-db-x"}],
                "jobs": {"migrate": {"job": "wiki-migrate-1-y", "outcome": "Running"}},
            },
        }))
        .expect("an Installation");
        let family = Family::of("wiki", Some(&wiki));
        let web = names::workload("wiki", "web");
        for (kind, name, expected) in [
            ("Installation", "wiki", true),
            ("Installation", "wiki-2", false),
            ("Service", "wiki-db-x", true),
            ("Service", "wiki-db-y", false),
            ("Pod", &format!("{web}-abc-def"), true),
            ("ReplicaSet", &format!("{web}-abc"), true),
            ("Pod", &format!("{web}x-abc"), false),
            ("Job", "wiki-migrate-1-y", true),
            ("Pod", "wiki-migrate-1-y-abc", true),
            ("Node", &format!("{web}-abc"), false),
        ] {
            assert_eq!(
                family.includes(&event(kind, name, json!({}))),
                expected,
                "{kind} {name}"
            );
        }
    }

    #[test]
    fn events_stand_in_the_order_in_which_they_last_happened() {
        let first = event(
            "Pod",
            "a",
            json!({"eventTime": "2026-12-01T09:00:00.000000Z"}),
        );
        let again = event(
            "Pod",
            "b",
            json!({
                "firstTimestamp": "2026-12-01T08:00:00Z", "lastTimestamp": "2026-12-01T09:30:00Z", "count": 4,
            }),
        );
        let of_the_same_second = |name: &str, version: &str, time: Value| {
            let mut event = event("Pod", name, time);
            event.metadata.resource_version = Some(version.to_owned());
            event
        };
        let cause = json!({"eventTime": "2026-12-01T09:40:00.900000Z"});
        let cause = of_the_same_second("c", "9", cause);
        let effect = json!({"lastTimestamp": "2026-12-01T09:40:00Z"});
        let effect = of_the_same_second("d", "10", effect);
        let now = "2026-12-01T10:00:00Z".parse().expect("a time");
        let shown = log(&in_order(vec![effect, again, cause, first]), now, true);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let expected = "\
LAST SEEN   TYPE      REASON    OBJECT   MESSAGE
60m         Warning   Because   pod/a    so it is
30m (x4)    Warning   Because   pod/b    so it is
19m         Warning   Because   pod/c    so it is
20m         Warning   Because   pod/d    so it is
";
        similar_asserts::assert_eq!(shown, expected);
    }
}
