//! A real operator: the built binary, in its own process, with its own ServiceAccount and no more rights than it has in
//! production.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use kube::Api;
use serde_json::json;

use super::TestNamespace;
use super::install::{create, object};
use super::principal::{self, Principal};
use super::proxy::{ApiProxy, Moment};
use super::wait::{PATIENCE, attempt};

/// How an operator is started.
pub struct Launch {
    principal: Principal,
    namespace: String,
    kubeconfig: PathBuf,
    log: PathBuf,
    platform: String,
    options: Vec<String>,
    proxy: Option<ApiProxy>,
    clock: Option<Clock>,
}

/// A wall clock that is wrong.
pub struct Clock {
    library: PathBuf,
    offset: String,
}

impl Clock {
    /// One that is wrong by `offset`, as `+400d`; the monotonic clock is not touched. None where libfaketime is not
    /// installed, and the test that needs it skips itself.
    ///
    /// # Panics
    /// Where it is not installed on CI, which skips nothing.
    pub fn wrong_by(offset: &str) -> Option<Self> {
        let architecture = std::env::consts::ARCH;
        let library = format!("/usr/lib/{architecture}-linux-gnu/faketime/libfaketimeMT.so.1");
        let library = PathBuf::from(library);
        if library.exists() {
            let offset = offset.to_owned();
            return Some(Self { library, offset });
        }
        let missing = "libfaketime is missing: install Debian's package faketime";
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "{missing}"
        );
        eprintln!("skipped: {missing}");
        None
    }
}

/// A running operator, killed when dropped.
pub struct Operator {
    launch: Launch,
    process: Process,
}

/// A process that others may have to kill, too.
pub type Process = Arc<Mutex<Child>>;

impl TestNamespace {
    /// An operator for this namespace, not yet started.
    pub async fn operator(&self) -> Launch {
        let principal = self.principal("operator", &["installation-operator"]).await;
        self.bind_catalog(&principal).await;
        self.launch(principal)
    }

    /// An operator for this namespace that lives in `home`, as in production: it survives the end of this one.
    pub async fn operator_from(&self, home: &TestNamespace) -> Launch {
        let principal = Principal::of(&self.cluster, &home.name, "operator").await;
        for role in ["installation-operator", "installation-operator-catalog"] {
            let mut everywhere = principal::binding(role, &principal.subject());
            everywhere["metadata"] = json!({
                "name": format!("{role}-{}", home.name),
                "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": home.name, "uid": home.uid}]
            });
            let bindings = Api::<ClusterRoleBinding>::all(self.client());
            create(&bindings, &object(everywhere)).await;
        }
        self.launch(principal)
    }

    /// An operator for this namespace alone that lives in `home` and has no more rights in either than it needs.
    pub async fn operator_living_in(&self, home: &TestNamespace) -> Launch {
        let principal = home
            .principal("operator", &["installation-operator-home"])
            .await;
        let here = principal::binding("installation-operator", &principal.subject());
        create(&self.api::<RoleBinding>(), &object(here)).await;
        self.wait_for_role(&principal, "installation-operator")
            .await;
        self.bind_catalog(&principal).await;
        self.launch(principal)
    }

    async fn bind_catalog(&self, principal: &Principal) {
        let mut catalog = principal::binding("installation-operator-catalog", &principal.subject());
        catalog["metadata"] = json!({
            "name": format!("installation-operator-catalog-{}", self.name),
            "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": self.name, "uid": self.uid}]
        });
        create(
            &Api::<ClusterRoleBinding>::all(self.client()),
            &object(catalog),
        )
        .await;
    }

    fn launch(&self, principal: Principal) -> Launch {
        let number = self.operator_log_paths().len() + 1;
        let launch = Launch {
            kubeconfig: self.directory.join(format!("operator-{number}.kubeconfig")),
            log: self.directory.join(format!("operator-{number}.log")),
            platform: "default".to_owned(),
            options: Vec::new(),
            namespace: self.name.clone(),
            principal,
            proxy: None,
            clock: None,
        };
        File::create(&launch.log).expect("a log file");
        let kubeconfig = self.cluster.kubeconfig(&launch.principal.token, None);
        launch.write_kubeconfig(&kubeconfig);
        launch
    }

    /// The user that every operator of this namespace is, as the audit log names it.
    pub fn operator_username(&self) -> String {
        format!("system:serviceaccount:{}:operator", self.name)
    }

    /// What the operators of this namespace have logged.
    pub fn operator_logs(&self) -> Vec<String> {
        let paths = self.operator_log_paths().into_iter();
        paths
            .map(|path| std::fs::read_to_string(path).unwrap_or_default())
            .collect()
    }

    fn operator_log_paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        paths.sort();
        paths
    }
}

