//! Connections: not found, denied, incompatible, contested, of the organization or a user's own; each heals by itself, and
//! none drifts in.

mod support;

use std::collections::BTreeMap;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::status::ConnectionStatus;
use installation_operator::api::{ClusterConnection, Connection, Installation};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use support::TestNamespace;
use support::chat::{chat, connection, managed};
use support::install::object;
use support::secrecy::assert_hidden;

const KEY: &str = "sk-c0nf1d3nt1al-0ne";
const OTHER_KEY: &str = "sk-c0nf1d3nt1al-tw0";

fn key(value: &str) -> Secret {
    object(json!({"metadata": {"name": "llm"}, "stringData": {"apiKey": value}}))
}

fn selected(installation: &Installation) -> ConnectionStatus {
    let status = installation.status.as_ref().expect("a status");
    status.connections[0].clone()
}

impl TestNamespace {
    async fn write_key(&self, value: &str) {
        let change = Patch::Merge(json!({"stringData": {"apiKey": value}}));
        let secrets = self.api::<Secret>();
        let written = secrets.patch("llm", &PatchParams::default(), &change).await;
        written.expect("the Secret is written");
    }

    /// What workers have been given of the connection, newest environment last.
    async fn given(&self, variable: &str) -> Vec<String> {
        let mut environments: Vec<Secret> = self.environments().await.into_values().collect();
        environments.sort_by_key(|secret| secret.metadata.creation_timestamp.clone());
        let values = environments.into_iter().filter_map(|secret| {
            let bytes = secret.data?.remove(variable)?;
            String::from_utf8(bytes.0).ok()
        });
        values.collect()
    }

    async fn connected(&self, name: &str, kind: &str, owner: &str) -> ConnectionStatus {
        let what = format!("a connection of {owner}");
        let seen = self
            .wait_for(name, &what, |seen| {
                let found = seen.status.as_ref()?.connections.first()?;
                (found.kind == kind && found.cost_owner == owner).then_some(())
            })
            .await;
        selected(&seen)
    }
}

