//! What survives: everything of a namespace deleted and restored from YAML, in any order, with new UIDs and without
//! status; what is missing afterwards; and an Installation that GitOps prunes and applies again.

mod support;

use std::collections::BTreeMap;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, FINALIZER, Precious};
use installation_operator::api::{Installation, ResolutionRecord};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret};
use kube::api::{DeleteParams, DynamicObject, ListParams, ObjectList, Patch, PatchParams};
use kube::{Resource, ResourceExt as _};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};
use support::item::{PASSWORD, SLUG};
use support::wait::{condition, eventually};
use support::{Item, ONE_INSTALL, TestNamespace, installation};

/// The kinds that a backup holds, as kubectl is asked for them.
const KINDS: &str = "installations.install.musher.dev,resolutionrecords.install.musher.dev,secrets,persistentvolumeclaims";

/// The objects of a namespace, from what `kubectl get -o yaml` wrote.
struct Backup(Vec<DynamicObject>);

impl TestNamespace {
    /// An item with volume and job, and the wiki with a rotation behind it. All of it is settled.
    async fn live_a_while(&self) {
        let town = Item::one_of_each(&self.cluster).await;
        let town = installation("town").inline(SLUG, town.files);
        self.create(&town.build()).await;
        self.install_wiki().await;
        let rotated = json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}});
        self.merge("wiki", rotated).await;
        self.wait_until_materialized("wiki").await;
        self.merge("wiki", json!({"spec": {"redeploy": {"token": "1"}}}))
            .await;
        for name in ["wiki", "town"] {
            self.wait_for_condition(name, ConditionType::Ready, "True")
                .await;
        }
        self.end_jobs().await;
        self.wait_for("town", "the job to be told", |town| {
            let told = town.status.as_ref()?.jobs.get("migrate")?;
            told.outcome.is_final().then_some(())
        })
        .await;
        self.wait_until_quiet().await;
    }

    /// Lets the pods of Jobs succeed, where no node does.
    async fn end_jobs(&self) {
        eventually("the Jobs to end", async || {
            let selected = ListParams::default().labels("install.musher.dev/node=migrate");
            let pods = self.api::<Pod>().list(&selected).await.ok()?;
            for pod in pods.iter().filter(|_| self.cluster.lacks_node().is_some()) {
                let done = Patch::Strategic(json!({"status": {"phase": "Succeeded"}}));
                let params = PatchParams::default();
                // It may be gone, and the next round sees.
                let _ = self
                    .api::<Pod>()
                    .patch_status(&pod.name_any(), &params, &done)
                    .await;
            }
            let jobs = self.list::<Job>().await;
            let ended = |job: &Job| {
                let status = job.status.as_ref();
                status.is_some_and(|status| status.completion_time.is_some())
            };
            (!jobs.is_empty() && jobs.iter().all(ended)).then_some(())
        })
        .await;
    }

    /// Runs kubectl in this namespace; what it prints.
    async fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let arguments = [&["--namespace", &self.name], arguments].concat();
        let output = self.cluster.kubectl(&arguments, input).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    async fn back_up(&self) -> Backup {
        let text = self.kubectl(&["get", KINDS, "-o", "yaml"], "").await;
        let list: ObjectList<DynamicObject> = serde_saphyr::from_str(&text).expect("a list");
        let is_ours = |object: &DynamicObject| {
            let kind = object.data.get("type").and_then(|kind| kind.as_str());
            kind.is_none_or(|kind| kind.starts_with("install.musher.dev/"))
        };
        Backup(list.items.into_iter().filter(is_ours).collect())
    }

    /// Deletes everything that a backup holds, and waits until what was made from it is collected.
    async fn lose_everything(&self) {
        for installation in self.list::<Installation>().await {
            let freed = json!({"metadata": {"finalizers": null}});
            self.merge(&installation.name_any(), freed).await;
        }
        self.kubectl(&["delete", KINDS, "--all", "--wait=false"], "")
            .await;
        for claim in self.list::<PersistentVolumeClaim>().await {
            let freed = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            let claims = self.api::<PersistentVolumeClaim>();
            let _ = claims
                .patch(&claim.name_any(), &PatchParams::default(), &freed)
                .await;
        }
        eventually("everything to be gone", async || {
            let mut left = self.list::<PersistentVolumeClaim>().await.len();
            left += self.list::<Job>().await.len();
            left += self.deployments().await.len();
            (left == 0).then_some(())
        })
        .await;
    }

    /// Applies the objects of a backup that `wanted` likes, in the order that `seed` shuffles them to.
    async fn restore(&self, backup: &Backup, seed: u64, wanted: impl Fn(&DynamicObject) -> bool) {
        let wanted = backup.0.iter().filter(|object| wanted(object));
        let mut objects: Vec<DynamicObject> = wanted.cloned().collect();
        objects.shuffle(&mut StdRng::seed_from_u64(seed));
        for object in &mut objects {
            // What kubectl wants to be taken out of what it has given out.
            object.metadata.resource_version = None;
            object.metadata.uid = None;
            // The volume behind a claim went with it: what brings its data back is for who backs up volumes.
            if let Some(Value::Object(spec)) = object.data.get_mut("spec") {
                spec.remove("volumeName");
            }
            let annotations = object.annotations_mut();
            annotations.retain(|key, _| !key.starts_with("pv.kubernetes.io/"));
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.kubectl(&["apply", "-f", "-"], &list.to_string()).await;
    }
}

