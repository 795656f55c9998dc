//! Endpoints and the address properties that outputs derive from them (component §5.2).

use serde::Deserialize;
use strum::{Display, EnumString, IntoStaticStr};

/// One port that a workload listens on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The port inside the workload, 1..65535.
    pub target_port: u16,
    /// What is spoken on it.
    pub protocol: Protocol,
}

/// The protocol of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
#[allow(missing_docs, reason = "the names are the protocols' own")]
pub enum Protocol {
    Http,
    Https,
    Ws,
    Grpc,
    Tcp,
    Udp,
}

impl Protocol {
    /// HTTP, HTTPS, WS, GRPC: what a host name routes.
    pub fn is_http_family(self) -> bool {
        !matches!(self, Self::Tcp | Self::Udp)
    }
}

/// A property of an endpoint's address.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
)]
#[allow(missing_docs, reason = "component §5.2 defines each")]
pub enum Property {
    #[serde(rename = "privateHostname")]
    #[strum(serialize = "privateHostname")]
    PrivateHostname,
    #[serde(rename = "privatePort")]
    #[strum(serialize = "privatePort")]
    PrivatePort,
    #[serde(rename = "privateAddress")]
    #[strum(serialize = "privateAddress")]
    PrivateAddress,
    #[serde(rename = "publicURL")]
    #[strum(serialize = "publicURL")]
    PublicUrl,
    #[serde(rename = "publicHostname")]
    #[strum(serialize = "publicHostname")]
    PublicHostname,
    #[serde(rename = "publicAddress")]
    #[strum(serialize = "publicAddress")]
    PublicAddress,
    #[serde(rename = "publicPort")]
    #[strum(serialize = "publicPort")]
    PublicPort,
}

impl Property {
    /// Whether it is read from the public side of an endpoint.
    pub fn is_public(self) -> bool {
        matches!(
            self,
            Self::PublicUrl | Self::PublicHostname | Self::PublicAddress | Self::PublicPort
        )
    }

    /// Whether its value is an integer rather than a string.
    pub fn is_port(self) -> bool {
        matches!(self, Self::PrivatePort | Self::PublicPort)
    }
}