#[tokio::test]
async fn a_connection_of_the_organization_is_found_permitted_selected_and_rotated() {
    let (test, home) = (
        TestNamespace::new("chat").await,
        TestNamespace::new("home").await,
    );
    let _operator = test.operator_living_in(&home).await.start();
    let path = test.path("default");
    test.create(&chat(&test, &path).await.build()).await;
    test.is_refused("chat", "ERR_CONNECTION_NOT_FOUND").await;
    test.offer::<ClusterConnection>("llm", managed(&path, "small", &["another"]))
        .await;
    test.is_refused("chat", "ERR_CONNECTION_DENIED").await;
    let allowed = json!({"spec": {"allowedNamespaces": {"names": ["another", test.name]}}});
    test.reoffer::<ClusterConnection>("llm", allowed).await;
    let remedy = test.waits_for("chat", "connection:llm").await;
    let expected = format!("Secret llm in namespace {} does not exist", home.name);
    assert!(remedy.contains(&expected), "{remedy}");
    home.create(&key(KEY)).await;
    let first = selected(&test.heals("chat").await);
    assert_eq!(
        (first.kind.as_str(), first.cost_owner.as_str()),
        ("MANAGED", "owner-of-small")
    );
    assert_eq!(test.given("LLM_KEY").await, [KEY]);

    home.write_key(OTHER_KEY).await;
    let told = test
        .wait_for_condition("chat", ConditionType::UpdateAvailable, "True")
        .await;
    let told = serde_json::to_string(&told.status).expect("JSON");
    assert!(told.contains("connection llm"), "{told}");
    let greeted = json!({"spec": {"parameters": {"greeting": {"value": "hi"}}}});
    test.merge("chat", greeted).await;
    let same = selected(&test.wait_until_materialized("chat").await);
    assert_eq!(same, first, "an update of something else selects no other");
    test.merge("chat", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    let rotated = test
        .wait_for("chat", "another version", |seen| {
            let found = seen.status.as_ref()?.connections.first()?;
            (found.version != first.version).then_some(())
        })
        .await;
    assert_eq!(selected(&rotated).identity, first.identity);
    test.wait_until_materialized("chat").await;
    assert!(test.given("LLM_KEY").await.contains(&OTHER_KEY.to_owned()));

    let visible = test.visible().await;
    assert_hidden(KEY, &visible);
    assert_hidden(OTHER_KEY, &visible);
}

#[tokio::test]
async fn a_rollback_takes_the_connection_that_its_version_had_and_leaving_it_the_one_before_it() {
    let test = TestNamespace::new("chat-back").await;
    let _operator = test.operator().await.start();
    let path = test.path("default");
    test.create(&key(KEY)).await;
    test.offer::<ClusterConnection>("llm", managed(&path, "small", &[&test.name]))
        .await;
    test.create(&chat(&test, &path).await.build()).await;
    let first = selected(&test.heals("chat").await);
    let own: Connection =
        object(json!({"metadata": {"name": "mine"}, "spec": connection("large")}));
    test.create(&own).await;
    let mine = json!({"spec": {"connections": {"llm": {"connectionRef": {"name": "mine"}}}}});
    test.merge("chat", mine).await;
    let second = test.connected("chat", "USER", "owner-of-large").await;
    test.wait_until_materialized("chat").await;

    // Its own choice of a connection stays in the spec and has no effect while the rollback is named.
    let back = json!({"spec": {"rollback": {"record": 1, "token": "1"}}});
    test.merge("chat", back).await;
    let third = test.connected("chat", "MANAGED", "owner-of-small").await;
    assert_eq!(third, first);
    test.wait_until_materialized("chat").await;
    test.merge("chat", json!({"spec": {"rollback": null}}))
        .await;
    let fourth = test.connected("chat", "USER", "owner-of-large").await;
    assert_eq!(fourth, second);
}

#[tokio::test]
async fn a_connection_that_cannot_serve_is_told_apart_and_two_of_one_path_are_both_named() {
    let test = TestNamespace::new("incompatible").await;
    let _operator = test.operator().await.start();
    let path = test.path("default");
    test.create(&key(KEY)).await;
    let mut plain = managed(&path, "plain", &[&test.name]);
    plain["views"]["OPENAI_CHAT_COMPLETIONS"]["capabilities"] = json!([]);
    test.offer::<ClusterConnection>("plain", plain).await;
    test.create(&chat(&test, &path).await.build()).await;
    let message = test.is_refused("chat", "ERR_CONNECTION_INCOMPATIBLE").await;
    assert!(message.contains("STREAMING"), "{message}");

    test.offer::<ClusterConnection>("able", managed(&path, "able", &[&test.name]))
        .await;
    let message = test
        .is_refused("chat", "ERR_INVALID_RESOLUTION_CONTEXT")
        .await;
    for name in ["able", "plain"] {
        let named = format!("ClusterConnection {}", test.own(name));
        assert!(message.contains(&named), "{message}");
    }
    test.withdraw::<ClusterConnection>("plain").await;
    let healed = test.heals("chat").await;
    assert_eq!(selected(&healed).cost_owner, "owner-of-able");
}

#[tokio::test]
async fn a_users_own_connection_takes_the_whole_place_of_the_organizations() {
    let test = TestNamespace::new("own").await;
    let _operator = test.operator().await.start();
    let path = test.path("default");
    test.create(&key(KEY)).await;
    test.offer::<ClusterConnection>("llm", managed(&path, "small", &[&test.name]))
        .await;
    let mine = json!({"connectionRef": {"name": "mine"}});
    let chat = chat(&test, &path).await;
    test.create(
        &chat
            .clone()
            .entry("connections", "llm", mine.clone())
            .build(),
    )
    .await;
    let remedy = test.waits_for("chat", "connection:llm").await;
    assert!(
        remedy.contains("Connection mine does not exist"),
        "{remedy}"
    );
    let own: Connection =
        object(json!({"metadata": {"name": "mine"}, "spec": connection("large")}));
    test.create(&own).await;
    test.heals("chat").await;
    test.connected("chat", "USER", "owner-of-large").await;
    assert_eq!(test.given("LLM_MODEL").await, ["large"]);

    test.merge("chat", json!({"spec": {"connections": null}}))
        .await;
    test.connected("chat", "MANAGED", "owner-of-small").await;
    test.merge("chat", json!({"spec": {"connections": {"llm": mine}}}))
        .await;
    test.connected("chat", "USER", "owner-of-large").await;

    let unknown = json!({"spec": {"connections": {"llm2": mine}}});
    test.merge("chat", unknown).await;
    let message = test.is_refused("chat", "ERR_UNKNOWN_PARAMETER").await;
    assert!(
        message.contains("no connection parameter `llm2`"),
        "{message}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_a_rule_is_refused_with_the_remedy() {
    let test = TestNamespace::new("rules").await;
    let path = test.path("default");
    let changed = |pointer: &str, value: Value| {
        let spec = managed(&path, "small", &["any"]);
        let mut object = test.of_cluster("ClusterConnection", "rules", spec);
        *object["spec"].pointer_mut(pointer).expect("a place") = value;
        object
    };
    test.try_create(&changed("/costOwner", json!("us")))
        .await
        .expect("it is taken");
    let view = "/views/OPENAI_CHAT_COMPLETIONS";
    let cases = BTreeMap::from([
        (
            "/credential/permittedBaseURLs/0",
            (
                json!("https://other.example"),
                "the baseURL of every view is one of credential.permittedBaseURLs",
            ),
        ),
        (
            "/credential/permittedBaseURLs",
            (json!([]), "spec.credential.permittedBaseURLs"),
        ),
        ("/costOwner", (json!(""), "spec.costOwner")),
        ("/views", (json!({}), "spec.views")),
    ]);
    for (pointer, (value, expected)) in cases {
        test.assert_refused(pointer, changed(pointer, value), expected)
            .await;
    }
    for (url, case) in [
        ("http://llm.example", "plain text"),
        ("https://user@llm.example/v1", "user information"),
        ("https://llm.example/v1?key=1", "a query"),
        ("https://llm.example/v1#top", "a fragment"),
    ] {
        let refused = changed(&format!("{view}/baseURL"), json!(url));
        test.assert_refused(case, refused, "baseURL").await;
    }
    let refused = changed(&format!("{view}/capabilities"), json!(["DREAMING"]));
    test.assert_refused("capability", refused, "capabilities")
        .await;
    let foreign = json!({"GOPHER": {"baseURL": "https://llm.example/v1", "model": "m"}});
    test.assert_refused(
        "protocol",
        changed("/views", foreign),
        "the keys are connection protocols",
    )
    .await;
    test.offer::<ClusterConnection>("rules", managed(&path, "small", &["any"]))
        .await;
    test.assert_change_refused(
        "another path",
        &changed("/costOwner", json!("us")),
        json!({"spec": {"path": test.path("other")}}),
        "spec.path is immutable",
    )
    .await;
    let own = json!({
        "apiVersion": "install.musher.dev/v1alpha1", "kind": "Connection",
        "metadata": {"name": "mine"}, "spec": connection("large")
    });
    test.try_create(&own).await.expect("it is taken");
}
