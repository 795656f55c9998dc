//! What registries say: digests and configurations of images, items in artifacts. Answers are shared by those who ask the
//! same with the same credentials at the same time, and kept for nobody, so that no namespace reads with another's.

mod accounts;
mod address;
mod artifact;
mod image;
mod in_flight;
pub mod keyring;
mod refusal;
mod session;
mod transport;
pub mod unpack;

use std::sync::Arc;
use std::time::Duration;

use oci_spec::distribution::Reference;

pub use self::artifact::Artifact;
use self::in_flight::InFlight;
use self::keyring::{Credentials, Keyring};
pub use self::refusal::Refusal;
use self::session::Session;
use self::transport::Transport;
use super::selection::ImageFacts;
use crate::api::platform::RegistryTerms;

/// How long one question may take, with all its requests and their repetitions.
const QUESTION: Duration = Duration::from_secs(60);

/// Every registry there is, as one process talks to them. Holds no credentials.
#[derive(Default)]
pub struct Registries {
    transport: Arc<Transport>,
    images: InFlight<Result<ImageFacts, Refusal>>,
    artifacts: InFlight<Result<Artifact, Refusal>>,
    digests: InFlight<Result<String, Refusal>>,
}

/// Asks registries with one keyring on the terms of one Platform: with TLS by the system's certificate authorities and at
/// public addresses, unless they say otherwise.
pub struct RegistryClient<'a> {
    registries: &'a Registries,
    terms: Arc<[RegistryTerms]>,
    keyring: Keyring,
}

/// What is asked for, and with what: all that an answer depends on.
#[derive(Clone, PartialEq)]
struct Access {
    reference: String,
    parsed: Reference,
    credentials: Option<Credentials>,
    terms: Arc<[RegistryTerms]>,
}

impl Access {
    /// Host and port.
    fn registry(&self) -> &str {
        self.parsed.resolve_registry()
    }

    /// The digest, or else the tag.
    fn named(&self) -> &str {
        let tag = || self.parsed.tag().unwrap_or("latest");
        self.parsed.digest().unwrap_or_else(tag)
    }
}

impl Registries {
    /// Asks with `keyring` on `terms`.
    pub fn client(&self, terms: &[RegistryTerms], keyring: Keyring) -> RegistryClient<'_> {
        RegistryClient {
            registries: self,
            terms: terms.into(),
            keyring,
        }
    }
}

impl RegistryClient<'_> {
    /// The digest and the configuration of the image `reference`: of an index the index's own digest, and the
    /// configuration of its Linux image.
    ///
    /// # Errors
    /// A [`Refusal`], which holds no credential.
    pub async fn inspect(&self, reference: &str) -> Result<ImageFacts, Refusal> {
        let access = self.access(reference, image::IMAGE)?;
        let (transport, asked) = (Arc::clone(&self.registries.transport), access.clone());
        let ask = async move { in_time(&asked, image::inspect(&transport, &asked)).await };
        self.registries.images.join(&access, ask).await
    }

    /// The item in the artifact `reference`.
    ///
    /// # Errors
    /// A [`Refusal`], which holds no credential.
    pub async fn fetch(&self, reference: &str) -> Result<Artifact, Refusal> {
        let access = self.access(reference, artifact::ARTIFACT)?;
        let (transport, asked) = (Arc::clone(&self.registries.transport), access.clone());
        let ask = async move { in_time(&asked, artifact::fetch(&transport, &asked)).await };
        self.registries.artifacts.join(&access, ask).await
    }

    /// The digest that `reference` names now, without what it names.
    ///
    /// # Errors
    /// A [`Refusal`], which holds no credential.
    pub async fn digest(&self, reference: &str) -> Result<String, Refusal> {
        const WANTED: &str = "image or artifact";
        let access = self.access(reference, WANTED)?;
        let (transport, asked) = (Arc::clone(&self.registries.transport), access.clone());
        let ask = async move {
            let mut session = Session::new(&transport, &asked, WANTED)?;
            in_time(&asked, session.digest()).await
        };
        self.registries.digests.join(&access, ask).await
    }

    fn access(&self, reference: &str, wanted: &'static str) -> Result<Access, Refusal> {
        let parsed: Reference = reference.parse().map_err(|error| Refusal::Unusable {
            reference: reference.to_owned(),
            wanted,
            why: format!("{error}"),
        })?;
        Ok(Access {
            reference: reference.to_owned(),
            credentials: self
                .keyring
                .find(parsed.resolve_registry(), parsed.repository()),
            parsed,
            terms: Arc::clone(&self.terms),
        })
    }
}

/// The answer, unless it takes too long.
async fn in_time<T>(
    access: &Access,
    answer: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    match tokio::time::timeout(QUESTION, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Refusal::Unreachable {
            registry: access.registry().to_owned(),
            why: format!("it takes longer than {} seconds", QUESTION.as_secs()),
        }),
    }
}
