//! Carries out an edit: one merge patch of the fields that it names, with the resource version that it was decided on. What
//! changed in between in status alone is read again; another spec is somebody else's word, and nothing is written over it.

use clap::{Args, ValueEnum};
use k8s_openapi::jiff::SignedDuration;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::MANAGER;
use super::ask::{Ask, Refused, refused};
use super::edit::{Edit, Planned};
use super::gitops;
use super::output::{Output, print};
use super::session::{Session, refuse_leaving};
use super::waiting::{self, Goal};
use crate::api::Installation;
use crate::cli::Ended;

/// How a change is made.
#[derive(Clone, Copy, Debug, Args)]
pub struct Options {
    #[command(flatten)]
    dry_run: DryRunOption,
    /// Wait until it is ready again.
    #[arg(long)]
    wait: bool,
    /// How long to wait, for example 90s or 10m.
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    timeout: SignedDuration,
    #[command(flatten)]
    output: Output,
}

/// Whether something is only tried.
#[derive(Clone, Copy, Debug, Args)]
pub struct DryRunOption {
    /// With `server`, the API server checks everything and keeps nothing.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = DryRun::None)]
    dry_run: DryRun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DryRun {
    /// It is done.
    None,
    /// It is tried.
    Server,
}

impl DryRunOption {
    /// Whether it is only tried.
    pub fn is_set(self) -> bool {
        self.dry_run == DryRun::Server
    }

    /// What to add to words that tell of something done.
    pub fn suffix(self) -> &'static str {
        match self.is_set() {
            true => " (server dry run)",
            false => "",
        }
    }
}

/// How often a conflict is answered by reading again. Only the operator writes that often, and it comes to rest.
const ATTEMPTS: usize = 20;

impl Options {
    /// Writes what `plan` makes of the Installation `name`, tells what was done and what to watch, and waits for `goal` if
    /// that is asked for.
    ///
    /// # Errors
    /// [`Refused`] by `plan`, by the API server, or because somebody else changed the spec in between.
    pub async fn carry_out(
        self,
        session: &Session,
        name: &str,
        goal: Goal,
        plan: impl Fn(&Installation) -> Result<Planned, Refused>,
    ) -> anyhow::Result<Ended> {
        let first = session.installation(name).await?;
        let mut seen = first.clone();
        for _ in 0..ATTEMPTS {
            refuse_leaving(&seen)?;
            let edit = match plan(&seen)? {
                Planned::Edit(edit) => edit,
                Planned::Already(said) => return self.nothing_to_do(&seen, &said),
            };
            if self.wait
                && goal == Goal::Ready
                && seen.spec.suspend
                && edit.spec.get("suspend").is_none()
            {
                return Err(refused(format!(
                    "{name} is suspended, so that there is nothing to wait for: resume it, or leave --wait out"
                )));
            }
            if let Some(written) = self.write(session, &seen, &edit).await? {
                self.tell(session, &seen, &written, &edit)?;
                if self.wait && !self.dry_run.is_set() {
                    let patience = self.timeout.unsigned_abs();
                    return waiting::wait(session, &written, goal, patience).await;
                }
                return Ok(Ended::Well);
            }
            seen = session.installation(name).await?;
            if seen.uid() != first.uid() || seen.metadata.generation != first.metadata.generation {
                return Err(refused(format!(
                    "somebody else changed the spec of {name} in the meantime, and nothing was written: look at it and try again"
                )));
            }
        }
        Err(refused(format!(
            "{name} changes all the time, and nothing was written: try again"
        )))
    }

    /// One attempt. `None` when the Installation changed since it was `seen`.
    async fn write(
        &self,
        session: &Session,
        seen: &Installation,
        edit: &Edit,
    ) -> anyhow::Result<Option<Installation>> {
        let patch = json!({
            "metadata": {"uid": seen.uid(), "resourceVersion": seen.resource_version()},
            "spec": edit.spec,
        });
        let params = PatchParams {
            dry_run: self.dry_run.is_set(),
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let name = seen.name_any();
        let api = session.api::<Installation>();
        match api.patch(&name, &params, &Patch::Merge(&patch)).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            answer => answer
                .map(Some)
                .asking(|| format!("patch Installation {name}")),
        }
    }

    fn nothing_to_do(self, seen: &Installation, said: &str) -> anyhow::Result<Ended> {
        match self.output.format {
            Some(format) => format.print(seen)?,
            None => print(&format!("installation/{} {said}\n", seen.name_any()))?,
        }
        Ok(Ended::Well)
    }

    fn tell(
        self,
        session: &Session,
        seen: &Installation,
        written: &Installation,
        edit: &Edit,
    ) -> anyhow::Result<()> {
        let name = seen.name_any();
        match self.output.format {
            Some(format) => format.print(written)?,
            None => print(&format!(
                "installation/{name} {}{}\n",
                edit.said,
                self.dry_run.suffix()
            ))?,
        }
        if let Some(tool) = gitops::tool(seen) {
            let yaml = serde_saphyr::to_string(&json!({"spec": edit.spec}))?;
            let warning = tool.warning(seen, edit);
            anstream::eprintln!("warning: {warning}\n{}", yaml.trim_end());
        }
        if written.spec.suspend && edit.spec.get("suspend").is_none() {
            anstream::eprintln!(
                "note: {name} is suspended: nothing happens before `kubectl installation resume {name}`"
            );
        } else if !self.wait && !self.dry_run.is_set() {
            anstream::eprintln!(
                "watch it: kubectl installation status {name} -n {} --watch",
                session.namespace
            );
        }
        Ok(())
    }
}
