//! Items from OCI artifacts at real registries: as the tools pack them, with the credentials and on the terms that are given,
//! pinned by digest, and each way to fail told apart.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use support::installation::Builder;
use support::item::{SLUG, TITLE};
use support::registry::{Kind, PASSWORD, USER, lacks_registry};
use support::wait::condition;
use support::{Operator, Parcel, RealRegistry, TestNamespace, installation};

const REPOSITORY: &str = "items/acme-wiki";

impl TestNamespace {
    /// An operator that asks `registry` on its terms, and looks at tags every second.
    async fn operator_with(&self, registry: &RealRegistry) -> Operator {
        self.platform(json!({"registries": [registry.terms()]}))
            .await;
        let operator = self.operator().await;
        operator
            .platform(&self.name)
            .options(["--tag-interval", "1"])
            .start()
    }

    async fn blueprint_artifact(&self, name: &str) -> Option<String> {
        let found = self.api::<Installation>().get(name).await.ok()?;
        found.status?.blueprint?.artifact
    }

    /// The only thing that is missing, and what to do about it.
    async fn missing(&self, name: &str) -> (String, String) {
        let found = self
            .wait_for_reason(name, ConditionType::Reconciling, "Incomplete")
            .await;
        let mut deferred = found.status.expect("a status").deferred;
        assert_eq!(deferred.len(), 1, "{deferred:?}");
        let missing = deferred.remove(0);
        (missing.missing, missing.message.expect("what to do"))
    }

    async fn record_versions(&self) -> usize {
        self.list::<ResolutionRecord>().await.len()
    }
}

fn from(registry: &RealRegistry, name: &str, tag: &str) -> Builder {
    let reference = format!("{}/{REPOSITORY}:{tag}", registry.address);
    installation(name)
        .with("blueprint", json!({"oci": {"reference": reference}}))
        .parameter("siteTitle", TITLE)
}

fn with_secret(mut builder: Value, secret: &str) -> Installation {
    builder["spec"]["blueprint"]["oci"]["pullSecret"] = json!({"name": secret});
    serde_json::from_value(builder).expect("an Installation")
}

#[tokio::test]
async fn an_item_is_installed_from_an_artifact_however_it_was_packed() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("packed").await;
    let registry = RealRegistry::start(Kind::default()).await;
    let _operator = test.operator_with(&registry).await;
    let files = test.item().await.files;
    for (tag, parcel) in [
        ("flux", Parcel::flux(&files)),
        ("oras", Parcel::oras(SLUG, &files)),
        ("files", Parcel::files(&files)),
    ] {
        let digest = registry.push(REPOSITORY, tag, &parcel).await;
        test.create(&from(&registry, tag, tag).build()).await;
        let found = test.wait_until_materialized(tag).await;
        let blueprint = found.status.expect("a status").blueprint.expect("one");
        assert_eq!(blueprint.slug, SLUG);
        let pinned = format!("{}/{REPOSITORY}@{digest}", registry.address);
        assert_eq!(blueprint.artifact, Some(pinned), "{tag}");
    }
}

#[tokio::test]
async fn a_registry_with_a_password_is_read_with_the_pull_secret_of_the_blueprint() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("artifact-secret").await;
    let kind = Kind {
        password: true,
        ..Kind::default()
    };
    let registry = RealRegistry::start(kind).await;
    let _operator = test.operator_with(&registry).await;
    let files = test.item().await.files;
    registry.push(REPOSITORY, "1", &Parcel::flux(&files)).await;

    test.create(&from(&registry, "wiki", "1").build()).await;
    let (missing, remedy) = test.missing("wiki").await;
    let reference = format!("{}/{REPOSITORY}:1", registry.address);
    assert_eq!(missing, format!("artifact:{reference}"));
    assert!(remedy.contains("spec.blueprint.oci.pullSecret"), "{remedy}");

    let named = with_secret(from(&registry, "named", "1").json(), "pull");
    test.create(&named).await;
    test.wait_for("named", "a Secret that is missing", |seen| {
        let deferred = &seen.status.as_ref()?.deferred;
        deferred
            .iter()
            .any(|missing| missing.missing == "secret:pull")
            .then_some(())
    })
    .await;
    test.pull_secret("pull", &registry.address, USER, PASSWORD)
        .await;
    test.wait_until_materialized("named").await;
}

