//! What registries say of image references: digest and configuration. Every call has credentials of its own and keeps
//! none, so that no namespace reads with another's.

pub mod keyring;

use std::time::Duration;

use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::ImageIndexEntry;
use oci_client::{Client, Reference};
use serde::Deserialize;
use thiserror::Error;

use self::keyring::Keyring;
use super::selection::ImageFacts;
use crate::api::platform::RegistryTerms;
use crate::materialize::pins::ImagePins;

/// How long a registry may take to take a connection, and to go on with an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest image configuration that is read, in bytes.
const CONFIGURATION_LIMIT: i64 = 4 * 1024 * 1024;

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
    /// It does not let the given credentials, or nobody, read.
    #[error("registry {registry} does not let the operator read {reference}")]
    Unauthorized {
        /// Host and port.
        registry: String,
        /// What was asked for.
        reference: String,
    },
    /// It says that there is no such image.
    #[error("registry {registry} has no {reference}")]
    Absent {
        /// Host and port.
        registry: String,
        /// What was asked for.
        reference: String,
    },
    /// What it has is no image that can run here.
    #[error("{reference} is no image that runs on Linux: {why}")]
    Unusable {
        /// What was asked for.
        reference: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Asks registries on the terms of the Platform: TLS and the system's certificate authorities, unless they say otherwise.
pub struct Registries<'a> {
    /// Exceptions, by host.
    pub terms: &'a [RegistryTerms],
    /// Credentials of whoever asks.
    pub keyring: &'a Keyring,
}

impl Registries<'_> {
    /// The digest and the configuration of the image `reference`: of an index the index's own digest, and the
    /// configuration of its Linux image.
    ///
    /// # Errors
    /// A [`Refusal`], which holds no credential.
    pub async fn inspect(&self, reference: &str) -> Result<ImageFacts, Refusal> {
        let unusable = |why: String| Refusal::Unusable {
            reference: reference.to_owned(),
            why,
        };
        let parsed: Reference = reference
            .parse()
            .map_err(|error| unusable(format!("{error}")))?;
        let refused = |error| refusal(&parsed, reference, error);
        let client = self.client(parsed.resolve_registry()).map_err(refused)?;
        let auth = self
            .keyring
            .find(parsed.resolve_registry(), parsed.repository());
        let (manifest, digest, index) = client
            .pull_image_manifest_and_list_digest(&parsed, &auth)
            .await
            .map_err(refused)?;
        if !(0..=CONFIGURATION_LIMIT).contains(&manifest.config.size) {
            return Err(unusable(format!(
                "its configuration has {} bytes",
                manifest.config.size
            )));
        }
        let mut bytes = Vec::new();
        client
            .pull_blob(&parsed, &manifest.config, &mut bytes)
            .await
            .map_err(refused)?;
        let configuration: Configuration = serde_json::from_slice(&bytes)
            .map_err(|error| unusable(format!("its configuration is malformed: {error}")))?;
        Ok(ImageFacts {
            digest: Some(index.unwrap_or(digest)),
            pins: ImagePins {
                user: configuration
                    .config
                    .and_then(|config| config.user)
                    .filter(|user| !user.is_empty()),
            },
        })
    }

    fn client(&self, registry: &str) -> Result<Client, OciDistributionError> {
        let terms = self.terms.iter().find(|terms| terms.host == registry);
        let authority = terms.and_then(|terms| terms.certificate_authority.as_ref());
        let certificates = authority.map(|pem| Certificate {
            encoding: CertificateEncoding::Pem,
            data: pem.clone().into_bytes(),
        });
        Client::try_from(ClientConfig {
            protocol: if terms.is_some_and(|terms| terms.plain_http) {
                ClientProtocol::Http
            } else {
                ClientProtocol::Https
            },
            extra_root_certificates: certificates.into_iter().collect(),
            platform_resolver: Some(Box::new(linux)),
            connect_timeout: Some(PATIENCE),
            read_timeout: Some(PATIENCE),
            user_agent: concat!("installation-operator/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        })
    }
}

/// The parts of an image's configuration that are of interest.
#[derive(Deserialize)]
struct Configuration {
    config: Option<Execution>,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(rename = "User")]
    user: Option<String>,
}

/// The Linux image of an index: for amd64 if there is one, as images of all architectures run as the same user.
fn linux(entries: &[ImageIndexEntry]) -> Option<String> {
    let of = |entry: &&ImageIndexEntry, architecture: Option<&str>| {
        entry.platform.as_ref().is_some_and(|platform| {
            platform.os.to_string() == "linux"
                && architecture.is_none_or(|wanted| platform.architecture.to_string() == wanted)
        })
    };
    entries
        .iter()
        .find(|entry| of(entry, Some("amd64")))
        .or_else(|| entries.iter().find(|entry| of(entry, None)))
        .map(|entry| entry.digest.clone())
}

/// What an error of the client means for whoever asked.
fn refusal(parsed: &Reference, reference: &str, error: OciDistributionError) -> Refusal {
    let registry = parsed.resolve_registry().to_owned();
    let reference = reference.to_owned();
    match &error {
        OciDistributionError::ImageManifestNotFoundError(_)
        | OciDistributionError::ServerError { code: 404, .. } => Refusal::Absent {
            registry,
            reference,
        },
        OciDistributionError::AuthenticationFailure(_)
        | OciDistributionError::UnauthorizedError { .. }
        | OciDistributionError::ServerError {
            code: 401 | 403, ..
        } => Refusal::Unauthorized {
            registry,
            reference,
        },
        OciDistributionError::RegistryError { envelope, .. } => {
            let says = |codes: &[OciErrorCode]| {
                envelope
                    .errors
                    .iter()
                    .any(|error| codes.contains(&error.code))
            };
            if says(&[
                OciErrorCode::ManifestUnknown,
                OciErrorCode::NameUnknown,
                OciErrorCode::NotFound,
            ]) {
                Refusal::Absent {
                    registry,
                    reference,
                }
            } else if says(&[OciErrorCode::Unauthorized, OciErrorCode::Denied]) {
                Refusal::Unauthorized {
                    registry,
                    reference,
                }
            } else {
                Refusal::Unreachable {
                    registry,
                    why: words(&error),
                }
            }
        }
        OciDistributionError::ImageIndexParsingNoPlatformResolverError
        | OciDistributionError::UnsupportedMediaTypeError(_)
        | OciDistributionError::UnsupportedSchemaVersionError(_)
        | OciDistributionError::VersionedParsingError(_)
        | OciDistributionError::ManifestParsingError(_)
        | OciDistributionError::ManifestEncodingError(_)
        | OciDistributionError::DigestError(_)
        | OciDistributionError::SpecViolationError(_) => Refusal::Unusable {
            reference,
            why: words(&error),
        },
        _ => Refusal::Unreachable {
            registry,
            why: words(&error),
        },
    }
}

/// An error and what it came from, in one line.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut words = error.to_string();
    for cause in causes {
        let cause = cause.to_string();
        if !words.ends_with(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}
