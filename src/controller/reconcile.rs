//! One reconcile, in the order in which things are written: finalizer, claim, credentials, allocations, sources, snapshot,
//! record, status, workloads. A crash after any line resumes; a plan that is INVALID or INCOMPLETE asks for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;

use super::apply::{Applied, Running};
use super::failure::{Asked, Failure, Retry};
use super::history::{History, Version};
use super::intent::Intent;
use super::journal::{Rollout, annotations};
use super::plan::Plan;
use super::remarks::{unheeded, unknown_users};
use super::select::Request;
use super::shelf::Shelf;
use super::shell::Shell;
use super::start::Start;
use crate::acquire::allocation::Allocations;
use crate::acquire::artifact::ARTIFACT;
use crate::acquire::image::IMAGE_DIGEST;
use crate::acquire::interest::Interest;
use crate::acquire::{Findings, Reader};
use crate::api::Installation;
use crate::api::condition::ConditionType;
use crate::api::reason::Reason;
use crate::document::result::Status;
use crate::materialize::metadata::Owner;
use crate::materialize::{Objects, objects};
use crate::resolution::accept::AcceptedRecord;
use crate::resolution::context::Credential;

/// What one pass has learned so far; status is derived from it, on every exit.
#[derive(Default)]
pub struct Pass {
    /// What stands in the way of this spec. `None` until it has been looked at.
    pub findings: Option<Findings>,
    /// Whether the history could be read, so that `current` says something.
    pub looked_back: bool,
    /// The newest version and its accepted record.
    pub current: Option<(Version, AcceptedRecord)>,
    /// Whether `current` is what this spec asks for.
    pub is_current: bool,
    /// What stands in the cluster. `None` until it has been applied.
    pub applied: Option<Applied>,
    /// What pinned things have changed outside.
    pub updates: Vec<String>,
    /// How long until the tags that something is pinned by are looked at again. `None` where there is no tag.
    pub look_again: Option<Duration>,
    /// The host names of the current record that the Installation has. `None` until it has been looked.
    pub hostnames: Option<BTreeSet<String>>,
    /// What a person should know of a spec that is accepted.
    pub remarks: Vec<String>,
}

/// Brings one Installation a step closer to what its spec asks for, and says in status where it stands.
///
/// # Errors
/// A [`Failure`], after status has said so; [`retry`] decides what follows.
#[tracing::instrument(skip_all, fields(namespace = seen.namespace(), installation = seen.name_any()))]
pub async fn reconcile(seen: Arc<Installation>, shell: Arc<Shell>) -> Result<Action, Failure> {
    let reader = shell.reader(&seen);
    // The shelf before the spec: no version on it is newer than the spec that it is compared with, so that an operator
    // that lags behind another one never takes the spec that it saw for a change.
    let shelf = shell
        .read_shelf(&seen.namespace().unwrap_or_default(), seen.identity())
        .await;
    let Some(installation) = shell.read(&seen).await? else {
        shell.interests.forget(&ObjectRef::from_obj(&*seen));
        return Ok(Action::await_change());
    };
    if installation.metadata.deletion_timestamp.is_some() {
        let outcome = shell.finalize(&installation).await;
        if let Err(failure) = &outcome {
            shell
                .report(&installation, &Pass::default(), Some(failure))
                .await?;
        }
        return outcome.map(|()| {
            shell.interests.forget(&ObjectRef::from_obj(&*seen));
            Action::await_change()
        });
    }
    if installation.spec.suspend {
        shell.report_suspended(&installation).await?;
        return Ok(Action::await_change());
    }
    let mut pass = Pass::default();
    let outcome = advance(&installation, shelf, &shell, &reader, &mut pass).await;
    let reported = shell
        .report(&installation, &pass, outcome.as_ref().err())
        .await;
    if let Some(notebook) = &reader.notebook {
        match &outcome {
            Ok(()) => notebook.settle(),
            Err(failure) => {
                if let Some(interest) = failure.waits_for(&reader.namespace) {
                    notebook.note(interest);
                }
            }
        }
    }
    // What stopped the pass matters more than that it could not be said.
    outcome.and(reported)?;
    shell.backoffs.reset(&installation);
    Ok(pass.next_look())
}

/// How long until nodes that are on their way are looked at again: that the time of a first boot is up is no event.
const ON_ITS_WAY: Duration = Duration::from_secs(30);

impl Pass {
    /// The allocations of the current record.
    fn allocations(&self) -> &Allocations {
        static NOTHING: Allocations = Allocations::new();
        let current = self.current.as_ref();
        current.map_or(&NOTHING, |(version, _)| version.snapshot.allocations())
    }

