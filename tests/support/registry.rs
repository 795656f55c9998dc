//! Real registries on loopback (Debian's docker-registry), with or without a password and TLS, one for each test that asks
//! for one; and pushing to them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::artifact::{Blob, Parcel};
use super::wait::eventually;

/// Who may read a registry with a password.
pub const USER: &str = "tester";
/// With which password.
pub const PASSWORD: &str = "open sesame";
/// The password's bcrypt hash.
const HASH: &str = "$2b$04$NBRZa4N6q52AST07pGChPO33C3rdTR5pPGDX4lmKhV1D9XuB9Y8K6";

/// What a registry asks of its clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kind {
    /// A password.
    pub password: bool,
    /// TLS, with a certificate of its own.
    pub tls: bool,
}

/// A running registry, gone when dropped.
pub struct RealRegistry {
    /// Host and port.
    pub address: String,
    /// Its own certificate authority, where it has TLS.
    pub authority: Option<String>,
    kind: Kind,
    process: Child,
    directory: tempfile::TempDir,
}

/// Whether there is no registry on this machine. CI has one: there this fails.
pub fn lacks_registry() -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|directory| directory.join("docker-registry").is_file())
    });
    let in_ci = std::env::var_os("CI").is_some();
    assert!(found || !in_ci, "this test needs Debian's docker-registry");
    if !found {
        eprintln!("skipped: there is no docker-registry");
    }
    !found
}

impl RealRegistry {
    /// Starts one and waits until it answers.
    pub async fn start(kind: Kind) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        let authority = write_config(directory.path(), &address, kind);
        let registry = Self {
            process: serve(directory.path()),
            address,
            authority,
            kind,
            directory,
        };
        registry.wait().await;
        registry
    }

    /// Stops it. What was pushed stays.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again, at the same address.
    pub async fn restart(&mut self) {
        self.stop();
        self.process = serve(self.directory.path());
        self.wait().await;
    }

    /// What a Platform has to say of it.
    pub fn terms(&self) -> Value {
        let mut terms = json!({"host": self.address, "privateNetwork": true});
        match &self.authority {
            Some(authority) => terms["certificateAuthority"] = json!(authority),
            None => terms["plainHttp"] = json!(true),
        }
        terms
    }

    /// Puts `parcel` at `repository:tag`; says its digest.
    pub async fn push(&self, repository: &str, tag: &str, parcel: &Parcel) -> String {
        for blob in parcel.blobs() {
            self.push_blob(repository, blob).await;
        }
        self.push_manifest(repository, tag, &parcel.manifest())
            .await
    }

    /// Puts a manifest whose blobs are there at `repository:tag`; says its digest.
    pub async fn push_manifest(&self, repository: &str, tag: &str, manifest: &Value) -> String {
        let media_type = manifest["mediaType"].as_str().expect("a media type");
        let bytes = serde_json::to_vec(manifest).expect("JSON");
        let url = self.url(&format!("/v2/{repository}/manifests/{tag}"));
        let request = self.client().put(url).header("content-type", media_type);
        let answer = self.authorized(request).body(bytes.clone()).send().await;
        let answer = answer.expect("an answer");
        assert!(answer.status().is_success(), "{answer:?}");
        digest(&bytes)
    }

    async fn push_blob(&self, repository: &str, blob: &Blob) {
        let start = self.url(&format!("/v2/{repository}/blobs/uploads/"));
        let begun = self.authorized(self.client().post(start)).send().await;
        let begun = begun.expect("an answer");
        let place = begun.headers().get("location").expect("a place");
        let place = place.to_str().expect("text");
        let mut place = begun.url().join(place).expect("a URL");
        place
            .query_pairs_mut()
            .append_pair("digest", &digest(&blob.bytes));
        let put = self.client().put(place).body(blob.bytes.clone());
        let put = self.authorized(put).send().await.expect("an answer");
        assert!(put.status().is_success(), "{put:?}");
    }

    async fn wait(&self) {
        eventually("the registry to answer", async || {
            let request = self.client().get(self.url("/v2/"));
            let answer = self.authorized(request).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
    }

    fn url(&self, path: &str) -> String {
        let scheme = if self.kind.tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    fn authorized(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        if self.kind.password {
            request.basic_auth(USER, Some(PASSWORD))
        } else {
            request
        }
    }

    fn client(&self) -> reqwest::Client {
        let authority = self.authority.as_deref().map(str::as_bytes);
        let authority = authority.map(|pem| reqwest::Certificate::from_pem(pem).expect("PEM"));
        reqwest::Client::builder()
            .tls_certs_merge(authority)
            .timeout(Duration::from_secs(10))
            .no_proxy()
            .build()
            .expect("a client")
    }
}

impl Drop for RealRegistry {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The digest of `bytes`, as registries write it.
pub fn digest(bytes: &[u8]) -> String {
    let hex = data_encoding::HEXLOWER.encode(&Sha256::digest(bytes));
    format!("sha256:{hex}")
}

/// Says once for the process who speaks TLS.
pub fn with_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn serve(directory: &Path) -> Child {
    with_tls();
    Command::new("docker-registry")
        .arg("serve")
        .arg(directory.join("config.yml"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("docker-registry")
}

/// Writes the configuration; gives the certificate back, if there is one.
fn write_config(directory: &Path, address: &str, kind: Kind) -> Option<String> {
    let write = |name: &str, text: &str| -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let storage = directory.join("storage");
    let mut config = json!({
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": storage}, "delete": {"enabled": true}},
        "http": {"addr": address},
    });
    if kind.password {
        let path = write("htpasswd", &format!("{USER}:{HASH}\n"));
        config["auth"] = json!({"htpasswd": {"realm": "test", "path": path}});
    }
    let mut authority = None;
    if kind.tls {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate");
        let certificate = write("tls.crt", &cert.pem());
        let key = write("tls.key", &signing_key.serialize_pem());
        config["http"]["tls"] = json!({"certificate": certificate, "key": key});
        authority = Some(cert.pem());
    }
    // JSON is YAML.
    write("config.yml", &config.to_string());
    authority
}

/// A port that nobody listened on a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
