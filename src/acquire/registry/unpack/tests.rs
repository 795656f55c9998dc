use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::*;

const SLUGGED: &[u8] = b"metadata:\n  slug: acme-wiki\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// An archive of entries whose paths are written as they are given, which `tar` itself would refuse to do.
fn tar(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (path, kind, bytes) in entries {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, *bytes).expect("memory");
    }
    archive.into_inner().expect("memory")
}

fn packed(entries: &[(&str, EntryType, &[u8])]) -> Layer {
    Layer {
        packing: Packing::TarGzip,
        bytes: gzip(&tar(entries)),
    }
}

fn paths(item: &Item) -> Vec<&str> {
    item.files().map(|(path, _)| path).collect()
}

const FILE: EntryType = EntryType::Regular;
const DIRECTORY: EntryType = EntryType::Directory;

#[test]
fn an_item_is_the_directory_of_its_blueprint_however_it_was_packed() {
    let flux = packed(&[
        ("blueprint.yaml", FILE, SLUGGED),
        ("components", DIRECTORY, b""),
        ("components/web.yaml", FILE, b"a"),
    ]);
    let oras = packed(&[
        ("acme-wiki", DIRECTORY, b""),
        ("acme-wiki/blueprint.yaml", FILE, b"b"),
        ("acme-wiki/components/web.yaml", FILE, b"a"),
        (
            "acme-wiki/components/blueprint.yaml",
            FILE,
            b"not the root's",
        ),
    ]);
    let dotted = Layer {
        packing: Packing::Tar,
        bytes: tar(&[
            ("./", DIRECTORY, b""),
            ("./blueprint.yaml", FILE, SLUGGED),
            ("./components/web.yaml", FILE, b"a"),
            ("./README.md", FILE, b"no document"),
        ]),
    };
    let single = |path: &str, bytes: &[u8]| Layer {
        packing: Packing::File(path.to_owned()),
        bytes: bytes.to_vec(),
    };
    let apart = [
        single("blueprint.yaml", SLUGGED),
        single("components/web.yaml", b"a"),
    ];
    for layers in [&[flux][..], &[oras], &[dotted], &apart] {
        let item = item(layers, "otherwise").expect("an item");
        assert_eq!(item.name(), "acme-wiki");
        let found = paths(&item);
        assert!(found.starts_with(&["blueprint.yaml"]), "{found:?}");
        assert!(found.contains(&"components/web.yaml"), "{found:?}");
        assert!(!found.contains(&"README.md"), "{found:?}");
    }
}

#[test]
fn an_item_without_a_readable_slug_is_named_after_its_repository() {
    let layer = packed(&[("blueprint.yaml", FILE, b"- no mapping")]);
    let item = item(&[layer], "wiki").expect("an item");
    assert_eq!(item.name(), "wiki");
}

#[test]
fn whatever_is_no_plain_file_below_the_root_is_refused_by_name() {
    for (path, kind, expected) in [
        (
            "web.yaml",
            EntryType::Symlink,
            "\"web.yaml\" is a symbolic link",
        ),
        ("web.yaml", EntryType::Link, "\"web.yaml\" is a hard link"),
        ("web.yaml", EntryType::Char, "\"web.yaml\" is a device"),
        ("web.yaml", EntryType::Fifo, "\"web.yaml\" is a pipe"),
        ("/etc/web.yaml", FILE, "\"/etc/web.yaml\" leads out"),
        ("../web.yaml", FILE, "\"../web.yaml\" leads out"),
        ("a/../../web.yaml", FILE, "\"a/../../web.yaml\" leads out"),
        ("../", DIRECTORY, "\"../\" leads out"),
        ("./", FILE, "without a readable name"),
        ("blueprint.yaml", FILE, "\"blueprint.yaml\" is in it twice"),
        (
            "wi\u{1b}[31mki/../x.yaml",
            FILE,
            r#""wi\u{1b}[31mki/../x.yaml" leads out"#,
        ),
    ] {
        let layer = packed(&[("blueprint.yaml", FILE, SLUGGED), (path, kind, b"")]);
        let refused = item(&[layer], "wiki").expect_err(path).to_string();
        assert!(refused.contains(expected), "{path}: {refused}");
    }
}

