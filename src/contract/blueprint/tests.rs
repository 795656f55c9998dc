//! What a person reads about a blueprint whose parts do not fit together, and what is no fault although it looks like one.

use serde_json::{Value, json};

use crate::contract::blueprint::node::Node;
use crate::contract::{Item, Published, validate_item};
use crate::document::result::Profile;

/// An item of one worker, to be changed.
struct Sketch {
    blueprint: Value,
    worker: Value,
    files: Vec<(&'static str, String)>,
}

impl Sketch {
    fn new() -> Self {
        let input = |key: &str| {
            json!({
                "schema": {"type": "string", "maxLength": 8}, "required": false,
                "description": "An input.", "target": {"envVarKey": key},
            })
        };
        Self {
            blueprint: json!({
                "specVersion": "v1", "kind": "BLUEPRINT",
                "metadata": {"slug": "app", "revision": 1, "description": "A worker."},
                "spec": {
                    "parameters": {"size": {}},
                    "components": {"web": {
                        "componentRef": "./worker.yaml",
                        "compute": {"profile": "general.standard.small"},
                        "bindings": {"size": {"parameter": "size"}},
                    }},
                },
            }),
            worker: json!({
                "specVersion": "v1", "kind": "COMPONENT",
                "metadata": {"revision": 1, "description": "A worker."},
                "spec": {
                    "type": "WORKER",
                    "workload": {
                        "source": {"image": "example/worker:1"},
                        "endpoints": {"web": {"targetPort": 8080, "protocol": "HTTP"}},
                    },
                    "contract": {
                        "inputs": {"size": input("SIZE"), "peer": input("PEER")},
                        "outputs": {"peer": {
                            "schema": {"type": "string"}, "description": "The peer.",
                            "from": {"input": "peer"},
                        }},
                    },
                },
            }),
            files: Vec::new(),
        }
    }

    fn node(mut self, member: &str, value: Value) -> Self {
        self.blueprint["spec"]["components"]["web"][member] = value;
        self
    }

    fn parameter(mut self, value: Value) -> Self {
        self.blueprint["spec"]["parameters"]["size"] = value;
        self
    }

    fn worker(mut self, member: &str, value: Value) -> Self {
        self.worker["spec"][member] = value;
        self
    }

    fn sensitive(mut self) -> Self {
        self.worker["spec"]["contract"]["inputs"]["size"]["sensitive"] = json!(true);
        self
    }

    fn file(mut self, path: &'static str, text: String) -> Self {
        self.files.push((path, text));
        self
    }

    fn messages(self) -> Vec<String> {
        let documents = [
            ("blueprint.yaml", self.blueprint),
            ("worker.yaml", self.worker),
        ];
        let documents = documents.map(|(path, document)| (path, document.to_string()));
        let files = documents.into_iter().chain(self.files);
        let item = Item::from_files("app", files.map(|(path, text)| (path, text.into_bytes())));
        let result = validate_item(&item, &Published::default(), Profile::Document).result;
        result
            .diagnostics
            .into_iter()
            .map(|found| found.message)
            .collect()
    }
}

#[test]
fn a_message_says_which_parts_do_not_fit_and_what_to_do() {
    for (sketch, expected) in [
        (
            Sketch::new().node(
                "bindings",
                json!({
                    "size": {"parameter": "size"}, "peer": {"parameter": "sise"},
                }),
            ),
            "the blueprint declares no parameter `sise`; correct the name or declare it under `spec.parameters`",
        ),
        (
            Sketch::new().node(
                "bindings",
                json!({
                    "size": {"parameter": "size"}, "peer": {"node": "web", "output": "peer"},
                }),
            ),
            "the values of these inputs depend on each other in a circle: `web`.`peer`; supply one of them from elsewhere",
        ),
        (
            Sketch::new().worker("extra", json!(1)),
            "the component `./worker.yaml` is not valid, ERR_UNKNOWN_FIELD: `extra`: no such field",
        ),
        (
            Sketch::new()
                .sensitive()
                .parameter(json!({"default": "known"})),
            "a literal supplies input `size` of node `web`, which is sensitive, so a secret would stand in the document",
        ),
        (
            Sketch::new().parameter(json!({"default": "far too long"})),
            "input `size` of node `web`",
        ),
    ] {
        let messages = sketch.messages();
        assert!(
            messages.iter().any(|message| message.contains(expected)),
            "{expected}\n{messages:#?}"
        );
    }
}

#[test]
fn a_private_endpoint_of_a_worker_is_no_fault() {
    let messages = Sketch::new()
        .node("exposure", json!({"web": "PRIVATE"}))
        .messages();
    assert_eq!(messages, [""; 0]);
}

#[test]
fn only_a_yaml_file_can_be_a_component_that_no_node_names() {
    let component = Sketch::new().worker.to_string();
    for (path, expected) in [("README.md", 0), ("other.yaml", 1), ("other.yml", 1)] {
        let messages = Sketch::new().file(path, component.clone()).messages();
        assert_eq!(messages.len(), expected, "{path}: {messages:?}");
    }
}

#[test]
fn a_reference_that_begins_with_a_dot_is_a_file_and_any_other_a_published_component() {
    for (reference, expected) in [
        ("./worker.yaml", true),
        ("8c5b4f0e-0c7e-4f5c-9a53-7f2b1f7f2f11", false),
    ] {
        let node: Node =
            serde_json::from_value(json!({"componentRef": reference})).expect("a node");
        assert_eq!(node.is_local(), expected, "{reference}");
    }
}