impl Launch {
    /// With another Platform object than `default`.
    #[must_use]
    pub fn platform(mut self, name: &str) -> Self {
        name.clone_into(&mut self.platform);
        self
    }

    /// With more options of `controller`.
    #[must_use]
    pub fn options<const N: usize>(mut self, options: [&str; N]) -> Self {
        self.options.extend(options.map(str::to_owned));
        self
    }

    /// With this clock. Certificates are judged by it, too: only through a proxy, which has none.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Through a proxy, which then can kill it.
    pub async fn through_proxy(mut self, test: &TestNamespace) -> Self {
        let proxy = ApiProxy::start(self.principal.client.clone()).await;
        self.write_kubeconfig(&test.cluster.kubeconfig("unused", Some(&proxy.url)));
        self.proxy = Some(proxy);
        self
    }

    /// Reaching for the API server at `server`.
    #[must_use]
    pub fn at(self, test: &TestNamespace, server: &str) -> Self {
        self.write_kubeconfig(&test.cluster.kubeconfig(&self.principal.token, Some(server)));
        self
    }

    /// Arms the proxy that it goes through.
    pub fn kill_at(&self, moment: Moment) {
        self.proxy
            .as_ref()
            .expect("a launch through a proxy")
            .kill_at(moment);
    }

    /// Starts the process.
    pub fn start(self) -> Operator {
        let process = Arc::new(Mutex::new(self.spawn()));
        if let Some(proxy) = &self.proxy {
            proxy.attach(&process);
        }
        Operator {
            launch: self,
            process,
        }
    }

    fn spawn(&self) -> Child {
        let log = File::options()
            .append(true)
            .open(&self.log)
            .expect("the log file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_installation-operator"));
        if let Some(clock) = &self.clock {
            command
                .env("LD_PRELOAD", &clock.library)
                .env("FAKETIME", &clock.offset)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command
            .args([
                "controller",
                "--namespace",
                &self.namespace,
                "--platform",
                &self.platform,
                "--operator-namespace",
                &self.principal.namespace,
            ])
            .args(["--log", "debug"])
            .args(&self.options)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log file"))
            .stderr(log)
            .spawn()
            .expect("the operator's binary")
    }

    fn write_kubeconfig(&self, kubeconfig: &kube::config::Kubeconfig) {
        // JSON is YAML.
        let text = serde_json::to_vec(kubeconfig).expect("JSON");
        std::fs::write(&self.kubeconfig, text).expect("a kubeconfig");
    }
}

impl Operator {
    /// The proxy it was started through.
    pub fn proxy(&self) -> &ApiProxy {
        self.launch
            .proxy
            .as_ref()
            .expect("an operator started through a proxy")
    }

    /// What it has logged, at debug level.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.launch.log).expect("the log file")
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(&self) {
        kill(&self.process);
    }

    /// SIGTERM, and waits for the end; says how it ended.
    pub async fn stop(&self) -> ExitStatus {
        let id = self.process.lock().expect("a process").id();
        let sent = Command::new("kill")
            .args(["-TERM", &id.to_string()])
            .status();
        assert!(
            sent.expect("kill").success(),
            "the operator had ended already"
        );
        self.ended().await
    }

    /// Waits until the process has ended, by whatever cause.
    pub async fn ended(&self) -> ExitStatus {
        let ended = attempt(PATIENCE, async || self.exit_status()).await;
        ended.unwrap_or_else(|| panic!("waited {PATIENCE:?} for the operator to end"))
    }

    /// How it ended, if it has.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.process
            .lock()
            .expect("a process")
            .try_wait()
            .expect("a process")
    }

    /// Starts it again, in the same place; kills it first if it still runs.
    pub fn restart(&mut self) {
        self.kill();
        *self.process.lock().expect("a process") = self.launch.spawn();
        if let Some(proxy) = &self.launch.proxy {
            proxy.attach(&self.process);
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}

/// SIGKILL, and waits for the end.
pub fn kill(process: &Process) {
    let mut process = process.lock().expect("a process");
    let _ = process.kill();
    let _ = process.wait();
}
