//! Actions, carried out: by the administrator's own connection, so that no fault keeps the user's wishes back.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::Method;
use installation_operator::api::Installation;
use installation_operator::api::names::INSTALLATION_LABEL;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::item;
use super::ledger::HISTORY_LIMIT;
use super::plan::{Action, Plan, ROGUE, Weather, Wish, name};
use super::witness::Witness;
use crate::support::item::{PASSWORD, SLUG};
use crate::support::{Fault, Item, Operator, TestNamespace, installation};

/// The user, the operators and the weather between them and the API server.
pub struct World<'a> {
    test: &'a TestNamespace,
    witness: &'a Witness,
    item: Item,
    operators: Vec<Operator>,
    /// Whose object is not yet as it is wished: one of the same name is still being deleted.
    pending: BTreeSet<usize>,
}

impl<'a> World<'a> {
    /// Two replicas that take turns, and one that waits to be started beside them.
    pub async fn new(test: &'a TestNamespace, witness: &'a Witness) -> World<'a> {
        let item = item::item(&test.cluster).await;
        test.principal("operator", &["installation-operator-home"])
            .await;
        let mut operators = Vec::new();
        for number in 0..=ROGUE {
            let launch = test.operator().await;
            let launch = if number == ROGUE {
                launch
            } else {
                launch.options(["--leader-elect"])
            };
            operators.push(launch.through_proxy(test).await.start());
        }
        operators[ROGUE].kill();
        Self {
            test,
            witness,
            item,
            operators,
            pending: BTreeSet::new(),
        }
    }

    /// Does one action, and what could not be done before.
    pub async fn act(&mut self, action: &Action, plan: &Plan) {
        match action {
            Action::Wish(number, _) => {
                self.pending.insert(*number);
            }
            Action::LoseWorkload(number) => self.lose_workload(*number).await,
            Action::LoseStatus(number) => self.lose_status(*number).await,
            Action::Weather(weather, seed) => self.change_weather(*weather, *seed),
            Action::Kill(number) | Action::Start(number) => self.operators[*number].restart(),
            Action::End(number) => self.operators[*number].kill(),
        }
        self.fulfil(plan).await;
        self.restart_the_ended();
    }

    /// Ends all faults, starts everything that is to run, and brings every wish to the API server.
    pub async fn settle(&mut self, plan: &Plan) {
        for operator in &self.operators {
            operator.proxy().lift();
            operator.proxy().watches.release_all();
        }
        self.operators[ROGUE].kill();
        self.restart_the_ended();
        self.pending = (0..plan.wishes.len()).collect();
        let settled = crate::support::wait::attempt(Duration::from_secs(120), async || {
            self.fulfil(plan).await;
            self.restart_the_ended();
            self.pending.is_empty().then_some(())
        });
        settled.await.unwrap_or_else(|| {
            let left: Vec<String> = self.pending.iter().map(|number| name(*number)).collect();
            panic!("these do not go: {}", left.join(", "));
        });
    }

    /// As in production: whatever replica has ended is started again.
    pub fn restart_the_ended(&mut self) {
        for operator in &mut self.operators[..ROGUE] {
            if operator.exit_status().is_some() {
                operator.restart();
            }
        }
    }

    async fn fulfil(&mut self, plan: &Plan) {
        for number in self.pending.clone() {
            if self.bring(number, &plan.wishes[number]).await {
                self.pending.remove(&number);
            }
        }
    }

    /// Makes the object of one Installation what is wished; says whether that could be done.
    async fn bring(&self, number: usize, wish: &Wish) -> bool {
        let (api, name) = (self.test.api::<Installation>(), name(number));
        let standing = api.get_opt(&name).await.expect("the API server answers");
        match (standing, wish.is_present) {
            (Some(standing), _) if standing.metadata.deletion_timestamp.is_some() => {
                !wish.is_present
            }
            (None, false) => true,
            (None, true) => {
                let spec = self.spec(wish);
                let mut new = installation(&name);
                for (field, value) in spec.as_object().expect("a spec") {
                    if !value.is_null() {
                        new = new.with(field, value.clone());
                    }
                }
                let created = api.create(&PostParams::default(), &new.build()).await;
                created.unwrap_or_else(|error| panic!("{name} cannot be created: {error}"));
                true
            }
            (Some(_), true) => {
                let patch = Patch::Merge(json!({"spec": self.spec(wish)}));
                let patched = api.patch(&name, &PatchParams::default(), &patch).await;
                patched.unwrap_or_else(|error| panic!("{name} cannot be changed: {error}"));
                true
            }
            (Some(_), false) => {
                let policy = if wish.disposes { "Delete" } else { "Retain" };
                if wish.disposes {
                    self.witness.permit(&name);
                }
                let patch = json!({"spec": {"deletionPolicy": policy, "suspend": false}});
                let patch = Patch::Merge(patch);
                let patched = api.patch(&name, &PatchParams::default(), &patch).await;
                patched.unwrap_or_else(|error| panic!("{name} cannot be changed: {error}"));
                let deleted = api.delete(&name, &DeleteParams::default()).await;
                deleted.unwrap_or_else(|error| panic!("{name} cannot be deleted: {error}"));
                true
            }
        }
    }

    fn spec(&self, wish: &Wish) -> Value {
        let title = if wish.is_broken {
            format!("{} {}", "long ".repeat(10), wish.title)
        } else {
            format!("Title {}", wish.title)
        };
        let files = item::edition(&self.item, wish.edition).files;
        json!({
            "blueprint": {"inline": {"item": SLUG, "files": files}},
            "parameters": {"siteTitle": {"value": title}},
            "credentials": {PASSWORD: {"generation": wish.generation}},
            "update": {"token": wish.update.to_string()},
            "redeploy": {"token": wish.redeploy.to_string()},
            "rollback": wish.rollback.map(|(record, token)| {
                json!({"record": record, "token": token.to_string()})
            }),
            "suspend": wish.is_suspended,
            "deletionPolicy": "Retain",
            "historyLimit": HISTORY_LIMIT,
        })
    }

    async fn lose_workload(&self, number: usize) {
        let own = ListParams::default().labels(&format!("{INSTALLATION_LABEL}={}", name(number)));
        let params = DeleteParams::default();
        let deployments = self.test.api::<Deployment>();
        let sets = self.test.api::<StatefulSet>();
        let _ = deployments.delete_collection(&params, &own).await;
        let _ = sets.delete_collection(&params, &own).await;
    }

    async fn lose_status(&self, number: usize) {
        let nothing = Patch::Merge(json!({"status": null}));
        let api = self.test.api::<Installation>();
        // It may be away.
        let _ = api
            .patch_status(&name(number), &PatchParams::default(), &nothing)
            .await;
    }

    fn change_weather(&self, weather: Weather, seed: u64) {
        const WATCHED: [&str; 8] = [
            "installations",
            "secrets",
            "resolutionrecords",
            "persistentvolumeclaims",
            "deployments",
            "statefulsets",
            "jobs",
            "pods",
        ];
        let second = Duration::from_secs(1);
        for (operator, seed) in self.operators.iter().zip(seed..) {
            let proxy = operator.proxy();
            proxy.reseed(seed);
            proxy.watches.release_all();
            let rules = match weather {
                Weather::Calm => vec![],
                Weather::Errors => vec![
                    Fault::Refused(500).always().with_chance(0.05),
                    Fault::Refused(503).always().with_chance(0.05),
                    Fault::Misanswered(504).on_writes().with_chance(0.05),
                ],
                Weather::Lossy => vec![
                    Fault::AnswerLost.on_writes().with_chance(0.08),
                    Fault::Unsent.always().with_chance(0.04),
                ],
                Weather::Busy => vec![Fault::Throttled(1).always().with_chance(0.1)],
                Weather::Conflicts => vec![
                    Fault::Refused(409).on(Method::POST, "").with_chance(0.1),
                    Fault::Refused(409).on(Method::PUT, "").with_chance(0.1),
                    Fault::Refused(409).on(Method::PATCH, "").with_chance(0.1),
                ],
                Weather::Slow => vec![
                    Fault::Slow(3 * second).always().with_chance(0.02),
                    Fault::Slow(second / 5).always(),
                ],
                Weather::Expired => vec![Fault::Refused(401).always()],
                Weather::Partition => vec![Fault::Unsent.always()],
                Weather::Stale => {
                    proxy.watches.hold(WATCHED);
                    vec![]
                }
                Weather::Cut => {
                    proxy.watches.cut();
                    vec![Fault::Refused(500).on(Method::GET, "watch=true").times(10)]
                }
                Weather::Gone => {
                    proxy.watches.expire();
                    vec![]
                }
            };
            for rule in rules {
                proxy.inject(rule);
            }
        }
    }
}
