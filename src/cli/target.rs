//! What the paths on the command line name, and checking it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::acquire::directory;
use crate::contract::item::{BLUEPRINT, Item, Lookup};
use crate::contract::{Published, Validation, envelope, validate_document, validate_item};
use crate::document::diagnostic::{Location, Related};
use crate::document::limits;
use crate::document::place::Place;
use crate::document::pointer::Pointer;
use crate::document::result::Profile;
use crate::document::yaml;

/// One thing to check.
pub(super) enum Target {
    /// An item directory.
    Item(PathBuf),
    /// A document outside an item.
    Document(PathBuf),
    /// A document from standard input.
    Input(Arc<[u8]>),
}

/// What was checked, with the sources that diagnostics point into.
pub(super) struct Checked {
    pub(super) path: PathBuf,
    pub(super) validation: Validation,
    item: Option<(PathBuf, Item)>,
    document: Arc<[u8]>,
    /// The places of files that were looked into, so that none is read again for each of its findings.
    places: RefCell<BTreeMap<PathBuf, Option<Place>>>,
}

/// A place in a file.
pub(super) struct Spot<'a> {
    pub(super) path: PathBuf,
    pub(super) source: &'a [u8],
    pub(super) location: Option<Location>,
}

impl Checked {
    fn new(
        path: PathBuf,
        validation: Validation,
        item: Option<(PathBuf, Item)>,
        document: Arc<[u8]>,
    ) -> Self {
        Self {
            path,
            validation,
            item,
            document,
            places: RefCell::default(),
        }
    }

    /// The place of `pointer` in the document under test; `location` where it is known already.
    pub(super) fn spot(&self, pointer: &Pointer, location: Option<Location>) -> Spot<'_> {
        self.locate(self.document(), pointer, location)
    }

    /// The place in another document that a diagnostic relates to, if the item holds that document.
    pub(super) fn related(&self, related: &Related) -> Option<Spot<'_>> {
        let file = self.artifact(&related.artifact)?;
        Some(self.locate(file, &related.path, related.location))
    }

    fn locate<'a>(
        &self,
        (path, source): (PathBuf, &'a [u8]),
        pointer: &Pointer,
        location: Option<Location>,
    ) -> Spot<'a> {
        let location = location.or_else(|| {
            let mut read = self.places.borrow_mut();
            let places = read
                .entry(path.clone())
                .or_insert_with(|| yaml::parse(source).ok().map(|document| document.places));
            places.as_ref().map(|places| places.nearest(pointer))
        });
        Spot {
            path,
            source,
            location,
        }
    }

    /// The document under test: its path and text.
    pub(super) fn document(&self) -> (PathBuf, &[u8]) {
        match &self.item {
            Some((root, _)) => (root.join(BLUEPRINT), &self.document),
            None => (self.path.clone(), &self.document),
        }
    }

    /// A document of the item: its path and text.
    fn artifact(&self, reference: &str) -> Option<(PathBuf, &[u8])> {
        let (root, item) = self.item.as_ref()?;
        match item.file(reference) {
            Lookup::File { real, bytes } => Some((root.join(real), bytes)),
            Lookup::Escape | Lookup::Missing => None,
        }
    }
}

impl Target {
    /// Where it lies; nothing for standard input.
    fn path(&self) -> &Path {
        match self {
            Self::Item(path) | Self::Document(path) => path,
            Self::Input(_) => Path::new(""),
        }
    }

    pub(super) fn check(&self, published: &Published, profile: Profile) -> io::Result<Checked> {
        match self {
            Self::Item(path) => {
                let item = directory::read(path)?;
                let document = match item.file(BLUEPRINT) {
                    Lookup::File { bytes, .. } => Arc::clone(bytes),
                    Lookup::Escape | Lookup::Missing => Arc::from([]),
                };
                let validation = validate_item(&item, published, profile);
                let item = Some((path.clone(), item));
                Ok(Checked::new(path.clone(), validation, item, document))
            }
            Self::Document(path) => Ok(alone(
                path.clone(),
                directory::bytes(path)?,
                published,
                profile,
            )),
            Self::Input(bytes) => Ok(alone(
                PathBuf::from("-"),
                Arc::clone(bytes),
                published,
                profile,
            )),
        }
    }
}

fn alone(path: PathBuf, document: Arc<[u8]>, published: &Published, profile: Profile) -> Checked {
    let validation = validate_document(None, &document, published, profile);
    Checked::new(path, validation, None, document)
}

/// What `path` names: an item, the items and documents below a directory that is none, or a document. A file named
/// `blueprint.yaml` stands for the item whose root holds it.
///
/// # Errors
/// When there is nothing to read, or nothing to check.
pub(super) fn find(path: &Path) -> anyhow::Result<Vec<Target>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let most = limits::DOCUMENT_BYTES as u64 + 1;
        io::stdin()
            .take(most)
            .read_to_end(&mut bytes)
            .context("standard input cannot be read")?;
        return Ok(vec![Target::Input(bytes.into())]);
    }
    let unreadable = || format!("{} cannot be read", path.display());
    if !fs::metadata(path).with_context(unreadable)?.is_dir() {
        return Ok(vec![match (path.file_name(), path.parent()) {
            (Some(name), Some(root)) if name == BLUEPRINT => {
                let root = if root.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    root
                };
                Target::Item(root.to_owned())
            }
            _ => Target::Document(path.to_owned()),
        }]);
    }
    let targets = below(path)?;
    if targets.is_empty() {
        bail!(
            "{} holds no item and no component; name an item directory or a document",
            path.display()
        );
    }
    Ok(targets)
}

/// What `path` names, where it has to be one thing.
///
/// # Errors
/// When there is nothing to check, or more than one thing.
pub(super) fn only(path: &Path) -> anyhow::Result<Target> {
    let mut targets = find(path)?;
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => Ok(target),
        _ => bail!(
            "{} holds more than one item or document; name one of them",
            path.display()
        ),
    }
}

/// The items below `path`, and the documents that are in none. A directory inside an item belongs to the item.
fn below(path: &Path) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(directory) = pending.pop() {
        if directory.join(BLUEPRINT).is_file() {
            targets.push(Target::Item(directory));
            continue;
        }
        let unreadable = || format!("{} cannot be read", directory.display());
        let paths = fs::read_dir(&directory)
            .with_context(unreadable)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()
            .with_context(unreadable)?;
        for path in paths {
            let kind = fs::symlink_metadata(&path)?;
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file()
                && directory::is_yaml(&path)
                && is_document(&directory::bytes(&path)?)
            {
                targets.push(Target::Document(path));
            }
        }
    }
    targets.sort_by(|left, right| left.path().cmp(right.path()));
    Ok(targets)
}

fn is_document(bytes: &[u8]) -> bool {
    yaml::parse(bytes).is_ok_and(|document| envelope::family(&document).is_ok())
}
