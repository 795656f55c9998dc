//! `kubectl installation` against a real control plane and a real operator: each verb as people use it, and what it refuses.

mod support;

use futures::StreamExt as _;
use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use installation_operator::api::names::{self, IDENTITY_LABEL, Precious};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use support::install::object;
use support::item::{PASSWORD, SLUG, TITLE};
use support::wait::{condition, eventually};
use support::{ApiProxy, Counts, Moment, NOTHING, ONE_INSTALL, TestNamespace, installation};

#[tokio::test]
async fn status_is_a_tree_of_one_and_a_table_of_many() {
    let test = TestNamespace::new("plugin-status").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let viewer = test.principal("viewer", &["installation-viewer"]).await;
    let viewer = test.caller(&viewer);

    let tree = viewer.ask("status wiki").await;
    for expected in [
        "wiki  Ready=True Ready".to_owned(),
        format!("├─ blueprint {SLUG} revision 1"),
        "├─ record version 1".to_owned(),
        "─ web SERVICE Ready".to_owned(),
        "http HTTP wiki-web".to_owned(),
        format!("{PASSWORD} generation 0"),
    ] {
        assert!(tree.contains(&expected), "no {expected} in:\n{tree}");
    }
    assert!(
        !tree.contains('\u{1b}'),
        "colours without a terminal:\n{tree}"
    );

    let table = viewer.ask("status").await;
    let mut lines = table.lines();
    assert!(
        lines
            .next()
            .expect("a header")
            .starts_with("NAME   READY   REASON"),
        "{table}"
    );
    assert!(
        lines
            .next()
            .expect("a line")
            .starts_with("wiki   True    Ready"),
        "{table}"
    );
    let everywhere = test.administrator().ask("status -A").await;
    assert!(
        everywhere.starts_with("NAMESPACE") && everywhere.contains(&test.name),
        "{everywhere}"
    );

    let json: Value = serde_json::from_str(&viewer.ask("status wiki -o json").await).expect("JSON");
    assert_eq!(json["metadata"]["name"], "wiki");
    assert_eq!(json["metadata"]["managedFields"], Value::Null);
    viewer
        .refused("status wikki", 2, "there is no Installation wikki")
        .await;
    viewer
        .refused("status -A", 2, "you may not list Installations")
        .await;

    let watching = viewer.start("status wiki --watch");
    watching.shows("record version 1").await;
    test.merge(
        "wiki",
        json!({"spec": {"parameters": {"siteTitle": {"value": "Another"}}}}),
    )
    .await;
    watching.shows("record version 2").await;
    watching.shows("Ready=True Ready").await;
}

#[tokio::test]
async fn history_reads_like_a_log_and_versions_are_compared_without_a_value() {
    let test = TestNamespace::new("plugin-history").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let spec = json!({"parameters": {"siteTitle": {"value": "hunter2"}}});
    test.merge("wiki", json!({"spec": spec})).await;
    test.wait_until_materialized("wiki").await;
    let caller = test.administrator();
    caller.ask(&format!("rotate wiki {PASSWORD}")).await;
    test.wait_until_materialized("wiki").await;
    test.wait_until_quiet().await;

    let viewer = test.principal("viewer", &["installation-viewer"]).await;
    let viewer = test.caller(&viewer);
    let log = viewer.ask("history wiki").await;
    let lines: Vec<Vec<&str>> = log
        .lines()
        .skip(1)
        .map(|line| {
            let mut words = line.split_whitespace();
            let (version, state) = (
                words.next().expect("a version"),
                words.next().expect("a state"),
            );
            let changed = line.split("   ").last().expect("words");
            vec![version, state, changed.trim()]
        })
        .collect();
    let expected = [
        ["1", "Superseded", "first record"],
        ["2", "Superseded", "parameter siteTitle"],
        ["3", "Current", "credential dbPassword generation 0 → 1"],
    ];
    assert_eq!(lines, expected, "{log}");

    let differs = viewer.run("diff wiki 1").await;
    assert_eq!(differs.code, 1, "{differs:?}");
    for expected in [
        "version 1 → 3",
        "2  parameter siteTitle",
        "3  credential dbPassword generation 0 → 1",
        "~ credentials.dbPassword.rotation: 0 → 1",
    ] {
        assert!(
            differs.out.contains(expected),
            "no {expected} in {differs:?}"
        );
    }
    assert!(!format!("{log}{differs:?}").contains("hunter2"));
    assert_eq!(viewer.run("diff wiki 2 2").await.code, 0);
    viewer
        .refused("diff wiki 1 9", 2, "name one of 1, 2, 3")
        .await;
    let json = viewer.run("diff wiki 2 3 -o json").await;
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(
        json["differences"][0]["path"],
        "credentials.dbPassword.rotation"
    );

    // What is retained has a history, too.
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    let retained = viewer.run("history wiki").await;
    assert_eq!(
        (retained.code, retained.out.lines().count()),
        (0, 4),
        "{retained:?}"
    );
    assert!(retained.err.contains("retained state"), "{retained:?}");
    viewer
        .refused("history other", 2, "there is no Installation other")
        .await;
}

