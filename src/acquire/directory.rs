//! Reads an item directory: its YAML files, with symbolic links followed as far as the root and no further. No file
//! outside the root is ever opened.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::contract::item::{Entry, Item};
use crate::document::limits;

/// Links that one path may lead through.
const LINKS: usize = 40;

/// Reads the item whose root is the directory `root`. The item's name is the directory's.
///
/// # Errors
/// When the directory, or a file in it, cannot be read.
pub fn read(root: &Path) -> io::Result<Item> {
    let real_root = fs::canonicalize(root)?;
    let name = match root.components().next_back() {
        Some(Component::Normal(name)) => name.to_owned(),
        _ => real_root.file_name().unwrap_or_default().to_owned(),
    };
    let mut entries = Vec::new();
    let mut pending = vec![real_root.clone()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            let Some(key) = relative(&path, &real_root) else {
                continue;
            };
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_symlink() {
                entries.push((key, link(&path, &real_root)));
            } else if kind.is_file() && is_yaml(&path) {
                entries.push((key, Entry::File(bytes(&path)?)));
            }
        }
    }
    Ok(Item::from_entries(name.to_string_lossy(), entries))
}

/// Reads one document, and of one that is too large no more than it takes to say so.
///
/// # Errors
/// When the file cannot be read.
pub fn bytes(path: &Path) -> io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    let most = limits::DOCUMENT_BYTES as u64 + 1;
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Whether the name is one that YAML documents have.
pub fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn relative(path: &Path, root: &Path) -> Option<String> {
    let inside = path.strip_prefix(root).ok()?;
    let segments: Option<Vec<_>> = inside.iter().map(|segment| segment.to_str()).collect();
    segments.map(|segments| segments.join("/"))
}

fn link(path: &Path, root: &Path) -> Entry {
    match fs::canonicalize(path) {
        Ok(real) => relative(&real, root).map_or(Entry::Escape, Entry::Link),
        Err(_) => match target(path) {
            Some(target) if target.starts_with(root) => Entry::Dangling,
            Some(_) => Entry::Escape,
            // A circle of links leads nowhere.
            None => Entry::Dangling,
        },
    }
}

/// Where a dangling link would lead if something were there.
fn target(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        path = real(&path);
        match fs::read_link(&path) {
            Ok(next) => path = path.parent()?.join(next),
            Err(_) => return Some(path),
        }
    }
    None
}

/// The real path of what exists of `path`'s parent, and the rest by its text.
fn real(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            other => {
                real = fs::canonicalize(&real).unwrap_or(real);
                real.push(other);
            }
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::item::Lookup;

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_those_that_leave_are_escapes() {
        use std::os::unix::fs::symlink;

        let tree = tempfile::tempdir().expect("a directory");
        let root = tree.path().join("wiki");
        fs::create_dir_all(root.join("components")).expect("directories");
        fs::write(root.join("components/web.yaml"), "inside").expect("a file");
        fs::write(root.join("notes.txt"), "no document").expect("a file");
        fs::write(tree.path().join("outside.yaml"), "outside").expect("a file");
        for (link, target) in [
            ("alias.yaml", "components/web.yaml"),
            ("parts", "components"),
            ("out.yaml", "../outside.yaml"),
            ("gone-out.yaml", "../nothing.yaml"),
            ("gone-in.yaml", "components/nothing.yaml"),
            ("chain.yaml", "gone-out.yaml"),
            ("absolute.yaml", "/nothing-at-all.yaml"),
            ("circle.yaml", "circle.yaml"),
            ("up", ".."),
        ] {
            symlink(target, root.join(link)).expect("a link");
        }
        let item = read(&root).expect("an item");
        assert_eq!(item.name(), "wiki");
        for (path, expected) in [
            ("./components/web.yaml", "components/web.yaml"),
            ("./alias.yaml", "components/web.yaml"),
            ("./parts/web.yaml", "components/web.yaml"),
            ("./out.yaml", "escape"),
            ("./up/outside.yaml", "escape"),
            ("./gone-out.yaml", "escape"),
            ("./chain.yaml", "escape"),
            ("./absolute.yaml", "escape"),
            ("./gone-in.yaml", "missing"),
            ("./circle.yaml", "missing"),
            ("./notes.txt", "missing"),
        ] {
            let found = match item.file(path) {
                Lookup::File { real, .. } => real,
                Lookup::Escape => "escape".to_owned(),
                Lookup::Missing => "missing".to_owned(),
            };
            assert_eq!(found, expected, "{path}");
        }
    }
}
