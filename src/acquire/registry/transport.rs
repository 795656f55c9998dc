//! HTTP to registries and to the hosts that they send the operator to. Each request, and each redirect of it, is checked
//! against the Platform's terms for its host; answers are bounded, hosts are not overrun, and what fails by chance is tried
//! again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use http::header::{ACCEPT, AUTHORIZATION, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::{Certificate, Client, Url, redirect};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::address::{NotPublic, Resolver, is_public};
use crate::api::platform::RegistryTerms;

/// How long a host may take to take a connection.
const CONNECTION: Duration = Duration::from_secs(5);
/// How long it may take to go on with an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one answer may take in all.
const ANSWER: Duration = Duration::from_secs(30);
/// Requests that one host has at a time.
const AT_ONCE: usize = 4;
/// Redirects of one request.
const REDIRECTS: usize = 5;
/// How often a request that failed by chance is tried again.
const RETRIES: usize = 2;

/// A request. The credentials are for the host of `url`, and no redirect to another one takes them along.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'static str,
    pub(super) authorization: Option<&'a HeaderValue>,
    /// The bytes that the answer may have.
    pub(super) limit: u64,
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Debug)]
pub(super) enum Fault {
    /// The host is not one to go to.
    Forbidden { host: String, why: &'static str },
    /// The answer has more bytes than it may.
    TooLarge,
    /// Nobody answered, or not in a way that can be read.
    Failed { why: String },
}

/// The connections to every host. Holds no credentials.
#[derive(Default)]
pub(super) struct Transport {
    clients: Mutex<HashMap<Trust, Client>>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// What a client is made for: connections of one kind of trust are never used for another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Trust {
    private_network: bool,
    certificate_authority: Option<String>,
}

/// The host of `url`, with its port where that is not the scheme's own.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The terms for the host of `url`.
pub(super) fn terms_of<'a>(terms: &'a [RegistryTerms], url: &Url) -> Option<&'a RegistryTerms> {
    let short = authority(url);
    let long = format!(
        "{}:{}",
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default()
    );
    let is_named = |terms: &&RegistryTerms| terms.host == short || terms.host == long;
    terms.iter().find(is_named)
}

impl Transport {
    /// Makes the request, and follows where it is sent.
    pub(super) async fn call(
        &self,
        terms: &[RegistryTerms],
        call: &Call<'_>,
    ) -> Result<Answer, Fault> {
        let mut url = call.url.clone();
        let mut authorization = call.authorization;
        for _ in 0..=REDIRECTS {
            let answer = self.ask(terms, call, &url, authorization).await?;
            let next = match answer.headers.get(LOCATION) {
                Some(place) if is_redirect(answer.status) => place,
                _ => return Ok(answer),
            };
            let next = next.to_str().ok().and_then(|next| url.join(next).ok());
            let next = next.ok_or_else(|| failed("it redirects to no URL"))?;
            if next.origin() != url.origin() {
                authorization = None;
            }
            url = next;
        }
        Err(failed("it redirects in circles"))
    }

    /// One request without redirects, on the terms for its host.
    async fn ask(
        &self,
        terms: &[RegistryTerms],
        call: &Call<'_>,
        url: &Url,
        authorization: Option<&HeaderValue>,
    ) -> Result<Answer, Fault> {
        let terms = terms_of(terms, url);
        admit(url, terms)?;
        let client = self.client(terms)?;
        let _permit = self.permit(&authority(url)).await;
        let backoff = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(200))
            .with_max_delay(Duration::from_secs(2))
            .with_max_times(RETRIES)
            .with_jitter();
        let attempt = async || {
            let mut request = client
                .request(call.method.clone(), url.clone())
                .header(ACCEPT, call.accept);
            if let Some(authorization) = authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            let response = request.send().await.map_err(|error| fault(url, error))?;
            read(url, response, call.limit).await
        };
        attempt
            .retry(backoff)
            .when(|fault| matches!(fault, Fault::Failed { .. }))
            .await
    }

    fn client(&self, terms: Option<&RegistryTerms>) -> Result<Client, Fault> {
        let trust = Trust {
            private_network: terms.is_some_and(|terms| terms.private_network),
            certificate_authority: terms.and_then(|terms| terms.certificate_authority.clone()),
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&trust) {
            return Ok(client.clone());
        }
        let authorities = match &trust.certificate_authority {
            Some(pem) => Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|_| failed("its certificateAuthority in the Platform is no PEM"))?,
            None => Vec::new(),
        };
        let client = Client::builder()
            .tls_certs_merge(authorities)
            .dns_resolver(Resolver {
                private_network: trust.private_network,
            })
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECTION)
            .read_timeout(PATIENCE)
            .timeout(ANSWER)
            .user_agent(concat!("installation-operator/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| failed(words(&error.without_url())))?;
        clients.insert(trust, client.clone());
        Ok(client)
    }

    /// Waits until the host has room for one more request.
    async fn permit(&self, host: &str) -> Option<OwnedSemaphorePermit> {
        let room = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            // A host that nobody asks just now is forgotten: documents choose how many there are.
            hosts.retain(|_, room| Arc::strong_count(room) > 1);
            let room = hosts
                .entry(host.to_owned())
                .or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE)));
            Arc::clone(room)
        };
        room.acquire_owned().await.ok()
    }
}

