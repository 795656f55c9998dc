//! Images by tag, at real registries: resolved once with the right credentials on the right terms, and pinned; each way
//! to fail told apart, and healed by what the message asks for.

#![allow(
    clippy::disallowed_methods,
    reason = "the certificate of the registry is a file"
)]

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use support::artifact::{Blob, archive, gzip};
use support::item::SLUG;
use support::local::Registry;
use support::registry::{Kind, lacks_registry};
use support::wait::message;
use support::{Item, Parcel, RealRegistry, TestNamespace, installation};

/// How a registry is asked.
enum Terms {
    PlainHttp,
    OwnAuthority,
}

impl TestNamespace {
    fn registry(&self) -> Registry {
        self.cluster.state.registry.clone()
    }

    /// A Platform on which `address` is asked on `terms`, and an operator that takes it.
    async fn operator_for(&self, address: &str, terms: Terms) -> support::Operator {
        let terms = match terms {
            Terms::PlainHttp => json!({"host": address, "plainHttp": true, "privateNetwork": true}),
            Terms::OwnAuthority => {
                let authority = std::fs::read_to_string(self.registry().ca).expect("a certificate");
                json!({"host": address, "certificateAuthority": authority, "privateNetwork": true})
            }
        };
        self.platform(json!({"registries": [terms]})).await;
        self.operator().await.platform(&self.name).start()
    }

    /// Waits until the spec waits for an image; says what to do about it.
    async fn waits_for_an_image(&self, name: &str) -> String {
        let found = self
            .wait_for_reason(name, ConditionType::Reconciling, "Incomplete")
            .await;
        let deferred = found.status.expect("a status").deferred;
        let missing = deferred
            .iter()
            .find(|missing| missing.missing.starts_with("imageDigest:"));
        let missing = missing.expect("an image that is waited for");
        missing.message.clone().expect("what to do")
    }

    async fn digest_of_web(&self) -> Option<String> {
        let records = self.list::<ResolutionRecord>().await;
        let newest = records.iter().max_by_key(|record| record.name_any())?;
        newest.spec.0.components["web"].image_digest.clone()
    }
}

fn tagged(item: Item, image: &str) -> Item {
    let digested = item.image.clone();
    item.edited("web.yaml", &digested, image)
}

fn digest(image: &str) -> &str {
    image.split_once('@').expect("a digest").1
}

#[tokio::test]
async fn a_tag_is_pinned_by_the_digest_that_its_registry_says_and_runs() {
    let test = TestNamespace::new("tag").await;
    if test.lacks_node() {
        return;
    }
    let address = test.registry().address;
    let _operator = test.operator_for(&address, Terms::PlainHttp).await;
    let item = test.item().await;
    let image = item.image.clone();
    let wiki = tagged(item, &format!("{address}/probe:1.0.0")).installation("wiki");
    test.create(&wiki.build()).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    assert_eq!(test.digest_of_web().await.as_deref(), Some(digest(&image)));
    let pods = test.list::<Pod>().await;
    let runs = |pod: &Pod| {
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        containers
            .into_iter()
            .all(|container| container.image.as_deref() == Some(image.as_str()))
    };
    assert!(pods.iter().all(runs), "{pods:#?}");
}

#[tokio::test]
async fn a_registry_with_a_password_is_read_with_the_pull_secret_of_the_installation() {
    let test = TestNamespace::new("secret").await;
    if test.lacks_node() {
        return;
    }
    let registry = test.registry();
    let address = &registry.password_address;
    let _operator = test.operator_for(address, Terms::PlainHttp).await;
    let wiki = tagged(test.item().await, &format!("{address}/probe:1.0.0"))
        .installation("wiki")
        .with("imagePullSecrets", json!([{"name": "pull"}]));
    test.create(&wiki.build()).await;
    let remedy = test.waits_for_an_image("wiki").await;
    assert!(remedy.contains("imagePullSecrets"), "{remedy}");

    test.pull_secret("pull", address, &registry.user, &registry.password)
        .await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let pods = test.list::<Pod>().await;
    let web = pods.iter().find(|pod| pod.name_any().contains("-web-"));
    let secrets = web.and_then(|pod| pod.spec.as_ref()?.image_pull_secrets.clone());
    let secrets: Vec<String> = secrets
        .into_iter()
        .flatten()
        .map(|secret| secret.name)
        .collect();
    assert_eq!(secrets, ["pull"]);
}