#[tokio::test]
async fn diff_shows_what_an_update_selects_and_update_selects_it() {
    let test = TestNamespace::new("plugin-update").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    let item = test.item().await;
    test.create(&item.config_map("files")).await;
    let wiki = installation("wiki")
        .config_map(SLUG, "files")
        .parameter("siteTitle", TITLE);
    test.create(&wiki.build()).await;
    test.wait_for_condition("wiki", ConditionType::Ready, "True")
        .await;
    let editor = test
        .principal("editor", &["installation-editor", "view"])
        .await;
    let editor = test.caller(&editor);
    let nothing = editor.run("diff wiki").await;
    assert_eq!(nothing.code, 0, "{nothing:?}");
    assert!(nothing.out.contains("no difference"), "{nothing:?}");
    assert!(
        nothing
            .out
            .contains("ComputeProfile general.standard.small: you may not"),
        "{nothing:?}"
    );

    let newer = item.clone().edited(
        "web.yaml",
        "metadata: { revision: 1,",
        "metadata: { revision: 2,",
    );
    let files = Patch::Merge(json!({"data": newer.files}));
    test.api::<ConfigMap>()
        .patch("files", &PatchParams::default(), &files)
        .await
        .expect("changed");
    test.wait_for_condition("wiki", ConditionType::UpdateAvailable, "True")
        .await;
    let differs = editor.run("diff wiki").await;
    assert_eq!(differs.code, 1, "{differs:?}");
    for expected in [
        "blueprint in ConfigMap files",
        "~ components.web.revision: 1 → 2",
    ] {
        assert!(
            differs.out.contains(expected),
            "no {expected} in {differs:?}"
        );
    }
    let tree = editor.ask("status wiki").await;
    assert!(tree.contains("update available"), "{tree}");

    let done = editor.run("update wiki --wait").await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(editor.run("diff wiki").await.code, 0);
    let log = editor.ask("history wiki").await;
    assert!(log.contains("component web revision 1 → 2"), "{log}");

    // What would be refused is said before.
    let broken = item.edited("web.yaml", "type: SERVICE", "type: NOTHING");
    let files = Patch::Merge(json!({"data": broken.files}));
    test.api::<ConfigMap>()
        .patch("files", &PatchParams::default(), &files)
        .await
        .expect("changed");
    let refused = editor.run("diff wiki").await;
    assert!(
        refused.out.contains("an update would be refused"),
        "{refused:?}"
    );
    let stalled = editor.run("update wiki --wait").await;
    assert_eq!(stalled.code, 1, "{stalled:?}");
    assert!(
        stalled.err.contains("wiki is stalled: Invalid"),
        "{stalled:?}"
    );
}

