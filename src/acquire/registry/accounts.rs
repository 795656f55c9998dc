//! Who is who in an image: the accounts that its layers write down. Bytes in, numbers out. Pure.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use oci_spec::image::MediaType;
use tar::{Archive, EntryType};

use crate::materialize::pins::RunsAs;

/// Bytes that one layer may unpack to.
const UNPACKED_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of one list of accounts.
const LIST_BYTES: u64 = 1024 * 1024;
const USERS: &str = "etc/passwd";
const GROUPS: &str = "etc/group";

/// The lists of accounts of one image, as far as its layers have been read, from the uppermost down.
#[derive(Debug, Default)]
pub struct Accounts {
    users: List,
    groups: List,
}

/// One list. What an upper layer has or takes away is no longer looked for in the layers below.
#[derive(Debug, Default, PartialEq)]
enum List {
    #[default]
    Sought,
    Found(String),
    Gone,
}

impl Accounts {
    /// Reads the next layer. What stands in it as a link, or too large or not in UTF-8, counts as gone.
    ///
    /// # Errors
    /// When the layer is of a type that is not read, damaged, or unpacks to too much.
    pub fn read(&mut self, media_type: &MediaType, layer: &[u8]) -> io::Result<()> {
        let media_type = media_type.as_ref();
        if media_type.ends_with("gzip") {
            self.unpack(MultiGzDecoder::new(layer))
        } else if media_type.ends_with("tar") {
            self.unpack(layer)
        } else {
            Err(io::Error::other(format!(
                "a layer of type {media_type} is not read"
            )))
        }
    }

    /// Whether no further layer can tell more of `user`.
    pub fn know(&self, user: &str) -> bool {
        let needs_groups = user.contains(':');
        self.users != List::Sought && (!needs_groups || self.groups != List::Sought)
    }

    /// The numbers of `user`, as an image's configuration has it: a name or a number, and after a colon its group's. A group
    /// that it does not name is the user's own.
    pub fn find(&self, user: &str) -> Option<RunsAs> {
        let (user, group) = match user.split_once(':') {
            Some((user, group)) => (user, Some(group)),
            None => (user, None),
        };
        let account = self.users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (name, _, uid, gid) = (
                fields.next()?,
                fields.next()?,
                fields.next()?,
                fields.next()?,
            );
            (name == user || uid == user)
                .then(|| Some((uid.parse::<u32>().ok()?, gid.parse::<u32>().ok()?)))?
        });
        let (uid, own) = match (account, user.parse()) {
            (Some((uid, gid)), _) => (uid, Some(gid)),
            (None, Ok(uid)) => (uid, None),
            (None, Err(_)) => return None,
        };
        let gid = match group {
            None => own?,
            Some(group) => group.parse().ok().or_else(|| self.group(group))?,
        };
        Some(RunsAs { uid, gid })
    }

    fn group(&self, name: &str) -> Option<u32> {
        self.groups.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (found, _, gid) = (fields.next()?, fields.next()?, fields.next()?);
            (found == name).then(|| gid.parse().ok())?
        })
    }

    fn unpack(&mut self, layer: impl Read) -> io::Result<()> {
        let mut archive = Archive::new(layer.take(UNPACKED_BYTES));
        let mut here = Self::default();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path_bytes().into_owned();
            let path = String::from_utf8_lossy(&path);
            let path = path.trim_start_matches("./").trim_start_matches('/');
            let kind = entry.header().entry_type();
            match path {
                USERS => here.users = List::of(kind, &mut entry),
                GROUPS => here.groups = List::of(kind, &mut entry),
                "etc/.wh.passwd" => here.users.hide(),
                "etc/.wh.group" => here.groups.hide(),
                // A whole directory is taken away, or is another one by a link.
                ".wh.etc" | ".wh..wh..opq" | "etc/.wh..wh..opq" => here.hide(),
                "etc" if !kind.is_dir() => here.hide(),
                _ => {}
            }
        }
        if self.users == List::Sought {
            self.users = here.users;
        }
        if self.groups == List::Sought {
            self.groups = here.groups;
        }
        Ok(())
    }

    fn hide(&mut self) {
        self.users.hide();
        self.groups.hide();
    }
}

