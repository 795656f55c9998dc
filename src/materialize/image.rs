//! The image that a pod runs, always by digest.

use crate::contract::component::source::{ImageReference, Source};

/// The reference of the image with `digest` (`sha256:…`): the authored name without its tag.
///
/// A built image has no authored name; it is named by the record alone, which no builder fills in yet.
pub(super) fn pinned(source: &Source, digest: &str) -> Option<String> {
    match source {
        Source::Image(reference) => Some(format!(
            "{}@{digest}",
            ImageReference::parse(reference).name
        )),
        Source::Git(_) => None,
    }
}
