use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::acquire::{Document, Findings};
use crate::api::status::LIST_LIMIT;
use crate::document::diagnostic::Diagnostic;
use crate::document::pointer::Pointer;

fn at(seconds: i64) -> Time {
    Time(Timestamp::from_second(seconds).expect("a time"))
}

fn of(
    pass: &Pass,
    failure: Option<&Failure>,
    previous: Option<&InstallationStatus>,
    now: i64,
) -> InstallationStatus {
    let subject = Subject {
        name: "wiki",
        generation: 7,
        identity: "wiki",
        previous,
        now: at(now),
    };
    derive(&subject, pass, failure)
}

/// `Ready/Reconciling/Stalled`, each as status and reason.
fn triple(status: &InstallationStatus) -> String {
    let shown: Vec<String> = ["Ready", "Reconciling", "Stalled"]
        .iter()
        .filter_map(|name| {
            status
                .conditions
                .iter()
                .find(|condition| condition.type_ == *name)
        })
        .map(|condition| {
            format!(
                "{}={}({})",
                condition.type_, condition.status, condition.reason
            )
        })
        .collect();
    shown.join(" ")
}

fn missing() -> Findings {
    let mut findings = Findings::default();
    findings.wait(
        Document::Blueprint,
        "BP-NODE-003",
        Pointer::root(),
        "computeProfile:x",
        "create it",
    );
    findings
}

fn wrong() -> Findings {
    let mut findings = missing();
    let diagnostic = Diagnostic::semantic(
        crate::document::diagnostic::Code::UnknownNode,
        Pointer::root(),
        "name another",
    );
    findings.wrong(Document::Blueprint, diagnostic);
    findings
}

#[test]
fn what_is_missing_is_progress_and_what_is_wrong_is_stalled() {
    let foreign = Failure::ForeignObject {
        object: "Secret x".into(),
        why: "its type differs".into(),
    };
    let conflict = Failure::Conflict {
        object: "Secret x".into(),
    };
    let with = |findings: Option<Findings>| Pass {
        findings,
        ..Pass::default()
    };
    for (name, pass, failure, expected) in [
        (
            "first install",
            with(Some(Findings::default())),
            None,
            "Ready=Unknown(Progressing) Reconciling=True(Progressing) Stalled=False(Progressing)",
        ),
        (
            "something missing",
            with(Some(missing())),
            None,
            "Ready=Unknown(Incomplete) Reconciling=True(Incomplete) Stalled=False(Progressing)",
        ),
        (
            "something wrong",
            with(Some(wrong())),
            None,
            "Ready=False(Invalid) Reconciling=False(Invalid) Stalled=True(Invalid)",
        ),
        (
            "a stranger's object",
            with(None),
            Some(&foreign),
            "Ready=False(ForeignObject) Reconciling=False(ForeignObject) Stalled=True(ForeignObject)",
        ),
        (
            "a lost race",
            with(None),
            Some(&conflict),
            "Ready=Unknown(Progressing) Reconciling=True(Progressing) Stalled=False(Progressing)",
        ),
    ] {
        assert_eq!(triple(&of(&pass, failure, None, 1)), expected, "{name}");
    }
}

#[test]
fn a_transition_time_moves_only_with_the_status() {
    let first = of(
        &Pass {
            findings: Some(missing()),
            looked_back: true,
            ..Pass::default()
        },
        None,
        None,
        1,
    );
    let later = of(
        &Pass {
            findings: Some(wrong()),
            looked_back: true,
            ..Pass::default()
        },
        None,
        Some(&first),
        2,
    );
    let time = |status: &InstallationStatus, name: &str| {
        let found = status
            .conditions
            .iter()
            .find(|condition| condition.type_ == name);
        found.map(|condition| condition.last_transition_time.clone())
    };
    assert_eq!(time(&later, "Ready"), Some(at(2)), "Unknown became False");
    assert_eq!(
        time(&later, "Materialized"),
        Some(at(1)),
        "False stayed False"
    );
}

#[test]
fn a_pass_that_could_not_look_leaves_what_was_told_of_the_record() {
    let record = RecordStatus {
        name: "record-wiki-1".into(),
        version: 1,
    };
    let before = InstallationStatus {
        record: Some(record.clone()),
        ..InstallationStatus::default()
    };
    let lost = Failure::CredentialLost {
        secret: "credential-wiki".into(),
        parameter: "dbPassword".into(),
        generation: 0,
        named_by: "snapshot version 1".into(),
    };
    let status = of(&Pass::default(), Some(&lost), Some(&before), 1);
    let of = |name: &str| {
        let found = status
            .conditions
            .iter()
            .find(|condition| condition.type_ == name);
        found.map(|condition| (condition.status.as_str(), condition.reason.as_str()))
    };
    assert_eq!(status.record, Some(record));
    for name in ["Materialized", "Available"] {
        assert_eq!(of(name), Some(("Unknown", "CredentialLost")), "{name}");
    }
}

#[test]
fn a_list_too_long_is_cut_and_its_length_told() {
    let mut findings = Findings::default();
    for index in 0..=LIST_LIMIT {
        findings.wait(
            Document::Blueprint,
            "BP-NODE-003",
            Pointer::root().index(index),
            "x:y",
            "z",
        );
    }
    let status = of(
        &Pass {
            findings: Some(findings),
            ..Pass::default()
        },
        None,
        None,
        1,
    );
    assert_eq!(status.deferred.len(), LIST_LIMIT);
    assert_eq!(
        status.totals.map(|totals| totals.deferred),
        Some(LIST_LIMIT as i64 + 1)
    );
}
