//! One Installation as a tree: what stands in its status, in the order in which somebody looks.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::age::age;
use super::branch::Branch;
use super::nodes::nodes;
use super::plain;
use super::style::{BAD, FAINT, GOOD, OPEN, STRONG, of_status, paint};
use crate::api::condition::ConditionType;
use crate::api::status::{InstallationStatus, StatusDeferred, StatusDiagnostic};
use crate::api::{Installation, names};

/// The Installation as a tree, as of `now`.
pub fn tree(installation: &Installation, now: Timestamp) -> String {
    let status = installation.status.clone().unwrap_or_default();
    let mut root = Branch::new(headline(installation, now));
    root.grow(standing(installation));
    if status.observed_generation < 0 {
        root.grow(Some(Branch::new(paint(
            OPEN,
            "no operator has looked at it yet",
        ))));
        return root.render();
    }
    root.grow(blueprint(&status));
    root.grow(versions(installation, &status));
    root.grow(Branch::with("conditions", conditions(&status, now)));
    root.grow(Branch::with(
        format!(
            "diagnostics{}",
            cut(
                &status,
                |totals| totals.diagnostics,
                status.diagnostics.len()
            )
        ),
        status.diagnostics.iter().map(diagnostic).collect(),
    ));
    root.grow(Branch::with(
        format!(
            "missing{}",
            cut(&status, |totals| totals.deferred, status.deferred.len())
        ),
        status.deferred.iter().map(missing).collect(),
    ));
    root.grow(Branch::with(
        format!(
            "nodes{}",
            cut(&status, |totals| totals.nodes, status.nodes.len())
        ),
        nodes(&status),
    ));
    root.grow(Branch::with("credentials", credentials(&status)));
    root.grow(Branch::with("connections", connections(&status)));
    root.grow(update(installation, now));
    root.render()
}

fn headline(installation: &Installation, now: Timestamp) -> String {
    let name = paint(STRONG, &installation.name_any());
    let ready = installation.condition(ConditionType::Ready);
    let ready = match ready {
        Some(ready) => format!(
            "Ready={} {}",
            paint(of_status(&ready.status, true), &ready.status),
            plain(&ready.reason)
        ),
        None => paint(OPEN, "Ready is not known"),
    };
    let made = age(installation.creation_timestamp().map(|time| time.0), now);
    let place = installation.namespace().unwrap_or_default();
    format!(
        "{name}  {ready}  {}",
        paint(FAINT, &format!("namespace {place}, {made} old"))
    )
}

/// What of metadata and spec changes how the rest is to be read.
fn standing(installation: &Installation) -> Vec<Branch> {
    let mut told = Vec::new();
    if installation.metadata.deletion_timestamp.is_some() {
        told.push("is being deleted".to_owned());
    }
    if installation.spec.suspend {
        told.push("suspended: the operator neither acts nor looks".to_owned());
    }
    let observed = installation
        .status
        .as_ref()
        .map(|status| status.observed_generation);
    if let (Some(observed), Some(generation)) = (observed, installation.metadata.generation)
        && (0..generation).contains(&observed)
    {
        told.push(format!(
            "what follows is of generation {observed}; the spec is at {generation}, and the operator has not acted on it yet"
        ));
    }
    told.into_iter()
        .map(|text| Branch::new(paint(OPEN, &text)))
        .collect()
}

fn blueprint(status: &InstallationStatus) -> Option<Branch> {
    let blueprint = status.blueprint.as_ref()?;
    let digest: String = blueprint.digest.chars().take(12).collect();
    let from = blueprint.artifact.as_ref();
    let from = from.map_or(String::new(), |from| format!(", from {}", plain(from)));
    Some(Branch::new(format!(
        "blueprint {} revision {}{}",
        plain(&blueprint.slug),
        blueprint.revision,
        paint(FAINT, &format!(" (sha256 {digest}…{from})"))
    )))
}

fn versions(installation: &Installation, status: &InstallationStatus) -> Option<Branch> {
    let resolution = status.resolution.as_deref();
    let told = match &status.record {
        None => paint(OPEN, "no record yet"),
        Some(record) => {
            let snapshot = status.snapshot.as_ref();
            let snapshot = snapshot.map_or("", |snapshot| snapshot.version.as_str());
            let hidden = format!(" ({}, snapshot version {snapshot})", record.name);
            format!("record version {}{}", record.version, paint(FAINT, &hidden))
        }
    };
    let identity = status.identity.as_deref().unwrap_or_default();
    let identity = match identity == installation.name_any() {
        true => String::new(),
        false => format!(", identity {identity}"),
    };
    let resolution = resolution.map_or(String::new(), |resolution| {
        let style = match resolution {
            "VALID" => GOOD,
            "INVALID" => BAD,
            _ => OPEN,
        };
        format!(", the spec is {}", paint(style, &plain(resolution)))
    });
    Some(Branch::new(format!("{told}{identity}{resolution}")))
}

