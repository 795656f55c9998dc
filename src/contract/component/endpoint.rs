//! Endpoints and the address properties that outputs derive from them (component §5.2).

use serde::Deserialize;
use strum::{Display, EnumString, IntoStaticStr};

use super::{ComponentType, Spec};
use crate::document::diagnostic::Code;
use crate::document::reference::Reference;

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

    /// Whether only HTTP-family endpoints have it.
    pub fn needs_http(self) -> bool {
        matches!(self, Self::PublicUrl | Self::PublicHostname)
    }

    /// Whether only TCP and UDP endpoints have it.
    pub fn needs_layer_four(self) -> bool {
        matches!(self, Self::PublicAddress | Self::PublicPort)
    }

    /// Whether its value is an integer rather than a string.
    pub fn is_port(self) -> bool {
        matches!(self, Self::PrivatePort | Self::PublicPort)
    }
}

/// A property as a document names it.
pub(crate) enum PropertyName<'a> {
    /// One of the address table.
    Known(Property),
    /// A name outside it.
    Unknown(&'a str),
}

impl<'a> From<&'a str> for PropertyName<'a> {
    fn from(name: &'a str) -> Self {
        name.parse().map_or(Self::Unknown(name), Self::Known)
    }
}

/// The endpoint and the property that a template's reference names, if it has the one shape a template admits:
/// `self.endpoints.<endpoint>.<property>`.
pub fn address(reference: &Reference) -> Option<(&str, &str)> {
    match reference.path.as_slice() {
        [endpoints, endpoint, property] if endpoints == "endpoints" => Some((endpoint, property)),
        _ => None,
    }
}

/// What is wrong with reading `property` of `endpoint` (COMP-EP-001, COMP-EP-004, COMP-TYPE-003).
pub(super) fn faults(
    spec: &Spec,
    endpoint: &str,
    property: &PropertyName<'_>,
) -> Vec<(Code, String)> {
    let endpoints = spec.workload.as_ref().map(|workload| &workload.endpoints);
    let declared = endpoints.and_then(|endpoints| endpoints.get(endpoint));
    let mut faults = Vec::new();
    if declared.is_none() {
        faults.push((
            Code::UnknownEndpoint,
            format!("the component has no endpoint `{endpoint}`; name one that `workload.endpoints` declares"),
        ));
    }
    let property = match property {
        PropertyName::Known(property) => *property,
        PropertyName::Unknown(name) => {
            faults.push((
                Code::UnknownAddressProperty,
                format!(
                    "`{name}` is no address property; use privateHostname, privatePort, privateAddress, publicURL, \
                     publicHostname, publicAddress or publicPort"
                ),
            ));
            return faults;
        }
    };
    if let Some(protocol) = declared.map(|endpoint| endpoint.protocol) {
        if property.needs_http() && !protocol.is_http_family() {
            faults.push((
                Code::EndpointNotHttp,
                format!("`{property}` is for HTTP, HTTPS, WS and GRPC and `{endpoint}` speaks {protocol}; read `publicAddress` or `publicPort`"),
            ));
        }
        if property.needs_layer_four() && protocol.is_http_family() {
            faults.push((
                Code::EndpointNotL4,
                format!("`{property}` is for TCP and UDP and `{endpoint}` speaks {protocol}; read `publicURL` or `publicHostname`"),
            ));
        }
        if property.is_public() && spec.r#type == ComponentType::Worker {
            faults.push((
                Code::EndpointNotExposable,
                format!("a WORKER's endpoints are never public and `{property}` is; read a private property, or make it a SERVICE"),
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_by_endpoints_endpoint_and_property_alone() {
        for (path, expected) in [
            (
                &["endpoints", "web", "publicURL"][..],
                Some(("web", "publicURL")),
            ),
            (&["inputs", "web", "publicURL"], None),
            (&["endpoints", "web"], None),
            (&["endpoints", "web", "publicURL", "more"], None),
        ] {
            let reference = Reference {
                namespace: "self".to_owned(),
                path: path.iter().map(|&segment| segment.to_owned()).collect(),
                text: String::new(),
            };
            assert_eq!(address(&reference), expected, "{path:?}");
        }
    }
}