/// Every value that must be the same after a restore, by the object's name.
async fn essence(test: &TestNamespace) -> BTreeMap<String, String> {
    let stock = test.stock().await;
    let secrets = stock.secrets.into_values().flatten();
    let mut all: BTreeMap<String, String> = secrets
        .filter(|secret| secret.type_.as_deref() != Some(&Precious::Claim.secret_type()))
        .map(|secret| (secret.name_any(), format!("{:?}", secret.data)))
        .collect();
    for record in stock.records {
        let mut beside = record.annotations().clone();
        beside.remove("kubectl.kubernetes.io/last-applied-configuration");
        all.insert(record.name_any(), format!("{:?} {beside:?}", record.spec));
    }
    for claim in test.list::<PersistentVolumeClaim>().await {
        all.insert(claim.name_any(), "a claim".to_owned());
    }
    all
}

async fn restored_whole(test: &TestNamespace, before: &BTreeMap<String, String>) {
    for name in ["wiki", "town"] {
        test.wait_for_condition(name, ConditionType::Ready, "True")
            .await;
    }
    test.wait_until_quiet().await;
    similar_asserts::assert_eq!(&essence(test).await, before);
    assert_eq!(test.list::<Job>().await, [], "a job ran again");
    let events = test.events("wiki").await;
    let made = events
        .iter()
        .filter(|(reason, _)| reason == "CredentialCreated");
    assert_eq!(made.count(), 2, "{events:?}");
}

#[tokio::test]
async fn restored_in_any_order_while_the_operator_is_away_all_is_as_it_was() {
    let test = TestNamespace::new("restore-away").await;
    let _rollout = test.pods_become_ready();
    let mut operator = test.operator().await.start();
    test.live_a_while().await;
    let (backup, before) = (test.back_up().await, essence(&test).await);
    operator.kill();
    test.lose_everything().await;
    test.restore(&backup, 1, |_| true).await;
    operator.restart();
    restored_whole(&test, &before).await;
}

#[tokio::test]
async fn restored_in_any_order_under_the_eyes_of_the_operator_all_is_as_it_was() {
    let test = TestNamespace::new("restore-watched").await;
    let _rollout = test.pods_become_ready();
    let mut operator = test.operator().await.start();
    test.live_a_while().await;
    let (backup, before) = (test.back_up().await, essence(&test).await);
    for seed in [7, 1_000_003, 0xdead_beef] {
        eprintln!("seed {seed}");
        operator.kill();
        test.lose_everything().await;
        operator.restart();
        test.restore(&backup, seed, |_| true).await;
        restored_whole(&test, &before).await;
    }
}

