//! What stands beside records, in their annotations: what changed in words, which one counts, how often its pods were
//! rolled out again and for which token. The records themselves never change.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::changes::changes;
use super::failure::{Asked, Failure};
use super::history::{History, Version};
use super::precious::{annotation, foreign};
use super::shell::Shell;
use crate::acquire::{Findings, Reader};
use crate::api::installation::Trigger;
use crate::api::names::{
    self, CHANGES_ANNOTATION, FIELD_MANAGER, ROLLOUT_ANNOTATION, RecordState, STATE_ANNOTATION,
};
use crate::api::reason::Reason;
use crate::api::{Installation, ResolutionRecord};
use crate::resolution::accept::AcceptedRecord;

/// How often pods were rolled out again. The count goes on from record to record, so that a new record alone restarts
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The redeploy token last acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// How many changes of it there have been.
    pub count: u64,
}

impl Rollout {
    /// What `record` tells of it, if it tells anything.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] for an annotation that nobody can read.
    pub fn of(record: &ResolutionRecord) -> Result<Option<Self>, Failure> {
        let Some(text) = annotation(&record.metadata, ROLLOUT_ANNOTATION) else {
            return Ok(None);
        };
        serde_json::from_str(text).map(Some).map_err(|_| {
            foreign(
                format!("ResolutionRecord {}", record.name_any()),
                format!("its annotation {ROLLOUT_ANNOTATION} is malformed"),
            )
        })
    }

    /// The one that nothing was rolled out again for: `token` is not news.
    fn unasked(token: Option<&Trigger>) -> Self {
        Self {
            token: token.map(|trigger| trigger.token.clone()),
            count: 0,
        }
    }

    /// The rollout after this one, if `token` asks for one. A token that was taken away asks for nothing.
    fn next(&self, token: Option<&Trigger>) -> Option<Self> {
        let token = &token?.token;
        (self.token.as_ref() != Some(token)).then(|| Self {
            token: Some(token.clone()),
            count: self.count + 1,
        })
    }
}

impl History {
    /// The version that came before `number`.
    pub fn former(&self, number: u64) -> Option<&Version> {
        let mut before = self.versions.iter().rev();
        before.find(|version| version.number < number)
    }

    /// The record of version `number`.
    ///
    /// # Errors
    /// [`Failure::StateLost`] when it is gone: what became of its Jobs went with it.
    pub fn record(&self, number: u64) -> Result<&ResolutionRecord, Failure> {
        self.recorded
            .get(&number)
            .ok_or_else(|| Failure::StateLost {
                object: format!("ResolutionRecord {}", names::record(&self.identity, number)),
                needed_by: format!("version {number}, which runs"),
            })
    }
}

/// The annotations that the record of `version` is created with. `token` is the one that `spec.redeploy` has.
///
/// # Errors
/// [`Failure::ForeignObject`] where what stands beside the record before cannot be read.
pub fn annotations(
    version: &Version,
    history: &History,
    token: Option<&Trigger>,
) -> Result<BTreeMap<String, String>, Failure> {
    let former = history.former(version.number);
    let record = former.and_then(|former| history.recorded.get(&former.number));
    let rollout = match record {
        Some(record) => Rollout::of(record)?,
        None => None,
    };
    let rollout = rollout.unwrap_or_else(|| Rollout::unasked(token));
    Ok([
        (CHANGES_ANNOTATION, changes(former, version)),
        (STATE_ANNOTATION, RecordState::Current.to_string()),
        (ROLLOUT_ANNOTATION, json!(rollout).to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into())
}

impl Shell {
    /// Makes sure that the records say which of them counts: the one of version `current`.
    ///
    /// # Errors
    /// What writing ends in.
    pub async fn tell_which_counts(&self, history: &History, current: u64) -> Result<(), Failure> {
        for (number, record) in &history.recorded {
            let state = if *number == current {
                RecordState::Current
            } else {
                RecordState::Superseded
            };
            if annotation(&record.metadata, STATE_ANNOTATION) != Some(state.as_ref()) {
                self.annotate(record, json!({STATE_ANNOTATION: state.as_ref()}))
                    .await?;
            }
        }
        Ok(())
    }

    /// How often the pods of `record` are rolled out again: once more where `spec.redeploy` has a token that was not
    /// acted on yet and everything that `current` pins is still to be had. What is not is added to `findings`, and the
    /// pods that run are left alone.
    ///
    /// # Errors
    /// What reading and writing ends in.
    pub async fn roll_out(
        &self,
        installation: &Installation,
        record: &ResolutionRecord,
        (version, accepted): &(Version, AcceptedRecord),
        reader: &Reader,
        findings: &mut Findings,
    ) -> Result<u64, Failure> {
        let token = installation.spec.redeploy.as_ref();
        let Some(standing) = Rollout::of(record)? else {
            let first = Rollout::unasked(token);
            self.note_rollout(record, &first).await?;
            return Ok(first.count);
        };
        let Some(next) = standing.next(token) else {
            return Ok(standing.count);
        };
        let named = &version.pins.image_pull_secrets;
        let mut unavailable = Findings::default();
        let (keyring, _) = reader.acquire_keyring(named, &mut unavailable).await?;
        let platform = reader.platform(&self.settings.platform).await?;
        reader
            .find_images(
                accepted.contracts(),
                accepted.record(),
                &self.registries.client(&platform.registries, keyring),
                &mut unavailable,
            )
            .await;
        if !unavailable.missing.is_empty() {
            findings.missing.append(&mut unavailable.missing);
            return Ok(standing.count);
        }
        self.note_rollout(record, &next).await?;
        let note = format!("rolling out version {} again", version.number);
        self.event(installation, Reason::Redeployed, note).await;
        Ok(next.count)
    }

    async fn note_rollout(
        &self,
        record: &ResolutionRecord,
        rollout: &Rollout,
    ) -> Result<(), Failure> {
        let text = json!(rollout).to_string();
        self.annotate(record, json!({ROLLOUT_ANNOTATION: text}))
            .await
    }

    /// Writes annotations of this very record; one that was made meanwhile under the same name is left alone.
    ///
    /// # Errors
    /// What writing ends in.
    pub async fn annotate(
        &self,
        record: &ResolutionRecord,
        annotations: Value,
    ) -> Result<(), Failure> {
        let name = record.name_any();
        let patch = json!({"metadata": {"uid": record.uid(), "annotations": annotations}});
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api::<ResolutionRecord>(&record.namespace().unwrap_or_default())
            .patch(&name, &params, &Patch::Merge(&patch))
            .await
            .asked(|| format!("annotate ResolutionRecord {name}"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_token_asks_for_another_rollout() {
        let trigger = |token: &str| Trigger {
            token: token.to_owned(),
        };
        let first = Rollout::unasked(Some(&trigger("1")));
        assert_eq!(first.next(Some(&trigger("1"))), None);
        assert_eq!(first.next(None), None);
        let second = first.next(Some(&trigger("2"))).expect("another rollout");
        assert_eq!((second.count, second.next(Some(&trigger("2")))), (1, None));
        let unasked = Rollout::unasked(None);
        assert_eq!(
            unasked.next(Some(&trigger("1"))).map(|next| next.count),
            Some(1)
        );
    }
}
