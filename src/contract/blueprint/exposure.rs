//! Exposure of endpoints (blueprint §4.3, BP-NODE-005).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Whether an endpoint is reachable from outside the installation.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Exposure {
    /// Routed from the public edge.
    Public,
    /// For the platform and sibling nodes only.
    #[default]
    Private,
}
