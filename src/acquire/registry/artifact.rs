//! The item in an artifact, as `oras push` and Flux write them: archives of the item directory, or a layer for each file.

use oci_spec::image::{Descriptor, MediaType};

use super::Access;
use super::refusal::Refusal;
use super::session::{Manifest, Session};
use super::transport::Transport;
use super::unpack::{self, Layer, Packing};
use crate::contract::item::Item;

/// What messages call an artifact that can be installed.
pub(super) const ARTIFACT: &str = "artifact of an item";
/// Layers of one artifact.
const LAYERS: usize = 64;
/// Bytes of all layers of one artifact, as the registry has them.
const PACKED_BYTES: u64 = 8 * 1024 * 1024;
/// The name of the file or directory that a layer holds.
const TITLE: &str = "org.opencontainers.image.title";
/// Whether that is a directory, packed.
const UNPACK: &str = "io.deis.oras.content.unpack";

/// An item and the artifact that it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    /// The digest of the artifact's manifest, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The item.
    pub item: Item,
}

/// Fetches the item in the artifact.
pub(super) async fn fetch(transport: &Transport, access: &Access) -> Result<Artifact, Refusal> {
    let mut session = Session::new(transport, access, ARTIFACT)?;
    let (digest, manifest) = session.manifest(access.named()).await?;
    let Manifest::Image(manifest) = manifest else {
        return Err(session.unusable("it is an index of images"));
    };
    let described: Vec<&Descriptor> = manifest
        .layers()
        .iter()
        .filter(|layer| *layer.media_type() != MediaType::EmptyJSON)
        .collect();
    let sizes = described.iter().map(|layer| layer.size());
    let size = sizes.fold(0, u64::saturating_add);
    if described.len() > LAYERS || size > PACKED_BYTES {
        let why = format!(
            "its {} layers have {size} bytes; at most {LAYERS} layers and {PACKED_BYTES} bytes are read",
            described.len()
        );
        return Err(session.unusable(why));
    }
    let mut layers = Vec::new();
    for layer in described {
        let Some(packing) = packing(layer) else {
            let why = format!(
                "a layer of type {:?} is neither a tar, nor a tar+gzip, nor a file with a title",
                layer.media_type().as_ref()
            );
            return Err(session.unusable(why));
        };
        let bytes = session.blob(layer, PACKED_BYTES).await?;
        layers.push(Layer { packing, bytes });
    }
    let repository = access.parsed.repository().to_owned();
    let unpacked = tokio::task::spawn_blocking(move || {
        unpack::item(&layers, repository.rsplit('/').next().unwrap_or_default())
    });
    match unpacked.await {
        Ok(Ok(item)) => Ok(Artifact { digest, item }),
        Ok(Err(unfit)) => Err(session.unusable(unfit.to_string())),
        Err(_) => Err(session.unusable("it cannot be unpacked")),
    }
}

/// What the bytes of a layer are. A title without the word that it is a directory means a file, whatever the media type
/// says: `oras` gives files the type of archives.
fn packing(layer: &Descriptor) -> Option<Packing> {
    let annotation = |name: &str| layer.annotations().as_ref()?.get(name);
    let media_type = layer.media_type().as_ref();
    let title = annotation(TITLE);
    let is_directory = annotation(UNPACK).is_some_and(|unpack| unpack == "true");
    let is_archive = |title: &String| {
        [".tar", ".tar.gz", ".tgz"]
            .iter()
            .any(|ending| title.ends_with(ending))
    };
    match title {
        Some(title) if !is_directory && !is_archive(title) => Some(Packing::File(title.clone())),
        _ if media_type.ends_with("tar+gzip") || media_type.ends_with("tar.gzip") => {
            Some(Packing::TarGzip)
        }
        _ if media_type.ends_with(".tar") => match title {
            Some(title) if title.ends_with("gz") => Some(Packing::TarGzip),
            _ => Some(Packing::Tar),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_layer_is_read_as_its_tool_meant_it() {
        const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
        const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
        let file = |path: &str| Some(Packing::File(path.to_owned()));
        for (media_type, title, unpack, expected) in [
            (
                "application/vnd.cncf.flux.content.v1.tar+gzip",
                None,
                false,
                Some(Packing::TarGzip),
            ),
            (
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
                None,
                false,
                Some(Packing::TarGzip),
            ),
            (GZIP, Some("acme-wiki"), true, Some(Packing::TarGzip)),
            (TAR, None, false, Some(Packing::Tar)),
            (TAR, Some("blueprint.yaml"), false, file("blueprint.yaml")),
            (TAR, Some("item.tar"), false, Some(Packing::Tar)),
            (TAR, Some("item.tgz"), false, Some(Packing::TarGzip)),
            (GZIP, Some("item.tar.gz"), false, Some(Packing::TarGzip)),
            (
                "text/yaml",
                Some("components/web.yaml"),
                false,
                file("components/web.yaml"),
            ),
            ("text/yaml", None, false, None),
            (
                "application/vnd.oci.image.layer.v1.tar+zstd",
                None,
                false,
                None,
            ),
        ] {
            let mut annotations = serde_json::Map::new();
            annotations.extend(title.map(|title| (TITLE.to_owned(), json!(title))));
            if unpack {
                annotations.insert(UNPACK.to_owned(), json!("true"));
            }
            let layer = json!({
                "mediaType": media_type, "size": 1, "annotations": annotations,
                "digest": format!("sha256:{}", "a".repeat(64)),
            });
            let layer: Descriptor = serde_json::from_value(layer).expect("a descriptor");
            assert_eq!(packing(&layer), expected, "{media_type} {title:?}");
        }
    }
}
