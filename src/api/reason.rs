//! The stable reasons of conditions and events. `docs/reference/reasons.md` is generated from this enum.

use strum::{AsRefStr, Display, EnumIter, EnumMessage};

/// Why a condition has its status. The doc text of each variant is its entry in the documented table: meaning, then
/// what to do.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    AsRefStr,
    Display,
    EnumIter,
    EnumMessage,
)]
pub enum Reason {
    /// Every node of the current record is ready. Nothing to do.
    Ready,
    /// Work is under way. Wait; the message says for what.
    Progressing,
    /// The blueprint or a submitted value is wrong. Mend what `status.diagnostics` names and apply again.
    Invalid,
    /// Something that resolution needs is not there yet. Provide what `status.deferred` names; nothing else is needed.
    Incomplete,
    /// The spec resolved and its record is accepted. Nothing to do.
    Accepted,
    /// The current record's objects are applied. Nothing to do.
    Applied,
    /// No record exists yet, so nothing is applied. See the condition Resolved.
    NoRecord,
    /// The running record serves. Nothing to do.
    Serving,
    /// A node is not available. `status.nodes` says which and why.
    NodesNotReady,
    /// `spec.suspend` is true: the operator does nothing here. Set it to false to go on.
    Suspended,
    /// Nothing is under way. Nothing to do.
    Idle,
    /// An object stands under a name that the operator would use, and it is not the operator's. Nothing was overwritten.
    /// Remove the object that the message names, or restore the original from a backup.
    ForeignObject,
    /// A credential that the history of this identity names is gone. It is never made anew: restore the Secret that the
    /// message names, or rotate to a new generation after removing the history that names the lost one.
    CredentialLost,
    /// Another live Installation holds this identity. Delete that one, or give this one another `spec.identity`.
    IdentityInUse,
    /// The retained state of this identity belongs to another item. Use another name or `spec.identity`, or remove the
    /// retained objects that the message counts.
    ForeignState,
    /// State was written by a newer operator. Run that version or a later one; nothing was changed.
    NewerState,
    /// The API server refuses an object of this Installation. The message has its answer; mend the cause (quota, policy,
    /// permissions); the operator tries again by itself.
    Refused,
    /// The API server could not be asked, or answered with an error. The operator tries again by itself.
    ApiUnavailable,
    /// An identity's retained state was taken over by a new Installation.
    TakenOver,
    /// A credential was generated and persisted.
    CredentialCreated,
    /// A record was accepted.
    RecordAccepted,
    /// Everything pinned is current, as far as it was looked at. Nothing to do.
    UpToDate,
    /// Something pinned has changed outside. Change `spec.update.token` to select it.
    PinnedChanged,
}

impl Reason {
    /// Whether somebody may have to act.
    pub fn is_trouble(self) -> bool {
        match self {
            Self::Invalid
            | Self::Incomplete
            | Self::NodesNotReady
            | Self::ForeignObject
            | Self::CredentialLost
            | Self::IdentityInUse
            | Self::ForeignState
            | Self::NewerState
            | Self::Refused
            | Self::ApiUnavailable => true,
            Self::Ready
            | Self::Progressing
            | Self::Accepted
            | Self::Applied
            | Self::NoRecord
            | Self::Serving
            | Self::Suspended
            | Self::Idle
            | Self::TakenOver
            | Self::CredentialCreated
            | Self::RecordAccepted
            | Self::UpToDate
            | Self::PinnedChanged => false,
        }
    }
}
