//! Volumes and where they are mounted (component §5.5).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Spec;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

/// One volume that a workload declares.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Where it is mounted.
    pub mount_path: String,
    /// The least size in GiB that an allocation may give it.
    #[serde(rename = "minSizeGiB")]
    pub min_size_gib: u64,
    /// Whether the workload only reads it.
    #[serde(default)]
    pub read_only: bool,
    /// Whether every instance mounts it at once; else at most one running instance does.
    #[serde(default)]
    pub shared: bool,
}

/// Mount paths are canonical, and none is another or lies inside another (`ERR_INVALID_MOUNT`). Of two that clash the
/// later by name is reported.
pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    let mut mounted: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, volume) in spec.workload.iter().flat_map(|workload| &workload.volumes) {
        let path = volume.mount_path.as_str();
        let problem = if !is_canonical(path) {
            Some(
                "is not canonical: no `.`, `..`, `//` or trailing slash; write it without"
                    .to_owned(),
            )
        } else {
            clash(&mounted, path).map(|other| {
                format!(
                    "is, or lies above or below, the mount path of volume `{other}`; choose another"
                )
            })
        };
        if let Some(problem) = problem {
            findings.push(
                Code::InvalidMount,
                Pointer::of(["spec", "workload", "volumes", name, "mountPath"]),
                format!("the mount path `{path}` {problem}"),
            );
        }
        if is_canonical(path) {
            mounted.entry(path).or_insert(name);
        }
    }
}

fn is_canonical(path: &str) -> bool {
    path == "/"
        || path.strip_prefix('/').is_some_and(|rest| {
            rest.split('/')
                .all(|segment| !matches!(segment, "" | "." | ".."))
        })
}

/// The volume among `mounted` whose path equals, contains or lies inside `path`. Costs the path's depth, not the number
/// of volumes.
fn clash<'a>(mounted: &BTreeMap<&str, &'a str>, path: &str) -> Option<&'a str> {
    let above = path
        .match_indices('/')
        .map(|(at, _)| if at == 0 { "/" } else { &path[..at] });
    let inside = if path == "/" {
        path.to_owned()
    } else {
        format!("{path}/")
    };
    let below = mounted
        .range(inside.as_str()..)
        .next()
        .filter(|(other, _)| other.starts_with(&inside))
        .map(|(_, name)| *name);
    above
        .chain([path])
        .find_map(|candidate| mounted.get(candidate).copied())
        .or(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_paths_have_no_empty_or_dotted_segment() {
        for (path, canonical) in [
            ("/", true),
            ("/data", true),
            ("/data/.hidden", true),
            ("/data/", false),
            ("//data", false),
            ("/a/./b", false),
            ("/a/..", false),
            ("/a//b", false),
        ] {
            assert_eq!(is_canonical(path), canonical, "{path}");
        }
    }

    #[test]
    fn paths_clash_by_whole_segments() {
        for (mounted, path, clashes) in [
            ("/data", "/data", true),
            ("/data", "/data/sub", true),
            ("/data/sub", "/data", true),
            ("/data", "/database", false),
            ("/data", "/data-2", false),
            ("/", "/x", true),
            ("/x", "/", true),
            ("/data/a", "/data/b", false),
        ] {
            let mounts = BTreeMap::from([(mounted, "v")]);
            assert_eq!(clash(&mounts, path).is_some(), clashes, "{mounted} {path}");
        }
    }
}
