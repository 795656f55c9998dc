//! Idle costs nothing: what is as it should be is not written again, and what others own is left to them.

mod support;

use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use support::audit::Entry;
use support::item::{PASSWORD, SLUG, TITLE};
use support::wait::eventually;
use support::{ONE_INSTALL, TestNamespace, installation};

const WEB: &str = "wiki-web-mdvgzhya";

#[tokio::test]
async fn applying_again_restarting_and_losing_status_write_nothing_but_that_status() {
    let test = TestNamespace::new("idle").await;
    let _rollout = test.pods_become_ready();
    let mut operator = test.operator().await.start();
    let wiki = test.item().await.installation("wiki").json();
    apply(&test, &wiki).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    test.wait_until_quiet().await;
    let before = test.stock().await;
    assert_eq!(before.counts(), ONE_INSTALL);

    let mark = test.cluster.audit_mark();
    apply(&test, &wiki).await;
    // Whatever tool applied it, a changed annotation is a reason to look and none to write.
    test.merge(
        "wiki",
        json!({"metadata": {"annotations": {"example.org/applied-by": "somebody"}}}),
    )
    .await;
    test.wait_until_looked_at(mark, "wiki").await;
    assert_eq!(
        summary(&test.operator_writes_since(mark)),
        Vec::<String>::new(),
        "applied again"
    );

    let mark = test.cluster.audit_mark();
    operator.restart();
    test.wait_until_looked_at(mark, "wiki").await;
    assert_eq!(
        summary(&test.operator_writes_since(mark)),
        Vec::<String>::new(),
        "restarted"
    );

    let mark = test.cluster.audit_mark();
    let nothing = Patch::Merge(json!({"status": null}));
    let installations = test.api::<Installation>();
    installations
        .patch_status("wiki", &PatchParams::default(), &nothing)
        .await
        .expect("status goes");
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    test.wait_until_quiet().await;
    let mut written = summary(&test.operator_writes_since(mark));
    written.dedup();
    assert_eq!(
        written,
        ["patch installations/wiki/status"],
        "status deleted"
    );
    assert_eq!(test.stock().await.versions(), before.versions());
}

#[tokio::test]
async fn without_its_config_map_an_installation_runs_on_and_heals() {
    let test = TestNamespace::new("configless").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.config_map("wiki-files")).await;
    let wiki = installation("wiki")
        .config_map(SLUG, "wiki-files")
        .parameter("siteTitle", TITLE);
    test.create(&wiki.build()).await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;
    let (before, deployments) = (test.stock().await, test.deployments().await);

    let mark = test.cluster.audit_mark();
    test.api::<ConfigMap>()
        .delete("wiki-files", &DeleteParams::default())
        .await
        .expect("it goes");
    test.wait_until_looked_at(mark, "wiki").await;
    assert_eq!(
        summary(&test.operator_writes_since(mark)),
        Vec::<String>::new()
    );

    let environment = test
        .environments()
        .await
        .into_keys()
        .next()
        .expect("an environment");
    test.api::<Deployment>()
        .delete(WEB, &DeleteParams::background())
        .await
        .expect("it goes");
    test.api::<Secret>()
        .delete(&environment, &DeleteParams::default())
        .await
        .expect("it goes");
    let uid = deployments[WEB].metadata.uid.clone();
    eventually(
        "the Deployment and the environment to come back",
        async || {
            let back = test.api::<Deployment>().get_opt(WEB).await.ok()??;
            let secret = test.api::<Secret>().get_opt(&environment).await.ok()?;
            (back.metadata.uid != uid && secret.is_some()).then_some(())
        },
    )
    .await;
    test.wait_until_materialized("wiki").await;
    let after = test.stock().await;
    assert_eq!(after.versions(), before.versions());
    for secret in test.environments().await.values() {
        let values = secret.data.iter().flatten();
        for (name, value) in values.filter(|(name, _)| name.ends_with("PASSWORD")) {
            let password = before.password(PASSWORD, 0).expect("a password");
            assert!(value.0 == password.as_bytes(), "{name} is another");
        }
    }
}

#[tokio::test]
async fn what_the_operator_owns_heals_and_what_it_does_not_own_stays() {
    let test = TestNamespace::new("drift").await;
    let mut operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_until_quiet().await;
    let deployments = test.api::<Deployment>();
    let right = deployments.get(WEB).await.expect("a Deployment");
    let patch = async |change: Value| {
        deployments
            .patch(WEB, &PatchParams::default(), &Patch::Strategic(change))
            .await
            .expect("patched")
    };

    let stranger = format!("registry.test/stranger@sha256:{}", "f".repeat(64));
    let template =
        |container: Value| json!({"spec": {"template": {"spec": {"containers": [container]}}}});
    for (what, edit) in [
        ("image", template(json!({"name": "web", "image": stranger}))),
        (
            "argument",
            template(json!({"name": "web", "args": ["sleep"]})),
        ),
        (
            "standard label",
            json!({"metadata": {"labels": {"app.kubernetes.io/component": "stranger"}}}),
        ),
        (
            "label of the installation",
            json!({"metadata": {"labels": {"install.musher.dev/installation": null}}}),
        ),
        (
            "label that is watched",
            json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}),
        ),
    ] {
        patch(edit).await;
        eventually(&format!("the {what} to heal"), async || {
            let found = deployments.get(WEB).await.ok()?;
            let (meta, other) = (&found.metadata, &right.metadata);
            let template = found.spec.as_ref()?.template == right.spec.as_ref()?.template;
            (template && meta.labels == other.labels).then_some(())
        })
        .await;
    }

    test.wait_until_quiet().await;
    let mark = test.cluster.audit_mark();
    patch(json!({
        "metadata": {"labels": {"example.org/team": "blue"}, "annotations": {"example.org/note": "mine"}},
        "spec": {"replicas": 3, "template": {"metadata": {"annotations": {"example.org/restarted": "now"}}}}
    }))
    .await;
    test.wait_until_looked_at(mark, "wiki").await;
    operator.restart();
    test.wait_until_quiet().await;
    let mut writes = summary(&test.operator_writes_since(mark));
    // Three replicas that are not there yet may be worth a word in status.
    writes.retain(|write| write != "patch installations/wiki/status");
    assert_eq!(writes, Vec::<String>::new());
    let found = deployments.get(WEB).await.expect("a Deployment");
    assert_eq!(found.spec.as_ref().and_then(|spec| spec.replicas), Some(3));
    assert_eq!(
        found.metadata.labels.expect("labels")["example.org/team"],
        "blue"
    );
    assert_eq!(
        found.metadata.annotations.expect("annotations")["example.org/note"],
        "mine"
    );
}

async fn apply(test: &TestNamespace, wiki: &Value) {
    let params = PatchParams::apply("somebody");
    let applied = test
        .api::<Installation>()
        .patch("wiki", &params, &Patch::Apply(wiki))
        .await;
    applied.expect("it is applied");
}

/// `verb resource/name/subresource` of each.
fn summary(writes: &[Entry]) -> Vec<String> {
    let line = |write: &Entry| {
        let object = &write.object_ref;
        let slash = if object.subresource.is_empty() {
            ""
        } else {
            "/"
        };
        format!(
            "{} {}/{}{slash}{}",
            write.verb, object.resource, object.name, object.subresource
        )
    };
    writes.iter().map(line).collect()
}