#[tokio::test]
async fn a_registry_with_tls_is_trusted_by_the_authority_that_the_platform_gives() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("artifact-tls").await;
    let kind = Kind {
        password: true,
        tls: true,
    };
    let registry = RealRegistry::start(kind).await;
    let files = test.item().await.files;
    registry.push(REPOSITORY, "1", &Parcel::flux(&files)).await;
    test.pull_secret("pull", &registry.address, USER, PASSWORD)
        .await;
    let wiki = with_secret(from(&registry, "wiki", "1").json(), "pull");
    let distrusted = json!({"host": registry.address, "privateNetwork": true});
    test.platform(json!({"registries": [distrusted]})).await;
    let operator = test.operator().await.platform(&test.name).start();
    test.create(&wiki).await;
    let (_, remedy) = test.missing("wiki").await;
    assert!(remedy.contains("registries of the Platform"), "{remedy}");

    // The Platform wakes it, and it is told without a password.
    test.change_platform(json!({"registries": [registry.terms()]}))
        .await;
    test.wait_until_materialized("wiki").await;
    assert!(!operator.log().contains(PASSWORD));
}

#[tokio::test]
async fn what_the_registry_does_not_have_or_is_no_item_is_wrong_and_not_waited_for() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("artifact-wrong").await;
    let registry = RealRegistry::start(Kind::default()).await;
    let _operator = test.operator_with(&registry).await;
    registry
        .push(REPOSITORY, "image", &Parcel::image("1"))
        .await;
    for (name, tag, expected) in [
        ("absent", "9", "has no"),
        ("image", "image", "is no artifact of an item"),
    ] {
        test.create(&from(&registry, name, tag).build()).await;
        let stalled = test.wait_until_stalled(name, "Invalid").await;
        assert_eq!(stalled.finalizers(), [""; 0], "nothing was written for it");
        let diagnostic = stalled.status.expect("a status").diagnostics.remove(0);
        assert_eq!(diagnostic.path, "/spec/blueprint/oci/reference");
        assert!(
            diagnostic.message.contains(expected),
            "{}",
            diagnostic.message
        );
    }
}

#[tokio::test]
async fn nothing_is_written_for_an_item_that_nobody_can_name() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("unnamed").await;
    let mut registry = RealRegistry::start(Kind::default()).await;
    let files = test.item().await.files;
    registry.push(REPOSITORY, "1", &Parcel::flux(&files)).await;
    let _operator = test.operator_with(&registry).await;
    registry.stop();
    test.create(&from(&registry, "wiki", "1").build()).await;
    let (missing, remedy) = test.missing("wiki").await;
    assert!(missing.starts_with("artifact:"), "{missing}");
    assert!(remedy.contains("cannot be asked"), "{remedy}");
    let found = test.api::<Installation>().get("wiki").await.expect("it");
    assert_eq!(found.finalizers(), [""; 0]);
    let secrets = test.api::<Secret>().list(&ListParams::default()).await;
    let precious = |secret: &Secret| {
        let kind = secret.type_.as_deref().unwrap_or_default();
        kind.starts_with("install.musher.dev/")
    };
    assert!(!secrets.expect("Secrets").iter().any(precious));

    registry.restart().await;
    test.merge("wiki", json!({"spec": {"historyLimit": 9}}))
        .await;
    test.wait_until_materialized("wiki").await;
}

#[tokio::test]
async fn a_pinned_artifact_stays_and_heals_whatever_becomes_of_its_registry() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("artifact-pinned").await;
    let mut registry = RealRegistry::start(Kind::default()).await;
    let files = test.item().await.files;
    registry.push(REPOSITORY, "1", &Parcel::flux(&files)).await;
    let mut operator = test.operator_with(&registry).await;
    test.create(&from(&registry, "wiki", "1").build()).await;
    test.wait_until_materialized("wiki").await;
    let pinned = test.blueprint_artifact("wiki").await;
    registry.stop();

    operator.kill();
    let deployment = test.list::<Deployment>().await.remove(0).name_any();
    let deployments = test.api::<Deployment>();
    deployments
        .delete(&deployment, &DeleteParams::default())
        .await
        .expect("a Deployment to delete");
    operator.restart();
    support::wait::eventually("the Deployment to be back", async || {
        deployments.get_opt(&deployment).await.ok()?.map(drop)
    })
    .await;

    let title = json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}});
    test.merge("wiki", title).await;
    test.wait_until_materialized("wiki").await;
    assert_eq!(test.record_versions().await, 2);
    assert_eq!(test.blueprint_artifact("wiki").await, pinned);

    // An update that cannot be had leaves what runs alone.
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    let waiting = test
        .wait_for_reason("wiki", ConditionType::Reconciling, "Incomplete")
        .await;
    assert_eq!(condition(&waiting, ConditionType::Materialized).0, "True");
    assert_eq!(test.record_versions().await, 2);
    assert_eq!(test.blueprint_artifact("wiki").await, pinned);
}

