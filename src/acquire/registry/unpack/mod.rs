//! The files of an item from the layers of an artifact: bytes in, files out, and nothing is written to a disk. Every bound
//! holds before the work is done: what unpacks to more is given up at the bound. Pure.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use thiserror::Error;

use crate::acquire::directory::is_yaml;
use crate::contract::item::{BLUEPRINT, Item, slug};
use crate::document::limits;

/// Bytes that the layers of one artifact unpack to, headers and what is no document included.
pub const UNPACKED_BYTES: u64 = 16 * 1024 * 1024;
/// Entries in the layers of one artifact, directories included.
pub const ENTRIES: usize = 1_000;
/// Bytes in one path.
pub const PATH_BYTES: usize = 512;

/// One layer as it came from the registry.
#[derive(Clone, Debug)]
pub struct Layer {
    /// What its bytes are.
    pub packing: Packing,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What the bytes of a layer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packing {
    /// An archive.
    Tar,
    /// An archive, compressed.
    TarGzip,
    /// A single file, at this path.
    File(String),
}

/// Why layers are no item.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// Too many bytes.
    #[error("it unpacks to more than {UNPACKED_BYTES} bytes")]
    TooLarge,
    /// Too many entries.
    #[error("it has more than {ENTRIES} entries")]
    TooMany,
    /// A path too long to be one.
    #[error("it has a path of more than {PATH_BYTES} bytes")]
    LongPath,
    /// A link, a device, or another thing that is neither file nor directory.
    #[error("{path} is {kind}: an item is packed as plain files and directories")]
    Special {
        /// The path.
        path: String,
        /// What stands there.
        kind: &'static str,
    },
    /// An absolute path, or one with `..`.
    #[error("the path {path} leads out of it: every path is relative and goes down")]
    Escape {
        /// The path.
        path: String,
    },
    /// A path that is not UTF-8, or names no file.
    #[error("it has a file without a readable name")]
    Nameless,
    /// Two files at one path.
    #[error("{path} is in it twice")]
    Twice {
        /// The path.
        path: String,
    },
    /// Bytes that are no archive, or not a whole one.
    #[error("a layer is damaged: {why}")]
    Damaged {
        /// The reader's words.
        why: String,
    },
    /// No blueprint, or more than one that could be the root's.
    #[error("it has {found} {BLUEPRINT} that could be the item's: pack one item directory")]
    Root {
        /// How many there are, nearest to the root.
        found: usize,
    },
}

/// The item in `layers`. Its root is the directory of the one [`BLUEPRINT`] that is nearest to the archive's root, and its
/// name that directory's; an item packed without its directory is named after its slug (CORE-ITEM-001), or `otherwise`.
///
/// # Errors
/// [`Unfit`], with the first thing that is wrong.
pub fn item(layers: &[Layer], otherwise: &str) -> Result<Item, Unfit> {
    let files = files(layers)?;
    let depth = |path: &str| path.matches('/').count();
    let is_blueprint = |path: &&String| path.rsplit('/').next() == Some(BLUEPRINT);
    let mut blueprints: Vec<&String> = files.keys().filter(is_blueprint).collect();
    let nearest = blueprints.iter().map(|path| depth(path)).min();
    blueprints.retain(|path| Some(depth(path)) == nearest);
    let [blueprint] = blueprints[..] else {
        return Err(Unfit::Root {
            found: blueprints.len(),
        });
    };
    let root = blueprint.trim_end_matches(BLUEPRINT).to_owned();
    let name = match root.trim_end_matches('/').rsplit('/').next() {
        Some("") | None => slug(&files[blueprint]).unwrap_or_else(|| otherwise.to_owned()),
        Some(name) => name.to_owned(),
    };
    let inside = files
        .into_iter()
        .filter_map(|(path, bytes)| Some((path.strip_prefix(&root)?.to_owned(), bytes)));
    Ok(Item::from_files(name, inside))
}

