//! The blueprint family: which components take part, what each runs on, how they are wired, and what an installation
//! takes from outside. One file a concern, types beside their rules.

pub(crate) mod assess;
pub mod binding;
pub mod compute;
mod connection;
pub mod exposure;
mod flow;
pub mod form;
pub mod node;
pub mod parameter;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Deserialize;

use self::node::Node;
use self::parameter::Parameter;

/// A Blueprint Document that passed the structural phase.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Blueprint {
    /// Slug, revision and description.
    pub metadata: Metadata,
    /// Components and parameters.
    pub spec: Spec,
}

/// `metadata` of a blueprint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Metadata {
    /// The item's name; equals its directory's.
    pub slug: String,
    /// The release of the catalog item, from 1.
    pub revision: u64,
    /// What the application is, in plain text.
    pub description: String,
}

/// `spec` of a blueprint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Spec {
    /// The nodes, by label.
    pub components: BTreeMap<String, Node>,
    /// What the installation takes from outside, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
}