/// Refuses a host that the terms do not admit. A literal address is checked here, a name when it is resolved.
fn admit(url: &Url, terms: Option<&RegistryTerms>) -> Result<(), Fault> {
    let forbidden = |why| Fault::Forbidden {
        host: authority(url),
        why,
    };
    match url.scheme() {
        "https" => {}
        "http" if terms.is_some_and(|terms| terms.plain_http) => {}
        _ => return Err(forbidden("would be asked without TLS")),
    }
    let literal = url.host_str().and_then(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().ok()
    });
    let is_welcome = terms.is_some_and(|terms| terms.private_network);
    if literal.is_some_and(|address| !is_public(address)) && !is_welcome {
        return Err(forbidden(NOT_PUBLIC));
    }
    Ok(())
}

const NOT_PUBLIC: &str = "is at an address that is not public";

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Reads an answer up to its limit. An error of the server's own is a fault, so that it is tried again.
async fn read(url: &Url, mut response: reqwest::Response, limit: u64) -> Result<Answer, Fault> {
    let status = response.status();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(failed(format!("it answers {status}")));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(url, error))? {
        if body.len() as u64 + chunk.len() as u64 > limit {
            return Err(Fault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        headers: response.headers().clone(),
        body,
    })
}

/// What an error of the client means. The URL is left out: one that a registry redirects to may hold a signature.
fn fault(url: &Url, error: reqwest::Error) -> Fault {
    let error = error.without_url();
    let mut causes = causes(&error);
    if causes.any(|cause| cause.is::<NotPublic>()) {
        return Fault::Forbidden {
            host: authority(url),
            why: NOT_PUBLIC,
        };
    }
    failed(words(&error))
}

pub(super) fn failed(why: impl Into<String>) -> Fault {
    Fault::Failed { why: why.into() }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |cause| cause.source())
}

/// An error and what it came from, in one line.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    for cause in causes(error) {
        let cause = cause.to_string();
        if !words.ends_with(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_seen_through_every_spelling_of_it() {
        for (url, expected) in [
            ("https://registry.example/v2/", true),
            ("https://8.8.8.8/v2/", true),
            ("https://127.0.0.1/v2/", false),
            ("https://2130706433/v2/", false),
            ("https://0x7f.1/v2/", false),
            ("https://[::1]:5000/v2/", false),
            ("https://[::ffff:10.0.0.1]/v2/", false),
            ("http://registry.example/v2/", false),
            ("file:///etc/passwd", false),
        ] {
            let parsed = url.parse().expect("a URL");
            assert_eq!(admit(&parsed, None).is_ok(), expected, "{url}");
        }
    }

    #[test]
    fn terms_are_for_one_host_at_one_port() {
        let terms = |host: &str| RegistryTerms {
            host: host.to_owned(),
            plain_http: true,
            certificate_authority: None,
            private_network: true,
            authorization_service: None,
        };
        for (host, url, expected) in [
            ("registry.example", "https://registry.example/", true),
            ("registry.example:443", "https://registry.example/", true),
            ("registry.example:80", "http://registry.example/", true),
            (
                "registry.example:5000",
                "http://registry.example:5000/",
                true,
            ),
            ("registry.example", "http://registry.example:5000/", false),
            ("registry.example", "https://registry.example.org/", false),
            (
                "registry.example",
                "https://registry.example@other.org/",
                false,
            ),
        ] {
            let parsed = url.parse().expect("a URL");
            let found = [terms(host)];
            assert_eq!(
                terms_of(&found, &parsed).is_some(),
                expected,
                "{host} {url}"
            );
        }
    }
}
