//! The API server's audit log: who wrote what, counted where nobody can cheat.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use super::{Cluster, TestNamespace};

/// A place in the audit log.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

/// One write request as the API server saw it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// create, update, patch, delete or deletecollection.
    pub verb: String,
    /// Who.
    pub user: User,
    /// With which program.
    #[serde(default)]
    pub user_agent: String,
    /// To what.
    #[serde(default)]
    pub object_ref: Object,
    /// How it ended.
    #[serde(default)]
    pub response_status: Status,
}

/// Who made a request.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the audit log's own names")]
pub struct User {
    pub username: String,
}

/// The object of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the audit log's own names")]
pub struct Object {
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the audit log's own names")]
pub struct Status {
    pub code: u16,
}

impl Cluster {
    /// The end of the audit log as it is now.
    ///
    /// # Panics
    /// When the cluster's audit log cannot be read here: a test of it cannot pass by not looking.
    pub fn audit_mark(&self) -> Mark {
        Mark(
            std::fs::metadata(self.audit_log())
                .expect("the audit log")
                .len(),
        )
    }

    fn audit_log(&self) -> &Path {
        self.state
            .audit_log
            .as_deref()
            .expect("an audit log: use the local cluster of tests/cluster")
    }
}

impl TestNamespace {
    /// Every write that this namespace's operators have asked for since `mark`, refused ones too; not leases and events.
    pub fn operator_writes_since(&self, mark: Mark) -> Vec<Entry> {
        self.writes_since(mark, &self.operator_username())
    }

    /// Every write in this namespace that `username` has asked for since `mark`; not leases and events.
    pub fn writes_since(&self, mark: Mark, username: &str) -> Vec<Entry> {
        let mut entries = self.entries_since(mark, username);
        entries.retain(|entry| {
            let writes = ["create", "update", "patch", "delete", "deletecollection"]
                .contains(&entry.verb.as_str());
            let object = &entry.object_ref;
            writes
                && object.namespace == self.name
                && !["events", "leases"].contains(&object.resource.as_str())
        });
        entries
    }

    /// Every request that this namespace's operators have made since `mark`, wherever; a watch, which lasts, is none.
    pub fn operator_requests_since(&self, mark: Mark) -> Vec<Entry> {
        let mut entries = self.entries_since(mark, &self.operator_username());
        entries.retain(|entry| entry.verb != "watch");
        entries
    }

    /// Waits until the operator has asked for the Installation since `mark`, that is, until it has begun to look at it,
    /// and gives it time to finish.
    pub async fn wait_until_looked_at(&self, mark: Mark, name: &str) {
        let what = format!("the operator to look at {name}");
        super::wait::eventually(&what, async || {
            let requests = self.operator_requests_since(mark);
            let looks = |entry: &Entry| entry.verb == "get" && entry.object_ref.name == name;
            requests.iter().any(looks).then_some(())
        })
        .await;
        self.wait_until_quiet().await;
    }

    /// Waits until the operator has asked for nothing for two seconds.
    pub async fn wait_until_quiet(&self) {
        super::wait::eventually("the operator to be quiet", async || {
            let mark = self.cluster.audit_mark();
            tokio::time::sleep(QUIET).await;
            self.operator_requests_since(mark).is_empty().then_some(())
        })
        .await;
    }

    fn entries_since(&self, Mark(mark): Mark, username: &str) -> Vec<Entry> {
        let mut log = std::fs::File::open(self.cluster.audit_log()).expect("the audit log");
        log.seek(SeekFrom::Start(mark))
            .expect("the audit log has not shrunk");
        let mut text = String::new();
        log.read_to_string(&mut text).expect("text");
        // The last line may be half written: its request is not over.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let entries = whole.lines().filter(|line| line.contains(username));
        entries
            .filter_map(|line| serde_json::from_str::<Entry>(line).ok())
            .filter(|entry| entry.user.username == username)
            .collect()
    }
}

/// How long an operator that has nothing to do is silent.
const QUIET: std::time::Duration = std::time::Duration::from_secs(2);
