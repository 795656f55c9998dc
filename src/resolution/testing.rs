//! Fixtures: whole documents from the few lines that a test is about, and findings as lines that a test can list.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::resolve;
use super::resolved::Resolved;
use crate::contract::contracts::Contracts;
use crate::contract::item::BLUEPRINT;
use crate::contract::published::Source;
use crate::contract::{Item, Published, validate_item};
use crate::document::diagnostic::Diagnostic;
use crate::document::digest::Digest;
use crate::document::result::Profile;

/// What a test says of a blueprint; whatever it leaves out is filled in. Each node deploys a component of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct App {
    #[serde(default)]
    parameters: Map<String, Value>,
    nodes: BTreeMap<String, Node>,
}

/// A node together with its component.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Node {
    /// SERVICE with endpoints and WORKER without, unless it says something else.
    r#type: Option<String>,
    /// `./<node>.yaml` unless it says something else; a UUID publishes the component at revision 1.
    component_ref: Option<String>,
    bindings: Map<String, Value>,
    connection_bindings: Map<String, Value>,
    exposure: Map<String, Value>,
    /// Allocations; the component declares a volume for each.
    volumes: Map<String, Value>,
    source: Option<Value>,
    endpoints: Map<String, Value>,
    env_vars: Map<String, Value>,
    /// Each needs a `schema` alone; its variable is its name in capitals.
    inputs: BTreeMap<String, Map<String, Value>>,
    /// Each needs a `schema` and a `from`.
    outputs: BTreeMap<String, Map<String, Value>>,
    requirements: Map<String, Value>,
}

/// The contracts of the application that `yaml` sketches.
#[track_caller]
pub(super) fn app(yaml: &str) -> Arc<Contracts> {
    Documents::of(yaml).contracts(Value::to_string)
}

/// The documents of an application, not yet written down.
pub(super) struct Documents {
    /// By path inside the item.
    files: BTreeMap<String, Value>,
    /// By identity, each at revision 1.
    published: BTreeMap<String, Value>,
}

impl Documents {
    /// The documents of the application that `yaml` sketches.
    #[track_caller]
    pub(super) fn of(yaml: &str) -> Self {
        let app: App = serde_saphyr::from_str(yaml).expect("a sketch of an application");
        let nodes = app
            .nodes
            .iter()
            .map(|(name, node)| (name.clone(), node.authored(name)));
        let blueprint = document(
            "BLUEPRINT",
            json!({"slug": "app", "revision": 1, "description": "A test application."}),
            json!({"parameters": app.parameters, "components": nodes.collect::<Map<_, _>>()}),
        );
        let mut files = BTreeMap::from([(BLUEPRINT.to_owned(), blueprint)]);
        let mut published = BTreeMap::new();
        for (name, node) in app.nodes {
            let metadata = json!({"revision": 1, "description": "A test component."});
            let component = document("COMPONENT", metadata, node.component());
            match node.component_ref {
                Some(identity) if !identity.starts_with('.') => {
                    published.insert(identity, component);
                }
                _ => {
                    files.insert(format!("{name}.yaml"), component);
                }
            }
        }
        Self { files, published }
    }

    /// The contracts that these documents are when `write` has written each.
    #[track_caller]
    pub(super) fn contracts(&self, mut write: impl FnMut(&Value) -> String) -> Arc<Contracts> {
        let mut published = Published::default();
        for (identity, component) in &self.published {
            let bytes = write(component).into_bytes();
            let digest = Digest::of(&bytes).to_string();
            let bytes = bytes.into();
            published.insert(identity, 1, Source { bytes, digest });
        }
        let files = self
            .files
            .iter()
            .map(|(path, document)| (path.clone(), write(document).into_bytes()));
        // Through every rule of the document profile, so that no test stands on contracts that could not be.
        let validation = validate_item(
            &Item::from_files("app", files),
            &published,
            Profile::Document,
        );
        validation
            .contracts
            .unwrap_or_else(|| panic!("not VALID: {:#?}", validation.result))
    }
}