#[tokio::test]
async fn a_rotation_is_the_next_generation_and_touches_nothing_else() {
    let test = TestNamespace::new("plugin-rotate").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.wait_until_quiet().await;
    let editor = test.principal("editor", &["installation-editor"]).await;
    let editor = test.caller(&editor);
    let before = test.api::<Installation>().get("wiki").await.expect("it");

    let tried = editor
        .ask(&format!("rotate wiki {PASSWORD} --dry-run=server"))
        .await;
    assert_eq!(
        tried,
        "installation/wiki rotates dbPassword from generation 0 to 1 (server dry run)\n"
    );
    let after = test.api::<Installation>().get("wiki").await.expect("it");
    assert_eq!(after.metadata.generation, before.metadata.generation);

    let done = editor
        .run(&format!("rotate wiki {PASSWORD} --wait --timeout 2m"))
        .await;
    assert_eq!(done.code, 0, "{done:?}");
    let after = test.api::<Installation>().get("wiki").await.expect("it");
    assert_eq!(condition(&after, ConditionType::Ready).0, "True");
    let mut expected = json!(before.spec);
    expected["credentials"] = json!({PASSWORD: {"generation": 1}});
    assert_eq!(json!(after.spec), expected);
    let stock = test.stock().await;
    assert!(stock.password(PASSWORD, 1).is_some());
    assert_ne!(stock.password(PASSWORD, 0), stock.password(PASSWORD, 1));

    let object = editor.ask(&format!("rotate wiki {PASSWORD} -o json")).await;
    let object: Value = serde_json::from_str(&object).expect("JSON");
    assert_eq!(object["spec"]["credentials"][PASSWORD]["generation"], 2);
    editor
        .refused("rotate wiki dbPasword", 1, "name one of dbPassword")
        .await;
    let viewer = test.principal("viewer", &["installation-viewer"]).await;
    test.caller(&viewer)
        .refused(
            &format!("rotate wiki {PASSWORD}"),
            2,
            "you may not patch Installation wiki",
        )
        .await;
}

#[tokio::test]
async fn suspend_and_resume_say_what_they_did_and_what_they_did_not() {
    let test = TestNamespace::new("plugin-suspend").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let caller = test.administrator();
    caller.ask("suspend wiki --wait").await;
    let suspended = test.api::<Installation>().get("wiki").await.expect("it");
    assert_eq!(
        condition(&suspended, ConditionType::Ready),
        ("Unknown", "Suspended")
    );
    let again = caller.ask("suspend wiki").await;
    assert_eq!(again, "installation/wiki is suspended already\n");
    caller
        .refused(
            &format!("rotate wiki {PASSWORD} --wait"),
            1,
            "there is nothing to wait for",
        )
        .await;
    let noted = caller.run("redeploy wiki").await;
    assert!(
        noted
            .err
            .contains("nothing happens before `kubectl installation resume wiki`"),
        "{noted:?}"
    );
    caller.ask("resume wiki --wait").await;
    test.wait_for_event("wiki", "Redeployed").await;
}

#[tokio::test]
async fn redeploy_keeps_the_version_and_rollback_makes_the_next_one() {
    let test = TestNamespace::new("plugin-rollback").await;
    let _rollout = test.pods_become_ready();
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let caller = test.administrator();
    caller.ask("redeploy wiki --wait").await;
    test.wait_for_event("wiki", "Redeployed").await;
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);
    let titled = json!({"spec": {"parameters": {"siteTitle": {"value": "Another"}}}});
    test.merge("wiki", titled).await;
    test.wait_until_materialized("wiki").await;
    caller
        .refused("rollback wiki 7", 1, "name one of 1, 2")
        .await;
    caller.ask("rollback wiki 1 --wait").await;
    let log = caller.ask("history wiki").await;
    assert!(
        log.contains("rolled back to version 1: parameter siteTitle"),
        "{log}"
    );
}

