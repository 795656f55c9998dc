//! What a plan starts from: the version whose selections hold where the spec names no other. Pure.

use super::failure::Failure;
use super::history::{History, Version};
use super::intent::Intent;
use crate::acquire::{Document, Findings};
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::accept::AcceptedRecord;

/// A version and its accepted record.
type Accepted = (Version, AcceptedRecord);

/// Which version a plan starts from, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The newest one, if there is any.
    Current,
    /// The one before a rollback that the spec no longer asks for; none where it is not kept any more.
    BeforeRollback(Option<u64>),
    /// The one that the spec rolls back to, for the first time.
    Rollback(u64),
    /// The spec rolls back to a version that is not there.
    Unknown(u64),
}

impl Choice {
    /// Which of `versions`, given by number and intent with the newest last, a plan for `intent` starts from.
    ///
    /// A rollback is carried out once for each `spec.rollback`. What it selected stays for as long as that is named, apart
    /// from what the spec changes beside it; a change of the blueprint's source ends it, too.
    pub fn of(intent: &Intent, versions: &[(u64, &Intent)]) -> Self {
        let newest = versions.last().map(|(_, intent)| *intent);
        let standing = newest.and_then(|newest| newest.rollback.as_ref());
        match &intent.rollback {
            Some(rollback) if standing != Some(rollback) => {
                let number = u64::from(rollback.record);
                if versions.iter().any(|(kept, _)| *kept == number) {
                    Self::Rollback(number)
                } else {
                    Self::Unknown(number)
                }
            }
            rollback
                if standing.is_some()
                    && newest.is_some_and(|newest| {
                        rollback.is_none() || intent.blueprint != newest.blueprint
                    }) =>
            {
                let mut before = versions.iter().rev();
                let before = before.find(|(_, intent)| intent.rollback.is_none());
                Self::BeforeRollback(before.map(|(number, _)| *number))
            }
            _ => Self::Current,
        }
    }
}

/// The version that a plan starts from.
pub enum Start {
    /// The current one.
    Current,
    /// The one before a rollback that the spec no longer asks for; none where it is not kept any more, so that everything
    /// is selected anew.
    BeforeRollback(Option<Box<Accepted>>),
    /// The one that is rolled back to: all of its selections, whatever else the spec says.
    Rollback(Box<Accepted>),
}

impl Start {
    /// Where a plan for `intent` starts, as [`Choice::of`] says. `None` where the spec rolls back to a version that is not
    /// there, which `findings` then says.
    ///
    /// # Errors
    /// As [`History::accept`] says of the version that is started from.
    pub fn of(
        intent: &Intent,
        history: &History,
        findings: &mut Findings,
    ) -> Result<Option<Self>, Failure> {
        let accepted = |number: u64| -> Result<Option<Box<Accepted>>, Failure> {
            let mut versions = history.versions.iter();
            let version = versions.find(|version| version.number == number);
            let accept =
                |version: &Version| Ok(Box::new((version.clone(), history.accept(version)?)));
            version.map(accept).transpose()
        };
        let versions = history.versions.iter();
        let versions: Vec<(u64, &Intent)> = versions
            .map(|version| (version.number, &version.intent))
            .collect();
        match Choice::of(intent, &versions) {
            Choice::Current => Ok(Some(Self::Current)),
            Choice::BeforeRollback(None) => Ok(Some(Self::BeforeRollback(None))),
            Choice::BeforeRollback(Some(number)) => {
                Ok(Some(Self::BeforeRollback(accepted(number)?)))
            }
            Choice::Rollback(number) => Ok(accepted(number)?.map(Self::Rollback)),
            Choice::Unknown(number) => {
                findings.wrong(Document::Installation, unknown(number, history));
                Ok(None)
            }
        }
    }