/// The documents in `layers` by path, each cut behind the byte that makes it too large to be one.
fn files(layers: &[Layer]) -> Result<BTreeMap<String, Vec<u8>>, Unfit> {
    let mut files = BTreeMap::new();
    let mut entries = 0;
    let budget = Cell::new(UNPACKED_BYTES);
    for layer in layers {
        let bytes = layer.bytes.as_slice();
        match &layer.packing {
            Packing::File(path) => {
                count(&mut entries)?;
                keep(
                    &mut files,
                    inside(path)?,
                    &mut Metered {
                        bytes,
                        budget: &budget,
                    },
                )?;
            }
            Packing::Tar => archive(
                &mut files,
                &mut entries,
                Metered {
                    bytes,
                    budget: &budget,
                },
            )?,
            Packing::TarGzip => {
                let bytes = MultiGzDecoder::new(bytes);
                archive(
                    &mut files,
                    &mut entries,
                    Metered {
                        bytes,
                        budget: &budget,
                    },
                )?;
            }
        }
    }
    Ok(files)
}

fn archive<R: Read>(
    files: &mut BTreeMap<String, Vec<u8>>,
    entries: &mut usize,
    bytes: Metered<'_, R>,
) -> Result<(), Unfit> {
    let budget = bytes.budget;
    let mut archive = Archive::new(bytes);
    for entry in archive.entries().map_err(|error| damaged(&error, budget))? {
        let mut entry = entry.map_err(|error| damaged(&error, budget))?;
        count(entries)?;
        let kind = entry.header().entry_type();
        // What `git archive` writes: a comment on the whole.
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let path = entry.path_bytes().into_owned();
        let path = str::from_utf8(&path).map_err(|_| Unfit::Nameless)?;
        match kind {
            EntryType::Regular | EntryType::Continuous => {
                keep(files, inside(path)?, &mut entry)?;
            }
            EntryType::Directory => {
                inside(path)?;
            }
            other => {
                return Err(Unfit::Special {
                    path: shown(path),
                    kind: described(other),
                });
            }
        }
    }
    Ok(())
}

fn count(entries: &mut usize) -> Result<(), Unfit> {
    *entries += 1;
    if *entries > ENTRIES {
        return Err(Unfit::TooMany);
    }
    Ok(())
}

/// Keeps a document. Of any other file nothing is read here: an item knows documents only.
fn keep(
    files: &mut BTreeMap<String, Vec<u8>>,
    path: String,
    bytes: &mut impl Read,
) -> Result<(), Unfit> {
    if path.is_empty() {
        return Err(Unfit::Nameless);
    }
    if !is_yaml(Path::new(&path)) {
        return Ok(());
    }
    let most = limits::DOCUMENT_BYTES as u64 + 1;
    let mut document = Vec::new();
    match bytes.take(most).read_to_end(&mut document) {
        Err(error) if is_over_budget(&error) => return Err(Unfit::TooLarge),
        Err(error) => {
            return Err(Unfit::Damaged {
                why: error.to_string(),
            });
        }
        Ok(_) => {}
    }
    match files.insert(path.clone(), document) {
        None => Ok(()),
        Some(_) => Err(Unfit::Twice { path: shown(&path) }),
    }
}

/// `path` from the archive's root on, without `.`; empty for the root itself.
fn inside(path: &str) -> Result<String, Unfit> {
    if path.len() > PATH_BYTES {
        return Err(Unfit::LongPath);
    }
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => return Err(Unfit::Escape { path: shown(path) }),
            segment => segments.push(segment),
        }
    }
    if path.starts_with('/') {
        return Err(Unfit::Escape { path: shown(path) });
    }
    Ok(segments.join("/"))
}

/// A path as messages have it: whoever packed the artifact chose its characters.
fn shown(path: &str) -> String {
    let cut: String = path.chars().take(120).collect();
    format!("{cut:?}")
}

fn described(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        EntryType::GNUSparse => "a sparse file",
        _ => "neither a file nor a directory",
    }
}

fn damaged(error: &io::Error, budget: &Cell<u64>) -> Unfit {
    // The archive's reader wraps errors in its own words, so the budget itself is asked.
    if budget.get() == 0 {
        return Unfit::TooLarge;
    }
    Unfit::Damaged {
        why: error.to_string(),
    }
}

fn is_over_budget(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|cause| cause.is::<OverBudget>())
}

#[derive(Debug, Error)]
#[error("it unpacks to too much")]
struct OverBudget;

/// A reader that takes what it reads from a budget, and fails where that would be overdrawn.
struct Metered<'a, R> {
    bytes: R,
    budget: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.get();
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 && !into.is_empty() {
            // Nothing is left: only the end may come.
            return match self.bytes.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(OverBudget)),
            };
        }
        let read = self.bytes.read(&mut into[..most])?;
        self.budget.set(left - read as u64);
        Ok(read)
    }
}