#[tokio::test]
async fn whatever_a_restore_leaves_out_is_named_and_nothing_is_made_in_its_place() {
    let test = TestNamespace::new("restore-part").await;
    let _rollout = test.pods_become_ready();
    let mut operator = test.operator().await.start();
    test.live_a_while().await;
    let (backup, before) = (test.back_up().await, essence(&test).await);
    let volume = names::volume("town", "store", "data");
    for (who, missing, reason) in [
        ("wiki", names::claim("wiki"), "StateLost"),
        (
            "wiki",
            names::credential("wiki", PASSWORD, 1),
            "CredentialLost",
        ),
        ("wiki", names::snapshot("wiki", 2), "StateLost"),
        ("wiki", names::record("wiki", 2), "StateLost"),
        ("town", names::record("town", 1), "StateLost"),
        ("town", volume, "StateLost"),
    ] {
        operator.kill();
        test.lose_everything().await;
        test.restore(&backup, 3, |object| object.name_any() != missing)
            .await;
        operator.restart();
        let stalled = test.wait_until_stalled(who, reason).await;
        let conditions = stalled.status.expect("a status").conditions;
        assert!(conditions[0].message.contains(&missing), "{conditions:?}");
        test.wait_until_quiet().await;
        let mut without = before.clone();
        without.remove(&missing);
        similar_asserts::assert_eq!(essence(&test).await, without, "without {missing}");
        // And once it is there, all is well.
        test.restore(&backup, 3, |object| object.name_any() == missing)
            .await;
        restored_whole(&test, &before).await;
    }
}

#[tokio::test]
async fn an_update_gets_an_installation_whose_record_is_lost_going_again() {
    let test = TestNamespace::new("record-lost").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.api::<ResolutionRecord>()
        .delete(&names::record("wiki", 1), &DeleteParams::default())
        .await
        .expect("it goes");
    test.wait_until_stalled("wiki", "StateLost").await;
    test.merge("wiki", json!({"spec": {"update": {"token": "1"}}}))
        .await;
    let updated = test.wait_until_materialized("wiki").await;
    let record = updated.status.and_then(|status| status.record);
    assert_eq!(record.map(|record| record.version), Some(2));
}

#[tokio::test]
async fn a_copy_of_an_installations_text_is_an_installation_of_its_own() {
    let test = TestNamespace::new("copy").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let wiki = test.api::<Installation>().get("wiki").await.expect("it");
    let mut copy = Installation::new("copy", wiki.spec.clone());
    copy.metadata.annotations = wiki.metadata.annotations.clone();
    copy.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    test.create(&copy).await;
    test.wait_until_materialized("copy").await;
    let passwords = test.stock().await;
    let all: Vec<&Secret> = passwords.of(Precious::Credential).iter().collect();
    assert_eq!(all.len(), 2);
    assert!(all[0].data != all[1].data, "they share a credential");
}

#[tokio::test]
async fn what_gitops_pruned_and_applied_again_finds_its_state() {
    let test = TestNamespace::new("gitops").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let mut wiki = test.item().await.installation("wiki").json();
    wiki["metadata"]["labels"] = json!({"app": "wiki"});
    let applied = async |items: &[&Value]| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let kind = "--prune-allowlist=install.musher.dev/v1alpha1/Installation";
        let arguments = ["apply", "-f", "-", "--prune", "--selector=app=wiki", kind];
        test.kubectl(&arguments, &list).await
    };
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside", "labels": {"app": "wiki"}}});
    applied(&[&wiki, &other]).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    // A rotation by hand, which Git does not know of.
    let rotated = json!({"spec": {"credentials": {PASSWORD: {"generation": 1}}}});
    test.merge("wiki", rotated).await;
    test.wait_until_materialized("wiki").await;
    let before = test.stock().await;
    let said = applied(&[&other]).await;
    assert!(said.contains("wiki pruned"), "{said}");
    test.wait_until_gone("wiki").await;
    assert_eq!(test.stock().await.versions(), before.versions());

    applied(&[&wiki, &other]).await;
    let taken = test
        .wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    test.wait_for_event("wiki", "TakenOver").await;
    let credentials = &taken.status.as_ref().expect("a status").credentials;
    assert_eq!(credentials[0].generation, 1, "what is rotated stays so");
    assert_eq!(condition(&taken, ConditionType::Resolved).0, "True");
    let after = test.stock().await;
    assert!(after.password(PASSWORD, 1) == before.password(PASSWORD, 1));
    assert_eq!(after.counts().credentials, 1 + ONE_INSTALL.credentials);
    assert_eq!(after.counts().claims, 1);
    let owners = test.list::<ResolutionRecord>().await;
    assert!(
        owners
            .iter()
            .all(|record| record.meta().owner_references.is_none())
    );
}
