//! Events: what happened to an Installation, by the reasons of conditions. Losing one loses nothing.

use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use super::shell::Shell;
use crate::api::Installation;
use crate::api::names::FIELD_MANAGER;
use crate::api::reason::Reason;

/// What an event's note may hold, in bytes.
const NOTE_LIMIT: usize = 1024;

impl Shell {
    /// Publishes that `reason` came about for `installation`.
    pub async fn event(&self, installation: &Installation, reason: Reason, note: String) {
        let event = Event {
            type_: if reason.is_trouble() {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: reason.to_string(),
            note: Some(cut(note)),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        // One recorder for all events would take those of one reason for the same event and keep the first one's note.
        let reporter = Reporter {
            controller: FIELD_MANAGER.to_owned(),
            instance: None,
        };
        if let Err(error) = Recorder::new(self.client.clone(), reporter)
            .publish(&event, &installation.object_ref(&()))
            .await
        {
            tracing::warn!(%error, reason = %reason, "an event was lost");
        }
    }
}

fn cut(mut note: String) -> String {
    if note.len() > NOTE_LIMIT {
        let end = (0..=NOTE_LIMIT - '…'.len_utf8())
            .rev()
            .find(|end| note.is_char_boundary(*end))
            .unwrap_or(0);
        note.truncate(end);
        note.push('…');
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_at_a_character() {
        assert_eq!(cut("short".into()), "short");
        let long = cut("é".repeat(1000));
        assert!(long.len() <= NOTE_LIMIT && long.ends_with('…'));
    }
}
