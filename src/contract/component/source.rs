//! Where a workload's image comes from (component §5.1).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Spec;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

/// Tags that move by convention, so that they pin nothing (COMP-SRC-003).
const FLOATING_TAGS: [&str; 9] = [
    "latest",
    "main",
    "main-stable",
    "master",
    "stable",
    "edge",
    "nightly",
    "dev",
    "rolling",
];

/// An image that exists, or one to be built.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// An OCI reference with a tag, a sha256 digest or both.
    Image(String),
    /// A Git repository and how to build it.
    Git(GitSource),
}

/// A Git repository and how to build it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// Where the repository is; never fetched by the operator.
    #[serde(rename = "repositoryURL")]
    pub repository_url: String,
    /// A branch or a commit; the default branch when absent.
    #[serde(default)]
    pub r#ref: Option<GitRef>,
    /// How to build.
    pub build: Build,
}

/// What of a repository is built.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GitRef {
    /// The head of a branch.
    Branch(String),
    /// One commit.
    Commit(String),
}

/// How an image is built.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// Path of a Dockerfile from the repository's root.
    #[serde(default)]
    pub dockerfile: Option<String>,
    /// Cloud Native Buildpacks.
    #[serde(default)]
    pub buildpacks: Option<Buildpacks>,
    /// Build arguments.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// A buildpacks build.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Buildpacks {
    /// The image that builds.
    pub builder_image: String,
}

/// An image reference taken apart: `name[:tag][@sha256:digest]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageReference<'a> {
    /// Registry and repository.
    pub name: &'a str,
    /// The tag, if any.
    pub tag: Option<&'a str>,
    /// `sha256:` and 64 hexadecimal digits, if any.
    pub digest: Option<&'a str>,
}

impl<'a> ImageReference<'a> {
    /// Takes apart a reference that passed the structural phase; the tag's colon is the one after the last slash.
    pub fn parse(reference: &'a str) -> Self {
        let (rest, digest) = match reference.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (reference, None),
        };
        let path = rest.rfind('/').unwrap_or(0);
        match rest[path..].find(':') {
            Some(colon) => Self {
                name: &rest[..path + colon],
                tag: Some(&rest[path + colon + 1..]),
                digest,
            },
            None => Self {
                name: rest,
                tag: None,
                digest,
            },
        }
    }
}

/// An image without a digest has a tag that stays where it is (COMP-SRC-003).
pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    let Some(Source::Image(image)) = spec.workload.as_ref().map(|workload| &workload.source) else {
        return;
    };
    let reference = ImageReference::parse(image);
    let Some(tag) = reference.tag.filter(|_| reference.digest.is_none()) else {
        return;
    };
    if FLOATING_TAGS
        .iter()
        .any(|floating| tag.eq_ignore_ascii_case(floating))
    {
        findings.push(
            Code::UnpinnedImage,
            Pointer::of(["spec", "workload", "source", "image"]),
            format!(
                "the tag `{tag}` moves from image to image; use a version's tag, or add `@sha256:…`"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_colon_is_the_one_after_the_last_slash() {
        for (reference, name, tag, digest) in [
            (
                "localhost:5000/app/web",
                "localhost:5000/app/web",
                None,
                None,
            ),
            (
                "localhost:5000/web:1.2",
                "localhost:5000/web",
                Some("1.2"),
                None,
            ),
            (
                "localhost:5000/web:1.2@sha256:ab",
                "localhost:5000/web",
                Some("1.2"),
                Some("sha256:ab"),
            ),
            ("web:1.2", "web", Some("1.2"), None),
        ] {
            let parsed = ImageReference::parse(reference);
            assert_eq!(
                (parsed.name, parsed.tag, parsed.digest),
                (name, tag, digest),
                "{reference}"
            );
        }
    }
}
