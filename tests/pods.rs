//! What real pods get and do: values and arguments arrive byte for byte, and probes decide as the contract says.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use installation_operator::api::condition::ConditionType;
use installation_operator::api::names;
use installation_operator::api::status::NodeStatus;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use serde_json::{Value, json};
use support::install::object;
use support::item::SLUG;
use support::wait::{attempt, eventually};
use support::{Item, TestNamespace, installation};

/// The item with one service, `store`, which has a volume.
async fn store(test: &TestNamespace) -> Item {
    Item::one_of_each(&test.cluster).await.only("store")
}

fn pod() -> String {
    format!("{}-0", names::workload("town", "store"))
}

impl TestNamespace {
    async fn create_town(&self, item: &Item) {
        let town = installation("town").inline(SLUG, item.files.clone());
        self.create(&town.build()).await;
    }

    async fn store_status(&self) -> Option<NodeStatus> {
        let town = self
            .api::<installation_operator::api::Installation>()
            .get("town")
            .await
            .ok()?;
        town.status?
            .nodes
            .into_iter()
            .find(|node| node.name == "store")
    }

    /// Whether the container runs, has started, and is ready, and how often it was started again.
    async fn container(&self) -> Option<(bool, bool, bool, i32)> {
        let status = self.api::<Pod>().get_opt(&pod()).await.ok()??.status?;
        let container = status.container_statuses?.into_iter().next()?;
        let is_running = container.state.is_some_and(|state| state.running.is_some());
        Some((
            is_running,
            container.started.unwrap_or(false),
            container.ready,
            container.restart_count,
        ))
    }

    /// Whether the Service leads to the pod.
    async fn is_led_to(&self) -> Option<bool> {
        let name = names::workload("town", "store");
        let labelled = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
        let slices = self.api::<EndpointSlice>().list(&labelled).await.ok()?;
        let mut endpoints = slices
            .into_iter()
            .flat_map(|slice| slice.endpoints.into_iter().flatten());
        endpoints.next()?.conditions?.ready
    }
}

/// Texts that something on the way could change.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "plain",
        "  spaces before and after \t",
        "one\ntwo\r\nthree\n\n",
        "\"double\" 'single' `back` \\n \\ \\\\",
        "$ $$ $$$ $HOME ${HOME} $(HOME) $$(HOME) $(",
        "${{ parameters.secret }} {{ template }} %s %(x)s",
        "- yaml: [null, 0x10] # no",
        "null",
        "a=b=c",
        "\u{1}\u{1b}[31m\u{7f}\u{85}\u{2028}",
        "žluťoučký 🐎 e\u{301} \u{202e}right to left\u{feff}",
    ]
    .map(str::to_owned)
    .into();
    // Kubernetes keeps a Secret of at most 1 MiB, Linux a variable of at most 128 KiB.
    texts.push("0123456789 $(HOME)\n".repeat(6000)[..100 * 1024].to_owned());
    texts
}

/// A YAML scalar that says `text` in ASCII.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        _ => format!("\\U{:08X}", u32::from(c)),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Its service takes each text four ways: as a submitted value, from a Secret, as a literal of the blueprint, and as a
/// constant of the component. What would exceed a document comes the first two ways only.
fn echoing(item: Item, texts: &[String]) -> Item {
    let mut inputs = String::new();
    let mut bindings = String::new();
    let mut parameters = String::new();
    let mut constants = String::new();
    for (index, text) in texts.iter().enumerate() {
        let mut input = |way: &str| {
            inputs += &format!(
                "      {way}{index}: {{ schema: {{ type: string }}, target: {{ envVarKey: {}_{index} }}, description: A text. }}\n",
                way.to_uppercase()
            );
        };
        for way in ["value", "secret"] {
            input(way);
            bindings += &format!("        {way}{index}: {{ parameter: {way}{index} }}\n");
            parameters += &format!("    {way}{index}: {{ ui: {{ label: A text }} }}\n");
        }
        if text.len() < 1024 {
            input("literal");
            let literal = quoted(text);
            bindings += &format!("        literal{index}: {{ value: {literal} }}\n");
            constants += &format!("      CONSTANT_{index}: {}\n", quoted(text));
        }
    }
    item.edited(
        "blueprint.yaml",
        "  components:\n",
        &format!("  parameters:\n{parameters}  components:\n"),
    )
    .edited(
        "blueprint.yaml",
        "      volumes: { data: { sizeGiB: 1 } }\n",
        &format!("      volumes: {{ data: {{ sizeGiB: 1 }} }}\n      bindings:\n{bindings}"),
    )
    .edited(
        "store.yaml",
        "    volumes:\n",
        &format!("    envVars:\n{constants}    volumes:\n"),
    )
    .edited(
        "store.yaml",
        "minSizeGiB: 1 }\n",
        &format!("minSizeGiB: 1 }}\n  contract:\n    inputs:\n{inputs}"),
    )
}

