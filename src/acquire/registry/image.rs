//! The digest and the configuration of an image.

use oci_spec::image::{Arch, Descriptor, Os};
use serde::Deserialize;

use super::Access;
use super::refusal::Refusal;
use super::session::{Manifest, Session};
use super::transport::Transport;
use crate::acquire::selection::ImageFacts;
use crate::materialize::pins::ImagePins;

/// What messages call an image that can run.
pub(super) const IMAGE: &str = "image that runs on Linux";
/// The largest image configuration that is read, in bytes.
const CONFIGURATION_LIMIT: u64 = 4 * 1024 * 1024;

/// The digest and the configuration of the image: of an index the index's own digest, and the configuration of its Linux
/// image.
pub(super) async fn inspect(transport: &Transport, access: &Access) -> Result<ImageFacts, Refusal> {
    let mut session = Session::new(transport, access, IMAGE)?;
    let (digest, manifest) = session.manifest(access.named()).await?;
    let image = match manifest {
        Manifest::Image(image) => image,
        Manifest::Index(index) => {
            let Some(entry) = linux(index.manifests()) else {
                return Err(session.unusable("its index has no image for Linux"));
            };
            match session.manifest(entry.digest().as_ref()).await?.1 {
                Manifest::Image(image) => image,
                Manifest::Index(_) => {
                    return Err(session.unusable("its index leads to another index"));
                }
            }
        }
    };
    let bytes = session.blob(image.config(), CONFIGURATION_LIMIT).await?;
    let configuration: Configuration = serde_json::from_slice(&bytes)
        .map_err(|error| session.unusable(format!("its configuration is malformed: {error}")))?;
    Ok(ImageFacts {
        digest: Some(digest),
        pins: ImagePins {
            user: configuration
                .config
                .and_then(|config| config.user)
                .filter(|user| !user.is_empty()),
        },
    })
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
fn linux(entries: &[Descriptor]) -> Option<&Descriptor> {
    let of = |entry: &&Descriptor, architecture: Option<Arch>| {
        entry.platform().as_ref().is_some_and(|platform| {
            *platform.os() == Os::Linux
                && architecture.is_none_or(|wanted| *platform.architecture() == wanted)
        })
    };
    let mut all = entries.iter();
    all.clone()
        .find(|entry| of(entry, Some(Arch::Amd64)))
        .or_else(|| all.find(|entry| of(entry, None)))
}
