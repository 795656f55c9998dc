//! Organization variables: absent, denied, contested, overridden, from a Secret; each heals by itself, and none drifts in.

mod support;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::{ClusterVariable, ResolutionRecord, Variable};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use support::install::object;
use support::installation::Builder;
use support::secrecy::assert_hidden;
use support::{Item, TestNamespace};

const SECRET: &str = "c0nf1d3nt1al-r3gi0n";

impl TestNamespace {
    /// The item with a title that is the variable `path`.
    async fn titled_by(&self, path: &str) -> Item {
        let from = format!("siteTitle: {{ from: \"${{{{ variables.{path} }}}}\" }}");
        let submitted = "siteTitle:\n      ui: { label: Title }";
        self.item().await.edited("blueprint.yaml", submitted, &from)
    }

    /// The Installation `wiki` of that item.
    async fn wiki_titled_by(&self, path: &str) -> Builder {
        self.titled_by(path).await.untitled("wiki")
    }

    fn readable(&self, path: &str, value: &str) -> Value {
        json!({"path": path, "value": value, "allowedNamespaces": {"names": [self.name]}})
    }

    fn kept_in_a_secret(&self, path: &str) -> Value {
        json!({
            "path": path,
            "secretKeyRef": {"name": "regions", "key": "region"},
            "allowedNamespaces": {"names": [self.name]}
        })
    }

    /// The titles that web services have been given, in the order of their names.
    async fn titles(&self) -> Vec<String> {
        let environments = self.environments().await.into_values();
        let titles = environments.filter_map(|secret| {
            let bytes = secret.data?.remove("TITLE")?;
            String::from_utf8(bytes.0).ok()
        });
        let mut titles: Vec<String> = titles.collect();
        for deployment in self.deployments().await.into_values() {
            let text = serde_json::to_value(&deployment).expect("JSON");
            let entries = text["spec"]["template"]["spec"]["containers"][0]["env"].clone();
            let entries = entries.as_array().cloned().unwrap_or_default().into_iter();
            let written = entries.filter(|entry| entry["name"] == "TITLE");
            titles.extend(written.filter_map(|entry| Some(entry["value"].as_str()?.to_owned())));
        }
        titles
    }

    async fn record(&self, version: usize) -> ResolutionRecord {
        let mut records = self.list::<ResolutionRecord>().await;
        records.sort_by_key(|record| record.metadata.creation_timestamp.clone());
        records.remove(version - 1)
    }
}

#[tokio::test]
async fn a_variable_that_is_absent_is_waited_for_and_pinned() {
    let test = TestNamespace::new("variable").await;
    let _operator = test.operator().await.start();
    let path = test.path("region");
    test.create(&test.wiki_titled_by(&path).await.build()).await;
    let remedy = test.waits_for("wiki", &format!("variable:{path}")).await;
    assert!(remedy.contains("create a ClusterVariable"), "{remedy}");

    let made: ClusterVariable = test.offer("region", test.readable(&path, "eu")).await;
    test.heals("wiki").await;
    assert_eq!(test.titles().await, ["eu"]);
    let recorded = test.record(1).await.spec.0.variables[&path].clone();
    assert_eq!(Some(recorded.identity), made.uid());

    test.reoffer::<ClusterVariable>("region", json!({"spec": {"value": "us"}}))
        .await;
    let told = test
        .wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    let told = serde_json::to_string(&told.status).expect("JSON");
    assert!(told.contains(&format!("variable {path}")), "{told}");
    assert_eq!(test.titles().await, ["eu"]);
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    test.wait_for_condition("wiki", ConditionType::UpdateAvailable, "False")
        .await;
    assert!(test.titles().await.contains(&"us".to_owned()));
    let selected = test.record(2).await.spec.0.variables[&path].clone();
    assert_ne!(selected.version, recorded.version);
}

