//! The operator's image, without Docker: what the last stage of the Dockerfile says, over the root that its build stage lays
//! out by `image/root.sh`. The program is the one under test, not an optimized one.

use std::path::Path;
use std::process::{Command, Stdio};

use parse_dockerfile::{Command as Arguments, Dockerfile, Instruction};
use serde_json::json;

use super::artifact::{Blob, Parcel};
use super::registry::{Kind, RealRegistry, digest};

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// Where the build stage lays out the root.
const ROOT: &str = "/image";

/// An image in a registry of its own, which goes with it.
pub struct Image {
    /// Registry and repository.
    pub repository: String,
    /// Its tag.
    pub tag: String,
    /// Its digest.
    pub digest: String,
    _registry: RealRegistry,
}

/// How the image is run.
#[derive(Debug, Default)]
struct Run {
    user: String,
    entrypoint: Vec<String>,
    cmd: Vec<String>,
}

/// Builds the operator's image and pushes it to a registry on loopback, which a node on this machine pulls from.
pub async fn operator() -> Image {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Dockerfile");
    let text = std::fs::read_to_string(path).expect("the Dockerfile");
    let run = run(&parse_dockerfile::parse(&text).expect("a Dockerfile"));
    let layer = tokio::task::spawn_blocking(layer).await.expect("a layer");
    let config = json!({
        "os": "linux",
        "architecture": match std::env::consts::ARCH { "x86_64" => "amd64", "aarch64" => "arm64", other => other },
        "config": {"User": run.user, "Entrypoint": run.entrypoint, "Cmd": run.cmd},
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
    });
    let config = Blob::new(CONFIG, config.to_string());
    let parcel = Parcel::of([Blob::new(LAYER, layer)]).configured(config);
    let registry = RealRegistry::start(Kind::default()).await;
    let (repository, tag) = ("installation-operator", "under-test");
    let digest = registry.push(repository, tag, &parcel).await;
    Image {
        repository: format!("{}/{repository}", registry.address),
        tag: tag.to_owned(),
        digest,
        _registry: registry,
    }
}

/// What the last stage says. It must say nothing that is not understood here.
fn run(dockerfile: &Dockerfile) -> Run {
    let stages: Vec<_> = dockerfile.stages().collect();
    let [build, last] = stages.as_slice() else {
        panic!("the Dockerfile has a stage that builds and one that is the image");
    };
    let lays_out = build.instructions.iter().any(|instruction| {
        matches!(instruction, Instruction::Run(run) if matches!(&run.arguments, Arguments::Shell(shell)
            if shell.value.contains("image/root.sh target/release/installation-operator /image")))
    });
    assert!(
        lays_out,
        "the build stage lays out {ROOT} by image/root.sh, as this test does"
    );
    assert_eq!(last.from.image.value, "scratch");
    let mut run = Run::default();
    for instruction in last.instructions {
        match instruction {
            Instruction::Copy(copy) => {
                let from = copy.options.iter().map(|option| {
                    let value = option.value.as_ref().expect("a value");
                    (&*option.name.value, &*value.value)
                });
                assert_eq!(from.collect::<Vec<_>>(), [("from", "build")]);
                let [parse_dockerfile::Source::Path(source)] = copy.src.as_slice() else {
                    panic!("one path is copied");
                };
                assert_eq!((&*source.value, &*copy.dest.value), (ROOT, "/"));
            }
            Instruction::User(user) => run.user = user.arguments.value.to_string(),
            Instruction::Entrypoint(entry) => run.entrypoint = exec(&entry.arguments),
            Instruction::Cmd(cmd) => run.cmd = exec(&cmd.arguments),
            Instruction::Label(_) => {}
            other => panic!("the Dockerfile's last stage has {other:?}: teach it to this test"),
        }
    }
    run
}

fn exec(arguments: &Arguments) -> Vec<String> {
    let Arguments::Exec(list) = arguments else {
        panic!("the image has no shell: write {arguments:?} as a list");
    };
    let texts = list.value.iter().map(|text| text.value.to_string());
    texts.collect()
}

/// The root as a tar, without times and owners.
fn layer() -> Vec<u8> {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("image/root.sh");
    let laid_out = Command::new(script)
        .arg(env!("CARGO_BIN_EXE_installation-operator"))
        .arg(root.path())
        .status();
    assert!(laid_out.expect("image/root.sh").success());
    let tar = Command::new("tar")
        .args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0"])
        .args(["--numeric-owner", "--create", "--directory"])
        .args([root.path(), Path::new(".")])
        .stderr(Stdio::inherit())
        .output()
        .expect("tar");
    assert!(tar.status.success());
    tar.stdout
}
