//! Looking into real pods: what they answer, through the API server, and tests that need them.

use super::TestNamespace;

impl TestNamespace {
    /// Whether there is no node, so that a test about real pods has nothing to look at. CI has one: there this fails.
    pub fn lacks_node(&self) -> bool {
        let Some(why) = self.cluster.lacks_node() else {
            return false;
        };
        let in_ci = std::env::var_os("CI").is_some();
        assert!(!in_ci, "this test needs a node, and there is none: {why}");
        eprintln!("skipped: {why}");
        true
    }

    /// What a pod answers on port 8080, if it does.
    pub async fn try_request(
        &self,
        pod: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<String> {
        let request = http::Request::builder()
            .method(method)
            .uri(format!(
                "/api/v1/namespaces/{}/pods/{pod}:8080/proxy{path}",
                self.name
            ))
            .body(body.as_bytes().to_vec())
            .expect("a request");
        self.client().request_text(request).await.ok()
    }

    /// What a pod answers on port 8080, once it does.
    pub async fn request(&self, pod: &str, method: &str, path: &str, body: &str) -> String {
        super::wait::eventually(&format!("{pod} to answer {method} {path}"), async || {
            self.try_request(pod, method, path, body).await
        })
        .await
    }
}
