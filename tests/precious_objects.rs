//! Who may create and change what outlives an Installation, and who may write Installations: policy and roles, tried by
//! principals that have those roles and no others.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what the pure rooms do without"
)]

mod support;

use installation_operator::api::names::{IDENTITY_LABEL, Precious};
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::{Value, json};
use strum::IntoEnumIterator as _;

use support::install::object;
use support::wait::eventually;
use support::{Principal, TestNamespace, installation};

const SECRETS: &str = "only the operator creates or changes them. To restore a backup, bind ClusterRole installation-operator-restore in namespace";
const RECORDS: &str =
    "workloads come from ResolutionRecords: only the operator creates or changes them";
const CLAIMS: &str =
    "volume claims with the label install.musher.dev/identity hold the data of Installations";

fn secret(name: &str, precious: Precious) -> Secret {
    object(json!({
        "metadata": {"name": name, "labels": {IDENTITY_LABEL: "wiki"}},
        "type": precious.secret_type(),
        "stringData": {"value": "s"}
    }))
}

fn record(name: &str) -> ResolutionRecord {
    let digest = "0".repeat(64);
    object(json!({
        "apiVersion": "install.musher.dev/v1alpha1", "kind": "ResolutionRecord", "metadata": {"name": name},
        "spec": {
            "version": 1, "blueprintDigest": digest,
            "specifications": {"core": "1.0.0", "component": "1.0.0", "blueprint": "1.0.0"},
            "components": {"outside": {
                "identity": "./o.yaml", "revision": 1, "digest": digest, "source": "EXTERNAL", "volumes": {}, "exposure": {}
            }},
            "variables": {}, "credentials": {}, "installationSnapshot": {"identity": "s", "version": "1"}
        }
    }))
}

fn claim(name: &str, labels: &Value) -> PersistentVolumeClaim {
    object(json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}, "storageClassName": "none"}
    }))
}

/// A tenant as strong as a namespace's own people get: `admin`, and every right on records that a role could give.
async fn tenant(test: &TestNamespace) -> Principal {
    let tenant = test.principal("tenant", &["edit", "admin"]).await;
    let all = json!({"apiGroups": ["install.musher.dev"], "resources": ["resolutionrecords"], "verbs": ["*"]});
    test.create(&object::<Role>(
        json!({"metadata": {"name": "records"}, "rules": [all]}),
    ))
    .await;
    test.create(&object::<RoleBinding>(json!({
        "metadata": {"name": "records"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "records"},
        "subjects": [tenant.subject()]
    })))
    .await;
    tenant
}

/// What one principal tries.
struct Attempt<'a, K> {
    api: Api<K>,
    who: &'a str,
}

impl<K> Attempt<'_, K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + serde::Serialize
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    fn by<'a>(principal: &'a Principal) -> Attempt<'a, K> {
        Attempt {
            api: Api::namespaced(principal.client.clone(), &principal.namespace),
            who: &principal.name,
        }
    }

    async fn create(&self, object: &K) -> kube::Result<K> {
        self.api.create(&PostParams::default(), object).await
    }

    async fn merge(&self, name: &str, change: Value) -> kube::Result<K> {
        self.api
            .patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await
    }

    #[track_caller]
    fn refused(&self, tried: kube::Result<K>, message: &str) {
        match tried {
            Ok(object) => panic!("{} may write {object:?}", self.who),
            Err(error) => assert!(error.to_string().contains(message), "{}: {error}", self.who),
        }
    }

    #[track_caller]
    fn allowed(&self, tried: kube::Result<K>) {
        if let Err(error) = tried {
            panic!("{} may not: {error}", self.who);
        }
    }
}

