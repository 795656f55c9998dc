//! The pull side of the distribution protocol, for one repository with one set of credentials: manifests and blobs, checked
//! against their digests, and the two ways to log in. The credentials go to the registry and to its authorization service.

use data_encoding::BASE64;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use oci_spec::image::{Descriptor, ImageIndex, ImageManifest};
use reqwest::Url;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::Access;
use super::keyring::{Credentials, is_hub};
use super::refusal::Refusal;
use super::transport::{Answer, Call, Fault, Transport, authority, terms_of};

/// The largest manifest, and the largest answer of an authorization service, in bytes.
const DOCUMENT_LIMIT: u64 = 4 * 1024 * 1024;
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";
/// The authorization service of Docker Hub.
const HUB_SERVICE: &str = "auth.docker.io";

/// What a reference leads to.
pub(super) enum Manifest {
    /// One image or artifact.
    Image(Box<ImageManifest>),
    /// One for each platform.
    Index(Box<ImageIndex>),
}

/// A conversation with one registry about one repository.
pub(super) struct Session<'a> {
    transport: &'a Transport,
    access: &'a Access,
    /// What the reference should lead to, as messages name it.
    wanted: &'static str,
    repository: Url,
    authorization: Option<HeaderValue>,
    /// The authorization service that the credentials were not sent to.
    withheld: Option<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        transport: &'a Transport,
        access: &'a Access,
        wanted: &'static str,
    ) -> Result<Self, Refusal> {
        let (registry, repository) = (access.registry(), access.parsed.repository());
        let at = |scheme: &str| format!("{scheme}://{registry}/v2/{repository}/").parse::<Url>();
        let plain = at("http")
            .ok()
            .filter(|url| terms_of(&access.terms, url).is_some_and(|terms| terms.plain_http));
        let repository = match plain {
            Some(url) => url,
            None => at("https").map_err(|error| Refusal::Unusable {
                reference: access.reference.clone(),
                wanted,
                why: error.to_string(),
            })?,
        };
        Ok(Self {
            transport,
            access,
            wanted,
            repository,
            authorization: None,
            withheld: None,
        })
    }

    /// The digest that the reference names now.
    pub(super) async fn digest(&mut self) -> Result<String, Refusal> {
        let named = self.access.named();
        let answer = self
            .get(Method::HEAD, &format!("manifests/{named}"), MANIFESTS, 0)
            .await?;
        let told = answer.headers.get("docker-content-digest");
        match told.and_then(|told| told.to_str().ok()) {
            Some(digest) if is_sha256(digest) => Ok(digest.to_owned()),
            _ => Ok(self.manifest(named).await?.0),
        }
    }

    /// The manifest that a tag or a digest names, and its digest.
    pub(super) async fn manifest(&mut self, named: &str) -> Result<(String, Manifest), Refusal> {
        let path = format!("manifests/{named}");
        let answer = self
            .get(Method::GET, &path, MANIFESTS, DOCUMENT_LIMIT)
            .await?;
        let digest = sha256(&answer.body);
        if named.contains(':') && named != digest {
            return Err(self.unusable(format!("what the registry gives for {named} is {digest}")));
        }
        let malformed =
            |error: serde_json::Error| self.unusable(format!("its manifest is malformed: {error}"));
        let shape: Shape = serde_json::from_slice(&answer.body).map_err(malformed)?;
        let manifest = match (shape.manifests, shape.layers) {
            (Some(_), None) => serde_json::from_slice(&answer.body).map(Manifest::Index),
            (None, Some(_)) => serde_json::from_slice(&answer.body).map(Manifest::Image),
            // A document that is both means one thing to some and another to others.
            _ => {
                let why = "its manifest is neither that of one image nor an index of several";
                return Err(self.unusable(why));
            }
        };
        Ok((digest, manifest.map_err(malformed)?))
    }

    /// A blob of at most `limit` bytes.
    pub(super) async fn blob(&mut self, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, Refusal> {
        if blob.size() > limit {
            let why = format!(
                "it has a part of {} bytes, and {limit} are read",
                blob.size()
            );
            return Err(self.unusable(why));
        }
        let digest = blob.digest().to_string();
        let answer = self
            .get(Method::GET, &format!("blobs/{digest}"), "*/*", blob.size())
            .await?;
        if sha256(&answer.body) != digest {
            return Err(self.unusable(format!(
                "what the registry gives for {digest} is another content"
            )));
        }
        Ok(answer.body)
    }

    pub(super) fn unusable(&self, why: impl Into<String>) -> Refusal {
        Refusal::Unusable {
            reference: self.access.reference.clone(),
            wanted: self.wanted,
            why: why.into(),
        }
    }

    /// Asks the registry, first as anybody and then, where it wants that, with credentials.
    async fn get(
        &mut self,
        method: Method,
        path: &str,
        accept: &'static str,
        limit: u64,
    ) -> Result<Answer, Refusal> {
        let url = self
            .repository
            .join(path)
            .expect("a path below a repository");
        let mut answer = self.ask(&method, &url, accept, limit).await?;
        if answer.status == StatusCode::UNAUTHORIZED && self.authorization.is_none() {
            self.authorization = self.authorize(&answer.headers).await?;
            if self.authorization.is_some() {
                answer = self.ask(&method, &url, accept, limit).await?;
            }
        }
        match answer.status {
            status if status.is_success() => Ok(answer),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.unauthorized()),
            StatusCode::NOT_FOUND => Err(Refusal::Absent {
                registry: self.access.registry().to_owned(),
                reference: self.access.reference.clone(),
            }),
            status => Err(self.unreachable(format!("it answers {status}"))),
        }
    }

    /// One request with what authorization there is.
    async fn ask(
        &self,
        method: &Method,
        url: &Url,
        accept: &'static str,
        limit: u64,
    ) -> Result<Answer, Refusal> {
        let call = Call {
            method: method.clone(),
            url: url.clone(),
            accept,
            authorization: self.authorization.as_ref(),
            limit,
        };
        let answer = self.transport.call(&self.access.terms, &call).await;
        answer.map_err(|fault| self.refusal(fault))
    }

    /// What a challenge asks for. Nothing, where there is nothing to answer it with.
    async fn authorize(&mut self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
        let texts = headers.get_all(WWW_AUTHENTICATE);
        let texts: Vec<&str> = texts.iter().filter_map(|text| text.to_str().ok()).collect();
        let challenges = texts
            .iter()
            .flat_map(|text| http_auth::parse_challenges(text).unwrap_or_default());
        let mut basic = None;
        for challenge in challenges {
            if challenge.scheme.eq_ignore_ascii_case("bearer") {
                let of = |name: &str| {
                    let mut parameters = challenge.params.iter();
                    let found = parameters.find(|(found, _)| found.eq_ignore_ascii_case(name));
                    found.map(|(_, value)| value.to_unescaped())
                };
                let (realm, service, scope) = (of("realm"), of("service"), of("scope"));
                return self.token(realm, service, scope).await.map(Some);
            }
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                basic = self.access.credentials.as_ref().map(authorization);
            }
        }
        Ok(basic)
    }

    /// A token of the authorization service at `realm`.
    async fn token(
        &mut self,
        realm: Option<String>,
        service: Option<String>,
        scope: Option<String>,
    ) -> Result<HeaderValue, Refusal> {
        let realm = realm.and_then(|realm| realm.parse::<Url>().ok());
        let Some(mut url) = realm else {
            return Err(self.unreachable("it asks for a token from nowhere"));
        };
        let scope =
            scope.unwrap_or_else(|| format!("repository:{}:pull", self.access.parsed.repository()));
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(service.map(|service| ("service", service)));
            query.append_pair("scope", &scope);
        }
        let trusted = self.is_trusted(&url);
        let credentials = self.access.credentials.as_ref();
        if credentials.is_some() && !trusted {
            self.withheld = Some(authority(&url));
        }
        let login = credentials.filter(|_| trusted).map(authorization);
        let call = Call {
            method: Method::GET,
            url,
            accept: "application/json",
            authorization: login.as_ref(),
            limit: DOCUMENT_LIMIT,
        };
        let answer = self.transport.call(&self.access.terms, &call).await;
        let answer = answer.map_err(|fault| self.refusal(fault))?;
        match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.unauthorized()),
            status if !status.is_success() => {
                let why = format!("its authorization service answers {status}");
                return Err(self.unreachable(why));
            }
            _ => {}
        }
        // The parser's words are dropped: they may quote the token.
        let body = Zeroizing::new(answer.body);
        let token = serde_json::from_slice::<Token>(&body).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        let bearer = token.map(|token| Zeroizing::new(format!("Bearer {token}")));
        let header = bearer.and_then(|bearer| HeaderValue::from_str(&bearer).ok());
        match header {
            Some(mut header) => {
                header.set_sensitive(true);
                Ok(header)
            }
            None => Err(self.unreachable("its authorization service gives no token")),
        }
    }

    /// Whether the registry's credentials are for the host of `realm` as well.
    fn is_trusted(&self, realm: &Url) -> bool {
        let service = authority(realm);
        let named = terms_of(&self.access.terms, &self.repository)
            .and_then(|terms| terms.authorization_service.as_ref());
        realm.origin() == self.repository.origin()
            || named == Some(&service)
            || (is_hub(self.access.registry()) && service == HUB_SERVICE)
    }

    fn refusal(&self, fault: Fault) -> Refusal {
        match fault {
            Fault::Forbidden { host, why } => Refusal::Forbidden {
                registry: self.access.registry().to_owned(),
                host,
                why,
            },
            Fault::TooLarge => self.unusable("the registry gives more bytes than it may have"),
            Fault::Failed { why } => self.unreachable(why),
        }
    }

    fn unreachable(&self, why: impl Into<String>) -> Refusal {
        Refusal::Unreachable {
            registry: self.access.registry().to_owned(),
            why: why.into(),
        }
    }

    fn unauthorized(&self) -> Refusal {
        let registry = self.access.registry().to_owned();
        let reference = self.access.reference.clone();
        match self.withheld.clone() {
            Some(service) => Refusal::Withheld {
                registry,
                reference,
                service,
            },
            None => Refusal::Unauthorized {
                registry,
                reference,
            },
        }
    }
}

/// Which of the two a manifest is.
#[derive(Deserialize)]
struct Shape {
    manifests: Option<IgnoredAny>,
    layers: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

fn authorization(credentials: &Credentials) -> HeaderValue {
    let pair = Zeroizing::new(format!(
        "{}:{}",
        credentials.user.expose(),
        credentials.password.expose()
    ));
    let basic = Zeroizing::new(format!("Basic {}", BASE64.encode(pair.as_bytes())));
    let mut header = HeaderValue::from_str(&basic).expect("base64 is a header value");
    header.set_sensitive(true);
    header
}

fn sha256(bytes: &[u8]) -> String {
    format!(
        "sha256:{}",
        data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
    )
}

fn is_sha256(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    })
}
