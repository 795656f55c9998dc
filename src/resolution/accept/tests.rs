//! One application with a node of every kind, and every way in which a record of it can fail to be accepted.

use serde_json::{Value, json};

use super::*;
use crate::resolution::record::{CredentialReference, Selection, SourceKind, record};
use crate::resolution::testing::{app, context};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const PUBLISHED: &str = "7d444840-9dc0-11d1-b245-5ffdce74fad2";

const APP: &str = "
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

/// Everything that acceptance is given.
struct Given {
    record: Record,
    snapshot: Snapshot,
    sources: Sources,
    dependencies: SpecificationDependencies,
}

fn given() -> Given {
    let contracts = app(APP);
    let context = context(&json!({
        "variables": {"cloud.region": {"identity": "v", "version": "7", "value": "eu", "sensitive": false, "authorized": true}},
        "credentials": {"key": {"identity": "c", "rotation": 2, "value": "s3cret"}},
        "allocations": {"web": {"web": {"identity": "a", "version": "1"}}},
    }));
    let credential = context.credentials["key"].value.clone();
    let snapshot = Snapshot::of("s", "1", &context);
    let runs = |image: char, commit: Option<&str>| Selection {
        image_digest: Some(format!("sha256:{}", image.to_string().repeat(64))),
        git_commit: commit.map(str::to_owned),
        compute_version: Some("3".to_owned()),
    };
    let selections = BTreeMap::from([
        ("web".to_owned(), runs('a', None)),
        ("builder".to_owned(), runs('b', Some(COMMIT))),
    ]);
    Given {
        record: record(&contracts, &selections, &snapshot),
        snapshot: snapshot.join(BTreeMap::from([("key".to_owned(), credential)])),
        sources: Sources::of(&contracts),
        dependencies: SpecificationDependencies::of_this_edition(),
    }
}

impl Given {
    fn component(&mut self, node: &str) -> &mut super::super::record::RecordedComponent {
        self.record.components.get_mut(node).expect("a node")
    }

    /// Changes the snapshot, credentials still joined.
    fn snapshot(&mut self, change: impl FnOnce(&mut Value)) {
        let mut value: Value =
            serde_json::from_slice(self.snapshot.to_secret_bytes().expose()).expect("JSON");
        value["credentials"]["key"]["value"] = json!("s3cret");
        change(&mut value);
        self.snapshot = Snapshot::parse(value.to_string().as_bytes()).expect("a snapshot");
    }

    fn without_source(&mut self, digest: &Digest) {
        let kept = self.sources.iter().filter(|(other, _)| *other != digest);
        self.sources = kept.map(|(_, bytes)| Arc::clone(bytes)).collect();
    }

    fn accept(self) -> Result<AcceptedRecord, Vec<Diagnostic>> {
        accept(
            self.record,
            self.snapshot,
            &self.sources,
            &self.dependencies,
        )
    }
}

#[test]
fn a_sound_record_is_accepted_with_everything_it_stands_on() {
    let accepted = given().accept().expect("accepted");
    assert_eq!(*accepted.record(), given().record);
    assert_eq!(*accepted.snapshot(), given().snapshot);
    assert_eq!(**accepted.contracts(), *app(APP));
    let environment = &accepted.resolved().environment["web"];
    assert_eq!(environment["KEY"].text.expose(), "s3cret");
    assert_eq!(environment["REGION"].text.expose(), "eu");
    assert_eq!(environment["TITLE"].text.expose(), "Wiki");
}

#[test]
fn the_same_arguments_are_accepted_alike() {
    assert_eq!(given().accept(), given().accept());
    let text = |given: Given| serde_json::to_string(&given.record).expect("JSON");
    assert_eq!(text(given()), text(given()));
}

