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
    /// Where a plan for `intent` starts. `None` where the spec rolls back to a version that is not there, which `findings`
    /// then says.
    ///
    /// A rollback is carried out once for each `spec.rollback`. What it selected stays for as long as that is named, apart
    /// from what the spec changes beside it; a change of the blueprint's source ends it, too.
    ///
    /// # Errors
    /// As [`History::accept`] says of the version that is started from.
    pub fn of(
        intent: &Intent,
        current: Option<&Version>,
        history: &History,
        findings: &mut Findings,
    ) -> Result<Option<Self>, Failure> {
        let accepted = |version: &Version| -> Result<Box<Accepted>, Failure> {
            Ok(Box::new((version.clone(), history.accept(version)?)))
        };
        let standing = current.and_then(|version| version.intent.rollback.as_ref());
        let ends = |current: &Version| {
            intent.rollback.is_none() || intent.blueprint != current.intent.blueprint
        };
        match &intent.rollback {
            Some(rollback) if standing != Some(rollback) => {
                let number = u64::from(rollback.record);
                match history
                    .versions
                    .iter()
                    .find(|version| version.number == number)
                {
                    Some(version) => Ok(Some(Self::Rollback(accepted(version)?))),
                    None => {
                        findings.wrong(Document::Installation, unknown(number, history));
                        Ok(None)
                    }
                }
            }
            _ if standing.is_some() && current.is_some_and(ends) => {
                let mut before = history.versions.iter().rev();
                let before = before.find(|version| version.intent.rollback.is_none());
                Ok(Some(Self::BeforeRollback(
                    before.map(accepted).transpose()?,
                )))
            }
            _ => Ok(Some(Self::Current)),
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
            let start = Start::of(&intent, Some(&version(3)), &history, &mut findings);
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
        let history = History::default();
        let rolled_back = of(json!({"record": 1, "token": "1"}));
        let start = |intent: &Intent, current: &Version| {
            Start::of(intent, Some(current), &history, &mut Findings::default())
                .ok()
                .flatten()
        };
        let same = start(&rolled_back.intent, &rolled_back);
        assert!(matches!(same, Some(Start::Current)));
        let left = start(&version(4).intent, &rolled_back);
        assert!(matches!(left, Some(Start::BeforeRollback(None))));
        let plain = start(&version(4).intent, &version(4));
        assert!(matches!(plain, Some(Start::Current)));
    }
}
