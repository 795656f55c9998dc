//! An item that needs a connection: one worker that talks to a language model.

use installation_operator::api::connection::ConnectionSpec;
use serde_json::{Value, json};

use super::installation::{Builder, installation};
use super::{Item, TestNamespace};

const BLUEPRINT: &str = "\
specVersion: v1
kind: BLUEPRINT
metadata: { slug: acme-chat, revision: 1, description: A worker that talks to a model. }
spec:
  parameters:
    llm: { from: \"${{ connections.PATH }}\" }
    greeting: { default: hello }
  components:
    chat:
      componentRef: ./chat.yaml
      compute: { profile: general.standard.small }
      bindings: { greeting: { parameter: greeting } }
      connectionBindings: { llm: { parameter: llm } }
";

const CHAT: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: The worker. }
spec:
  type: WORKER
  workload:
    source: { image: IMAGE }
  contract:
    inputs:
      url: { schema: { type: string }, description: Where the model is., target: { envVarKey: LLM_URL } }
      key: { schema: { type: string }, sensitive: true, description: What it is asked with., target: { envVarKey: LLM_KEY } }
      model: { schema: { type: string }, description: Which model., target: { envVarKey: LLM_MODEL } }
      greeting: { schema: { type: string }, description: What it says first., target: { envVarKey: GREETING } }
    connectionRequirements:
      llm:
        protocol: OPENAI_CHAT_COMPLETIONS
        capabilities: [STREAMING]
        inputs: { baseURL: url, apiKey: key, model: model }
";

/// The files of the item whose connection parameter asks for `path`, by their paths inside it.
pub async fn files(test: &TestNamespace, path: &str) -> [(&'static str, String); 2] {
    let image = Item::new(&test.cluster).await.image;
    [
        ("blueprint.yaml", BLUEPRINT.replace("PATH", path)),
        ("chat.yaml", CHAT.replace("IMAGE", &image)),
    ]
}

/// The Installation `chat` of that item.
pub async fn chat(test: &TestNamespace, path: &str) -> Builder {
    installation("chat").inline("acme-chat", files(test, path).await)
}

/// What a Connection and a ClusterConnection have alike: their credential is the key `apiKey` of Secret `llm`.
pub fn connection(model: &str) -> Value {
    let spec = json!({
        "costOwner": format!("owner-of-{model}"),
        "credential": {
            "secretKeyRef": {"name": "llm", "key": "apiKey"},
            "permittedBaseURLs": ["https://llm.example/v1"]
        },
        "views": {"OPENAI_CHAT_COMPLETIONS": {
            "baseURL": "https://llm.example/v1", "model": model, "capabilities": ["STREAMING"]
        }}
    });
    let known: ConnectionSpec = serde_json::from_value(spec).expect("a connection");
    json!(known)
}

/// A ClusterConnection of `path` that `namespaces` may use.
pub fn managed(path: &str, model: &str, namespaces: &[&str]) -> Value {
    let mut spec = connection(model);
    spec["path"] = json!(path);
    spec["allowedNamespaces"] = json!({"names": namespaces});
    spec
}
