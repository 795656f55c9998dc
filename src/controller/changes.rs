//! What one version changed, in words for people who read the history: names and generations, never a value. Pure.

use std::collections::BTreeMap;

use super::history::Version;
use crate::resolution::record::Record;

/// How many changes are told one by one.
const TOLD: usize = 12;

/// What `after` has otherwise than `before`, the version that it follows. Holds names, versions and generations that the
/// records themselves show, and no value.
pub fn changes(before: Option<&Version>, after: &Version) -> String {
    let Some(before) = before else {
        return "first record".to_owned();
    };
    let mut words = Words::default();
    words.documents(&before.record, &after.record);
    words.selections(before, after);
    words.terms(before, after);
    let told = words.join();
    let rolled_back = after.intent.rollback.as_ref();
    match rolled_back.filter(|_| after.intent.rollback != before.intent.rollback) {
        Some(rollback) => format!("rolled back to version {}: {told}", rollback.record),
        None => told,
    }
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    /// The blueprint and its nodes, as the records name them.
    fn documents(&mut self, before: &Record, after: &Record) {
        self.when(before.blueprint_digest != after.blueprint_digest, || {
            "blueprint".to_owned()
        });
        for (node, change) in differences(&before.components, &after.components) {
            let Some((before, after)) = change.both else {
                self.0.push(format!("node {node}{}", change.word));
                continue;
            };
            if before.revision != after.revision {
                let revisions = format!("{} → {}", before.revision, after.revision);
                self.0
                    .push(format!("component {node} revision {revisions}"));
            } else {
                self.when(
                    (&before.identity, &before.digest) != (&after.identity, &after.digest),
                    || format!("component {node}"),
                );
            }
            self.when(before.image_digest != after.image_digest, || {
                format!("image of {node}")
            });
            self.when(before.git_commit != after.git_commit, || {
                format!("commit of {node}")
            });
            self.when(before.exposure != after.exposure, || {
                format!("exposure of {node}")
            });
            for (volume, change) in differences(&before.volumes, &after.volumes) {
                let size = change.both.map_or(String::new(), |(before, after)| {
                    format!(" {} → {} GiB", before.size_gib, after.size_gib)
                });
                self.0
                    .push(format!("volume {volume} of {node}{}{size}", change.word));
            }
        }
    }

    /// What the snapshots pin.
    fn selections(&mut self, before: &Version, after: &Version) {
        let (old, new) = (before.snapshot.context(), after.snapshot.context());
        self.compare("parameter", &old.parameters, &new.parameters);
        self.compare("variable", &old.variables, &new.variables);
        let credentials = (before.snapshot.credentials(), after.snapshot.credentials());
        for (parameter, change) in differences(credentials.0, credentials.1) {
            let generations = change.both.map_or(String::new(), |(before, after)| {
                format!(" generation {} → {}", before.rotation, after.rotation)
            });
            self.0.push(format!(
                "credential {parameter}{}{generations}",
                change.word
            ));
        }
        self.compare("connection", &old.connections, &new.connections);
        let none = BTreeMap::new();
        // A node that came or went is told of already.
        let nodes = before.record.components.keys();
        for node in nodes.filter(|node| after.record.components.contains_key(*node)) {
            let addresses = (
                old.allocations.get(node).unwrap_or(&none),
                new.allocations.get(node).unwrap_or(&none),
            );
            for (endpoint, change) in differences(addresses.0, addresses.1) {
                self.0
                    .push(format!("address of {node}/{endpoint}{}", change.word));
            }
        }
    }

    /// What shapes workloads beside the snapshot, and whose they are.
    fn terms(&mut self, before: &Version, after: &Version) {
        for (slug, change) in differences(&before.pins.profiles, &after.pins.profiles) {
            let versions = change.both.map_or(String::new(), |(before, after)| {
                format!(" {} → {}", before.version, after.version)
            });
            self.0
                .push(format!("compute profile {slug}{}{versions}", change.word));
        }
        self.when(before.pins.platform != after.pins.platform, || {
            "Platform terms".to_owned()
        });
        self.when(
            before.pins.image_pull_secrets != after.pins.image_pull_secrets,
            || "pull secrets".to_owned(),
        );
        self.when(
            before.intent.installation != after.intent.installation,
            || format!("held by Installation {}", after.intent.installation),
        );
    }

    fn compare<V: PartialEq>(
        &mut self,
        what: &str,
        before: &BTreeMap<String, V>,
        after: &BTreeMap<String, V>,
    ) {
        let changed = differences(before, after);
        self.0
            .extend(changed.map(|(name, change)| format!("{what} {name}{}", change.word)));
    }

    fn when(&mut self, holds: bool, word: impl FnOnce() -> String) {
        self.0.extend(holds.then(word));
    }

    fn join(self) -> String {
        let Self(words) = self;
        let more = words.len().saturating_sub(TOLD);
        match (words.is_empty(), more) {
            (true, _) => "nothing that was selected".to_owned(),
            (false, 0) => words.join(", "),
            (false, _) => format!("{}, and {more} more", words[..TOLD].join(", ")),
        }
    }
}