#[tokio::test]
async fn values_arrive_byte_for_byte() {
    let test = TestNamespace::new("values").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let texts = texts();
    let item = echoing(store(&test).await, &texts);
    let keys: BTreeMap<String, &String> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (index.to_string(), text))
        .collect();
    let secret: Secret = object(json!({"metadata": {"name": "texts"}, "stringData": keys}));
    test.create(&secret).await;
    let mut town = installation("town").inline(SLUG, item.files.clone());
    for (index, text) in texts.iter().enumerate() {
        town = town
            .parameter(&format!("value{index}"), text.as_str())
            .parameter_from_secret(&format!("secret{index}"), "texts", &index.to_string());
    }
    test.create(&town.build()).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;

    let shown = test.request(&pod(), "GET", "/env", "").await;
    let shown: BTreeMap<String, String> = serde_json::from_str(&shown).expect("an object of texts");
    for (index, text) in texts.iter().enumerate() {
        for way in ["VALUE", "SECRET", "LITERAL", "CONSTANT"] {
            let found = shown.get(&format!("{way}_{index}"));
            let is_left_out = text.len() >= 1024 && ["LITERAL", "CONSTANT"].contains(&way);
            let expected = (!is_left_out).then_some(text);
            let start: String = text.chars().take(40).collect();
            assert!(found == expected, "{way}_{index} is not {start:?}");
        }
    }
    // Kubernetes tells every pod of its own Service, and of no other.
    let told = shown.keys().filter(|name| name.ends_with("_SERVICE_HOST"));
    assert_eq!(told.collect::<Vec<_>>(), ["KUBERNETES_SERVICE_HOST"]);
}

#[tokio::test]
async fn arguments_arrive_as_they_were_written() {
    let test = TestNamespace::new("arguments").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let mut arguments = texts();
    arguments.retain(|text| text.len() < 1024);
    arguments.insert(0, "serve".to_owned());
    let written: Vec<String> = arguments.iter().map(|text| quoted(text)).collect();
    let item = store(&test).await.edited(
        "store.yaml",
        "command: [serve]",
        &format!("command: [{}]", written.join(", ")),
    );
    test.create_town(&item).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    let shown = test.request(&pod(), "GET", "/args", "").await;
    let shown: Vec<String> = serde_json::from_str(&shown).expect("a list of texts");
    assert_eq!(shown, arguments);
}

#[tokio::test]
async fn readiness_gates_what_leads_to_a_pod_by_the_contracts_numbers() {
    let test = TestNamespace::new("readiness").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let numbers = ", initialDelaySeconds: 0, periodSeconds: 1";
    let item = store(&test).await.edited("store.yaml", numbers, "");
    test.create_town(&item).await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    let made = test.api::<Pod>().get(&pod()).await.expect("the pod");
    let probe = json!(made.spec.expect("a spec").containers[0].readiness_probe);
    let numbers = [
        "initialDelaySeconds",
        "periodSeconds",
        "timeoutSeconds",
        "successThreshold",
        "failureThreshold",
    ]
    .map(|number| probe[number].as_i64());
    assert_eq!(numbers, [10, 10, 5, 1, 3].map(Some));
    let status = json!(made.status);
    let time = |pointer: &str| -> k8s_openapi::jiff::Timestamp {
        let text = status.pointer(pointer).and_then(Value::as_str);
        text.expect("a time").parse().expect("a time")
    };
    let started = time("/containerStatuses/0/state/running/startedAt");
    let conditions = status["conditions"].as_array().expect("conditions");
    let ready = conditions
        .iter()
        .position(|condition| condition["type"] == "Ready")
        .expect("a condition");
    let ready = time(&format!("/conditions/{ready}/lastTransitionTime"));
    let waited = ready.as_second() - started.as_second();
    assert!(waited >= 9, "ready {waited} s after its start");
    assert_eq!(test.is_led_to().await, Some(true));

    test.request(&pod(), "POST", "/fail", "").await;
    let failing = attempt(Duration::from_secs(90), async || {
        let status = test.store_status().await?;
        (status.reason.as_deref() == Some("ProbeFailing")).then_some(status)
    });
    let failing = failing.await.expect("a node whose probe fails");
    assert_eq!(failing.state, "Progressing", "it may still come back");
    test.wait_for_condition("town", ConditionType::Available, "False")
        .await;
    eventually("nothing to lead to the pod", async || {
        (test.is_led_to().await == Some(false)).then_some(())
    })
    .await;
    test.request(&pod(), "POST", "/ok", "").await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    let after = test.container().await.expect("a container");
    assert_eq!(after, (true, true, true, 0), "readiness restarts nothing");
}

#[tokio::test]
async fn readiness_and_liveness_wait_for_startup() {
    let test = TestNamespace::new("startup").await;
    if test.lacks_node() {
        return;
    }
    let _operator = test.operator().await.start();
    let probe = |path: &str, failures: u32| {
        format!(
            "{{ http: {{ endpoint: http, path: {path} }}, initialDelaySeconds: 0, periodSeconds: 1, failureThreshold: {failures} }}"
        )
    };
    let item = store(&test).await.edited(
        "store.yaml",
        "    health:\n",
        &format!(
            "    health:\n      startup: {}\n      liveness: {}\n",
            probe("/files/started", 600),
            probe("/files/alive", 1)
        ),
    );
    test.create_town(&item).await;
    let state = test.api::<Pod>();
    eventually("the container to run", async || {
        state.get_opt(&pod()).await.ok()??;
        test.container().await.filter(|now| now.0)
    })
    .await;
    // Longer than the other two would take: readiness would succeed, and liveness fail.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let waiting = test.container().await;
    assert_eq!(waiting, Some((true, false, false, 0)));
    let status = test.store_status().await.expect("a status of the node");
    assert_eq!(status.reason.as_deref(), Some("ProbeFailing"));

    test.request(&pod(), "PUT", "/files/alive", "yes").await;
    test.request(&pod(), "PUT", "/files/started", "yes").await;
    test.wait_for_condition("town", ConditionType::Ready, "True")
        .await;
    assert_eq!(test.container().await, Some((true, true, true, 0)));
}