#[tokio::test]
async fn a_rollback_takes_the_variable_that_its_version_had_and_leaving_it_the_one_before_it() {
    let test = TestNamespace::new("variable-back").await;
    let _operator = test.operator().await.start();
    let path = test.path("region");
    test.offer::<ClusterVariable>("region", test.readable(&path, "eu"))
        .await;
    test.create(&test.wiki_titled_by(&path).await.build()).await;
    test.heals("wiki").await;
    test.reoffer::<ClusterVariable>("region", json!({"spec": {"value": "us"}}))
        .await;
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_until_materialized("wiki").await;
    // What is offered by now belongs to neither version.
    test.reoffer::<ClusterVariable>("region", json!({"spec": {"value": "asia"}}))
        .await;

    let back = json!({"spec": {"rollback": {"record": 1, "token": "1"}}});
    test.merge("wiki", back).await;
    test.wait_until_materialized("wiki").await;
    test.merge("wiki", json!({"spec": {"rollback": null}}))
        .await;
    test.wait_until_materialized("wiki").await;
    let mut versions = Vec::new();
    for number in 1..=4 {
        let selected = test.record(number).await.spec.0.variables[&path].clone();
        versions.push(selected.version);
    }
    assert_eq!(versions[2], versions[0]);
    assert_eq!(versions[3], versions[1]);
    assert_ne!(versions[0], versions[1]);
}

#[tokio::test]
async fn a_variable_that_is_denied_is_told_apart_and_a_label_of_the_namespace_permits_it() {
    let test = TestNamespace::new("denied").await;
    let _operator = test.operator().await.start();
    let path = test.path("region");
    let spec = json!({
        "path": path, "value": "eu",
        "allowedNamespaces": {"names": ["another"], "selector": {"matchLabels": {"tier": "gold"}}}
    });
    test.offer::<ClusterVariable>("region", spec).await;
    test.create(&test.wiki_titled_by(&path).await.build()).await;
    test.is_refused("wiki", "ERR_VARIABLE_NOT_AUTHORIZED").await;

    let namespaces: Api<Namespace> = Api::all(test.client());
    let labelled = json!({"metadata": {"labels": {"tier": "gold"}}});
    namespaces
        .patch(&test.name, &PatchParams::default(), &Patch::Merge(labelled))
        .await
        .expect("a label");
    test.heals("wiki").await;
    assert_eq!(test.titles().await, ["eu"]);
}

#[tokio::test]
async fn two_objects_that_claim_one_path_are_both_named() {
    let test = TestNamespace::new("contested").await;
    let _operator = test.operator().await.start();
    let path = test.path("region");
    for name in ["one", "two"] {
        test.offer::<ClusterVariable>(name, test.readable(&path, name))
            .await;
    }
    test.create(&test.wiki_titled_by(&path).await.build()).await;
    let message = test
        .is_refused("wiki", "ERR_INVALID_RESOLUTION_CONTEXT")
        .await;
    for name in ["one", "two"] {
        let named = format!("ClusterVariable {}", test.own(name));
        assert!(message.contains(&named), "{message}");
    }
    test.withdraw::<ClusterVariable>("two").await;
    test.heals("wiki").await;
    assert_eq!(test.titles().await, ["one"]);
}

#[tokio::test]
async fn a_variable_of_the_namespace_stands_in_the_place_of_the_organizations() {
    let test = TestNamespace::new("override").await;
    let _operator = test.operator().await.start();
    let path = test.path("region");
    test.offer::<ClusterVariable>("region", test.readable(&path, "organization"))
        .await;
    let own = |name: &str| -> Variable {
        object(json!({"metadata": {"name": name}, "spec": {"path": path, "value": name}}))
    };
    for name in ["here", "there"] {
        test.create(&own(name)).await;
    }
    test.create(&test.wiki_titled_by(&path).await.build()).await;
    let message = test
        .is_refused("wiki", "ERR_INVALID_RESOLUTION_CONTEXT")
        .await;
    let named = "Variable here and Variable there claim";
    assert!(message.contains(named), "{message}");
    let deleted = test.api::<Variable>();
    deleted
        .delete("there", &DeleteParams::default())
        .await
        .expect("deleted");
    test.heals("wiki").await;
    assert_eq!(test.titles().await, ["here"]);
}