#[tokio::test]
async fn a_tenant_plants_and_changes_no_precious_secret() {
    let test = TestNamespace::new("plant").await;
    let tenant = tenant(&test).await;
    let secrets = Attempt::<Secret>::by(&tenant);
    for precious in Precious::iter() {
        secrets.refused(secrets.create(&secret("planted", precious)).await, SECRETS);
    }
    test.create(&secret("claim", Precious::Claim)).await;
    for change in [
        json!({"stringData": {"value": "other"}}),
        json!({"data": null}),
        json!({"immutable": true}),
        json!({"metadata": {"labels": {IDENTITY_LABEL: "other"}}}),
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"annotations": {"a": "b"}}}),
        json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "0"}]}}),
    ] {
        secrets.refused(secrets.merge("claim", change).await, SECRETS);
    }
}

#[tokio::test]
async fn a_tenants_own_secrets_are_its_own() {
    let test = TestNamespace::new("ordinary").await;
    let tenant = tenant(&test).await;
    let secrets = Attempt::<Secret>::by(&tenant);
    // Labels of ours do not make a Secret precious: its type does, and that never changes.
    let ordinary: Secret = object(
        json!({"metadata": {"name": "mine", "labels": {IDENTITY_LABEL: "wiki"}}, "stringData": {"a": "b"}}),
    );
    secrets.allowed(secrets.create(&ordinary).await);
    secrets.allowed(
        secrets
            .merge("mine", json!({"stringData": {"a": "c"}}))
            .await,
    );
    secrets.refused(
        secrets
            .merge("mine", json!({"type": Precious::Claim.secret_type()}))
            .await,
        "",
    );
}

#[tokio::test]
async fn updates_that_change_nothing_pass_and_so_does_garbage_collection() {
    let test = TestNamespace::new("collected").await;
    let tenant = tenant(&test).await;
    let secrets = Attempt::<Secret>::by(&tenant);
    test.create(&secret("claim", Precious::Claim)).await;
    let same = secrets.api.get("claim").await.unwrap();
    secrets.allowed(
        secrets
            .api
            .replace("claim", &PostParams::default(), &same)
            .await,
    );

    // Deleting in the foreground has the garbage collector take a finalizer away.
    secrets
        .api
        .delete("claim", &DeleteParams::foreground())
        .await
        .unwrap();
    eventually("the Secret to be gone", async || {
        secrets
            .api
            .get_opt("claim")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_tenant_forges_and_changes_no_record() {
    let test = TestNamespace::new("forge").await;
    let tenant = tenant(&test).await;
    let records = Attempt::<ResolutionRecord>::by(&tenant);
    // The role is fresh: until the API server knows it, RBAC refuses before the policy does.
    eventually("the tenant's rights on records", async || {
        records.api.list(&Default::default()).await.ok()
    })
    .await;
    records.refused(records.create(&record("forged")).await, RECORDS);
    test.create(&record("real")).await;
    for change in [
        json!({"annotations": {"rollout": "9"}}),
        json!({"labels": {IDENTITY_LABEL: "other"}}),
    ] {
        records.refused(
            records.merge("real", json!({"metadata": change})).await,
            RECORDS,
        );
    }
}

#[tokio::test]
async fn a_tenant_leaves_kept_volume_claims_alone() {
    let test = TestNamespace::new("claims").await;
    let tenant = tenant(&test).await;
    let claims = Attempt::<PersistentVolumeClaim>::by(&tenant);
    let precious = json!({IDENTITY_LABEL: "wiki"});
    claims.refused(claims.create(&claim("planted", &precious)).await, CLAIMS);
    claims.allowed(claims.create(&claim("own", &json!({}))).await);
    claims.allowed(
        claims
            .merge("own", json!({"metadata": {"annotations": {"a": "b"}}}))
            .await,
    );
    claims.refused(
        claims
            .merge("own", json!({"metadata": {"labels": precious}}))
            .await,
        CLAIMS,
    );

    test.create(&claim("kept", &precious)).await;
    for change in [
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"annotations": {"a": "b"}}}),
        json!({"spec": {"volumeName": "elsewhere"}}),
    ] {
        claims.refused(claims.merge("kept", change).await, CLAIMS);
    }
    // A storage controller (it may write PersistentVolumes) still binds it.
    let binder = Principal::of(&test.cluster, "kube-system", "persistent-volume-binder").await;
    let binder: Api<PersistentVolumeClaim> = Api::namespaced(binder.client, &test.name);
    let mut bound = binder.get("kept").await.unwrap();
    bound.metadata.annotations = Some(
        [(
            "pv.kubernetes.io/bind-completed".to_owned(),
            "yes".to_owned(),
        )]
        .into(),
    );
    binder
        .replace("kept", &PostParams::default(), &bound)
        .await
        .unwrap();
}

