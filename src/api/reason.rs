//! The stable reasons of conditions and events. `docs/reference/reasons.md` is generated from this enum.

use strum::{AsRefStr, Display, EnumIter, EnumMessage, IntoEnumIterator};

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
    /// A claim, a snapshot, a document that was accepted, the current record or a volume claim is gone. It is not made
    /// anew, and what runs is left as it is: restore the object that the message names.
    StateLost,
    /// Something that is being deleted stays, because it has a finalizer that is not the operator's. The message names
    /// both: let the finalizer's program finish, or take the finalizer off if that program is gone.
    HeldByFinalizer,
    /// Another live Installation holds this identity. Delete that one, or give this one another `spec.identity`.
    IdentityInUse,
    /// The retained state of this identity belongs to another item. Use another name or `spec.identity`, or delete this
    /// Installation and give up the retained objects that the message counts with `kubectl installation purge`.
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
    /// A renamed parameter took over the credential of its former name.
    CredentialCarriedOver,
    /// A record was accepted. The message says what changed.
    RecordAccepted,
    /// The current record is rolled out again, as `spec.redeploy.token` asks.
    Redeployed,
    /// Versions beyond `spec.historyLimit` were removed.
    HistoryPruned,
    /// An object that carries the identity's label was left where it is, because it is not as the operator makes them.
    LeftAlone,
    /// The Job of a JOB node came to a good end. Nothing to do.
    JobSucceeded,
    /// The Job of a JOB node failed, or is gone. It is not tried again before the next rollout; nothing else is held up.
    /// Read its log, mend the cause, and change the spec or `spec.redeploy.token` to run it again.
    JobFailed,
    /// Everything pinned is current, as far as it was looked at. Nothing to do.
    UpToDate,
    /// Something pinned has changed outside. Change `spec.update.token` to select it.
    PinnedChanged,
}

/// Why a node of an Installation is not ready. The doc text of each variant is its entry in the documented table.
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
pub enum NodeReason {
    /// Its pods are being made, or their images pulled. Wait.
    Starting,
    /// What ran its pods before, or kept its data, is being deleted and has to be gone first. Wait; a pod that does not end
    /// shows in `kubectl get pods`, and the message names whoever else has a finalizer on it. A pod of a cluster node that is
    /// lost does not end by itself: when that node is surely off, taint it `node.kubernetes.io/out-of-service`.
    Replacing,
    /// Its image cannot be pulled. The message has the registry's answer: check the reference, the registry and the pull
    /// secrets of the namespace's ServiceAccount.
    ImagePull,
    /// No cluster node takes its pod. The message has the scheduler's count of why: add capacity, choose another compute
    /// profile, loosen the placement pins, or look at the volume claim that it waits for.
    Unschedulable,
    /// Its container cannot be created. The message has the kubelet's words: a Secret that is gone, a command that the
    /// image does not have, a user that is not allowed. Where pods are made for the pod security level Restricted, an image
    /// has to name a user other than root, by number or by a name that could be looked up: use one that does, or a namespace
    /// that does not enforce that level.
    ContainerConfig,
    /// Its container ends again and again. While its probes still allow it this is a first boot on its way; after that,
    /// read the log that the message names.
    Crashing,
    /// Its container runs and its probes do not succeed. While they still allow it this is a first boot on its way;
    /// after that, compare the probe with what the application serves.
    ProbeFailing,
    /// The API server refuses its pods: a quota, a pod security level, or another admission policy. The message has its
    /// answer: raise the quota, or run the item in a namespace whose policy admits it. A namespace that enforces the
    /// pod security level Restricted since the record was made gets pods that fit by a change of `spec.update.token`.
    Refused,
    /// Its rollout came to no end in the time that its probes allow. See its pods.
    DeadlineExceeded,
    /// A volume is to be larger and its StorageClass does not allow that. Its pods run on what there is.
    VolumeCannotGrow,
}

/// `docs/reference/reasons.md`: the documented table.
pub fn page() -> String {
    let mut page = "<!-- Generated by `installation-operator crds --docs reasons`; `./dev generate` writes it anew. -->\n\n\
         # Conditions and reasons\n\n\
         Reasons are stable. An event carries the reason that it is about; those marked ! are warnings.\n\n\
         | Reason | Meaning, and what to do |\n|---|---|\n"
        .to_owned();
    for reason in Reason::iter() {
        let mark = if reason.is_trouble() { " !" } else { "" };
        let text = reason
            .get_documentation()
            .unwrap_or_default()
            .replace('\n', " ");
        page += &format!("| `{reason}`{mark} | {text} |\n");
    }
    page += "\n# Why a node is not ready\n\n\
             `status.nodes[].reason`. A node is Progressing or Failing; which of both is `state`.\n\n\
             | Reason | Meaning, and what to do |\n|---|---|\n";
    for reason in NodeReason::iter() {
        let text = reason
            .get_documentation()
            .unwrap_or_default()
            .replace('\n', " ");
        page += &format!("| `{reason}` | {text} |\n");
    }
    page
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
            | Self::StateLost
            | Self::HeldByFinalizer
            | Self::LeftAlone
            | Self::IdentityInUse
            | Self::ForeignState
            | Self::NewerState
            | Self::Refused
            | Self::JobFailed
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
            | Self::CredentialCarriedOver
            | Self::RecordAccepted
            | Self::Redeployed
            | Self::HistoryPruned
            | Self::JobSucceeded
            | Self::UpToDate
            | Self::PinnedChanged => false,
        }
    }
}