#[tokio::test]
async fn a_value_from_a_secret_of_the_operators_namespace_stays_secret_and_keeps_its_version() {
    let (test, home) = (
        TestNamespace::new("guest").await,
        TestNamespace::new("home").await,
    );
    let _operator = test.operator_living_in(&home).await.start();
    let path = test.path("region");
    test.offer::<ClusterVariable>("region", test.kept_in_a_secret(&path))
        .await;
    test.create(&test.wiki_titled_by(&path).await.build()).await;
    let remedy = test.waits_for("wiki", &format!("variable:{path}")).await;
    let expected = format!("Secret regions in namespace {} does not exist", home.name);
    assert!(remedy.contains(&expected), "{remedy}");
    home.create::<Secret>(&object(
        json!({"metadata": {"name": "regions"}, "stringData": {"other": "eu"}}),
    ))
    .await;
    let secrets = home.api::<Secret>();
    let write = async |change: Value| {
        let written = Patch::Merge(change);
        let patched = secrets
            .patch("regions", &PatchParams::default(), &written)
            .await;
        patched.expect("the Secret is written");
    };
    let what = format!(
        "Secret regions in namespace {} has no key region",
        home.name
    );
    test.wait_for("wiki", &what, |seen| {
        let text = serde_json::to_string(&seen.status).ok()?;
        text.contains(&what).then_some(())
    })
    .await;
    write(json!({"stringData": {"region": SECRET}})).await;
    test.heals("wiki").await;
    assert_eq!(test.titles().await, [SECRET]);
    let recorded = test.record(1).await.spec.0.variables[&path].clone();

    // Written, and the same value.
    write(json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    test.wait_for("wiki", "record 2", |seen| {
        let record = seen.status.as_ref()?.record.as_ref()?;
        (record.version == 2).then_some(())
    })
    .await;
    assert_eq!(test.record(2).await.spec.0.variables[&path], recorded);

    let another = format!("{SECRET}-2");
    write(json!({"stringData": {"region": another}})).await;
    test.wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    let visible = test.visible().await;
    assert_hidden(SECRET, &visible);
    assert_hidden(&another, &visible);
}

#[tokio::test]
async fn a_variable_that_breaks_a_rule_is_refused_with_the_remedy() {
    let test = TestNamespace::new("rules").await;
    let path = test.path("region");
    let with = |change: Value| {
        let mut spec = test.readable(&path, "eu");
        for (field, value) in change.as_object().cloned().unwrap_or_default() {
            spec[field] = value;
        }
        test.of_cluster("ClusterVariable", "rules", spec)
    };
    test.try_create(&with(json!({})))
        .await
        .expect("it is taken");
    for (case, change, expected) in [
        (
            "two sources",
            json!({"secretKeyRef": {"name": "a", "key": "b"}}),
            "must validate one and only one schema",
        ),
        ("no path", json!({"path": ""}), "spec.path"),
        (
            "a path of capitals",
            json!({"path": "Cloud.region"}),
            "spec.path",
        ),
        (
            "an empty segment",
            json!({"path": "cloud..region"}),
            "spec.path",
        ),
        (
            "an unknown operator",
            json!({"allowedNamespaces": {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}}),
            "operator",
        ),
    ] {
        test.assert_refused(case, with(change), expected).await;
    }
    let mut none = with(json!({}));
    none["spec"]
        .as_object_mut()
        .expect("a spec")
        .remove("value");
    test.assert_refused("no source", none, "must validate one and only one schema")
        .await;
    test.offer::<ClusterVariable>("rules", test.readable(&path, "eu"))
        .await;
    test.assert_change_refused(
        "another path",
        &with(json!({})),
        json!({"spec": {"path": test.path("zone")}}),
        "spec.path is immutable: create another object for another path, and delete this one",
    )
    .await;
}
