//! Answers of the API server that are none: what was asked, in words that say what to do.

use std::fmt::Display;

use anyhow::anyhow;
use thiserror::Error;

use crate::acquire::Unavailable;
use crate::controller::failure::Failure;

/// Something that is not done, because it would be wrong to: the program ends with 1, not with 2.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// A refusal that says `why`.
pub fn refused(why: impl Into<String>) -> anyhow::Error {
    Refused(why.into()).into()
}

/// Says what was asked when the answer is an error.
pub trait Ask<T> {
    /// `action` is a verb and an object, for example `read Installation wiki`.
    ///
    /// # Errors
    /// Whatever it was, in words; [`Refused`] where the API server takes the request for wrong.
    fn asking(self, action: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T> Ask<T> for Result<T, kube::Error> {
    fn asking(self, action: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| said(action(), &error))
    }
}

impl<T> Ask<T> for Result<T, kube::runtime::watcher::Error> {
    fn asking(self, action: impl FnOnce() -> String) -> anyhow::Result<T> {
        use kube::runtime::watcher::Error;
        self.map_err(|error| match error {
            Error::InitialListFailed(error)
            | Error::WatchStartFailed(error)
            | Error::WatchFailed(error) => said(action(), &error),
            Error::WatchError(status) => said(action(), &kube::Error::Api(status)),
            Error::NoResourceVersion => anyhow!("cannot {}: {error}", action()),
        })
    }
}

/// A failure of what the plugin shares with the operator.
pub fn failed(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::Api { action, source } => said(action, &source),
        Failure::Refused { action, message } => denied(&action, &message),
        other => refused(other.to_string()),
    }
}

/// What could not be read of what the plugin shares with the operator, in words.
pub fn unavailable(unavailable: &Unavailable) -> anyhow::Error {
    said(format!("read {}", unavailable.what), &unavailable.source)
}

fn said(action: String, error: &kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) if status.code == 403 => denied(&action, &status.message),
        kube::Error::Api(status) if matches!(status.code, 400 | 409 | 422) => refused(format!(
            "the API server does not {action}: {}",
            status.message
        )),
        kube::Error::Api(status) if status.code == 401 => anyhow!(
            "cannot {action}: the API server does not know you ({}); log in again",
            status.message
        ),
        kube::Error::Api(status) => anyhow!("cannot {action}: {}", status.message),
        other => anyhow!("cannot {action}: {}", chain(other)),
    }
}

fn denied(action: &str, message: &str) -> anyhow::Error {
    anyhow!("you may not {action}: {message}; docs/plugin.md says which rights each verb needs")
}

/// An error with its causes, which its own words leave out.
fn chain(error: &dyn std::error::Error) -> impl Display {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
