//! Who else writes an Installation: Argo CD or Flux, told by the marks that they leave. Pure.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use kube::{Resource, ResourceExt};

use super::edit::Edit;
use crate::api::Installation;

/// A tool that applies the Installation from Git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name, and what of it applies the Installation, where that is known.
    pub called: String,
    /// The field managers that are its own.
    managers: &'static [&'static str],
}

const ARGO: &[&str] = &["argocd-controller", "argocd-application-controller"];
const FLUX: &[&str] = &["kustomize-controller", "helm-controller"];

/// The tool that applies `installation`, if one does.
pub fn tool(installation: &Installation) -> Option<Tool> {
    let label = |key: &str| installation.labels().get(key).map(String::as_str);
    let annotation = |key: &str| installation.annotations().get(key).map(String::as_str);
    let tracked = annotation("argocd.argoproj.io/tracking-id");
    let tracked = tracked.and_then(|id| id.split(':').next());
    if let Some(application) = tracked.or_else(|| label("argocd.argoproj.io/instance")) {
        return Some(Tool {
            called: format!("Argo CD (Application {application})"),
            managers: ARGO,
        });
    }
    for (kind, group) in [
        ("Kustomization", "kustomize.toolkit.fluxcd.io"),
        ("HelmRelease", "helm.toolkit.fluxcd.io"),
    ] {
        if let Some(name) = label(&format!("{group}/name")) {
            let namespace = label(&format!("{group}/namespace")).unwrap_or_default();
            return Some(Tool {
                called: format!("Flux ({kind} {namespace}/{name})"),
                managers: FLUX,
            });
        }
    }
    let wrote = |of: &[&str]| {
        let mut entries = installation.managed_fields().iter();
        entries.any(|entry| entry.manager.as_deref().is_some_and(|it| of.contains(&it)))
    };
    [("Argo CD", ARGO), ("Flux", FLUX)]
        .into_iter()
        .find(|(_, managers)| wrote(managers))
        .map(|(called, managers)| Tool {
            called: called.to_owned(),
            managers,
        })
}

impl Tool {
    /// What becomes of `edit` unless it is written in Git, too.
    pub fn warning(&self, installation: &Installation, edit: &Edit) -> String {
        let written: Vec<&Vec<String>> = edit
            .fields
            .iter()
            .filter(|field| self.owns(installation, field))
            .collect();
        let consequence = match written.is_empty() {
            true => "its next sync may take this back",
            false => "its next sync takes this back",
        };
        let refused = match edit.fields.iter().any(|field| field[0] == "credentials") {
            true => " (or fails: the API server refuses a generation that falls)",
            false => "",
        };
        format!(
            "{} applies this Installation: {consequence}{refused}, unless Git says the same. Write there:",
            self.called
        )
    }

    /// Whether the tool says what stands at `field` of the spec.
    fn owns(&self, installation: &Installation, field: &[String]) -> bool {
        let mut entries = installation.meta().managed_fields.iter().flatten();
        entries.any(|entry| {
            let manager = entry.manager.as_deref().unwrap_or_default();
            let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
            let steps = std::iter::once("spec").chain(field.iter().map(String::as_str));
            let found = steps.fold(fields, |at, step| at?.get(format!("f:{step}")));
            self.managers.contains(&manager) && found.is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plugin::edit::{Planned, suspend};

    fn installation(metadata: Value) -> Installation {
        serde_json::from_value(json!({"metadata": metadata, "spec": {"blueprint": {}}}))
            .expect("an Installation")
    }

    fn written_by(manager: &str, fields: Value) -> Value {
        json!({"managedFields": [{"manager": manager, "operation": "Apply", "fieldsV1": fields}]})
    }

    #[test]
    fn each_tool_is_known_by_the_marks_that_it_leaves() {
        for (metadata, expected) in [
            (json!({}), None),
            (
                json!({"labels": {"app.kubernetes.io/instance": "wiki"}}),
                None,
            ),
            (
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "apps:install.musher.dev/Installation:demo/wiki"}}),
                Some("Argo CD (Application apps)"),
            ),
            (
                json!({"labels": {"argocd.argoproj.io/instance": "apps"}}),
                Some("Argo CD (Application apps)"),
            ),
            (
                json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}),
                Some("Flux (Kustomization flux-system/apps)"),
            ),
            (
                json!({"labels": {"helm.toolkit.fluxcd.io/name": "wiki", "helm.toolkit.fluxcd.io/namespace": "demo"}}),
                Some("Flux (HelmRelease demo/wiki)"),
            ),
            (written_by("argocd-controller", json!({})), Some("Argo CD")),
            (written_by("kustomize-controller", json!({})), Some("Flux")),
            (written_by("kubectl", json!({})), None),
        ] {
            let found = tool(&installation(metadata.clone()));
            assert_eq!(
                found.map(|tool| tool.called).as_deref(),
                expected,
                "{metadata}"
            );
        }
    }

    #[test]
    fn a_field_that_git_names_is_taken_back_for_sure() {
        let spec = |fields: Value| written_by("kustomize-controller", json!({"f:spec": fields}));
        for (fields, expected) in [
            (json!({"f:blueprint": {}}), "may take this back, unless"),
            (
                json!({"f:suspend": {}}),
                "its next sync takes this back, unless",
            ),
        ] {
            let wiki = installation(spec(fields));
            let Planned::Edit(edit) = suspend(&wiki, true) else {
                panic!("it takes a change");
            };
            let warned = tool(&wiki).expect("Flux").warning(&wiki, &edit);
            assert!(warned.contains(expected), "{warned}");
        }
    }
}