#[tokio::test]
async fn a_change_that_git_would_take_back_says_so() {
    let test = TestNamespace::new("plugin-gitops").await;
    let wiki = test.item().await.installation("wiki").build();
    let mut wiki = test.create(&wiki).await;
    let flux = json!({"metadata": {"labels": {
        "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"
    }}});
    test.merge("wiki", flux).await;
    let caller = test.administrator();
    let answer = caller.run("suspend wiki").await;
    assert_eq!(answer.code, 0);
    for expected in [
        "Flux (Kustomization flux-system/apps) applies this Installation: its next sync may take this back",
        "suspend: true",
    ] {
        assert!(answer.err.contains(expected), "no {expected} in {answer:?}");
    }

    // As Flux writes it: by server-side apply, field by field its own.
    wiki.metadata.managed_fields = None;
    wiki.metadata.resource_version = None;
    wiki.spec.suspend = false;
    test.api::<Installation>()
        .patch(
            "wiki",
            &PatchParams::apply("kustomize-controller").force(),
            &Patch::Apply(&wiki),
        )
        .await
        .expect("applied");
    let answer = caller.run("suspend wiki").await;
    assert!(
        answer.err.contains("its next sync takes this back"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn what_somebody_else_writes_in_between_is_not_written_over() {
    let test = TestNamespace::new("plugin-conflict").await;
    test.create(&test.item().await.installation("wiki").build())
        .await;
    let proxy = ApiProxy::start(test.client()).await;
    let caller = test.caller_through(&proxy);
    let change = |change: Value| {
        let api = test.api::<Installation>();
        async move {
            let patch = Patch::Merge(change);
            let patched = api.patch("wiki", &PatchParams::default(), &patch).await;
            patched.expect("changed");
        }
    };
    // Not the spec: it is read again.
    proxy.before_write(
        1,
        change(json!({"metadata": {"annotations": {"seen": "1"}}})),
    );
    caller.ask("suspend wiki").await;
    assert_eq!(proxy.writes().len(), 2, "one conflict, one success");
    // The spec: it is somebody's word.
    proxy.before_write(1, change(json!({"spec": {"historyLimit": 3}})));
    caller
        .refused("resume wiki", 1, "somebody else changed the spec of wiki")
        .await;
    let found = test.api::<Installation>().get("wiki").await.expect("it");
    assert!(found.spec.suspend && found.spec.history_limit == 3);
}

#[tokio::test]
async fn a_credential_is_revealed_only_when_asked_and_only_to_whoever_may_read_it() {
    let test = TestNamespace::new("plugin-credential").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let password = test.stock().await.password(PASSWORD, 0).expect("it");
    let secret = names::credential("wiki", PASSWORD, 0);

    let caller = test.administrator();
    let told = caller.run(&format!("credential wiki {PASSWORD}")).await;
    assert_eq!(told.code, 0, "{told:?}");
    for expected in ["0, in use", secret.as_str(), "HEX/32", "ago)"] {
        assert!(told.out.contains(expected), "no {expected} in the answer");
    }
    assert!(
        !format!("{told:?}").contains(&password),
        "revealed without being asked"
    );
    let json = caller
        .ask(&format!("credential wiki {PASSWORD} -o json"))
        .await;
    assert!(!json.contains(&password), "revealed without being asked");
    let revealed = caller
        .run(&format!("credential wiki {PASSWORD} --reveal"))
        .await;
    assert!(revealed.code == 0 && revealed.out == password && revealed.err.is_empty());

    let viewer = test.principal("viewer", &["installation-viewer"]).await;
    let viewer = test.caller(&viewer);
    let told = viewer.ask(&format!("credential wiki {PASSWORD}")).await;
    assert!(
        told.contains(&secret) && told.contains("you may not read its Secret"),
        "{told}"
    );
    let line = format!("credential wiki {PASSWORD} --reveal");
    let refused = viewer
        .refused(&line, 2, &format!("you may not read Secret {secret}"))
        .await;
    assert_eq!(refused.out, "");

    caller
        .refused("credential wiki nothing", 2, "name one of dbPassword")
        .await;
    caller
        .refused(
            &format!("credential wiki {PASSWORD} --generation 4"),
            2,
            "there is no generation 4",
        )
        .await;
    // The credential of a retained volume outlives its Installation, and is still to be had.
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    assert!(caller.ask(&line).await == password);
}

#[tokio::test]
async fn events_of_an_installation_and_of_what_it_made_come_in_their_order() {
    let test = TestNamespace::new("plugin-events").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let caller = test.administrator();
    let made = "deployment/wiki-web";
    let log = eventually("the events of workloads", async || {
        let log = caller.ask("events wiki").await;
        log.contains(made).then_some(log)
    })
    .await;
    let at = |word: &str| {
        log.find(word)
            .unwrap_or_else(|| panic!("no {word} in:\n{log}"))
    };
    assert!(at("CredentialCreated") < at("ScalingReplicaSet"), "{log}");
    assert!(at("installation/wiki") < at(made), "{log}");

    let watching = caller.start("events wiki --watch");
    watching.shows("RecordAccepted").await;
    caller.ask(&format!("rotate wiki {PASSWORD}")).await;
    watching
        .shows("credential dbPassword generation 0 → 1")
        .await;
    caller
        .refused("events other", 2, "there is no Installation other")
        .await;
}

#[tokio::test]
async fn a_live_identity_is_not_purged() {
    let test = TestNamespace::new("plugin-live").await;
    let _operator = test.operator().await.start();
    test.create(
        &test
            .item()
            .await
            .installation("wiki")
            .identity("house")
            .build(),
    )
    .await;
    test.wait_until_materialized("wiki").await;
    let caller = test.administrator();
    caller
        .refused(
            "purge house --yes",
            1,
            "identity house is held by Installation wiki",
        )
        .await;
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);
    caller
        .refused(
            "purge wiki --yes",
            1,
            "there is no retained state of identity wiki",
        )
        .await;
}

#[tokio::test]
async fn a_purge_asks_and_takes_all_of_one_identity_and_nothing_of_another() {
    let test = TestNamespace::new("plugin-purge").await;
    let _operator = test.operator().await.start();
    let item = support::Item::one_of_each(&test.cluster).await;
    let town = installation("town").inline(SLUG, item.files.clone());
    test.create(&town.build()).await;
    test.install_wiki().await;
    test.wait_until_materialized("town").await;
    test.wait_until_quiet().await;
    let wiki = test.stock().await;
    test.delete("town").await;
    test.wait_until_gone("town").await;
    let plain: Secret =
        object(json!({"metadata": {"name": "plain", "labels": {IDENTITY_LABEL: "town"}}}));
    test.create(&plain).await;
    let retained = test.stock().await.counts();
    let volumes = async || {
        test.list::<k8s_openapi::api::core::v1::PersistentVolumeClaim>()
            .await
            .len()
    };
    let kept = volumes().await;
    assert!(kept > 0, "no volume is retained");

    let caller = test.administrator();
    let asked = caller.refused("purge town", 1, "give --yes").await;
    assert!(asked.out.contains("data: volume"), "{asked:?}");
    caller.ask("purge town --dry-run=server").await;
    assert_eq!(
        (test.stock().await.counts(), volumes().await),
        (retained, kept)
    );

    let done = caller.run("purge town --yes").await;
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.out.contains("the state of identity town is gone"),
        "{done:?}"
    );
    assert_eq!(volumes().await, 0);
    let left = test.stock().await;
    assert_eq!(left.counts(), ONE_INSTALL);
    assert!(left.password(PASSWORD, 0) == wiki.password(PASSWORD, 0));
    test.api::<Secret>()
        .get("plain")
        .await
        .expect("it is nobody's of the identity");
    caller
        .refused("purge town --yes", 1, "there is no retained state")
        .await;
}

#[tokio::test]
async fn whoever_may_not_delete_all_of_it_deletes_nothing() {
    let test = TestNamespace::new("plugin-rights").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    let purger = test.principal("purger", &["installation-viewer"]).await;
    let grant = async |name: &str, group: &str, resources: &[&str], verbs: &[&str]| {
        let role: Role = object(json!({
            "metadata": {"name": name},
            "rules": [{"apiGroups": [group], "resources": resources, "verbs": verbs}],
        }));
        test.create(&role).await;
        let binding: RoleBinding = object(json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [purger.subject()],
        }));
        test.create(&binding).await;
    };
    let core = ["secrets", "persistentvolumeclaims"];
    grant("state", "", &core, &["get", "list", "delete"]).await;
    let caller = test.caller(&purger);
    eventually("the refusal to be of the records", async || {
        let answer = caller.run("purge wiki --yes").await;
        assert_ne!(answer.code, 0, "{answer:?}");
        let refusal = "you may not delete ResolutionRecord";
        answer.err.contains(refusal).then_some(())
    })
    .await;
    assert_eq!(test.stock().await.counts(), ONE_INSTALL);
    grant(
        "records",
        "install.musher.dev",
        &["resolutionrecords"],
        &["delete"],
    )
    .await;
    eventually("the purge to be allowed", async || {
        let answer = caller.run("purge wiki --yes").await;
        (answer.code == 0).then_some(())
    })
    .await;
    assert_eq!(test.stock().await.counts(), NOTHING);
}