#[test]
fn a_decompression_bomb_is_given_up_at_the_bound() {
    let zeros = vec![0; usize::try_from(UNPACKED_BYTES).expect("small") + 1];
    for path in ["bomb.yaml", "bomb.bin"] {
        let bomb = packed(&[("blueprint.yaml", FILE, SLUGGED), (path, FILE, &zeros)]);
        assert!(bomb.bytes.len() < 100_000, "{}", bomb.bytes.len());
        assert_eq!(item(&[bomb], "wiki"), Err(Unfit::TooLarge), "{path}");
    }
    let half = &zeros[..zeros.len() / 2];
    let layer = || packed(&[("half.bin", FILE, half)]);
    let blueprint = packed(&[("blueprint.yaml", FILE, SLUGGED)]);
    let together = item(&[layer(), layer(), blueprint], "wiki");
    assert_eq!(together, Err(Unfit::TooLarge), "layers share one budget");
}

#[test]
fn a_size_that_only_the_header_claims_costs_nothing() {
    let mut bytes = tar(&[("blueprint.yaml", FILE, SLUGGED)]);
    let mut header = Header::from_byte_slice(&bytes[..512]).clone();
    header.set_size(u64::MAX / 2);
    header.set_cksum();
    bytes[..512].copy_from_slice(header.as_bytes());
    let packing = Packing::Tar;
    let refused = item(&[Layer { packing, bytes }], "wiki").expect_err("cut short");
    assert!(matches!(refused, Unfit::Damaged { .. }), "{refused}");
}

#[test]
fn entries_and_paths_are_bounded() {
    let many: Vec<String> = (0..=ENTRIES).map(|n| format!("{n}.md")).collect();
    let many: Vec<_> = many.iter().map(|p| (p.as_str(), FILE, &b""[..])).collect();
    assert_eq!(item(&[packed(&many)], "wiki"), Err(Unfit::TooMany));
    assert!(item(&[packed(&many[..3])], "wiki").is_err());

    let long = Layer {
        packing: Packing::File("a".repeat(PATH_BYTES + 1)),
        bytes: Vec::new(),
    };
    assert_eq!(item(&[long], "wiki"), Err(Unfit::LongPath));
}

#[test]
fn a_document_that_is_too_large_is_left_for_validation_to_refuse() {
    let large = vec![b'#'; limits::DOCUMENT_BYTES + 10];
    let layer = packed(&[
        ("blueprint.yaml", FILE, SLUGGED),
        ("web.yaml", FILE, &large),
    ]);
    let item = item(&[layer], "wiki").expect("an item");
    let (_, kept) = item.files().nth(1).expect("web.yaml");
    assert_eq!(kept.len(), limits::DOCUMENT_BYTES + 1);
}

#[test]
fn bytes_that_are_no_archive_and_archives_without_one_root_are_refused() {
    for (packing, bytes) in [
        (Packing::TarGzip, b"no gzip".to_vec()),
        (Packing::TarGzip, gzip(&[7; 2000])),
        (Packing::Tar, vec![7; 2000]),
    ] {
        let refused = item(&[Layer { packing, bytes }], "wiki");
        assert!(matches!(refused, Err(Unfit::Damaged { .. })), "{refused:?}");
    }
    let none = packed(&[("web.yaml", FILE, b"")]);
    assert_eq!(item(&[none], "wiki"), Err(Unfit::Root { found: 0 }));
    let two = packed(&[
        ("a/blueprint.yaml", FILE, b""),
        ("b/blueprint.yaml", FILE, b""),
    ]);
    assert_eq!(item(&[two], "wiki"), Err(Unfit::Root { found: 2 }));
    assert_eq!(item(&[], "wiki"), Err(Unfit::Root { found: 0 }));
}