#[test]
fn a_record_holds_what_was_authored_and_what_was_selected() {
    let record = given().record;
    let web = &record.components["web"];
    assert_eq!(
        serde_json::to_value(web).expect("JSON"),
        json!({
            "identity": "./web.yaml",
            "revision": 1,
            "digest": web.digest,
            "source": "IMAGE",
            "imageDigest": format!("sha256:{}", "a".repeat(64)),
            "compute": {"identity": "general.standard.small", "version": "3"},
            "volumes": {"data": {"sizeGiB": 10, "storageClass": "fast"}},
            "exposure": {"web": "PUBLIC"},
        })
    );
    assert_eq!(record.components["builder"].source, SourceKind::Git);
    assert_eq!(
        record.components["builder"].git_commit.as_deref(),
        Some(COMMIT)
    );
    let store = &record.components["store"];
    assert_eq!(
        (store.identity.as_str(), store.source),
        (PUBLISHED, SourceKind::External)
    );
    assert_eq!((&store.image_digest, &store.compute), (&None, &None));
    let text = serde_json::to_string(&record).expect("JSON");
    assert!(
        !text.contains("s3cret") && !text.contains("\"eu\""),
        "no value is recorded"
    );
}

#[test]
fn every_breach_refuses_the_record() {
    type Breach = fn(&mut Given);
    let breaches: &[(&str, Breach, &str)] = &[
        // The shape.
        (
            "another version",
            |given| given.record.version = 2,
            "of version 2",
        ),
        (
            "no components",
            |given| given.record.components.clear(),
            "no components",
        ),
        (
            "no identity",
            |given| given.component("web").identity.clear(),
            "lacks an identity",
        ),
        (
            "revision zero",
            |given| given.component("web").revision = 0,
            "revision from 1",
        ),
        (
            "no image digest",
            |given| given.component("web").image_digest = None,
            "needs an image digest",
        ),
        (
            "an image digest of nothing",
            |given| {
                given.component("store").image_digest = Some(format!("sha256:{}", "a".repeat(64)))
            },
            "needs an image digest",
        ),
        (
            "a short image digest",
            |given| given.component("builder").image_digest = Some("sha256:ab".to_owned()),
            "64 hexadecimal",
        ),
        (
            "a capital image digest",
            |given| {
                given.component("builder").image_digest = Some(format!("sha256:{}", "B".repeat(64)))
            },
            "64 hexadecimal",
        ),
        (
            "another algorithm",
            |given| given.component("builder").image_digest = Some("b".repeat(71)),
            "64 hexadecimal",
        ),
        (
            "no commit of a Git source",
            |given| given.component("builder").git_commit = None,
            "needs a Git commit",
        ),
        (
            "a commit of an image",
            |given| given.component("web").git_commit = Some(COMMIT.to_owned()),
            "needs a Git commit",
        ),
        (
            "an abbreviated commit",
            |given| given.component("builder").git_commit = Some(COMMIT[..8].to_owned()),
            "full object id",
        ),
        (
            "no compute",
            |given| given.component("web").compute = None,
            "needs compute",
        ),
        (
            "compute of nothing",
            |given| {
                given.component("store").compute =
                    Some(given.component("web").compute.clone().unwrap())
            },
            "needs compute",
        ),
        (
            "compute without a version",
            |given| {
                given
                    .component("web")
                    .compute
                    .as_mut()
                    .unwrap()
                    .version
                    .clear()
            },
            "compute without",
        ),
        (
            "exposure of nothing",
            |given| given.component("store").exposure = given.component("web").exposure.clone(),
            "although nothing runs",
        ),
        (
            "volumes of nothing",
            |given| given.component("store").volumes = given.component("web").volumes.clone(),
            "although nothing runs",
        ),
        (
            "a variable without a version",
            |given| {
                given
                    .record
                    .variables
                    .get_mut("cloud.region")
                    .unwrap()
                    .version
                    .clear()
            },
            "of variable `cloud.region` lacks",
        ),
        (
            "a credential without identity",
            |given| {
                given
                    .record
                    .credentials
                    .get_mut("key")
                    .unwrap()
                    .identity
                    .clear()
            },
            "of credential `key` lacks",
        ),
        (
            "a snapshot without identity",
            |given| given.record.installation_snapshot.identity.clear(),
            "snapshot lacks",
        ),
        // The specifications.
        (
            "a listing edition",
            |given| given.record.specifications.listing = Some("1.0.0".to_owned()),
            "listing",
        ),
        (
            "an edition that is no release",
            |given| given.record.specifications.core = "1.0".to_owned(),
            "core edition",
        ),
        (
            "an edition of letters",
            |given| given.record.specifications.core = "1.0.x".to_owned(),
            "core edition",
        ),
        (
            "an edition of another line",
            |given| given.record.specifications.blueprint = "2.0.0".to_owned(),
            "blueprint edition",
        ),
        (
            "an edition that its manifests do not name",
            |given| given.record.specifications.core = "1.0.1".to_owned(),
            "manifest of component",
        ),
        (
            "a missing manifest",
            |given| drop(given.dependencies.0.remove("core")),
            "manifest of core",
        ),
        (
            "a manifest that omits a dependency",
            |given| {
                drop(
                    given
                        .dependencies
                        .0
                        .get_mut("blueprint")
                        .unwrap()
                        .remove("core"),
                )
            },
            "manifest of blueprint",
        ),
        (
            "a manifest with a dependency too many",
            |given| {
                drop(
                    given
                        .dependencies
                        .0
                        .get_mut("core")
                        .unwrap()
                        .insert("listing".to_owned(), "1.0.0".to_owned()),
                )
            },
            "manifest of core",
        ),
        (
            "an unrelated manifest",
            |given| {
                drop(
                    given
                        .dependencies
                        .0
                        .insert("listing".to_owned(), BTreeMap::new()),
                )
            },
            "manifest is of listing",
        ),
        // The documents.
        (
            "the blueprint's source is gone",
            |given| given.without_source(&given.record.blueprint_digest.clone()),
            "document of the blueprint",
        ),
        (
            "a component's source is gone",
            |given| given.without_source(&given.record.components["web"].digest.clone()),
            "document of node `web`",
        ),
        (
            "a blueprint that is none",
            |given| {
                given.sources = Sources::from_iter([Arc::from(b"not a blueprint".as_slice())]);
                given.record.blueprint_digest = Digest::of(b"not a blueprint");
            },
            "the recorded documents",
        ),
        (
            "another component in its place",
            |given| {
                given.component("web").digest = given.record.components["builder"].digest.clone()
            },
            "the recorded documents",
        ),
        (
            "a published component under another revision",
            |given| given.component("store").revision = 2,
            "the recorded documents",
        ),
        (
            "a missing node",
            |given| drop(given.record.components.remove("store")),
            "the recorded documents",
        ),
        (
            "a node too many",
            |given| {
                drop(
                    given
                        .record
                        .components
                        .insert("extra".to_owned(), given.record.components["web"].clone()),
                )
            },
            "`extra` among its nodes",
        ),
        // What was authored.
        (
            "another revision",
            |given| given.component("web").revision = 2,
            "about its revision",
        ),
        (
            "another kind of source",
            |given| given.component("web").source = SourceKind::Git,
            "about the kind of its source",
        ),
        (
            "another profile",
            |given| {
                given.component("web").compute.as_mut().unwrap().identity =
                    "general.standard.large".to_owned()
            },
            "about its compute profile",
        ),
        (
            "another size",
            |given| {
                given
                    .component("web")
                    .volumes
                    .get_mut("data")
                    .unwrap()
                    .size_gib = 11
            },
            "about its volumes",
        ),
        (
            "no exposure",
            |given| given.component("web").exposure.clear(),
            "about its exposure",
        ),
        (
            "another image than is pinned",
            |given| {
                given.component("web").image_digest = Some(format!("sha256:{}", "b".repeat(64)))
            },
            "about its image digest",
        ),
        (
            "another commit than is pinned",
            |given| given.component("builder").git_commit = Some(COMMIT.replace('0', "1")),
            "about its Git commit",
        ),
        // What was selected.
        (
            "another snapshot",
            |given| given.record.installation_snapshot.version = "2".to_owned(),
            "another snapshot",
        ),
        (
            "a missing variable",
            |given| given.record.variables.clear(),
            "lacks `cloud.region` among its variables",
        ),
        (
            "a variable too many",
            |given| {
                drop(given.record.variables.insert(
                    "other".to_owned(),
                    given.record.variables["cloud.region"].clone(),
                ))
            },
            "`other` among its variables",
        ),
        (
            "another version of a variable",
            |given| {
                given
                    .record
                    .variables
                    .get_mut("cloud.region")
                    .unwrap()
                    .version = "8".to_owned()
            },
            "different variables",
        ),
        (
            "a variable that only the snapshot has",
            |given| {
                given.snapshot(|value| {
                    value["variables"]["other"] = value["variables"]["cloud.region"].clone()
                })
            },
            "different variables",
        ),
        (
            "a missing credential",
            |given| given.record.credentials.clear(),
            "lacks `key` among its credentials",
        ),
        (
            "a credential too many",
            |given| {
                drop(given.record.credentials.insert(
                    "title".to_owned(),
                    CredentialReference {
                        identity: "c".to_owned(),
                        rotation: 0,
                    },
                ))
            },
            "`title` among its credentials",
        ),
        (
            "another rotation",
            |given| given.record.credentials.get_mut("key").unwrap().rotation = 3,
            "different credentials",
        ),
        (
            "a credential that only the snapshot has",
            |given| {
                given.snapshot(|value| {
                    value["credentials"]["title"] = value["credentials"]["key"].clone()
                })
            },
            "different credentials",
        ),
        (
            "an endpoint without allocation",
            |given| given.snapshot(|value| value["allocations"] = json!({})),
            "no allocation of endpoint `web`",
        ),
        (
            "an allocation without identity",
            |given| {
                given.snapshot(|value| value["allocations"]["web"]["web"]["identity"] = json!(""))
            },
            "no allocation of endpoint `web`",
        ),
        (
            "an allocation without version",
            |given| {
                given.snapshot(|value| {
                    drop(
                        value["allocations"]["web"]["web"]
                            .as_object_mut()
                            .unwrap()
                            .remove("version"),
                    )
                })
            },
            "no allocation of endpoint `web`",
        ),
        // The replay.
        (
            "a credential that was not joined",
            |given| {
                given.snapshot(|value| {
                    drop(
                        value["credentials"]["key"]
                            .as_object_mut()
                            .unwrap()
                            .remove("value"),
                    )
                })
            },
            "credential:key is missing",
        ),
        (
            "a variable that is not authorized",
            |given| {
                given.snapshot(|value| {
                    value["variables"]["cloud.region"]["authorized"] = json!(false)
                })
            },
            "ERR_VARIABLE_NOT_AUTHORIZED",
        ),
        (
            "a value that its input refuses",
            |given| {
                given.snapshot(|value| {
                    value["parameters"]["title"] = json!({"value": 7, "sensitive": false})
                })
            },
            "ERR_VALUE_CONSTRAINT",
        ),
        (
            "a parameter that nobody declared",
            |given| {
                given.snapshot(|value| {
                    value["parameters"]["other"] = json!({"value": 7, "sensitive": false})
                })
            },
            "ERR_UNKNOWN_PARAMETER",
        ),
    ];
    for (name, breach, told) in breaches {
        let mut given = given();
        breach(&mut given);
        let refusals = given.accept().expect_err(name);
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

#[test]
fn values_are_not_compared_with_anything() {
    let mut given = given();
    given.snapshot(|value| value["variables"]["cloud.region"]["value"] = json!("us"));
    let accepted = given.accept().expect("accepted");
    let region = &accepted.resolved().environment["web"]["REGION"];
    assert_eq!(region.text.expose(), "us");
}

#[test]
fn sources_go_by_the_digest_of_their_bytes() {
    let sources = Sources::of(&app(APP));
    assert_eq!(
        sources.iter().count(),
        4,
        "the blueprint and three components"
    );
    for (digest, bytes) in sources.iter() {
        assert_eq!(*digest, Digest::of(bytes));
        assert_eq!(sources.get(digest), Some(bytes));
    }
}
