//! The plugin as somebody at a prompt runs it: the built binary, without a terminal, with a kubeconfig of its own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::operator::{Process, kill};
use super::wait::eventually;
use super::{ApiProxy, Principal, TestNamespace};

/// Somebody who runs the plugin in a namespace.
pub struct Caller {
    namespace: String,
    kubeconfig: PathBuf,
}

/// How a run of the plugin ended.
#[derive(Debug)]
pub struct Answer {
    /// The exit status.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl TestNamespace {
    /// The administrator at the prompt.
    pub fn administrator(&self) -> Caller {
        Caller {
            namespace: self.name.clone(),
            kubeconfig: PathBuf::from(&self.cluster.state.kubeconfig),
        }
    }

    /// `principal` at the prompt.
    pub fn caller(&self, principal: &Principal) -> Caller {
        let kubeconfig = self.cluster.kubeconfig(&principal.token, None);
        self.caller_of(&principal.name, &kubeconfig)
    }

    /// Somebody at the prompt who reaches the API server through `proxy`.
    pub fn caller_through(&self, proxy: &ApiProxy) -> Caller {
        let kubeconfig = self.cluster.kubeconfig("unused", Some(&proxy.url));
        self.caller_of("proxied", &kubeconfig)
    }

    fn caller_of(&self, name: &str, kubeconfig: &kube::config::Kubeconfig) -> Caller {
        let path = self.directory.join(format!("{name}.kubeconfig"));
        // JSON is YAML.
        let text = serde_json::to_vec(kubeconfig).expect("JSON");
        std::fs::write(&path, text).expect("a kubeconfig");
        Caller {
            namespace: self.name.clone(),
            kubeconfig: path,
        }
    }
}

impl Caller {
    /// Runs the plugin with the words of `line` and waits for its end.
    pub async fn run(&self, line: &str) -> Answer {
        let mut command = self.command(line);
        let output = tokio::task::spawn_blocking(move || command.output());
        let output = output.await.expect("a task").expect("the plugin's binary");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Answer {
            code: output.status.code().expect("an exit status"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs the plugin and says what it printed, which has to end well.
    #[track_caller]
    pub fn ask(&self, line: &str) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.run(line).await;
            assert_eq!(answer.code, 0, "{caller}: {line}: {answer:?}");
            answer.out
        }
    }

    /// Runs the plugin, which has to be refused with `code` and words that hold `expected`.
    #[track_caller]
    pub fn refused(&self, line: &str, code: i32, expected: &str) -> impl Future<Output = Answer> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.run(line).await;
            let is_it = answer.code == code && answer.err.contains(expected);
            assert!(is_it, "{caller}: {line}: {answer:?}");
            answer
        }
    }

    /// Starts the plugin and leaves it running.
    pub fn start(&self, line: &str) -> Running {
        let mut command = self.command(line);
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the plugin's binary");
        let printed = Arc::new(Mutex::new(String::new()));
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let shared = Arc::clone(&printed);
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let mut printed = shared.lock().expect("what it printed");
                *printed += &(line + "\n");
            }
        });
        Running {
            process: Arc::new(Mutex::new(child)),
            printed,
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-installation"));
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--namespace", &self.namespace])
            .args(
                line.split_whitespace()
                    .map(|word| if word == "''" { "" } else { word }),
            )
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null());
        command
    }
}

/// A run of the plugin that goes on; killed when dropped.
pub struct Running {
    process: Process,
    printed: Arc<Mutex<String>>,
}

impl Running {
    /// Waits until it has printed `text`.
    pub async fn shows(&self, text: &str) {
        eventually(&format!("the plugin to print {text:?}"), async || {
            let printed = self.printed.lock().expect("what it printed");
            printed.contains(text).then_some(())
        })
        .await;
    }

    /// The process, for a proxy to kill.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Waits for its end.
    pub async fn ended(&self) {
        eventually("the plugin to end", async || {
            let mut process: std::sync::MutexGuard<'_, Child> =
                self.process.lock().expect("a process");
            process.try_wait().expect("a process").map(|_| ())
        })
        .await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        kill(&self.process);
    }
}