    /// The version whose selections hold where the spec names no other.
    pub fn version<'a>(&'a self, current: Option<&'a Accepted>) -> Option<&'a Accepted> {
        match self {
            Self::Current => current,
            Self::BeforeRollback(before) => before.as_deref(),
            Self::Rollback(target) => Some(target),
        }
    }

    /// The version that is rolled back to.
    pub fn target(&self) -> Option<&Accepted> {
        match self {
            Self::Rollback(target) => Some(target),
            Self::Current | Self::BeforeRollback(_) => None,
        }
    }
}

/// The refusal of a rollback to a version that is not there.
fn unknown(number: u64, history: &History) -> Diagnostic {
    let kept: Vec<String> = history
        .versions
        .iter()
        .map(|version| version.number.to_string())
        .collect();
    let why = if history
        .latest()
        .is_some_and(|latest| latest.number > number)
    {
        "is not kept any more"
    } else {
        "has never been"
    };
    let remedy = if kept.is_empty() {
        "there is none to go back to: take spec.rollback away".to_owned()
    } else {
        format!(
            "name one of {} in spec.rollback.record, or take spec.rollback away",
            kept.join(", ")
        )
    };
    Diagnostic::resolution(
        Stage::Parameters,
        Code::InvalidResolutionContext,
        Pointer::of(["spec", "rollback", "record"]),
        format!("version {number} {why}; {remedy}"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::testing::{changed, version};

    fn of(rollback: serde_json::Value) -> Version {
        changed(4, |all| all["intent"]["rollback"] = rollback)
    }

    #[test]
    fn a_rollback_to_a_version_that_is_not_there_is_refused_with_those_that_are() {
        let history = History {
            versions: vec![version(2), version(3)],
            ..History::default()
        };
        for (record, expected) in [
            (1, "version 1 is not kept any more; name one of 2, 3"),
            (4, "version 4 has never been; name one of 2, 3"),
        ] {
            let intent = of(json!({"record": record, "token": "1"})).intent;
            let mut findings = Findings::default();
            let start = Start::of(&intent, &history, &mut findings);
            assert!(matches!(start, Ok(None)));
            let (_, diagnostic) = &findings.diagnostics[0];
            assert!(
                diagnostic.message.starts_with(expected),
                "{}",
                diagnostic.message
            );
        }
    }

    #[test]
    fn a_rollback_is_carried_out_once_and_left_when_it_is_no_longer_named() {
        let plain = version(4).intent;
        let back = of(json!({"record": 1, "token": "1"})).intent;
        let mut moved = back.clone();
        moved.blueprint = changed(4, |all| {
            all["intent"]["blueprint"] = json!({"oci": {"reference": "registry.example/wiki"}});
        })
        .intent
        .blueprint;
        let again = of(json!({"record": 1, "token": "2"})).intent;
        for (case, intent, versions, expected) in [
            ("a first version", &plain, vec![], Choice::Current),
            ("an update", &plain, vec![(1, &plain)], Choice::Current),
            (
                "a rollback",
                &back,
                vec![(1, &plain), (2, &plain)],
                Choice::Rollback(1),
            ),
            (
                "the same rollback",
                &back,
                vec![(1, &plain), (2, &back)],
                Choice::Current,
            ),
            (
                "another token",
                &again,
                vec![(1, &plain), (2, &back)],
                Choice::Rollback(1),
            ),
            (
                "no rollback any more",
                &plain,
                vec![(1, &plain), (2, &back), (3, &back)],
                Choice::BeforeRollback(Some(1)),
            ),
            (
                "another blueprint beside it",
                &moved,
                vec![(1, &plain), (2, &back)],
                Choice::BeforeRollback(Some(1)),
            ),
            (
                "nothing before it",
                &plain,
                vec![(2, &back)],
                Choice::BeforeRollback(None),
            ),
            ("nothing to go back to", &back, vec![], Choice::Unknown(1)),
        ] {
            assert_eq!(Choice::of(intent, &versions), expected, "{case}");
        }
    }
}
