//! Helm, as its users run it: the program, the chart of this clone, and one release.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::TestNamespace;

/// The directory of the chart.
pub const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/installation-operator");

/// The name of every release, and so that of its Deployment.
pub const RELEASE: &str = "installation-operator";

/// A release of the chart in the namespace of a test.
pub struct Release {
    helm: PathBuf,
    namespace: String,
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl TestNamespace {
    /// A release of the chart in this namespace, not yet installed. Helm is built when nobody has yet.
    pub async fn release(&self) -> Release {
        let helm = tokio::task::spawn_blocking(helm).await.expect("Helm");
        Release {
            helm,
            namespace: self.name.clone(),
            kubeconfig: self.cluster.state.kubeconfig.clone(),
            home: self.directory.join("helm"),
        }
    }
}

impl Release {
    /// Runs `helm VERB`, with more arguments.
    pub async fn run<S: Into<String>>(&self, verb: &str, arguments: impl IntoIterator<Item = S>) {
        let mut command = self.command(verb);
        command.args(arguments.into_iter().map(Into::into));
        let run = tokio::task::spawn_blocking(move || command.output());
        let output = run.await.expect("Helm").expect("Helm runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "helm {verb} failed: {text}");
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.helm);
        command
            .args([verb, "--namespace", &self.namespace])
            .env("KUBECONFIG", &self.kubeconfig)
            .stderr(Stdio::inherit());
        for kind in ["CACHE", "CONFIG", "DATA"] {
            command.env(format!("HELM_{kind}_HOME"), self.home.join(kind));
        }
        command
    }
}

impl Drop for Release {
    /// What a test that failed leaves of it would act on the namespaces of other tests.
    fn drop(&mut self) {
        let gone = self
            .command("uninstall")
            .args([RELEASE, "--ignore-not-found"])
            .stdout(Stdio::null())
            .status();
        if !gone.is_ok_and(|status| status.success()) {
            eprintln!("the release in {} is left behind", self.namespace);
        }
    }
}

fn helm() -> PathBuf {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/helm/build.sh");
    let built = Command::new(build).stderr(Stdio::inherit()).output();
    let built = built.expect("tests/helm/build.sh");
    assert!(built.status.success(), "Helm does not build; see above");
    String::from_utf8(built.stdout)
        .expect("a path")
        .trim()
        .into()
}
