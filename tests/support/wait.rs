//! Waiting, with a failure that says what stands there instead.

use std::time::Duration;

use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::ListParams;
use tokio::time::Instant;

use super::TestNamespace;

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

/// Asks `probe` again and again until it answers.
#[track_caller]
pub fn eventually<T>(what: &str, probe: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    let waiting = attempt(PATIENCE, probe);
    let caller = std::panic::Location::caller();
    async move {
        match waiting.await {
            Some(answer) => answer,
            None => panic!("{caller}: waited {PATIENCE:?} for {what}"),
        }
    }
}

/// Asks `probe` again and again until it answers or `patience` is over.
pub async fn attempt<T>(
    patience: Duration,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        let answer = probe().await;
        if answer.is_some() || Instant::now() > deadline {
            return answer;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl TestNamespace {
    /// Waits until the condition has `status`, said of the Installation's newest generation.
    pub async fn wait_for_condition(
        &self,
        name: &str,
        condition: ConditionType,
        status: &str,
    ) -> Installation {
        let what = format!("{condition}={status}");
        self.wait_for(name, &what, |seen| {
            (current(seen, condition)?.status == status).then_some(())
        })
        .await
    }

    /// Waits until the condition has `reason`, said of the Installation's newest generation.
    pub async fn wait_for_reason(
        &self,
        name: &str,
        condition: ConditionType,
        reason: &str,
    ) -> Installation {
        let what = format!("{condition} because of {reason}");
        self.wait_for(name, &what, |seen| {
            (current(seen, condition)?.reason == reason).then_some(())
        })
        .await
    }

    /// Waits until the newest generation's record is accepted and its objects are applied.
    pub async fn wait_until_materialized(&self, name: &str) -> Installation {
        self.wait_for(
            name,
            "Resolved=True and Materialized=True",
            |installation| {
                let both = [ConditionType::Resolved, ConditionType::Materialized];
                let current = installation.status.as_ref()?.observed_generation
                    == installation.metadata.generation?;
                let all = both
                    .iter()
                    .all(|of| condition(installation, *of).0 == "True");
                (current && all).then_some(())
            },
        )
        .await
    }

    /// Waits until the Installation is stalled for `reason`, and not ready for the same.
    pub async fn wait_until_stalled(&self, name: &str, reason: &str) -> Installation {
        let stalled = self
            .wait_for_reason(name, ConditionType::Stalled, reason)
            .await;
        assert_eq!(
            conditions(&stalled),
            ["Ready=False", "Reconciling=False", "Stalled=True"],
            "{name} because of {reason}"
        );
        stalled
    }

    /// Waits until `probe` likes the Installation.
    pub async fn wait_for(
        &self,
        name: &str,
        what: &str,
        mut probe: impl FnMut(&Installation) -> Option<()>,
    ) -> Installation {
        let api: Api<Installation> = self.api();
        let found = attempt(PATIENCE, async || {
            let installation = api.get_opt(name).await.ok()??;
            probe(&installation).map(|()| installation)
        })
        .await;
        match found {
            Some(installation) => installation,
            None => panic!(
                "waited {PATIENCE:?} for {what} of {name}; {}",
                self.describe(name).await
            ),
        }
    }

    /// Waits until the Installation is gone.
    pub async fn wait_until_gone(&self, name: &str) {
        let api: Api<Installation> = self.api();
        let gone = attempt(PATIENCE, async || {
            api.get_opt(name).await.ok()?.is_none().then_some(())
        })
        .await;
        if gone.is_none() {
            panic!(
                "waited {PATIENCE:?} for {name} to be gone; {}",
                self.describe(name).await
            );
        }
    }

    /// The Installation's metadata and status, the events of the namespace and the ends of its operators' logs.
    pub async fn describe(&self, name: &str) -> String {
        let mut text = match self.api::<Installation>().get(name).await {
            Ok(mut installation) => {
                installation.metadata.managed_fields = None;
                let status = serde_json::to_value(&installation.status).unwrap_or_default();
                let metadata = serde_json::to_value(&installation.metadata).unwrap_or_default();
                format!("it stands so:\n{metadata:#}\n{status:#}\n")
            }
            Err(error) => format!("it cannot be read: {error}\n"),
        };
        let events = self.api::<Event>().list(&ListParams::default()).await;
        for event in events.map(|list| list.items).unwrap_or_default() {
            let (reason, message) = (
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default(),
            );
            text += &format!("event {reason}: {message}\n");
        }
        for log in self.operator_logs() {
            let lines: Vec<&str> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(40)..];
            text += &format!("an operator's last lines:\n{}\n", tail.join("\n"));
        }
        text
    }
}

/// The status and the reason of a condition; empty where it is absent.
pub fn condition(installation: &Installation, of: ConditionType) -> (&str, &str) {
    let found = installation.condition(of);
    found.map_or(("", ""), |found| (&found.status, &found.reason))
}

/// What a condition says in words.
pub fn message(installation: &Installation, of: ConditionType) -> &str {
    let found = installation.condition(of);
    found.map_or("", |found| &found.message)
}

/// Ready, Reconciling and Stalled, as GitOps tools read them.
pub fn conditions(installation: &Installation) -> [String; 3] {
    [
        ConditionType::Ready,
        ConditionType::Reconciling,
        ConditionType::Stalled,
    ]
    .map(|of| format!("{of}={}", condition(installation, of).0))
}

/// The condition, if the status speaks of the newest generation.
fn current(installation: &Installation, condition: ConditionType) -> Option<&Condition> {
    let status = installation.status.as_ref()?;
    let newest = Some(status.observed_generation) == installation.metadata.generation;
    installation.condition(condition).filter(|_| newest)
}
