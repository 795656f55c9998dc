//! What the API server says to an object of ours: asked with strict field validation, as dry runs that keep nothing.

use axum::http::{Method, Request};
use serde_json::Value;

use super::TestNamespace;

impl TestNamespace {
    /// The object as it would be created, or the message of the refusal.
    pub async fn try_create(&self, object: &Value) -> Result<Value, String> {
        self.ask(Method::POST, &self.path_of(object, false), object)
            .await
    }

    /// The object as it would be after `kubectl patch --type=merge`, or the message of the refusal.
    pub async fn try_merge(&self, object: &Value, change: &Value) -> Result<Value, String> {
        self.ask(Method::PATCH, &self.path_of(object, true), change)
            .await
    }

    /// Fails unless creating `object` is refused with a message that holds `expected`.
    #[track_caller]
    pub fn assert_refused(
        &self,
        case: &str,
        object: Value,
        expected: &str,
    ) -> impl Future<Output = ()> {
        assert_message(
            case,
            expected,
            async move { self.try_create(&object).await },
        )
    }

    /// Fails unless changing `object` is refused with a message that holds `expected`.
    #[track_caller]
    pub fn assert_change_refused(
        &self,
        case: &str,
        object: &Value,
        change: Value,
        expected: &str,
    ) -> impl Future<Output = ()> {
        assert_message(case, expected, async move {
            self.try_merge(object, &change).await
        })
    }

    async fn ask(&self, method: Method, path: &str, body: &Value) -> Result<Value, String> {
        let kind = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}?dryRun=All&fieldValidation=Strict"))
            .header("content-type", kind)
            .body(body.to_string().into_bytes())
            .expect("a request");
        self.client()
            .request(request)
            .await
            .map_err(|error| match error {
                kube::Error::Api(status) => status.message.clone(),
                other => panic!("{path}: {other}"),
            })
    }

    fn path_of(&self, object: &Value, named: bool) -> String {
        let kind = object["kind"].as_str().expect("a kind");
        let of_cluster = [
            "ClusterConnection",
            "ClusterVariable",
            "ComponentRevision",
            "ComputeProfile",
            "Platform",
        ];
        let scope = if of_cluster.contains(&kind) {
            String::new()
        } else {
            format!("namespaces/{}/", self.name)
        };
        let collection = format!(
            "/apis/install.musher.dev/v1alpha1/{scope}{}s",
            kind.to_lowercase()
        );
        match named {
            true => format!(
                "{collection}/{}",
                object["metadata"]["name"].as_str().expect("a name")
            ),
            false => collection,
        }
    }
}

#[track_caller]
fn assert_message(
    case: &str,
    expected: &str,
    answer: impl Future<Output = Result<Value, String>>,
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        match answer.await {
            Ok(kept) => panic!("{caller}: {case}: accepted as {kept:#}"),
            Err(message) => assert!(
                message.contains(expected),
                "{caller}: {case}: refused with {message:?}"
            ),
        }
    }
}