#[tokio::test]
async fn who_restores_backups_and_the_operator_may_write_precious_objects() {
    let test = TestNamespace::new("restore").await;
    for (name, role) in [
        ("restorer", "installation-operator-restore"),
        ("operator", "installation-operator"),
    ] {
        let principal = test.principal(name, &[role]).await;
        let (secrets, records) = (
            Attempt::<Secret>::by(&principal),
            Attempt::<ResolutionRecord>::by(&principal),
        );
        eventually("the principal's rights", async || {
            records.api.list(&Default::default()).await.ok()
        })
        .await;
        secrets.allowed(secrets.create(&secret(name, Precious::Claim)).await);
        secrets.allowed(
            secrets
                .merge(name, json!({"stringData": {"value": "other"}}))
                .await,
        );
        records.allowed(records.create(&record(name)).await);
        records.allowed(
            records
                .merge(name, json!({"metadata": {"annotations": {"rollout": "2"}}}))
                .await,
        );
    }
    let restorer = test.principal("restorer", &[]).await;
    let claims = Attempt::<PersistentVolumeClaim>::by(&restorer);
    claims.allowed(
        claims
            .create(&claim("kept", &json!({IDENTITY_LABEL: "wiki"})))
            .await,
    );
    // Only where the role is bound.
    let elsewhere = TestNamespace::new("elsewhere").await;
    let secrets: Api<Secret> = Api::namespaced(restorer.client.clone(), &elsewhere.name);
    secrets
        .create(&PostParams::default(), &secret("planted", Precious::Claim))
        .await
        .unwrap_err();
}

#[tokio::test]
async fn installations_are_read_by_viewers_and_written_by_installation_editors_alone() {
    let test = TestNamespace::new("roles").await;
    let wiki: Installation = installation("wiki")
        .inline("acme-wiki", [("blueprint.yaml", "")])
        .build();
    let viewer = test.principal("viewer", &["view"]).await;
    let reads = Attempt::<Installation>::by(&viewer);
    eventually("the role view to have ours", async || {
        reads.api.list(&Default::default()).await.ok()
    })
    .await;
    reads.refused(reads.create(&wiki).await, "forbidden");
    let secrets = Attempt::<Secret>::by(&viewer);
    secrets.api.list(&Default::default()).await.unwrap_err();

    let editor = test.principal("editor", &["edit"]).await;
    let edits = Attempt::<Installation>::by(&editor);
    eventually("the editor's rights", async || {
        edits.api.list(&Default::default()).await.ok()
    })
    .await;
    edits.refused(edits.create(&wiki).await, "forbidden");

    let installer = test.principal("installer", &["installation-editor"]).await;
    let installs = Attempt::<Installation>::by(&installer);
    eventually("the installer's rights", async || {
        installs.api.list(&Default::default()).await.ok()
    })
    .await;
    installs.allowed(installs.create(&wiki).await);
    installs.allowed(
        installs
            .merge("wiki", json!({"spec": {"suspend": true}}))
            .await,
    );
    installs.refused(
        installs
            .api
            .patch_status(
                "wiki",
                &PatchParams::default(),
                &Patch::Merge(json!({"status": {}})),
            )
            .await,
        "forbidden",
    );
}
