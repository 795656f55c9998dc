//! kubectl, as people run it: that of the local cluster, or of the machine where the cluster is from elsewhere.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::Cluster;

impl Cluster {
    /// Runs kubectl as the administrator. `input` is its standard input.
    pub async fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = if self.state.name.is_empty() {
            Command::new("kubectl")
        } else {
            let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/build.sh");
            let built = Command::new(build).stderr(Stdio::inherit()).output();
            let built = String::from_utf8(built.expect("the local cluster").stdout);
            let mut command = Command::new(built.expect("a path").trim());
            command.args(["kubectl", "--name", &self.state.name]);
            command
        };
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), input).expect("it can be written");
        command
            .args(arguments)
            .env("KUBECONFIG", &self.state.kubeconfig)
            .stdin(file.reopen().expect("the file"));
        let run = tokio::task::spawn_blocking(move || command.output());
        run.await.expect("kubectl").expect("kubectl runs")
    }
}