#[tokio::test]
async fn a_registry_with_an_authority_of_its_own_is_trusted_where_the_platform_says_so() {
    let test = TestNamespace::new("authority").await;
    if test.lacks_node() {
        return;
    }
    let registry = test.registry();
    let address = &registry.tls_address;
    test.pull_secret("pull", address, &registry.user, &registry.password)
        .await;
    let item = tagged(test.item().await, &format!("{address}/probe:1.0.0"));
    let wiki = |name: &str| {
        let installation = item.installation(name);
        installation
            .with("imagePullSecrets", json!([{"name": "pull"}]))
            .build()
    };
    {
        let _distrustful = test.operator().await.start();
        test.create(&wiki("distrusted")).await;
        let remedy = test.waits_for_an_image("distrusted").await;
        assert!(remedy.contains("registries of the Platform"), "{remedy}");
    }
    let _operator = test.operator_for(address, Terms::OwnAuthority).await;
    test.create(&wiki("trusted")).await;
    test.wait_until_materialized("trusted").await;
    assert_eq!(
        test.digest_of_web().await.as_deref(),
        Some(digest(&test.item().await.image))
    );
}

#[tokio::test]
async fn a_tag_that_the_registry_does_not_have_is_wrong_and_not_waited_for() {
    let test = TestNamespace::new("absent").await;
    if test.lacks_node() {
        return;
    }
    let address = test.registry().address;
    let _operator = test.operator_for(&address, Terms::PlainHttp).await;
    for (name, image) in [
        ("no-tag", format!("{address}/probe:9.9.9")),
        ("no-repository", format!("{address}/nothing:1.0.0")),
    ] {
        let wiki = tagged(test.item().await, &image).installation(name);
        test.create(&wiki.build()).await;
        let stalled = test.wait_until_stalled(name, "Invalid").await;
        let diagnostic = stalled.status.expect("a status").diagnostics.remove(0);
        assert_eq!(diagnostic.path, "/spec/components/web/componentRef");
        assert!(
            diagnostic.message.contains(&image),
            "{}",
            diagnostic.message
        );
    }
}

#[tokio::test]
async fn a_pinned_digest_stays_whatever_becomes_of_the_registry() {
    let test = TestNamespace::new("pinned").await;
    if test.lacks_node() {
        return;
    }
    let address = test.registry().address;
    let wiki = tagged(test.item().await, &format!("{address}/probe:1.0.0"));
    {
        let _operator = test.operator_for(&address, Terms::PlainHttp).await;
        test.create(&wiki.installation("wiki").build()).await;
        test.wait_until_materialized("wiki").await;
    }
    // On the default Platform this registry is asked with TLS, which it does not speak.
    let _operator = test.operator().await.start();
    test.merge(
        "wiki",
        json!({"spec": {"parameters": {"siteTitle": {"value": "Another title"}}}}),
    )
    .await;
    test.wait_for("wiki", "its second record", |seen: &Installation| {
        let record = seen.status.as_ref()?.record.as_ref()?;
        (record.version == 2).then_some(())
    })
    .await;
    let records = test.list::<ResolutionRecord>().await;
    let digests: Vec<Value> = records
        .iter()
        .map(|record| json!(record.spec.0.components["web"].image_digest))
        .collect();
    assert_eq!(digests.len(), 2);
    assert_eq!(digests[0], digests[1]);
}

/// A layer with a list of accounts, packed as builders do.
fn accounts(users: &str) -> Blob {
    let files = [("etc/passwd".to_owned(), users.to_owned())].into();
    Blob::new(
        "application/vnd.oci.image.layer.v1.tar+gzip",
        gzip(&archive("", &files)),
    )
}

#[tokio::test]
async fn a_volume_is_writable_for_a_user_that_the_image_knows_by_name_or_the_condition_says_that_it_is_not()
 {
    if lacks_registry() {
        return;
    }
    let test = TestNamespace::new("named-user").await;
    let registry = RealRegistry::start(Kind::default()).await;
    test.platform(json!({"registries": [registry.terms()]}))
        .await;
    let _operator = test.operator().await.platform(&test.name).start();
    for (tag, user, layers, expected) in [
        (
            "known",
            "app",
            vec![accounts("app:x:101:102::/:/bin/sh")],
            Some(102),
        ),
        (
            "unknown",
            "someone",
            vec![accounts("app:x:101:102::/:/bin/sh")],
            None,
        ),
        ("bare", "someone", vec![], None),
    ] {
        let parcel = Parcel::image(user).layered(layers);
        registry.push("store", tag, &parcel).await;
        let mut item = Item::one_of_each(&test.cluster).await;
        let image = format!("image: {}/store:{tag}", registry.address);
        let by_digest = format!("image: {}", item.image);
        item = item.edited("store.yaml", &by_digest, &image);
        let town = installation(tag).inline(SLUG, item.files.clone());
        test.create(&town.build()).await;
        let town = test.wait_until_materialized(tag).await;
        let store = names::workload(tag, "store");
        let set = test.api::<StatefulSet>().get(&store).await.expect("it");
        let pod = set.spec.and_then(|spec| spec.template.spec);
        let security = pod.and_then(|pod| pod.security_context).expect("one");
        assert_eq!(security.fs_group, expected, "{tag}");
        let said = message(&town, ConditionType::Resolved);
        let says = said.contains("the image of node store runs as user someone");
        assert_eq!(says, expected.is_none(), "{said}");
    }
}
