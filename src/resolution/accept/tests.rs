//! Acceptance as a whole: what is accepted, the documents, and the replay. Each other rule is tested beside itself.

use serde_json::json;

use super::testing::{APP, COMMIT, PUBLISHED, each_refuses, given};
use super::*;
use crate::resolution::record::SourceKind;
use crate::resolution::testing::app;

#[test]
fn a_sound_record_is_accepted_with_everything_it_stands_on() {
    let given = given();
    let accepted = given.accept().expect("accepted");
    assert_eq!(*accepted.record(), given.record());
    assert_eq!(*accepted.snapshot(), given.snapshot());
    assert_eq!(**accepted.contracts(), *app(APP));
    let environment = &accepted.resolved().environment["web"];
    assert_eq!(environment["KEY"].text.expose(), "s3cret");
    assert_eq!(environment["REGION"].text.expose(), "eu");
    assert_eq!(environment["TITLE"].text.expose(), "Wiki");
}

#[test]
fn the_same_arguments_are_accepted_alike() {
    let text = || serde_json::to_string(&given().record()).expect("JSON");
    assert_eq!(given().accept(), given().accept());
    assert_eq!(text(), text());
}

#[test]
fn a_record_holds_what_was_authored_and_what_was_selected() {
    let given = given();
    let record = given.record();
    assert_eq!(
        *given.get("/record/components/web"),
        json!({
            "identity": "./web.yaml",
            "revision": 1,
            "digest": record.components["web"].digest,
            "source": "IMAGE",
            "imageDigest": format!("sha256:{}", "a".repeat(64)),
            "compute": {"identity": "general.standard.small", "version": "3"},
            "volumes": {"data": {"sizeGiB": 10, "storageClass": "fast"}},
            "exposure": {"web": "PUBLIC"},
        })
    );
    let builder = &record.components["builder"];
    assert_eq!(
        (builder.source, builder.git_commit.as_deref()),
        (SourceKind::Git, Some(COMMIT))
    );
    let store = &record.components["store"];
    assert_eq!(
        (store.source, store.identity.as_str()),
        (SourceKind::External, PUBLISHED)
    );
    assert_eq!((&store.image_digest, &store.compute), (&None, &None));
    let text = given.get("/record").to_string();
    assert!(
        !text.contains("s3cret") && !text.contains("\"eu\""),
        "no value is recorded"
    );
}

#[test]
fn documents_that_are_gone_or_other_ones_refuse_the_record() {
    let builder = given().get("/record/components/builder/digest").clone();
    each_refuses(&[
        (
            "/record/components/web/digest",
            builder,
            "the recorded documents",
        ),
        (
            "/record/components/store/revision",
            json!(2),
            "the recorded documents",
        ),
        (
            "/record/components/store",
            json!(null),
            "the recorded documents",
        ),
        (
            "/record/components/web/identity",
            json!("./other.yaml"),
            "the recorded documents",
        ),
        (
            "/record/blueprintDigest",
            json!("0".repeat(64)),
            "document of the blueprint",
        ),
        (
            "/record/components/web/digest",
            json!("0".repeat(64)),
            "document of node `web`",
        ),
    ]);

    let mut none = given();
    let text: Arc<[u8]> = Arc::from(b"no blueprint".as_slice());
    none.set("/record/blueprintDigest", json!(Digest::of(&text)));
    none.sources = Sources::from_iter([text]);
    none.refused("a blueprint that is none", "the recorded documents");
}

#[test]
fn a_snapshot_that_does_not_resolve_refuses_the_record() {
    let wrong = json!({"value": 7, "sensitive": false});
    each_refuses(&[
        (
            "/snapshot/credentials/key/value",
            json!(null),
            "credential:key is missing",
        ),
        (
            "/snapshot/variables/cloud.region/authorized",
            json!(false),
            "ERR_VARIABLE_NOT_AUTHORIZED",
        ),
        (
            "/snapshot/variables/cloud.region/value",
            json!(7),
            "ERR_VALUE_CONSTRAINT",
        ),
        (
            "/snapshot/parameters/title",
            wrong.clone(),
            "ERR_VALUE_CONSTRAINT",
        ),
        ("/snapshot/parameters/other", wrong, "ERR_UNKNOWN_PARAMETER"),
    ]);
}

#[test]
fn values_are_not_compared_with_anything() {
    let mut given = given();
    given.set("/snapshot/variables/cloud.region/value", json!("us"));
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
