//! The component family: one workload's own definition and its contract. One file a concern, types beside their rules.

pub mod endpoint;
pub mod environment;
pub mod health;
pub(crate) mod input;
pub mod job;
pub(crate) mod literal;
pub(crate) mod output;
mod pattern;
pub mod requirement;
pub mod source;
pub mod value_schema;
pub mod volume;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use strum::{Display, IntoStaticStr};

use self::endpoint::{Endpoint, Property};
use self::health::Health;
use self::job::Schedule;
use self::requirement::ConnectionRequirement;
use self::source::Source;
use self::value_schema::ValueSchema;
use self::volume::Volume;
use super::contracts::ComponentContract;
use super::findings::Findings;
use crate::document::diagnostic::Diagnostic;
use crate::document::digest::Digest;
use crate::document::yaml::Document;

/// A Component Document that passed the structural phase. Defaults are filled in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Revision and description.
    pub metadata: Metadata,
    /// Type, workload and contract.
    pub spec: Spec,
}

/// `metadata` of a component.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Metadata {
    /// The component's position in its own lineage, from 1.
    pub revision: u64,
    /// What it is, in plain text.
    pub description: String,
}

/// `spec` of a component.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The category.
    pub r#type: ComponentType,
    /// What runs: present unless EXTERNAL.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// Inputs, outputs, connection requirements.
    #[serde(default)]
    pub contract: Contract,
}

/// The category of a component (component §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum ComponentType {
    /// Serves requests on its endpoints.
    Service,
    /// Runs continuously and is not request-driven.
    Worker,
    /// Runs to completion, once a rollout or on a schedule.
    Job,
    /// Runs nothing; publishes outputs.
    External,
}

impl ComponentType {
    /// Whether something runs: everything but EXTERNAL.
    pub fn runs(self) -> bool {
        self != Self::External
    }
}

/// `spec.workload`: what runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Where the image comes from.
    pub source: Source,
    /// Replaces the image's CMD and keeps its ENTRYPOINT; empty when not authored.
    #[serde(default)]
    pub command: Vec<String>,
    /// What it listens on, by endpoint name.
    #[serde(default)]
    pub endpoints: BTreeMap<String, Endpoint>,
    /// String constants, verbatim.
    #[serde(default)]
    pub env_vars: BTreeMap<String, String>,
    /// Probes.
    #[serde(default)]
    pub health: Health,
    /// Volumes by label.
    #[serde(default)]
    pub volumes: BTreeMap<String, Volume>,
    /// When a JOB runs by itself.
    #[serde(default)]
    pub schedule: Option<Schedule>,
}

/// `spec.contract`: what the component takes and publishes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// Inputs by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, Input>,
    /// Outputs by name.
    #[serde(default)]
    pub outputs: BTreeMap<String, Output>,
    /// Connection requirements by name.
    #[serde(default)]
    pub connection_requirements: BTreeMap<String, ConnectionRequirement>,
}

/// One input of a component.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// What its value must satisfy.
    pub schema: ValueSchema,
    /// What it is for.
    pub description: String,
    /// Whether it must be supplied; true unless authored.
    #[serde(default = "yes")]
    pub required: bool,
    /// The value of an unbound input. `Some(Value::Null)` is an authored null.
    #[serde(default, deserialize_with = "present")]
    pub default: Option<Value>,
    /// Whether the contract calls it sensitive.
    #[serde(default)]
    pub sensitive: bool,
    /// Where the workload receives it: present unless EXTERNAL.
    #[serde(default)]
    pub target: Option<Target>,
}

/// Where a workload receives an input.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The name of the environment variable.
    pub env_var_key: String,
}

/// One output of a component.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// What its value satisfies.
    pub schema: ValueSchema,
    /// What it is.
    pub description: String,
    /// Where its value comes from.
    pub from: Origin,
    /// Whether the contract calls it sensitive.
    #[serde(default)]
    pub sensitive: bool,
}

/// The one origin of an output's value (component §6).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", from = "RawOrigin")]
pub enum Origin {
    /// An authored literal.
    Value(Value),
    /// One of the component's own inputs.
    Input(String),
    /// A property of one of the component's own endpoints.
    Endpoint {
        /// The endpoint's name.
        endpoint: String,
        /// The address property.
        property: Property,
    },
    /// Text with `${{ self.endpoints.<endpoint>.<property> }}` references.
    Template(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum RawOrigin {
    Value(Value),
    Input(String),
    Template(String),
    #[serde(untagged)]
    Endpoint {
        endpoint: String,
        property: Property,
    },
}

impl From<RawOrigin> for Origin {
    fn from(raw: RawOrigin) -> Self {
        match raw {
            RawOrigin::Value(value) => Self::Value(value),
            RawOrigin::Input(input) => Self::Input(input),
            RawOrigin::Template(template) => Self::Template(template),
            RawOrigin::Endpoint { endpoint, property } => Self::Endpoint { endpoint, property },
        }
    }
}

/// The semantic phase of a component that passed the structural one.
///
/// # Errors
/// Every diagnostic of every rule.
pub(super) fn assess(
    document: &Document,
    source: &Arc<[u8]>,
) -> Result<ComponentContract, Vec<Diagnostic>> {
    let component: Component = super::typed(document)?;
    let mut findings = Findings::new(&document.places);
    for check in [
        source::check,
        health::check,
        volume::check,
        job::check,
        input::check,
        output::check,
        environment::check,
        requirement::check,
    ] {
        check(&component.spec, &mut findings);
    }
    let diagnostics = findings.into_diagnostics();
    if diagnostics.is_empty() {
        Ok(ComponentContract {
            component,
            digest: Digest::of(source),
            source: Arc::clone(source),
        })
    } else {
        Err(diagnostics)
    }
}

fn yes() -> bool {
    true
}

/// Tells an authored null from an absent field.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