fn conditions(status: &InstallationStatus, now: Timestamp) -> Vec<Branch> {
    let ready = status.conditions.iter();
    let mut ready = ready.filter(|it| it.type_ == ConditionType::Ready.as_ref());
    let ready = ready.next().map(|ready| ready.message.as_str());
    let shown = status.conditions.iter().map(|condition| {
        let is_ready = condition.type_ == ConditionType::Ready.as_ref();
        let message = match ready == Some(&condition.message) && !is_ready {
            true => "as for Ready".to_owned(),
            false => plain(&condition.message),
        };
        let good = !matches!(
            condition.type_.as_str(),
            "Reconciling" | "Stalled" | "UpdateAvailable"
        );
        // That something is under way, or that there is an update, is no trouble.
        let style = match condition.type_.as_str() {
            "Reconciling" | "UpdateAvailable" if condition.status == "True" => OPEN,
            _ => of_status(&condition.status, good),
        };
        Branch::new(format!(
            "{}={} {}: {} {}",
            plain(&condition.type_),
            paint(style, &plain(&condition.status)),
            plain(&condition.reason),
            message,
            paint(
                FAINT,
                &format!("({})", age(Some(condition.last_transition_time.0), now))
            )
        ))
    });
    shown.collect()
}

fn diagnostic(found: &StatusDiagnostic) -> Branch {
    let mut branch = Branch::new(format!(
        "{} at {}: {}",
        paint(BAD, &plain(&found.code)),
        place(&found.path, found.document.as_deref()),
        plain(&found.message)
    ));
    branch.grow(found.related.iter().map(|related| {
        Branch::new(format!(
            "see {} at {}",
            plain(&related.artifact),
            plain(&related.path)
        ))
    }));
    branch
}

fn missing(found: &StatusDeferred) -> Branch {
    let remedy = found.message.as_deref().unwrap_or_default();
    Branch::new(format!(
        "{} at {}: {}",
        paint(OPEN, &plain(&found.missing)),
        place(&found.path, found.document.as_deref()),
        plain(remedy)
    ))
}

/// A pointer, and the document that it leads into.
fn place(path: &str, document: Option<&str>) -> String {
    let path = if path.is_empty() { "the top" } else { path };
    format!(
        "{} of the {}",
        plain(path),
        plain(document.unwrap_or("blueprint"))
    )
}

fn credentials(status: &InstallationStatus) -> Vec<Branch> {
    let identity = status.identity.as_deref().unwrap_or_default();
    let shown = status.credentials.iter().map(|credential| {
        let generation = credential.generation;
        let secret = u64::try_from(generation)
            .map(|generation| names::credential(identity, &credential.parameter, generation));
        Branch::new(format!(
            "{} generation {generation} {}",
            plain(&credential.parameter),
            paint(FAINT, &format!("(Secret {})", secret.unwrap_or_default()))
        ))
    });
    shown.collect()
}

fn connections(status: &InstallationStatus) -> Vec<Branch> {
    let shown = status.connections.iter().map(|connection| {
        Branch::new(format!(
            "{} {}, paid by {}",
            plain(&connection.parameter),
            plain(&connection.kind),
            plain(&connection.cost_owner)
        ))
    });
    shown.collect()
}

fn update(installation: &Installation, now: Timestamp) -> Option<Branch> {
    let told = installation.condition(ConditionType::UpdateAvailable)?;
    (told.status == "True").then(|| {
        let since = age(Some(told.last_transition_time.0), now);
        let name = installation.name_any();
        Branch::new(format!(
            "{} since {since}: see `kubectl installation diff {name}`, select it with `kubectl installation update {name}`",
            paint(OPEN, "update available")
        ))
    })
}

