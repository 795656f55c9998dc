//! Waits until an Installation is where a change leads it.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::runtime::watcher;
use tokio::time::timeout;

use super::ask::{Ask, refused};
use super::session::Session;
use super::view::plain;
use crate::api::Installation;
use crate::api::condition::ConditionType;
use crate::api::reason::Reason;
use crate::cli::Ended;

/// Where a change leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Ready, of the new spec.
    Ready,
    /// Suspended.
    Suspended,
}

/// Waits until `installation`, as it was written, has reached `goal`, and tells on standard error what it waits for.
/// [`Ended::Incomplete`] when `patience` is over.
///
/// # Errors
/// [`super::ask::Refused`] when it is stalled, so that waiting is of no use, or gone.
pub async fn wait(
    session: &Session,
    installation: &Installation,
    goal: Goal,
    patience: Duration,
) -> anyhow::Result<Ended> {
    let name = installation.name_any();
    match timeout(patience, reach(session, installation, goal)).await {
        Ok(outcome) => outcome.map(|()| Ended::Well),
        Err(_) => {
            anstream::eprintln!(
                "error: {name} is not there after {} s; the change stands, and `kubectl installation status {name}` tells why",
                patience.as_secs()
            );
            Ok(Ended::Incomplete)
        }
    }
}

async fn reach(session: &Session, written: &Installation, goal: Goal) -> anyhow::Result<()> {
    let name = written.name_any();
    let generation = written.metadata.generation.unwrap_or_default();
    let mut seen = watcher::watch_object(session.api::<Installation>(), &name).boxed();
    let mut told = String::new();
    while let Some(found) = seen
        .try_next()
        .await
        .asking(|| format!("watch Installation {name}"))?
    {
        let Some(found) = found.filter(|found| found.uid() == written.uid()) else {
            return Err(refused(format!("Installation {name} is gone")));
        };
        match look(&found, generation, goal) {
            Look::There => return Ok(()),
            Look::Never(why) => return Err(refused(format!("{name} is stalled: {why}"))),
            Look::NotYet(why) => {
                if why != told {
                    anstream::eprintln!("waiting for {name}: {why}");
                    told = why;
                }
            }
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Look {
    There,
    NotYet(String),
    Never(String),
}

fn look(found: &Installation, generation: i64, goal: Goal) -> Look {
    let status = found.status.as_ref();
    if status.is_none_or(|status| status.observed_generation < generation) {
        return Look::NotYet("the operator has not seen the change yet".to_owned());
    }
    let Some(ready) = found.condition(ConditionType::Ready) else {
        return Look::NotYet("its condition Ready".to_owned());
    };
    let why = format!("{}: {}", plain(&ready.reason), plain(&ready.message));
    let stalled = found.condition(ConditionType::Stalled);
    let is_stalled = stalled.is_some_and(|stalled| stalled.status == "True");
    match goal {
        Goal::Ready if ready.status == "True" => Look::There,
        Goal::Suspended if ready.reason == Reason::Suspended.as_ref() => Look::There,
        _ if is_stalled => Look::Never(why),
        _ => Look::NotYet(why),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(observed: i64, ready: (&str, &str), stalled: &str) -> Installation {
        let condition = |of: &str, status: &str, reason: &str| {
            json!({"type": of, "status": status, "reason": reason, "message": "m",
                "lastTransitionTime": "2026-12-01T09:00:00Z"})
        };
        serde_json::from_value(json!({
            "metadata": {"name": "wiki"}, "spec": {"blueprint": {}},
            "status": {"observedGeneration": observed, "conditions": [
                condition("Ready", ready.0, ready.1), condition("Stalled", stalled, "x"),
            ]},
        }))
        .expect("an Installation")
    }

    #[test]
    fn what_is_said_of_an_earlier_spec_is_not_waited_for() {
        let unseen = Look::NotYet("the operator has not seen the change yet".to_owned());
        assert_eq!(
            look(&seen(1, ("True", "Ready"), "False"), 2, Goal::Ready),
            unseen
        );
        assert_eq!(
            look(&seen(2, ("True", "Ready"), "False"), 2, Goal::Ready),
            Look::There
        );
    }

    #[test]
    fn what_is_incomplete_is_waited_for_and_what_is_stalled_is_not() {
        for (found, goal, expected) in [
            (
                seen(2, ("Unknown", "Incomplete"), "False"),
                Goal::Ready,
                Look::NotYet("Incomplete: m".into()),
            ),
            (
                seen(2, ("False", "Invalid"), "True"),
                Goal::Ready,
                Look::Never("Invalid: m".into()),
            ),
            (
                seen(2, ("Unknown", "Suspended"), "False"),
                Goal::Suspended,
                Look::There,
            ),
            (
                seen(2, ("Unknown", "Suspended"), "False"),
                Goal::Ready,
                Look::NotYet("Suspended: m".into()),
            ),
        ] {
            assert_eq!(look(&found, 2, goal), expected);
        }
    }
}
