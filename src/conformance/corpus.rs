//! A corpus on disk: its index, its cases and the items they sit in.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use strum::Display;
use thiserror::Error;

use super::behavior::Behavior;
use crate::acquire::directory;
use crate::contract::Item;
use crate::contract::envelope::Family;

/// Why a corpus cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not have the corpus format.
    #[error("{path} does not have the corpus format: {source}")]
    Malformed {
        /// The path.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A directory that holds no corpus.
    #[error(
        "{path} holds neither cases.json nor behavior.json, and no directory that does; name a corpus directory"
    )]
    NoCorpus {
        /// The path.
        path: PathBuf,
    },
}

/// The family that a corpus tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Suite {
    /// The parser alone.
    Core,
    /// Component documents.
    Component,
    /// Blueprint documents.
    Blueprint,
}

impl Suite {
    /// The document family under test; core has none.
    pub fn document_family(self) -> Option<Family> {
        match self {
            Self::Core => None,
            Self::Component => Some(Family::Component),
            Self::Blueprint => Some(Family::Blueprint),
        }
    }
}

#[derive(Deserialize)]
struct Index {
    family: Suite,
    cases: Vec<IndexEntry>,
}

#[derive(Deserialize)]
struct IndexEntry {
    path: String,
}

/// What a document case has to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// VALID.
    Pass,
    /// Rejected in the declared phase.
    Fail,
    /// INCOMPLETE.
    Incomplete,
}

/// A case's own description.
#[derive(Clone, Debug, Deserialize)]
pub struct Metadata {
    /// The case's id.
    pub id: String,
    /// parser, structural or semantic.
    pub phase: String,
    /// What it has to come to.
    pub expected: Expected,
    /// The document under test, for a case in a tree.
    #[serde(default)]
    pub document: Option<String>,
    /// Symbolic links to create, by path in the tree.
    #[serde(default)]
    pub symlinks: BTreeMap<String, String>,
    /// Values that the contract supplies, by pointer.
    #[serde(default)]
    pub effective: BTreeMap<String, Value>,
    /// The rules that the case is about.
    #[serde(default)]
    pub requirements: Vec<String>,
}

/// A document case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The case's id.
    pub id: String,
    /// Its description.
    pub metadata: Metadata,
    /// The diagnostics it has to produce at least.
    pub diagnostics: Vec<Value>,
    directory: PathBuf,
}

/// A corpus: one family's cases.
#[derive(Debug)]
pub struct Corpus {
    /// The family under test.
    pub family: Suite,
    /// The document cases.
    pub cases: Vec<Case>,
    /// The behavioural cases.
    pub behaviors: Vec<Behavior>,
}

impl Corpus {
    /// Reads the corpora at `path`: one, or one in each of its directories.
    ///
    /// # Errors
    /// When something that an index names cannot be read.
    pub fn find(path: &Path) -> Result<Vec<Self>, Error> {
        if is_corpus(path) {
            return Self::read(path).map(|corpus| vec![corpus]);
        }
        let unreadable = |source| Error::Unreadable {
            path: path.to_owned(),
            source,
        };
        let mut directories: Vec<_> = fs::read_dir(path)
            .map_err(unreadable)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_corpus(path))
            .collect();
        directories.sort();
        if directories.is_empty() {
            return Err(Error::NoCorpus {
                path: path.to_owned(),
            });
        }
        directories.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self, Error> {
        let index: Index = json(&path.join("cases.json"))?;
        let behavior = path.join("behavior.json");
        Ok(Self {
            family: index.family,
            cases: index
                .cases
                .iter()
                .map(|entry| Case::read(&path.join(&entry.path)))
                .collect::<Result<_, _>>()?,
            behaviors: if behavior.exists() {
                json(&behavior)?
            } else {
                Vec::new()
            },
        })
    }

    /// The document cases, in the index's order.
    pub fn documents(&self) -> impl Iterator<Item = Case> {
        self.cases.iter().cloned()
    }
}

fn is_corpus(path: &Path) -> bool {
    path.join("cases.json").is_file()
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read(path).map_err(|source| Error::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|source| Error::Malformed {
        path: path.to_owned(),
        source,
    })
}

/// A document under test and the item it sits in.
pub enum Subject {
    /// A document without an item root.
    Alone(Arc<[u8]>),
    /// The item document of an item.
    Item(Item),
    /// A document that sits in an item and is not its blueprint.
    Inside(Arc<[u8]>),
}

impl Case {
    fn read(directory: &Path) -> Result<Self, Error> {
        let metadata: Metadata = json(&directory.join("metadata.json"))?;
        let diagnostics = directory.join("diagnostics.json");
        Ok(Self {
            id: metadata.id.clone(),
            diagnostics: if diagnostics.exists() {
                json(&diagnostics)?
            } else {
                Vec::new()
            },
            metadata,
            directory: directory.to_owned(),
        })
    }

    /// The document under test.
    ///
    /// # Errors
    /// When it, or the item it sits in, cannot be read.
    pub fn subject(&self) -> io::Result<Subject> {
        let Some(document) = &self.metadata.document else {
            return directory::bytes(&self.directory.join("case.yaml")).map(Subject::Alone);
        };
        let tree = self.directory.join("tree");
        if self.metadata.symlinks.is_empty() {
            return subject(&tree.join(document));
        }
        let copy = tempfile::tempdir()?;
        copy_tree(&tree, copy.path())?;
        for (link, target) in &self.metadata.symlinks {
            let link = copy.path().join(link);
            if let Some(parent) = link.parent() {
                fs::create_dir_all(parent)?;
            }
            symlink(target, &link)?;
        }
        subject(&copy.path().join(document))
    }
}

fn subject(document: &Path) -> io::Result<Subject> {
    let is_item_document = document
        .file_name()
        .is_some_and(|name| name == crate::contract::item::BLUEPRINT);
    match document.parent() {
        Some(root) if is_item_document => directory::read(root).map(Subject::Item),
        _ => directory::bytes(document).map(Subject::Inside),
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let mut pending = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = pending.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                pending.push((entry.path(), target));
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &str, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &str, _: &Path) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this platform has no symbolic links",
    ))
}
