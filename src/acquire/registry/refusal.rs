//! Why a registry did not say what it was asked: what is authoritative, and what may change by itself or by somebody's
//! hand. No refusal holds a credential, nor what a host answered beyond its status.

use thiserror::Error;

/// Why a registry did not say what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It could not be reached, or had an error of its own.
    #[error("registry {registry} cannot be asked: {why}")]
    Unreachable {
        /// Host and port.
        registry: String,
        /// What happened.
        why: String,
    },
    /// It, or a host that it sends the operator to, is where the operator does not go.
    #[error("registry {registry} is not asked: {host} {why}")]
    Forbidden {
        /// Host and port.
        registry: String,
        /// The host, and the port where it is not the usual one.
        host: String,
        /// What is wrong with the host.
        why: &'static str,
    },
    /// It does not let the given credentials, or nobody, read.
    #[error("registry {registry} does not let the operator read {reference}")]
    Unauthorized {
        /// Host and port.
        registry: String,
        /// What was asked for.
        reference: String,
    },
    /// It wants the credentials sent to a host that they are not known to be for.
    #[error(
        "registry {registry} does not let the operator read {reference} unless the pull secret is sent to {service}"
    )]
    Withheld {
        /// Host and port.
        registry: String,
        /// What was asked for.
        reference: String,
        /// The host of the authorization service.
        service: String,
    },
    /// It says that there is no such thing.
    #[error("registry {registry} has no {reference}")]
    Absent {
        /// Host and port.
        registry: String,
        /// What was asked for.
        reference: String,
    },
    /// What it has is not what was asked for.
    #[error("{reference} is no {wanted}: {why}")]
    Unusable {
        /// What was asked for.
        reference: String,
        /// What it should be.
        wanted: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

impl Refusal {
    /// Whether nothing but another reference, or another content at the registry, can help.
    pub fn is_authoritative(&self) -> bool {
        match self {
            Self::Absent { .. } | Self::Unusable { .. } => true,
            Self::Unreachable { .. }
            | Self::Forbidden { .. }
            | Self::Unauthorized { .. }
            | Self::Withheld { .. } => false,
        }
    }

    /// The refusal and what to do about it; `credentials` says where a pull secret is named.
    pub fn remedy(&self, credentials: &str) -> String {
        match self {
            Self::Unauthorized { .. } => format!("{self}: give {credentials} a pull secret for it"),
            Self::Withheld { service, .. } => format!(
                "{self}: set authorizationService to {service} for it under registries of the Platform, if the secret is meant for that host"
            ),
            Self::Forbidden { host, .. } => format!(
                "{self}: list {host} under registries of the Platform, with privateNetwork or plainHttp as it needs"
            ),
            Self::Unreachable { .. } => format!(
                "{self}. It is asked again by itself; a registry without TLS or with a certificate authority of its own has to be listed under registries of the Platform"
            ),
            Self::Absent { .. } | Self::Unusable { .. } => format!("{self}; name one that exists"),
        }
    }
}