/// What an Installation of the identity does while it is purged: it takes the claim.
async fn take_over(api: kube::Api<Installation>, wiki: Installation) {
    api.create(&Default::default(), &wiki)
        .await
        .expect("created");
    let seen = |wiki: Option<&Installation>| {
        let status = wiki.and_then(|wiki| wiki.status.as_ref());
        status.is_some_and(|status| status.observed_generation > 0)
    };
    let looked_at = kube::runtime::wait::await_condition(api, "wiki", seen);
    tokio::time::timeout(support::wait::PATIENCE, looked_at)
        .await
        .expect("the operator looks at it in time")
        .expect("a watch");
}

#[tokio::test]
async fn an_identity_that_is_taken_over_in_between_keeps_what_is_left() {
    for (moment, expected, left) in [
        // While it is only asked what may be deleted.
        (1, "changed since it was listed", ONE_INSTALL),
        // On the way to the second object.
        (
            ASKED + 2,
            "the claim of identity wiki changed in the meantime",
            Counts {
                records: 0,
                snapshots: 0,
                ..ONE_INSTALL
            },
        ),
    ] {
        let test = TestNamespace::new("plugin-taken").await;
        let _operator = test.operator().await.start();
        test.install_wiki().await;
        test.delete("wiki").await;
        test.wait_until_gone("wiki").await;
        let proxy = ApiProxy::start(test.client()).await;
        let caller = test.caller_through(&proxy);
        let wiki = test.item().await.installation("wiki").build();
        proxy.before_write(moment, take_over(test.api(), wiki));
        caller.refused("purge wiki --yes", 1, expected).await;
        assert_eq!(test.stock().await.counts(), left);
    }
}