    /// What changes without any watch of ours telling is looked at again.
    fn next_look(&self) -> Action {
        let is_settled = self.applied.as_ref().is_none_or(|applied| {
            applied.notes.is_empty() && applied.running.values().all(Running::is_settled)
        });
        let asks_registries = self.findings.as_ref().is_some_and(|findings| {
            let mut missing = findings.missing.iter();
            missing.any(|missing| {
                let missing = &missing.deferred.missing;
                missing.starts_with(IMAGE_DIGEST) || missing.starts_with(ARTIFACT)
            })
        });
        let delays = [
            (!is_settled).then_some(ON_ITS_WAY),
            asks_registries.then_some(SLOW),
            self.look_again,
        ];
        let soonest = delays.into_iter().flatten().min();
        soonest.map_or_else(Action::await_change, Action::requeue)
    }
}

/// How long until a stalled Installation is looked at again by itself: a stranger's object may go without any watch of
/// ours telling. Looking writes nothing.
const SLOW: Duration = Duration::from_secs(60);

/// When a failed reconcile is tried again.
pub fn retry(installation: Arc<Installation>, failure: &Failure, shell: Arc<Shell>) -> Action {
    let name = installation.name_any();
    match failure.retry() {
        Retry::Backoff => {
            let delay = shell.backoffs.next(&installation);
            tracing::warn!(installation = name, reason = %failure.reason(), ?delay, "{failure}");
            Action::requeue(delay)
        }
        Retry::OnChange => {
            tracing::warn!(installation = name, reason = %failure.reason(), "{failure}");
            Action::requeue(SLOW)
        }
    }
}

async fn advance(
    installation: &Installation,
    shelf: Result<Shelf, Failure>,
    shell: &Shell,
    reader: &Reader,
    pass: &mut Pass,
) -> Result<(), Failure> {
    let namespace = installation.namespace().unwrap_or_default();
    let identity = installation.identity();
    let mut findings = Findings::default();
    let Some(intent) = Intent::of(installation) else {
        pass.findings = Some(findings);
        return Ok(());
    };
    let shelf = shelf?;
    shelf.refuse_newer()?;
    let delivered = shell
        .deliver(installation, &intent, reader, &shelf, &mut findings)
        .await?;
    let Some(delivery) = delivered else {
        pass.findings = Some(findings);
        return Ok(());
    };
    shell.ensure_finalizer(installation).await?;
    let mut claim = shell
        .claim_identity(installation, &delivery.item, &shelf)
        .await?;
    shell.mark_claimed(installation).await?;
    if claim.taken_over {
        let note = format!(
            "took over the retained state of identity {identity}: {} objects",
            shelf.state()
        );
        shell.event(installation, Reason::TakenOver, note).await;
    }
    let mut history = History::read(identity, claim.claim.versions, &shelf)?;
    if let Some(version) = history.unrecorded().cloned() {
        let beside = annotations(&version, &history, installation.spec.redeploy.as_ref())?;
        let record = shell
            .persist_record(&namespace, identity, &version, beside)
            .await?;
        history.recorded.insert(version.number, record);
    }
    let number = history.latest().map_or(0, |version| version.number);
    shell
        .count(&namespace, identity, &mut claim, number)
        .await?;
    pass.current = match history.latest() {
        Some(version) => Some((version.clone(), history.accept(version)?)),
        None => None,
    };
    pass.looked_back = true;

    let mut awaited = Vec::new();
    let mut selected = false;
    pass.is_current = pass
        .current
        .as_ref()
        .is_some_and(|(version, _)| version.intent == intent);
    if pass.is_current {
        pass.updates = shell
            .changed_outside(installation, reader, pass.current.as_ref())
            .await?;
    } else if let Some(start) = Start::of(&intent, &history, &mut findings)?
        && let Some(plan) = shell
            .plan(
                Request {
                    installation,
                    intent,
                    id: &claim.claim.id,
                    current: pass.current.as_ref(),
                    start: &start,
                    delivery,
                },
                reader,
                &mut findings,
            )
            .await?
    {
        let known = known(&plan, &history, &namespace, identity);
        plan.check(known.clone(), &history, &mut findings);
        let owner = Owner::of(installation);
        awaited = plan.awaited(&owner);
        if plan.awaits_addresses_alone(known, &findings) {
            shell.await_addresses(&owner, &awaited).await?;
        }
        if findings.status() == Status::Valid {
            let next = shell
                .carry_out(
                    installation,
                    plan,
                    &mut claim,
                    &mut history,
                    pass.current.as_ref(),
                    &mut findings,
                )
                .await?;
            pass.is_current = next.is_some();
            selected = next.is_some();
            pass.current = next.or(pass.current.take());
        }
    }
    // A record that is not what the spec asks for runs on with the host names that it has.
    let mut of_another_spec = Findings::default();
    let of_its_hostnames = if pass.is_current {
        &mut findings
    } else {
        &mut of_another_spec
    };
    shell.note_hostnames(reader, pass.allocations());
    let hostnames = shell
        .claim_hostnames(installation, pass.allocations(), of_its_hostnames)
        .await?;
    pass.hostnames = Some(hostnames.clone());
    let mut rollout = 0;
    if let Some(current) = &pass.current {
        let record = history.record(current.0.number)?;
        shell.tell_which_counts(&history, current.0.number).await?;
        let contracts = current.1.contracts();
        pass.remarks = unheeded(&installation.spec, contracts, &history);
        pass.remarks
            .extend(unknown_users(contracts, &current.0.pins));
        // Another rollout is one of the record that the spec asks for, or it would be undone at once.
        rollout = if pass.is_current {
            shell
                .roll_out(installation, record, current, reader, &mut findings)
                .await?
        } else {
            Rollout::of(record)?.unwrap_or_default().count
        };
    }
    pass.findings = Some(findings);

    // A record is told of before anything is made from it.
    if pass.current.as_ref().map(|(version, _)| version.number) != told(installation) {
        shell.report(installation, pass, None).await?;
    }
    let mut applied = None;
    if let Some((version, accepted)) = &pass.current {
        let owner = Owner::of(installation);
        let mut objects = Objects {
            awaited,
            ..objects(accepted, &version.pins, &owner, rollout)
        };
        objects.lead_only(&hostnames);
        let record = history.record(version.number)?;
        let outcome = shell
            .apply(&owner, record, &objects, &claim.claim.volumes)
            .await?;
        applied = Some(outcome);
    }
    // Routes come first: until they are other ones, a host name that nobody has would still lead here.
    if is_news(installation, pass) {
        shell
            .release_hostnames(installation, pass.allocations())
            .await?;
    }
    let is_settled = applied.as_ref().is_some_and(|applied| applied.is_settled);
    pass.applied = applied;
    let latest = history.latest().map(|latest| latest.number);
    let current = pass.current.as_ref().map(|(version, _)| version.number);
    if is_settled && latest == current {
        shell
            .prune_history(installation, claim.claim.versions, &shelf, &history)
            .await?;
    }
    // Last, so that nothing waits for a registry.
    if let Some(current) = pass.current.as_ref().filter(|_| pass.is_current) {
        let (moved, again) = shell
            .moved_tags(installation, reader, current, selected)
            .await?;
        pass.updates.extend(moved);
        pass.look_again = again;
    }
    Ok(())
}

