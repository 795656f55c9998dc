//! What went wrong that is not the input's fault: the cluster's answer, or state that is not as the operator left it.
//! One match without wildcard decides when the operator tries again.

use thiserror::Error;

use crate::acquire::Unavailable;
use crate::acquire::interest::Interest;
use crate::api::reason::Reason;

/// Why a reconcile stopped. No variant holds a value; names of objects, at most.
#[derive(Debug, Error)]
pub enum Failure {
    /// The API server could not be asked, or answered with an error of its own.
    #[error("the API server did not {action}: {source}")]
    Api {
        /// What was asked, as a verb and an object.
        action: String,
        /// The client's error.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server refuses what was asked: validation, quota, policy or permission.
    #[error(
        "the API server refuses to {action}: {message}. Mend the cause; the operator tries again by itself"
    )]
    Refused {
        /// What was asked, as a verb and an object.
        action: String,
        /// The API server's words.
        message: String,
    },
    /// Somebody wrote in between; reading again settles it.
    #[error("{object} changed while it was being decided on")]
    Conflict {
        /// The object, as kind and name.
        object: String,
    },
    /// An object stands where the operator's own would, and is not as the operator made it.
    #[error(
        "{object} is not as the operator made it: {why}. Nothing was overwritten. Remove it if it is not yours to keep, or restore the original from a backup"
    )]
    ForeignObject {
        /// The object, as kind and name.
        object: String,
        /// What does not match.
        why: String,
    },
    /// A credential that history names is gone.
    #[error(
        "Secret {secret} is gone: it held generation {generation} of the credential of parameter {parameter}, which {named_by} names. It is never made anew, because whatever it unlocks would stay locked: restore that Secret from a backup"
    )]
    CredentialLost {
        /// The Secret's name.
        secret: String,
        /// The generated parameter.
        parameter: String,
        /// The rotation generation.
        generation: u64,
        /// The snapshot that names it.
        named_by: String,
    },
    /// Something that was persisted, and that history needs, is gone.
    #[error(
        "{object} is gone: {needed_by} stands on it. It is not made anew, and what runs is left as it is. Restore it from a backup"
    )]
    StateLost {
        /// The object, as kind and name.
        object: String,
        /// What stands on it.
        needed_by: String,
    },
    /// What is to be deleted stays, because somebody else guards it.
    #[error(
        "{object} is being deleted and waits for whoever set its finalizer {finalizers}: let that program finish, or take the finalizer off if the program is gone"
    )]
    HeldByFinalizer {
        /// The object, as kind and name.
        object: String,
        /// Its finalizers.
        finalizers: String,
    },
    /// Another live Installation holds the identity.
    #[error(
        "identity {identity} is held by Installation {holder}. Delete that one, and `kubectl installation purge {identity}` if its state is not to be taken over, or give this one another spec.identity"
    )]
    IdentityInUse {
        /// The identity.
        identity: String,
        /// The holder's name.
        holder: String,
    },
    /// The identity's retained state belongs to another item.
    #[error(
        "identity {identity} has retained state of item {retained}, not of {asked}: {objects} objects labelled install.musher.dev/identity={identity}. Use another name or spec.identity for {asked}; or, if that state is no longer wanted, delete this Installation, give the state up with `kubectl installation purge {identity}`, and apply again"
    )]
    ForeignState {
        /// The identity.
        identity: String,
        /// The slug of the item the state belongs to.
        retained: String,
        /// The slug asked for.
        asked: String,
        /// How many objects there are.
        objects: usize,
    },
    /// State of a newer format.
    #[error(
        "{object} was written in format {found}, and this operator knows formats up to {known}. Run the operator version that wrote it, or a later one; nothing was changed"
    )]
    NewerState {
        /// The object, as kind and name.
        object: String,
        /// Its format version.
        found: String,
        /// The newest format this program knows.
        known: u32,
    },
}

/// When a failed reconcile is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After a delay that is short at first and grows with every failure in a row.
    Backoff,
    /// When something relevant changes: trying again by itself would most likely end the same way.
    OnChange,
}

impl Failure {
    /// When to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Conflict { .. } | Self::Api { .. } | Self::Refused { .. } => Retry::Backoff,
            Self::ForeignObject { .. }
            | Self::CredentialLost { .. }
            | Self::StateLost { .. }
            | Self::HeldByFinalizer { .. }
            | Self::IdentityInUse { .. }
            | Self::ForeignState { .. }
            | Self::NewerState { .. } => Retry::OnChange,
        }
    }

    /// The object in the way whose going would change the answer, if it is one of `namespace`.
    pub fn waits_for(&self, namespace: &str) -> Option<Interest> {
        let (Self::ForeignObject { object, .. } | Self::StateLost { object, .. }) = self else {
            return None;
        };
        let (kind, name) = object.split_once(' ')?;
        Some(Interest::named(kind, namespace, name))
    }

    /// The reason that conditions and events carry.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Api { .. } => Reason::ApiUnavailable,
            // Nobody has to act: what was read was out of date.
            Self::Conflict { .. } => Reason::Progressing,
            Self::Refused { .. } => Reason::Refused,
            Self::ForeignObject { .. } => Reason::ForeignObject,
            Self::CredentialLost { .. } => Reason::CredentialLost,
            Self::StateLost { .. } => Reason::StateLost,
            Self::HeldByFinalizer { .. } => Reason::HeldByFinalizer,
            Self::IdentityInUse { .. } => Reason::IdentityInUse,
            Self::ForeignState { .. } => Reason::ForeignState,
            Self::NewerState { .. } => Reason::NewerState,
        }
    }
}

/// Turns a client error into a [`Failure`], saying what was asked.
pub trait Asked<T> {
    /// `action` is a verb and an object, for example `create Secret wiki-1`.
    ///
    /// # Errors
    /// [`Failure::Conflict`] for a lost race, [`Failure::Refused`] for a refusal, else [`Failure::Api`].
    fn asked(self, action: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T> Asked<T> for Result<T, kube::Error> {
    fn asked(self, action: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| match error {
            kube::Error::Api(status) if status.code == 409 => {
                Failure::Conflict { object: action() }
            }
            kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422) => {
                Failure::Refused {
                    action: action(),
                    message: status.message.clone(),
                }
            }
            source => Failure::Api {
                action: action(),
                source: Box::new(source),
            },
        })
    }
}

impl From<Unavailable> for Failure {
    fn from(unavailable: Unavailable) -> Self {
        let Unavailable { what, source } = unavailable;
        Err::<(), _>(*source)
            .asked(|| format!("read {what}"))
            .expect_err("it is an error")
    }
}

/// Whether the API server said that the object is not there.
pub fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether the API server said that the object exists already.
pub fn exists_already(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}