/// The deletions that a purge of one install only asks for before it begins: a record, a snapshot, three documents, a
/// credential, the claim.
const ASKED: usize = 7;

#[tokio::test]
async fn a_purge_that_ends_half_way_reads_as_a_loss_and_goes_on_when_run_again() {
    futures::stream::iter((1..ASKED).map(purge_half))
        .buffer_unordered(3)
        .collect::<()>()
        .await;
}

/// Kills a purge after `done` deletions.
async fn purge_half(done: usize) {
    let test = TestNamespace::new("plugin-half").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    let before = test.stock().await;
    let proxy = ApiProxy::start(test.client()).await;
    let caller = test.caller_through(&proxy);
    proxy.kill_at(Moment::After(ASKED + done));
    let running = caller.start("purge wiki --yes");
    proxy.attach(running.process());
    running.ended().await;
    let left = test.stock().await;
    assert_eq!(left.of(Precious::Claim).len(), 1, "the claim goes last");
    assert!(left.counts() != before.counts());

    // Nobody takes the rest for a new identity, or makes up for what is gone.
    test.create(&test.item().await.installation("wiki").build())
        .await;
    test.wait_until_stalled("wiki", "StateLost").await;
    let after = test.stock().await.counts();
    assert_eq!(
        after.credentials,
        left.counts().credentials,
        "a credential was made"
    );
    test.delete("wiki").await;
    test.wait_until_gone("wiki").await;
    // A claim that guards nothing goes with whoever holds it.
    if test.stock().await.counts() != NOTHING {
        test.administrator().ask("purge wiki --yes").await;
    }
    assert_eq!(test.stock().await.counts(), NOTHING, "after {done}");
}

#[tokio::test]
async fn kubectl_completes_names_and_parameters_from_the_cluster() {
    let test = TestNamespace::new("plugin-complete").await;
    let _operator = test.operator().await.start();
    test.install_wiki().await;
    let caller = test.administrator();
    let place = format!(
        "__complete -- --kubeconfig {} -n {}",
        test.cluster.state.kubeconfig.display(),
        test.name
    );
    for (line, expected) in [
        ("rotate w", "wiki\n:4\n".to_owned()),
        ("rotate wiki ''", format!("{PASSWORD}\n:4\n")),
        ("rollback wiki ''", "1\n:4\n".to_owned()),
        ("rol", "rollback\n:4\n".to_owned()),
        ("diff nothing ''", ":4\n".to_owned()),
    ] {
        assert_eq!(
            caller.ask(&format!("{place} {line}")).await,
            expected,
            "{line}"
        );
    }
    let helper = caller.ask("completion kubectl").await;
    assert!(
        helper.contains("exec kubectl-installation __complete -- \"$@\""),
        "{helper}"
    );
}

#[tokio::test]
async fn bash_completes_verbs_and_their_options() {
    let test = TestNamespace::new("plugin-bash").await;
    let script = test.administrator().ask("completion bash").await;
    for (words, last, before, expected) in [
        ("rol", "rol", "kubectl-installation", "rollback"),
        ("rotate --wa", "--wa", "rotate", "--wait"),
    ] {
        let press = format!(
            "{script}\nCOMP_WORDS=(kubectl-installation {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _kubectl__installation kubectl-installation {last} {before}; echo \"${{COMPREPLY[@]}}\""
        );
        let output = std::process::Command::new("bash")
            .arg("-c")
            .arg(press)
            .output();
        let output = output.expect("bash");
        let offered = String::from_utf8(output.stdout).expect("text");
        assert_eq!(offered.trim(), expected, "{words}");
    }
}