/// How many entries of a list are shown, where it was cut.
fn cut(
    status: &InstallationStatus,
    total: impl Fn(&crate::api::status::Totals) -> i64,
    shown: usize,
) -> String {
    let total = status.totals.as_ref().map_or(0, total);
    let total = usize::try_from(total).unwrap_or_default();
    match total > shown {
        true => format!(" ({shown} of {total})"),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[track_caller]
    fn shown(change: impl FnOnce(&mut Value)) -> String {
        let condition = |of: &str, status: &str, reason: &str, message: &str| {
            json!({"type": of, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": "2026-12-01T09:00:00Z"})
        };
        let mut all = json!({
            "apiVersion": "install.musher.dev/v1alpha1", "kind": "Installation",
            "metadata": {"name": "wiki", "namespace": "demo", "generation": 4,
                "creationTimestamp": "2026-12-01T08:00:00Z"},
            "spec": {"blueprint": {"configMap": {"name": "wiki", "item": "acme-wiki"}}},
            "status": {
                "observedGeneration": 4, "identity": "wiki", "resolution": "VALID",
                "conditions": [
                    condition("Ready", "False", "NodesNotReady", "1 of 2 nodes not ready"),
                    condition("Reconciling", "True", "NodesNotReady", "1 of 2 nodes not ready"),
                    condition("UpdateAvailable", "True", "PinnedChanged", "changed outside: variable cloud.region"),
                ],
                "record": {"name": "record-wiki-3-x", "version": 3},
                "snapshot": {"identity": "s", "version": "3"},
                "blueprint": {"slug": "acme-wiki", "revision": 2, "digest": "a".repeat(64)},
                "nodes": [
                    {"name": "db", "type": "SERVICE", "state": "Ready", "workload": "StatefulSet/wiki-db-x"},
                    {"name": "web", "type": "SERVICE", "state": "Failing", "reason": "Crashing",
                     "message": "exit code 1\u{1b}[31m"},
                ],
                "endpoints": [
                    {"node": "web", "endpoint": "http", "protocol": "HTTP",
                     "privateAddress": "wiki-web.demo.svc:8080", "publicAddress": "https://wiki.example.org"},
                ],
                "jobs": {"migrate": {"job": "wiki-migrate-3", "outcome": "Failed", "message": "exit code 2"}},
                "credentials": [{"parameter": "dbPassword", "identity": "demo/wiki/dbPassword", "generation": 1}],
                "connections": [{"parameter": "llm", "identity": "i", "version": "1", "kind": "MANAGED", "costOwner": "research"}],
            },
        });
        change(&mut all);
        let installation = serde_json::from_value(all).expect("an Installation");
        let shown = tree(&installation, at("2026-12-01T10:00:00Z"));
        anstream::adapter::strip_str(&shown).to_string()
    }

    #[test]
    fn the_tree_tells_what_status_has_node_by_node() {
        let secret = names::credential("wiki", "dbPassword", 1);
        let expected = format!("\
wiki  Ready=False NodesNotReady  namespace demo, 120m old
├─ blueprint acme-wiki revision 2 (sha256 aaaaaaaaaaaa…)
├─ record version 3 (record-wiki-3-x, snapshot version 3), the spec is VALID
├─ conditions
│  ├─ Ready=False NodesNotReady: 1 of 2 nodes not ready (60m)
│  ├─ Reconciling=True NodesNotReady: as for Ready (60m)
│  └─ UpdateAvailable=True PinnedChanged: changed outside: variable cloud.region (60m)
├─ nodes
│  ├─ db SERVICE Ready StatefulSet/wiki-db-x
│  ├─ migrate
│  │  └─ job wiki-migrate-3 Failed: exit code 2
│  └─ web SERVICE Failing Crashing: exit code 1\u{fffd}[31m
│     └─ http HTTP https://wiki.example.org (inside: wiki-web.demo.svc:8080)
├─ credentials
│  └─ dbPassword generation 1 (Secret {secret})
├─ connections
│  └─ llm MANAGED, paid by research
└─ update available since 60m: see `kubectl installation diff wiki`, select it with `kubectl installation update wiki`
");
        similar_asserts::assert_eq!(shown(|_| ()), expected);
    }

    #[test]
    fn what_is_wrong_or_missing_is_told_with_its_place_and_its_remedy() {
        let told = shown(|all| {
            all["status"] = json!({
                "observedGeneration": 3, "identity": "old-wiki", "resolution": "INVALID",
                "diagnostics": [{"code": "ERR_MISSING_FIELD", "path": "/spec/x", "phase": "structural", "message": "it is missing; add it",
                    "related": [{"artifact": "./web.yaml", "path": "/spec"}]}],
                "deferred": [{"rule": "BP-PARAM-009", "path": "", "missing": "variable:cloud.region", "message": "create it", "document": "Installation"}],
                "totals": {"diagnostics": 250, "deferred": 1, "nodes": 0, "endpoints": 0, "credentials": 0, "inventory": 0},
            });
            all["spec"]["suspend"] = json!(true);
            all["metadata"]["deletionTimestamp"] = json!("2026-12-01T09:59:00Z");
        });
        let expected = "\
wiki  Ready is not known  namespace demo, 120m old
├─ is being deleted
├─ suspended: the operator neither acts nor looks
├─ what follows is of generation 3; the spec is at 4, and the operator has not acted on it yet
├─ no record yet, identity old-wiki, the spec is INVALID
├─ diagnostics (1 of 250)
│  └─ ERR_MISSING_FIELD at /spec/x of the blueprint: it is missing; add it
│     └─ see ./web.yaml at /spec
└─ missing
   └─ variable:cloud.region at the top of the Installation: create it
";
        similar_asserts::assert_eq!(told, expected);
    }

    #[test]
    fn a_new_installation_is_said_to_be_one() {
        let told = shown(|all| all["status"] = json!({"observedGeneration": -1}));
        assert!(told.contains("no operator has looked at it yet"), "{told}");
    }
}