impl List {
    fn of(kind: EntryType, entry: &mut impl Read) -> Self {
        let mut text = String::new();
        let read = entry.take(LIST_BYTES + 1).read_to_string(&mut text);
        let is_whole = read.is_ok_and(|read| read as u64 <= LIST_BYTES);
        if kind.is_file() && is_whole {
            Self::Found(text)
        } else {
            Self::Gone
        }
    }

    /// What the same layer has stays: it hides what is below.
    fn hide(&mut self) {
        if *self == Self::Sought {
            *self = Self::Gone;
        }
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        let text = match self {
            Self::Found(text) => text,
            Self::Sought | Self::Gone => "",
        };
        text.lines()
    }
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    const PASSWD: &str = "root:x:0:0::/root:/bin/sh\napp:x:101:102::/app:/bin/false\nodd:x::\n";
    const GROUP: &str = "root:x:0:\nstaff:x:50:app\n";

    fn layer(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        for (path, kind, text) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(text.len() as u64);
            archive
                .append_data(&mut header, path, text.as_bytes())
                .expect("memory");
        }
        archive.into_inner().expect("memory")
    }

    fn accounts(layers: &[Vec<u8>]) -> Accounts {
        let mut accounts = Accounts::default();
        for layer in layers {
            accounts
                .read(&MediaType::ImageLayer, layer)
                .expect("a layer");
        }
        accounts
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn a_user_is_found_by_name_or_number_with_its_own_group_or_the_one_it_names() {
        let accounts = accounts(&[layer(&[(USERS, FILE, PASSWD), (GROUPS, FILE, GROUP)])]);
        for (user, expected) in [
            ("app", Some((101, 102))),
            ("101", Some((101, 102))),
            ("app:staff", Some((101, 50))),
            ("app:7", Some((101, 7))),
            ("7:staff", Some((7, 50))),
            ("root", Some((0, 0))),
            ("app:nobody", None),
            ("nobody", None),
            ("7", None),
            ("odd", None),
        ] {
            let expected = expected.map(|(uid, gid)| RunsAs { uid, gid });
            assert_eq!(accounts.find(user), expected, "{user}");
        }
    }

    #[test]
    fn the_uppermost_layer_that_says_something_of_a_list_is_the_one_that_counts() {
        let upper = layer(&[(USERS, FILE, "app:x:5:6::/:/bin/sh\n")]);
        let lower = layer(&[(USERS, FILE, PASSWD)]);
        let other = layer(&[("usr/bin/app", FILE, "")]);
        let link = ("etc", EntryType::Symlink, "");
        let five = Some(RunsAs { uid: 5, gid: 6 });
        let below = Some(RunsAs { uid: 101, gid: 102 });
        for (case, layers, expected) in [
            ("both", vec![upper.clone(), lower.clone()], five),
            ("the lower one", vec![other, lower.clone()], below),
            (
                "taken away",
                vec![layer(&[("etc/.wh.passwd", FILE, "")]), lower.clone()],
                None,
            ),
            (
                "all taken away",
                vec![layer(&[("etc/.wh..wh..opq", FILE, "")]), lower.clone()],
                None,
            ),
            (
                "replaced with the directory",
                vec![
                    layer(&[
                        (".wh.etc", FILE, ""),
                        ("./etc/passwd", FILE, "app:x:5:6::/:/bin/sh\n"),
                    ]),
                    lower.clone(),
                ],
                five,
            ),
            (
                "a link",
                vec![layer(&[(USERS, EntryType::Symlink, "")]), lower.clone()],
                None,
            ),
            ("a linked directory", vec![layer(&[link]), lower], None),
        ] {
            assert_eq!(accounts(&layers).find("app"), expected, "{case}");
        }
    }

    #[test]
    fn a_layer_that_cannot_be_read_is_an_error() {
        for (media_type, bytes) in [
            (MediaType::ImageLayerGzip, &b"no gzip"[..]),
            (MediaType::ImageLayer, &[1; 600]),
            (MediaType::ImageLayerZstd, &[]),
        ] {
            let read = Accounts::default().read(&media_type, bytes);
            assert!(read.is_err(), "{media_type}");
        }
    }
}
