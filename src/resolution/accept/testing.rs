//! One application with a node of every kind, recorded once; tests make their breach to what acceptance is given.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AcceptedRecord, Sources, accept};
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::resolution::record::{Record, Selection, SpecificationDependencies, record};
use crate::resolution::snapshot::Snapshot;
use crate::resolution::testing::{app, context};

/// The commit that the builder is pinned to.
pub(super) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// The published identity of the store.
pub(super) const PUBLISHED: &str = "7d444840-9dc0-11d1-b245-5ffdce74fad2";

/// A web service, a builder from Git, and an external store.
pub(super) const APP: &str = "
    parameters:
      key: { generator: {} }
      region: { from: '${{ variables.cloud.region }}' }
      title: { default: Wiki }
    nodes:
      web:
        source: { image: 'example/web:1@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }
        endpoints: { web: { targetPort: 8080, protocol: HTTP } }
        exposure: { web: PUBLIC }
        volumes: { data: { sizeGiB: 10, storageClass: fast } }
        bindings: { key: { parameter: key }, region: { parameter: region }, title: { parameter: title } }
        inputs:
          key: { schema: { type: string }, sensitive: true }
          region: { schema: { type: string } }
          title: { schema: { type: string } }
      builder:
        componentRef: ../app/builder.yaml
        source:
          git:
            repositoryURL: https://git.example/builder
            ref: { commit: 0123456789abcdef0123456789abcdef01234567 }
            build: { dockerfile: Dockerfile }
      store:
        componentRef: 7d444840-9dc0-11d1-b245-5ffdce74fad2
        type: EXTERNAL
        outputs: { host: { schema: { type: string }, from: { value: db.example } } }
    ";

/// Everything that acceptance is given. Record, snapshot and manifests are JSON, where a breach is a value at a place.
pub(super) struct Given {
    json: Value,
    pub(super) sources: Sources,
}

/// A sound record, the credential's value with its snapshot.
pub(super) fn given() -> Given {
    let contracts = app(APP);
    let snapshot = Snapshot::of(
        "s",
        "1",
        &context(&json!({
            "variables": {"cloud.region": {"identity": "v", "version": "7", "value": "eu", "sensitive": false, "authorized": true}},
            "credentials": {"key": {"identity": "c", "rotation": 2, "value": "s3cret"}},
            "allocations": {"web": {"web": {"identity": "a", "version": "1"}}},
        })),
    );
    let runs = |image: &str, commit: Option<&str>| Selection {
        image_digest: Some(format!("sha256:{}", image.repeat(64))),
        git_commit: commit.map(str::to_owned),
        compute_version: Some("3".to_owned()),
    };
    let selections = BTreeMap::from([
        ("web".to_owned(), runs("a", None)),
        ("builder".to_owned(), runs("b", Some(COMMIT))),
    ]);
    let mut given = Given {
        json: json!({
            "record": record(&contracts, &selections, &snapshot),
            "snapshot": serde_json::from_slice::<Value>(snapshot.to_secret_bytes().expose()).expect("JSON"),
            "dependencies": SpecificationDependencies::of_this_edition().0,
        }),
        sources: Sources::of(&contracts),
    };
    given.set("/snapshot/credentials/key/value", json!("s3cret"));
    given
}

impl Given {
    /// Puts `value` at `pointer`; null removes what is there.
    #[track_caller]
    pub(super) fn set(&mut self, pointer: &str, value: Value) {
        let (parent, member) = pointer.rsplit_once('/').expect("a pointer");
        let parent = self.json.pointer_mut(parent).expect(pointer);
        let parent = parent.as_object_mut().expect("an object");
        if value.is_null() {
            parent.remove(member).expect(pointer);
        } else {
            parent.insert(member.to_owned(), value);
        }
    }

    /// What stands at `pointer`.
    #[track_caller]
    pub(super) fn get(&self, pointer: &str) -> &Value {
        self.json.pointer(pointer).expect(pointer)
    }

    pub(super) fn record(&self) -> Record {
        serde_json::from_value(self.get("/record").clone()).expect("a record")
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::parse(self.get("/snapshot").to_string().as_bytes()).expect("a snapshot")
    }

    pub(super) fn accept(&self) -> Result<AcceptedRecord, Vec<Diagnostic>> {
        let dependencies = self.get("/dependencies").clone();
        accept(
            self.record(),
            self.snapshot(),
            &self.sources,
            &serde_json::from_value(dependencies).expect("manifests"),
        )
    }

    /// Asserts that acceptance refuses this, tells `told` and nothing secret.
    #[track_caller]
    pub(super) fn refused(&self, name: &str, told: &str) {
        let refusals = self.accept().expect_err(name);
        for refusal in &refusals {
            assert_eq!(
                (refusal.code, refusal.path.as_str(), refusal.stage),
                (Code::InvalidResolutionContext, "", Some(Stage::Record)),
                "{name}"
            );
            assert!(!refusal.message.contains("s3cret"), "{name}");
        }
        let messages: Vec<_> = refusals.iter().map(|refusal| &refusal.message).collect();
        assert!(
            messages.iter().any(|message| message.contains(told)),
            "{name}: {messages:#?}"
        );
    }
}

/// Asserts that each value, put at its place alone, refuses the record and tells why.
#[track_caller]
pub(super) fn each_refuses(breaches: &[(&str, Value, &str)]) {
    for (pointer, value, told) in breaches {
        let mut given = given();
        given.set(pointer, value.clone());
        given.refused(&format!("{value} at {pointer}"), told);
    }
}
