//! The digest and the configuration of an image, and who the user is that it names.

use std::time::Duration;

use oci_spec::image::{Arch, Descriptor, Os};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Access;
use super::accounts::Accounts;
use super::refusal::Refusal;
use super::session::{Manifest, Session};
use super::transport::Transport;
use crate::acquire::selection::ImageFacts;
use crate::materialize::pins::{ImagePins, RunsAs, names_somebody};

/// What messages call an image that can run.
pub(super) const IMAGE: &str = "image that runs on Linux";
/// The largest image configuration that is read, in bytes.
const CONFIGURATION_LIMIT: u64 = 4 * 1024 * 1024;

/// Bytes of the layers that one look for a user reads, packed.
const LAYERS_LIMIT: u64 = 64 * 1024 * 1024;
/// How long it may take.
const LOOKING: Duration = Duration::from_secs(30);
/// One layer in memory, whoever asks.
static ONE_AT_A_TIME: Semaphore = Semaphore::const_new(1);

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
    let user = configuration.config.and_then(|config| config.user);
    let user = user.filter(|user| !user.is_empty());
    let runs_as = match user.as_deref().filter(|user| names_somebody(user)) {
        Some(name) => {
            let answer = look_up(&mut session, image.layers(), name);
            timeout(LOOKING, answer).await.ok().flatten()
        }
        None => None,
    };
    Ok(ImageFacts {
        digest: Some(digest),
        pins: ImagePins { user, runs_as },
    })
}

/// The numbers of `user`, from the layers of its image. Unknown where they are too large or cannot be had: an image runs
/// without that.
async fn look_up(session: &mut Session<'_>, layers: &[Descriptor], user: &str) -> Option<RunsAs> {
    let mut turn = ONE_AT_A_TIME.acquire().await.ok()?;
    let mut accounts = Accounts::default();
    let mut rest = LAYERS_LIMIT;
    for layer in layers.iter().rev() {
        if accounts.know(user) {
            break;
        }
        let read = session.blob(layer, rest).await;
        let bytes = read
            .inspect_err(|refusal| tracing::info!(user, %refusal, "the image's user is not known"))
            .ok()?;
        rest -= layer.size();
        let media_type = layer.media_type().clone();
        // The turn goes along: what nobody waits for any more has its layer in memory until it ends.
        let unpacked = tokio::task::spawn_blocking(move || {
            let read = accounts.read(&media_type, &bytes);
            (turn, read.map(|()| accounts))
        });
        let read;
        (turn, read) = unpacked.await.ok()?;
        accounts = read
            .inspect_err(|error| tracing::info!(user, %error, "the image's user is not known"))
            .ok()?;
    }
    accounts.find(user)
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