/// How one entry of a map differs.
struct Difference<'a, V> {
    /// What to add to its name.
    word: &'static str,
    /// Its values, where it is in both.
    both: Option<(&'a V, &'a V)>,
}

/// The entries in which two maps differ, by key.
fn differences<'a, V: PartialEq>(
    before: &'a BTreeMap<String, V>,
    after: &'a BTreeMap<String, V>,
) -> impl Iterator<Item = (&'a str, Difference<'a, V>)> {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().filter_map(|key| {
        let (word, both) = match (before.get(key), after.get(key)) {
            (Some(before), Some(after)) if before == after => return None,
            (Some(before), Some(after)) => ("", Some((before, after))),
            (Some(_), None) => (" removed", None),
            _ => (" added", None),
        };
        Some((key.as_str(), Difference { word, both }))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controller::testing::{changed, version};

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), expected: &str) {
        let (before, after) = (version(1), changed(2, change));
        assert_eq!(changes(Some(&before), &after), expected);
    }

    #[test]
    fn each_change_is_told_by_its_name_and_without_a_value() {
        assert_eq!(changes(None, &version(1)), "first record");
        check(|_| (), "nothing that was selected");
        let digest = "b".repeat(64);
        check(
            |all| all["record"]["blueprintDigest"] = json!(digest),
            "blueprint",
        );
        check(
            |all| all["record"]["components"]["web"]["revision"] = json!(4),
            "component web revision 3 → 4",
        );
        check(
            |all| all["record"]["components"]["web"]["digest"] = json!(digest),
            "component web",
        );
        check(
            |all| {
                all["record"]["components"]["web"]["imageDigest"] =
                    json!(format!("sha256:{digest}"));
            },
            "image of web",
        );
        check(
            |all| {
                let web = all["record"]["components"]["web"].clone();
                all["record"]["components"]["db"] = web;
            },
            "node db added",
        );
        check(
            |all| all["record"]["components"]["web"]["volumes"]["data"]["sizeGiB"] = json!(9),
            "volume data of web 1 → 9 GiB",
        );
        check(
            |all| all["snapshot"]["parameters"]["title"]["value"] = json!("hunter2"),
            "parameter title",
        );
        check(
            |all| {
                all["snapshot"]["parameters"]["other"] = json!({"value": 1, "sensitive": true});
            },
            "parameter other added",
        );
        check(
            |all| all["snapshot"]["variables"] = json!({}),
            "variable cloud.region removed",
        );
        check(
            |all| all["snapshot"]["credentials"]["key"]["rotation"] = json!(3),
            "credential key generation 2 → 3",
        );
        check(
            |all| all["snapshot"]["connections"]["parameters"]["llm"] = json!({"other": 1}),
            "connection llm",
        );
        check(
            |all| all["snapshot"]["allocations"]["web"]["web"]["version"] = json!("2"),
            "address of web/web",
        );
        check(
            |all| all["pins"]["profiles"]["general.standard.small"]["version"] = json!("2"),
            "compute profile general.standard.small 1 → 2",
        );
        check(
            |all| all["pins"]["platform"]["networkPolicy"] = json!("Disabled"),
            "Platform terms",
        );
        check(
            |all| all["pins"]["imagePullSecrets"] = json!(["mirror"]),
            "pull secrets",
        );
        check(
            |all| all["intent"]["installation"] = json!("wiki-2"),
            "held by Installation wiki-2",
        );
        check(
            |all| {
                all["intent"]["rollback"] = json!({"record": 1, "token": "1"});
                all["snapshot"]["parameters"]["title"]["value"] = json!("hunter2");
            },
            "rolled back to version 1: parameter title",
        );
    }

    #[test]
    fn many_changes_are_counted() {
        let many = |all: &mut Value| {
            for number in 0..TOLD + 3 {
                let place = &mut all["snapshot"]["parameters"][format!("p{number:02}")];
                *place = json!({"value": 1, "sensitive": false});
            }
        };
        let told = changes(Some(&version(1)), &changed(2, many));
        assert!(told.ends_with(", and 3 more"), "{told}");
    }
}
