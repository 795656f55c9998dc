//! An item directory as data (blueprint §3.1): its name and its YAML files, with symbolic links already followed by
//! whoever read it. Containment is decided here, on real paths, and nothing outside the root is ever held.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::document::yaml;

/// The name that the item document of a blueprint has in its item.
pub const BLUEPRINT: &str = "blueprint.yaml";

/// One entry of an item, by the path it is reached by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file that really is here.
    File(Arc<[u8]>),
    /// A symbolic link to another path inside the root: its real path.
    Link(String),
    /// A symbolic link that leaves the root, whether or not its target exists.
    Escape,
    /// A symbolic link to a path inside the root where nothing is.
    Dangling,
}

/// What a path inside an item leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// A file, by its real path from the root.
    File {
        /// The path after every link is followed.
        real: String,
        /// The file's bytes.
        bytes: &'a Arc<[u8]>,
    },
    /// A place outside the root.
    Escape,
    /// Nothing.
    Missing,
}

/// An item: a directory's name and its YAML files by their path from the root (`components/web.yaml`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    name: String,
    entries: BTreeMap<String, Entry>,
}

impl Item {
    /// An item without links.
    pub fn from_files<P: Into<String>, B: Into<Arc<[u8]>>>(
        name: impl Into<String>,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Self {
        Self::from_entries(
            name,
            files
                .into_iter()
                .map(|(path, bytes)| (path.into(), Entry::File(bytes.into()))),
        )
    }

    /// An item of `entries`, whose paths are relative to the root and written with `/`, without `.` or `..`.
    pub fn from_entries(
        name: impl Into<String>,
        entries: impl IntoIterator<Item = (String, Entry)>,
    ) -> Self {
        Self {
            name: name.into(),
            entries: entries.into_iter().collect(),
        }
    }

    /// The name of the item directory, which the slug has to equal (CORE-ITEM-001).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files that really are here, by real path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Arc<[u8]>)> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::File(bytes) => Some((path.as_str(), bytes)),
            _ => None,
        })
    }

    /// What `path`, relative to the root, leads to. A path may begin with `./` or `../`, and the real path decides:
    /// `../<this item>/web.yaml` is `web.yaml`.
    pub fn file(&self, path: &str) -> Lookup<'_> {
        match self.inside(path) {
            Some(path) => self.follow(&path),
            None => Lookup::Escape,
        }
    }

    /// The path from the root on, unless it leaves the root by its own text.
    fn inside(&self, path: &str) -> Option<String> {
        let mut above = 0_usize;
        let mut segments: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => match segments.pop() {
                    Some(_) => {}
                    None => above += 1,
                },
                // From the directory above, the item's own name leads back in. Further up no name is known.
                name if above == 1 && segments.is_empty() && name == self.name => above = 0,
                name => segments.push(name),
            }
        }
        (above == 0 && !path.starts_with('/')).then(|| segments.join("/"))
    }

    /// Follows a link on the way, of which there is at most one: links are recorded with their real paths.
    fn follow(&self, path: &str) -> Lookup<'_> {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        for end in ends {
            match self.entries.get(&path[..end]) {
                Some(Entry::Escape) => return Lookup::Escape,
                Some(Entry::Dangling) => return Lookup::Missing,
                Some(Entry::Link(real)) => {
                    return self.real(
                        format!("{real}{}", &path[end..])
                            .trim_start_matches('/')
                            .to_owned(),
                    );
                }
                Some(Entry::File(_)) | None => {}
            }
        }
        self.real(path.to_owned())
    }

    fn real(&self, real: String) -> Lookup<'_> {
        match self.entries.get(&real) {
            Some(Entry::File(bytes)) => Lookup::File { real, bytes },
            Some(Entry::Escape) => Lookup::Escape,
            _ => Lookup::Missing,
        }
    }
}

/// The slug of a blueprint, which is the name of the item that it stands in (CORE-ITEM-001), if it can be read at all.
pub fn slug(blueprint: &[u8]) -> Option<String> {
    let document = yaml::parse(blueprint).ok()?;
    let slug = document.value.pointer("/metadata/slug")?.as_str()?;
    Some(slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> Item {
        let file = || Entry::File(Arc::from(b"x".as_slice()));
        Item::from_entries(
            "wiki",
            [
                ("components/web.yaml".to_owned(), file()),
                ("flat.yaml".to_owned(), file()),
                ("alias.yaml".to_owned(), Entry::Link("flat.yaml".to_owned())),
                ("shared".to_owned(), Entry::Escape),
                ("parts".to_owned(), Entry::Link("components".to_owned())),
                ("gone.yaml".to_owned(), Entry::Dangling),
            ],
        )
    }

    #[test]
    fn a_path_leads_to_a_real_file_or_out_or_nowhere() {
        let item = item();
        for (path, expected) in [
            ("./components/web.yaml", "components/web.yaml"),
            ("./flat.yaml", "flat.yaml"),
            ("./alias.yaml", "flat.yaml"),
            ("./parts/web.yaml", "components/web.yaml"),
            ("../wiki/flat.yaml", "flat.yaml"),
            ("../other/flat.yaml", "escape"),
            ("../../wiki/flat.yaml", "escape"),
            ("../flat.yaml", "escape"),
            ("/flat.yaml", "escape"),
            ("./shared/web.yaml", "escape"),
            ("./gone.yaml", "missing"),
            ("./none.yaml", "missing"),
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