/// Whether status tells of another record or of another spec, or not yet that the record is applied: only then may a host
/// name be of no use any more.
fn is_news(installation: &Installation, pass: &Pass) -> bool {
    let seen = installation.status.as_ref();
    let generation = seen.map(|status| status.observed_generation);
    let materialized = installation.condition(ConditionType::Materialized);
    let is_applied = materialized.is_some_and(|condition| condition.status == "True");
    pass.current.as_ref().map(|(version, _)| version.number) != told(installation)
        || generation != installation.metadata.generation
        || !is_applied
}

/// The version of the record that status tells of.
fn told(installation: &Installation) -> Option<u64> {
    let record = installation.status.as_ref()?.record.as_ref()?;
    record.version.try_into().ok()
}

/// The credentials that exist already, of those that `plan` wants.
fn known(
    plan: &Plan,
    history: &History,
    namespace: &str,
    identity: &str,
) -> BTreeMap<String, Credential> {
    let existing = plan.credentials(history).into_iter().filter_map(|wanted| {
        let generation = history
            .credentials
            .get(&(wanted.parameter.clone(), wanted.generation))?;
        let credential = Credential {
            identity: super::credentials::reference(namespace, identity, &wanted.parameter),
            rotation: wanted.generation,
            value: generation.value.clone(),
        };
        Some((wanted.parameter, credential))
    });
    existing.collect()
}

impl Shell {
    /// The reader of one pass over `installation`, which notes what may wake it.
    fn reader(&self, installation: &Installation) -> Reader {
        let namespace = installation.namespace().unwrap_or_default();
        let notebook = self.interests.open(ObjectRef::from_obj(installation));
        notebook.note(Interest::identity(&namespace, installation.identity()));
        Reader {
            client: self.client.clone(),
            namespace,
            operator_namespace: self.settings.operator_namespace.clone(),
            notebook: Some(notebook),
        }
    }

    /// The Installation as the API server has it now; what a cache holds may be out of date. Another one of the same
    /// name is not it: the cache will know it soon.
    async fn read(&self, seen: &Installation) -> Result<Option<Installation>, Failure> {
        let (namespace, name) = (seen.namespace().unwrap_or_default(), seen.name_any());
        let found = self
            .api::<Installation>(&namespace)
            .get_opt(&name)
            .await
            .asked(|| format!("read Installation {name}"))?;
        Ok(found.filter(|found| found.uid() == seen.uid()))
    }
}
