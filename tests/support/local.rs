//! Where the cluster comes from: `KUBECONFIG` when it is set, else the local cluster, started when it does not run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// What a local cluster says about itself in its `state.json`; all empty for a cluster from elsewhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// Its name.
    pub name: String,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The audit log, when it can be read.
    pub audit_log: Option<PathBuf>,
    /// Whether pods really run.
    pub node: Node,
    /// Image references by name.
    pub images: BTreeMap<String, String>,
    /// Where its gateway listens.
    pub gateway: String,
    /// Its registries, all with the same images.
    pub registry: Registry,
}

/// The registries of a local cluster, as host and port.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Registry {
    /// Without TLS and password.
    pub address: String,
    /// Without TLS, with a password.
    pub password_address: String,
    /// With TLS of the cluster's own authority, and a password.
    pub tls_address: String,
    /// Who may read the latter two.
    pub user: String,
    /// With which password.
    pub password: String,
    /// The file with the authority's certificate.
    pub ca: PathBuf,
}

/// The node of a local cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Whether there is one.
    pub available: bool,
    /// Why there is none.
    pub reason: String,
}

/// The cluster that this test run uses.
pub fn state() -> State {
    match std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()) {
        Some(given) => state_beside(Path::new(&given)),
        None => start(),
    }
}

/// A local cluster keeps its kubeconfigs in a directory beside `state.json`.
fn state_beside(kubeconfig: &Path) -> State {
    let file = kubeconfig
        .ancestors()
        .nth(2)
        .map(|directory| directory.join("state.json"));
    let known = file.and_then(|file| std::fs::read(file).ok());
    let state =
        known.map(|text| serde_json::from_slice(&text).expect("state.json is a cluster's state"));
    State {
        kubeconfig: kubeconfig.to_owned(),
        ..state.unwrap_or_default()
    }
}

/// Starts the local cluster unless it runs. The one place that knows how.
fn start() -> State {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/build.sh");
    let binary = output(&mut Command::new(build));
    let binary = binary.trim();
    let up = Command::new(binary)
        .arg("up")
        .stdout(Stdio::null())
        .status();
    assert!(
        up.expect("the local cluster runs").success(),
        "the local cluster does not start; see above"
    );
    serde_json::from_str(&output(Command::new(binary).args(["status", "--json"])))
        .expect("the status is JSON")
}

fn output(command: &mut Command) -> String {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?} failed; see above");
    String::from_utf8(output.stdout).expect("text")
}