impl Node {
    fn category(&self) -> &str {
        match &self.r#type {
            Some(category) => category,
            None if self.endpoints.is_empty() => "WORKER",
            None => "SERVICE",
        }
    }

    fn is_published(&self) -> bool {
        self.component_ref
            .as_ref()
            .is_some_and(|component_ref| !component_ref.starts_with('.'))
    }

    fn runs(&self) -> bool {
        self.category() != "EXTERNAL"
    }

    fn authored(&self, name: &str) -> Value {
        let local = || format!("./{name}.yaml");
        let mut node = json!({
            "componentRef": self.component_ref.clone().unwrap_or_else(local),
            "bindings": self.bindings,
            "connectionBindings": self.connection_bindings,
        });
        if self.is_published() {
            node["revision"] = json!(1);
        }
        if self.runs() {
            node["compute"] = json!({"profile": "general.standard.small"});
            node["volumes"] = json!(self.volumes);
            node["exposure"] = json!(self.exposure);
        }
        node
    }

    fn component(&self) -> Value {
        let described = |members: &BTreeMap<String, Map<String, Value>>, targets: bool| {
            let filled = members.iter().map(|(name, member)| {
                let mut member = member.clone();
                member.insert("description".to_owned(), json!("A test value."));
                if targets {
                    let target = json!({"envVarKey": name.to_uppercase()});
                    member.insert("target".to_owned(), target);
                }
                (name.clone(), Value::Object(member))
            });
            Value::Object(filled.collect())
        };
        let mut spec = json!({
            "type": self.category(),
            "contract": {
                "inputs": described(&self.inputs, self.runs()),
                "outputs": described(&self.outputs, false),
                "connectionRequirements": self.requirements,
            },
        });
        if self.runs() {
            spec["workload"] = self.workload();
        }
        spec
    }

    fn workload(&self) -> Value {
        let image = json!({"image": "example/app:1"});
        let mut workload = json!({"source": self.source.as_ref().unwrap_or(&image)});
        if !self.env_vars.is_empty() {
            workload["envVars"] = json!(self.env_vars);
        }
        if !self.endpoints.is_empty() {
            workload["endpoints"] = json!(self.endpoints);
        }
        let volume = |name: &String| {
            (
                name.clone(),
                json!({"mountPath": format!("/{name}"), "minSizeGiB": 1}),
            )
        };
        let volumes: Map<_, _> = self.volumes.keys().map(volume).collect();
        if !volumes.is_empty() {
            workload["volumes"] = Value::Object(volumes);
        }
        let probed = self
            .endpoints
            .iter()
            .find(|(_, endpoint)| endpoint["protocol"] == "HTTP");
        if let Some((endpoint, _)) = probed {
            let probe = json!({"http": {"endpoint": endpoint, "path": "/"}});
            workload["health"] = json!({"readiness": probe});
        }
        workload
    }
}

fn document(kind: &str, metadata: Value, spec: Value) -> Value {
    json!({"specVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec})
}

/// The context that `evidence` is, in the shape of a context file.
#[track_caller]
pub(super) fn context(evidence: &Value) -> Context {
    Context::parse(evidence.to_string().as_bytes()).expect("a context")
}

/// What `yaml` resolves to with `evidence`.
#[track_caller]
pub(super) fn resolved(yaml: &str, evidence: &Value) -> Resolved {
    let resolution = resolve(&app(yaml), &context(evidence));
    let found = lines(&resolution.result.diagnostics);
    let deferred = resolution.result.deferred;
    resolution
        .resolved
        .unwrap_or_else(|| panic!("not VALID: {found:?} {deferred:?}"))
}

/// What is wrong and what is missing when `yaml` resolves with `evidence`, a line each: `stage CODE path` and, behind
/// those, `deferred RULE path missing`.
#[track_caller]
pub(super) fn found(yaml: &str, evidence: &Value) -> Vec<String> {
    let resolution = resolve(&app(yaml), &context(evidence));
    let mut found = lines(&resolution.result.diagnostics);
    let deferred = resolution.result.deferred.iter();
    found.extend(deferred.map(|deferred| {
        format!(
            "deferred {} {} {}",
            deferred.rule, deferred.path, deferred.missing
        )
    }));
    assert_eq!(
        found.is_empty(),
        resolution.resolved.is_some(),
        "values are released exactly when nothing was found"
    );
    found
}

/// Diagnostics as lines: `stage CODE path`, and `(artifact#path)` where one is about a component.
pub(super) fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
    let line = |found: &Diagnostic| {
        let stage = found.stage.map_or("-", Into::into);
        let related: String = found
            .related
            .iter()
            .map(|related| format!(" ({}#{})", related.artifact, related.path))
            .collect();
        format!("{stage} {} {}{related}", found.code, found.path)
    };
    diagnostics.iter().map(line).collect()
}
