//! Artifacts as `oras push` and Flux write them, and as no honest tool does.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use super::registry::digest;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type that `oras` gives directories.
pub const ORAS_DIRECTORY: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The media type that Flux gives its only layer.
pub const FLUX: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// A blob and how a manifest describes it.
#[derive(Clone, Debug)]
pub struct Blob {
    /// Its bytes.
    pub bytes: Vec<u8>,
    media_type: String,
    annotations: BTreeMap<String, String>,
}

/// An artifact, packed.
#[derive(Clone, Debug)]
pub struct Parcel {
    config: Blob,
    layers: Vec<Blob>,
}

impl Blob {
    /// A blob without annotations.
    pub fn new(media_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            media_type: media_type.to_owned(),
            annotations: BTreeMap::new(),
        }
    }

    /// With an annotation.
    #[must_use]
    pub fn annotated(mut self, name: &str, value: &str) -> Self {
        self.annotations.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With a title.
    #[must_use]
    pub fn titled(self, title: &str) -> Self {
        self.annotated("org.opencontainers.image.title", title)
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> Value {
        json!({
            "mediaType": self.media_type, "digest": digest(&self.bytes),
            "size": self.bytes.len(), "annotations": self.annotations,
        })
    }
}

impl Parcel {
    /// An artifact of these layers.
    pub fn of(layers: impl IntoIterator<Item = Blob>) -> Self {
        Self {
            config: Blob::new("application/vnd.oci.empty.v1+json", "{}"),
            layers: layers.into_iter().collect(),
        }
    }

    /// With another configuration than the empty one.
    #[must_use]
    pub fn configured(mut self, config: Blob) -> Self {
        self.config = config;
        self
    }

    /// As `flux push artifact` packs a directory: its content.
    pub fn flux(files: &BTreeMap<String, String>) -> Self {
        Self::of([Blob::new(FLUX, gzip(&archive("", files)))])
    }

    /// As `oras push` packs a directory: the directory itself.
    pub fn oras(name: &str, files: &BTreeMap<String, String>) -> Self {
        let layer = Blob::new(ORAS_DIRECTORY, gzip(&archive(&format!("{name}/"), files)));
        let layer = layer.annotated("io.deis.oras.content.unpack", "true");
        Self::of([layer.titled(name)])
    }

    /// As `oras push` packs single files: a layer each, with the media type of an archive.
    pub fn files(files: &BTreeMap<String, String>) -> Self {
        let layer = |(path, text): (&String, &String)| {
            Blob::new("application/vnd.oci.image.layer.v1.tar", text.as_bytes()).titled(path)
        };
        Self::of(files.iter().map(layer))
    }

    /// An image that runs as `user`, without a single layer.
    pub fn image(user: &str) -> Self {
        let config = json!({"architecture": "amd64", "os": "linux", "config": {"User": user}});
        let media_type = "application/vnd.oci.image.config.v1+json";
        Self {
            config: Blob::new(media_type, config.to_string()),
            layers: Vec::new(),
        }
    }

    /// With these layers, the lowest first.
    #[must_use]
    pub fn layered(mut self, layers: Vec<Blob>) -> Self {
        self.layers = layers;
        self
    }

    /// Its blobs.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config])
    }

    /// Its manifest.
    pub fn manifest(&self) -> Value {
        let layers: Vec<Value> = self.layers.iter().map(Blob::descriptor).collect();
        json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": self.config.descriptor(), "layers": layers,
        })
    }
}

/// Compressed as well as can be.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// An archive of `files`, each path behind `prefix`.
pub fn archive(prefix: &str, files: &BTreeMap<String, String>) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (path, text) in files {
        let path = format!("{prefix}{path}");
        entry(&mut archive, &path, EntryType::Regular, text.as_bytes());
    }
    archive.into_inner().expect("memory")
}

/// An archive of anything, each path as it is given.
pub fn odd_archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (path, kind, bytes) in entries {
        entry(&mut archive, path, *kind, bytes);
    }
    archive.into_inner().expect("memory")
}

fn entry(archive: &mut Builder<Vec<u8>>, path: &str, kind: EntryType, bytes: &[u8]) {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append(&header, bytes).expect("memory");
}
