//! Everything at once: Installations that are created, changed, rotated, redeployed, rolled back, suspended and deleted at
//! random, while faults come and operators are killed. `./dev chaos` runs it for as long as one likes.

mod support;

use std::time::Duration;

use support::chaos::Run;
use support::chaos::plan::Plan;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_all_invariants_hold_and_everything_converges() {
    let run = Run {
        seed: 8,
        installations: 6,
        lasts: Duration::from_secs(60),
    };
    run.or_as_given().go().await;
}

#[test]
fn the_same_seed_makes_the_same_actions() {
    let actions = |seed| Plan::of(seed, 50).take(1000).collect::<Vec<_>>();
    assert_eq!(actions(7), actions(7));
    assert_ne!(actions(7), actions(8));
}

/// The ledger would be worth nothing if it took everything.
mod ledger {
    use installation_operator::api::names::{IDENTITY_LABEL, VERSION_LABEL};
    use k8s_openapi::api::batch::v1::Job;
    use k8s_openapi::api::core::v1::Secret;
    use serde_json::json;

    use crate::support::chaos::ledger::Ledger;
    use crate::support::install::object;

    fn secret(kind: &str, name: &str, content: &str) -> Secret {
        object(json!({
            "metadata": {"name": name, "labels": {IDENTITY_LABEL: "wiki", VERSION_LABEL: "1"}},
            "type": format!("install.musher.dev/{kind}"),
            "immutable": kind != "claim",
            "data": {"value": data_encoding::BASE64.encode(content.as_bytes())},
        }))
    }

    fn claim(id: &str) -> Secret {
        secret("claim", "claim-wiki", &json!({"id": id}).to_string())
    }

    #[test]
    fn a_credential_that_changes_or_is_made_anew_is_told() {
        let mut ledger = Ledger::default();
        ledger.see(&secret("credential", "credential-wiki", "one"));
        ledger.see(&secret("credential", "credential-wiki", "one"));
        ledger.miss(&secret("credential", "credential-wiki", "one"));
        assert_eq!(ledger.violations(), Vec::<String>::new());
        ledger.see(&secret("credential", "credential-wiki", "two"));
        assert_eq!(
            ledger.violations(),
            ["credential-wiki holds something else than before"]
        );
    }

    #[test]
    fn what_is_retained_and_goes_is_told() {
        let mut ledger = Ledger::default();
        ledger.see(&claim("x"));
        ledger.see(&secret("snapshot", "snapshot-wiki-1", "one"));
        ledger.miss(&secret("snapshot", "snapshot-wiki-1", "one"));
        assert_eq!(
            ledger.violations(),
            ["snapshot-wiki-1 is gone, though 0 versions are newer"]
        );
    }

    #[test]
    fn what_its_user_deletes_may_go_and_the_next_claim_begins_anew() {
        let mut ledger = Ledger::default();
        ledger.see(&claim("x"));
        ledger.see(&secret("credential", "credential-wiki", "one"));
        ledger.permit("wiki");
        ledger.miss(&secret("credential", "credential-wiki", "one"));
        ledger.miss(&claim("x"));
        ledger.see(&claim("y"));
        ledger.see(&secret("credential", "credential-wiki", "two"));
        assert_eq!(ledger.violations(), Vec::<String>::new());
        ledger.see(&claim("z"));
        assert_eq!(ledger.violations(), ["wiki: its claim has another id"]);
    }

    #[test]
    fn a_job_that_runs_twice_is_told() {
        let job = |uid: &str| -> Job {
            let owner =
                json!({"apiVersion": "v1", "kind": "Installation", "name": "wiki", "uid": "1"});
            object(
                json!({"metadata": {"name": "wiki-migrate-1", "uid": uid, "ownerReferences": [owner]}}),
            )
        };
        let mut ledger = Ledger::default();
        ledger.see_job(&job("a"));
        ledger.see_job(&job("a"));
        assert_eq!(ledger.violations(), Vec::<String>::new());
        ledger.see_job(&job("b"));
        assert_eq!(ledger.violations(), ["Job wiki-migrate-1 ran 2 times"]);
    }
}