#[tokio::test]
async fn a_tag_that_moves_is_told_and_applied_by_an_explicit_update_only() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("moved").await;
    let registry = RealRegistry::start(Kind::default()).await;
    let operator = test.operator_with(&registry).await;
    let item = test.item().await;
    let image = format!("{}/web:1.0.0", registry.address);
    registry.push("web", "1.0.0", &Parcel::image("1000")).await;
    let item = item.clone().edited("web.yaml", &item.image, &image);
    registry
        .push(REPOSITORY, "1", &Parcel::oras(SLUG, &item.files))
        .await;
    test.create(&from(&registry, "wiki", "1").build()).await;
    test.wait_until_materialized("wiki").await;
    let first = test.blueprint_artifact("wiki").await;

    let edited = item.edited("blueprint.yaml", "revision: 1", "revision: 2");
    let second = registry
        .push(REPOSITORY, "1", &Parcel::oras(SLUG, &edited.files))
        .await;
    registry.push("web", "1.0.0", &Parcel::image("2000")).await;
    let blueprint = format!(
        "blueprint in OCI artifact {}/{REPOSITORY}:1",
        registry.address
    );
    let web = format!("image {image} of node web");
    let told = test
        .wait_for("wiki", "both tags to be told of", |seen| {
            let conditions = &seen.status.as_ref()?.conditions;
            let found = conditions.iter().find(|of| of.type_ == "UpdateAvailable")?;
            let all = found.message.contains(&blueprint) && found.message.contains(&web);
            (found.status == "True" && all).then_some(())
        })
        .await;
    assert_eq!(condition(&told, ConditionType::Resolved).0, "True");
    assert_eq!(test.record_versions().await, 1);
    assert_eq!(test.blueprint_artifact("wiki").await, first);

    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_for_condition("wiki", ConditionType::UpdateAvailable, "False")
        .await;
    let pinned = format!("{}/{REPOSITORY}@{second}", registry.address);
    assert_eq!(test.blueprint_artifact("wiki").await, Some(pinned));
    assert_eq!(test.record_versions().await, 2);
    drop(operator);
}

#[tokio::test]
async fn a_rollback_takes_the_artifact_that_its_version_had_without_asking_for_it() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("artifact-back").await;
    let mut registry = RealRegistry::start(Kind::default()).await;
    let _operator = test.operator_with(&registry).await;
    let item = test.item().await;
    registry
        .push(REPOSITORY, "1", &Parcel::flux(&item.files))
        .await;
    test.create(&from(&registry, "wiki", "1").build()).await;
    test.wait_until_materialized("wiki").await;
    let first = test.blueprint_artifact("wiki").await;
    let edited = item.edited("blueprint.yaml", "revision: 1", "revision: 2");
    registry
        .push(REPOSITORY, "1", &Parcel::flux(&edited.files))
        .await;
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    let second = test.blueprint_artifact("wiki").await;
    assert_ne!(first, second);

    registry.stop();
    for (spec, expected) in [
        (
            json!({"rollback": {"record": 1, "token": "1"}, "update": {"token": "2"}}),
            first,
        ),
        (json!({"rollback": null, "update": {"token": "1"}}), second),
    ] {
        test.merge("wiki", json!({"spec": spec})).await;
        test.wait_until_materialized("wiki").await;
        assert_eq!(test.blueprint_artifact("wiki").await, expected);
    }
}

#[tokio::test]
async fn an_artifact_of_another_item_takes_over_nothing() {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("artifact-foreign").await;
    let registry = RealRegistry::start(Kind::default()).await;
    let _operator = test.operator_with(&registry).await;
    let item = test.item().await;
    registry
        .push(REPOSITORY, "1", &Parcel::flux(&item.files))
        .await;
    test.create(&from(&registry, "wiki", "1").build()).await;
    test.wait_until_materialized("wiki").await;
    let other = item.edited("blueprint.yaml", "slug: acme-wiki", "slug: acme-blog");
    registry
        .push(REPOSITORY, "2", &Parcel::flux(&other.files))
        .await;
    let reference = format!("{}/{REPOSITORY}:2", registry.address);
    let moved = json!({"spec": {"blueprint": {"oci": {"reference": reference}}}});
    test.merge("wiki", moved).await;
    let stalled = test.wait_until_stalled("wiki", "ForeignState").await;
    let message = &stalled.status.expect("a status").conditions[0].message;
    assert!(message.contains("acme-blog"), "{message}");
    assert_eq!(test.record_versions().await, 1);
}
