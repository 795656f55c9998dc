//! Attacks by whoever runs a registry, or names one: requests to where the operator must not go, credentials for somebody
//! else, content that is not what it says, and more of everything than anybody needs. Real HTTP, no cluster.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use installation_operator::acquire::registry::keyring::Keyring;
use installation_operator::acquire::registry::{Artifact, Refusal, Registries};
use installation_operator::api::platform::RegistryTerms;
use serde_json::{Value, json};
use support::artifact::{Blob, FLUX, Parcel, gzip, odd_archive};
use support::registry::{digest, with_tls};
use tar::EntryType;
use tokio::net::TcpListener;
use tokio::sync::{Barrier, Notify};

/// A server that answers as it is told and remembers what it was asked.
#[derive(Clone)]
struct Fake {
    address: String,
    asked: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

type Answers = Arc<dyn Fn(&str, &HeaderMap) -> Response + Send + Sync>;

impl Fake {
    async fn serve(answers: impl Fn(&str, &HeaderMap) -> Response + Send + Sync + 'static) -> Self {
        with_tls();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let fake = Self {
            address: listener.local_addr().expect("an address").to_string(),
            asked: Arc::default(),
        };
        let answers: Answers = Arc::new(answers);
        let router = Router::new()
            .fallback(answer)
            .with_state((fake.clone(), answers));
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    /// A registry that has `parcel` under every tag, and any blob of it.
    async fn holding(parcel: &Parcel) -> Self {
        let contents = contents(parcel);
        Self::serve(move |path, _| of(&contents, path)).await
    }

    fn requests(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("no panic");
        asked.iter().map(|(path, _)| path.clone()).collect()
    }

    /// The credentials that it was sent.
    fn credentials(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("no panic");
        let sent = asked
            .iter()
            .filter_map(|(_, headers)| headers.get(header::AUTHORIZATION));
        sent.map(|sent| sent.to_str().expect("text").to_owned())
            .collect()
    }

    fn terms(&self) -> RegistryTerms {
        terms(json!({"host": self.address, "plainHttp": true, "privateNetwork": true}))
    }

    fn reference(&self) -> String {
        format!("{}/acme/wiki:1", self.address)
    }
}

async fn answer(State((fake, answers)): State<(Fake, Answers)>, request: Request) -> Response {
    let path = request.uri().to_string();
    let answer = answers(&path, request.headers());
    let mut asked = fake.asked.lock().expect("no panic");
    asked.push((path, request.headers().clone()));
    answer
}

/// Everything that a registry serves for a parcel, by the end of the path.
fn contents(parcel: &Parcel) -> BTreeMap<String, Vec<u8>> {
    let mut contents: BTreeMap<String, Vec<u8>> = parcel
        .blobs()
        .map(|blob| (digest(&blob.bytes), blob.bytes.clone()))
        .collect();
    contents.insert(
        "manifest".to_owned(),
        parcel.manifest().to_string().into_bytes(),
    );
    contents
}

fn of(contents: &BTreeMap<String, Vec<u8>>, path: &str) -> Response {
    let path = path.split('?').next().unwrap_or_default();
    let key = match path.rsplit_once('/') {
        Some((rest, _)) if rest.ends_with("/manifests") => "manifest",
        Some((_, last)) => last,
        None => "",
    };
    match contents.get(key) {
        Some(bytes) => bytes.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn terms(value: Value) -> RegistryTerms {
    serde_json::from_value(value).expect("terms")
}

fn redirect(to: impl Into<String>) -> Response {
    (
        StatusCode::TEMPORARY_REDIRECT,
        [(header::LOCATION, to.into())],
    )
        .into_response()
}

fn challenge(text: String) -> Response {
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, text)]).into_response()
}

fn keyring(host: &str, password: &str) -> Keyring {
    let mut keyring = Keyring::default();
    let auths = json!({"auths": {host: {"username": "robot", "password": password}}});
    assert!(keyring.add(auths.to_string().as_bytes()));
    keyring
}

fn parcel() -> Parcel {
    let files = [("blueprint.yaml", "metadata:\n  slug: wiki\n")];
    Parcel::flux(
        &files
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into(),
    )
}

async fn fetch(reference: &str, terms: &[RegistryTerms]) -> Result<Artifact, Refusal> {
    let registries = Registries::default();
    registries
        .client(terms, Keyring::default())
        .fetch(reference)
        .await
}

#[track_caller]
fn assert_forbidden(outcome: Result<Artifact, Refusal>, expected: &str, why: &str) {
    match outcome {
        Err(Refusal::Forbidden {
            host, why: found, ..
        }) => {
            assert_eq!(host, expected);
            assert!(found.contains(why), "{found}");
        }
        other => panic!("not forbidden: {other:?}"),
    }
}

#[tokio::test]
async fn a_private_address_is_asked_only_where_the_platform_lists_it() {
    let registry = Fake::holding(&parcel()).await;
    let port = registry.address.rsplit(':').next().expect("a port");
    for host in ["127.0.0.1", "localhost"] {
        let host = format!("{host}:{port}");
        let reference = format!("{host}/acme/wiki:1");
        let listed = terms(json!({"host": host, "plainHttp": true}));
        let why = "is not public";
        assert_forbidden(fetch(&reference, &[listed]).await, &host, why);
        // Without terms it is asked with TLS, and no more at that address.
        assert_forbidden(fetch(&reference, &[]).await, &host, why);
    }
    assert_eq!(registry.requests(), Vec::<String>::new());
    let found = fetch(&registry.reference(), &[registry.terms()]).await;
    assert_eq!(found.expect("an item").item.name(), "wiki");
}

#[tokio::test]
async fn a_redirect_goes_nowhere_where_a_reference_could_not() {
    let private = Fake::holding(&parcel()).await;
    let target = format!("http://{}", private.address);
    let registry = Fake::serve(move |path, _| redirect(format!("{target}{path}"))).await;
    let reference = registry.reference();
    assert_forbidden(
        fetch(&reference, &[registry.terms()]).await,
        &private.address,
        "without TLS",
    );
    let plain = terms(json!({"host": private.address, "plainHttp": true}));
    assert_forbidden(
        fetch(&reference, &[registry.terms(), plain]).await,
        &private.address,
        "is not public",
    );
    assert_eq!(private.requests(), Vec::<String>::new());

    let circle = Fake::serve(|path, _| redirect(path)).await;
    let circled = fetch(&circle.reference(), &[circle.terms()]).await;
    assert!(
        matches!(circled, Err(Refusal::Unreachable { .. })),
        "{circled:?}"
    );
}

#[tokio::test]
async fn credentials_go_to_the_registry_and_not_to_where_it_redirects() {
    let packed = contents(&parcel());
    let store = Fake::holding(&parcel()).await;
    let target = format!("http://{}", store.address);
    let registry = Fake::serve(move |path, headers| {
        if headers.get(header::AUTHORIZATION).is_none() {
            return challenge("Basic realm=\"test\"".to_owned());
        }
        match path.contains("/blobs/") {
            true => redirect(format!("{target}{path}?signature=s3cret")),
            false => of(&packed, path),
        }
    })
    .await;
    let registries = Registries::default();
    let allowed = [registry.terms(), store.terms()];
    let client = registries.client(&allowed, keyring(&registry.address, "hunter2"));
    client.fetch(&registry.reference()).await.expect("an item");
    assert!(!registry.credentials().is_empty());
    assert!(!store.requests().is_empty());
    assert_eq!(store.credentials(), Vec::<String>::new());
}

#[tokio::test]
async fn a_token_realm_elsewhere_gets_no_credentials_unless_the_platform_names_it() {
    let service = Fake::serve(|_, headers| {
        let token = match headers.get(header::AUTHORIZATION) {
            Some(_) => "for-robot",
            None => "for-anybody",
        };
        axum::Json(json!({"token": token})).into_response()
    })
    .await;
    let packed = contents(&parcel());
    let realm = format!("http://{}/token", service.address);
    let registry = Fake::serve(move |path, headers| {
        let sent = headers
            .get(header::AUTHORIZATION)
            .map(|sent| sent.as_bytes());
        match sent {
            Some(b"Bearer for-robot") => of(&packed, path),
            Some(_) => StatusCode::FORBIDDEN.into_response(),
            None => challenge(format!(
                "Bearer realm=\"{realm}\",service=\"s\",scope=\"x\""
            )),
        }
    })
    .await;
    let registries = Registries::default();
    let reference = registry.reference();
    let fetch = async |terms: &[RegistryTerms]| {
        let keyring = keyring(&registry.address, "hunter2");
        registries.client(terms, keyring).fetch(&reference).await
    };

    assert_forbidden(
        fetch(&[registry.terms()]).await,
        &service.address,
        "without TLS",
    );
    let plain = terms(json!({"host": service.address, "plainHttp": true}));
    assert_forbidden(
        fetch(&[registry.terms(), plain]).await,
        &service.address,
        "is not public",
    );
    assert_eq!(service.requests(), Vec::<String>::new());

    let withheld = fetch(&[registry.terms(), service.terms()])
        .await
        .expect_err("no");
    assert!(matches!(withheld, Refusal::Withheld { .. }), "{withheld}");
    assert!(
        withheld.to_string().contains(&service.address),
        "{withheld}"
    );
    assert_eq!(service.credentials(), Vec::<String>::new());

    let mut trusting = registry.terms();
    trusting.authorization_service = Some(service.address.clone());
    fetch(&[trusting, service.terms()]).await.expect("an item");
    assert_eq!(service.credentials().len(), 1);
    let bearers = registry.credentials();
    assert!(
        bearers.iter().all(|sent| sent.starts_with("Bearer ")),
        "{bearers:?}"
    );
}

#[tokio::test]
async fn an_artifact_that_is_none_is_told_from_one_that_is_not_there() {
    let blueprint = (
        "blueprint.yaml",
        EntryType::Regular,
        &b"metadata: {slug: wiki}"[..],
    );
    let zeros = vec![0; 17 * 1024 * 1024];
    let many: Vec<String> = (0..1_001).map(|number| format!("{number}.md")).collect();
    let many: Vec<_> = many
        .iter()
        .map(|path| (path.as_str(), EntryType::Regular, &b""[..]))
        .collect();
    let packed = |entry| Parcel::of([Blob::new(FLUX, gzip(&odd_archive(&[blueprint, entry])))]);
    for (parcel, expected) in [
        (
            packed(("bomb.yaml", EntryType::Regular, &zeros)),
            "unpacks to more than",
        ),
        (
            packed(("web.yaml", EntryType::Symlink, b"")),
            "is a symbolic link",
        ),
        (packed(("web.yaml", EntryType::Link, b"")), "is a hard link"),
        (packed(("web.yaml", EntryType::Block, b"")), "is a device"),
        (
            packed(("../web.yaml", EntryType::Regular, b"")),
            "leads out of it",
        ),
        (
            packed(("/web.yaml", EntryType::Regular, b"")),
            "leads out of it",
        ),
        (
            Parcel::of([Blob::new(FLUX, gzip(&odd_archive(&many)))]),
            "more than 1000 entries",
        ),
        (Parcel::of([Blob::new(FLUX, "no archive")]), "is damaged"),
        (Parcel::of([Blob::new("text/plain", "?")]), "neither a tar"),
        (
            Parcel::of((0..65).map(|_| Blob::new(FLUX, ""))),
            "at most 64 layers",
        ),
        (Parcel::image("1000"), "0 blueprint.yaml"),
    ] {
        let registry = Fake::holding(&parcel).await;
        let refused = fetch(&registry.reference(), &[registry.terms()]).await;
        match refused {
            Err(Refusal::Unusable { why, .. }) => assert!(why.contains(expected), "{why}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let nothing = Fake::serve(|_, _| StatusCode::NOT_FOUND.into_response()).await;
    let absent = fetch(&nothing.reference(), &[nothing.terms()]).await;
    assert!(matches!(absent, Err(Refusal::Absent { .. })), "{absent:?}");
}

#[tokio::test]
async fn what_a_registry_gives_has_the_digest_and_the_size_that_it_was_asked_by() {
    let honest = contents(&parcel());
    let other = |bytes: &[u8]| bytes.iter().map(|byte| byte ^ 1).collect::<Vec<u8>>();
    let longer = |bytes: &[u8]| [bytes, b"more"].concat();
    for forge in [&other as &dyn Fn(&[u8]) -> Vec<u8>, &longer] {
        let mut forged = honest.clone();
        for (key, bytes) in &mut forged {
            if key != "manifest" {
                *bytes = forge(bytes);
            }
        }
        let registry = Fake::serve(move |path, _| of(&forged, path)).await;
        let refused = fetch(&registry.reference(), &[registry.terms()]).await;
        assert!(
            matches!(refused, Err(Refusal::Unusable { .. })),
            "{refused:?}"
        );
    }
    let registry = Fake::holding(&parcel()).await;
    let pinned = format!("{}/acme/wiki@sha256:{}", registry.address, "a".repeat(64));
    let refused = fetch(&pinned, &[registry.terms()]).await;
    assert!(
        matches!(refused, Err(Refusal::Unusable { .. })),
        "{refused:?}"
    );

    let both = json!({"schemaVersion": 2, "manifests": [], "layers": []}).to_string();
    let registry = Fake::serve(move |_, _| both.clone().into_response()).await;
    let refused = fetch(&registry.reference(), &[registry.terms()]).await;
    assert!(
        matches!(refused, Err(Refusal::Unusable { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off() {
    let endless = |_: &str, _: &HeaderMap| {
        let chunk = || Ok::<_, std::io::Error>(vec![b' '; 65_536]);
        Body::from_stream(futures::stream::repeat_with(chunk)).into_response()
    };
    let registry = Fake::serve(endless).await;
    let refused = fetch(&registry.reference(), &[registry.terms()]).await;
    match refused {
        Err(Refusal::Unusable { why, .. }) => assert!(why.contains("more bytes"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_error_is_tried_again_and_told_without_its_words() {
    let packed = contents(&parcel());
    let failures = Mutex::new(2);
    let flaky = Fake::serve(move |path, _| {
        let mut left = failures.lock().expect("no panic");
        if *left > 0 {
            *left -= 1;
            return (StatusCode::BAD_GATEWAY, "s3cret").into_response();
        }
        of(&packed, path)
    })
    .await;
    fetch(&flaky.reference(), &[flaky.terms()])
        .await
        .expect("an item");

    let broken = Fake::serve(|_, _| (StatusCode::BAD_GATEWAY, "s3cret").into_response()).await;
    let refused = fetch(&broken.reference(), &[broken.terms()])
        .await
        .expect_err("no");
    assert!(matches!(refused, Refusal::Unreachable { .. }), "{refused}");
    assert!(!refused.to_string().contains("s3cret"), "{refused}");

    let nobody = {
        let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        closed.local_addr().expect("an address").to_string()
    };
    let gone = terms(json!({"host": nobody, "plainHttp": true, "privateNetwork": true}));
    let signing =
        Fake::serve(move |path, _| redirect(format!("http://{nobody}{path}?sig=s3cret"))).await;
    let refused = fetch(&signing.reference(), &[signing.terms(), gone])
        .await
        .expect_err("no");
    assert!(!refused.to_string().contains("s3cret"), "{refused}");
}

/// A registry that answers a manifest only when it is told to.
struct Patient {
    address: String,
    asked: Arc<Mutex<usize>>,
    go: Arc<Notify>,
}

impl Patient {
    async fn serve() -> Self {
        with_tls();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (asked, go) = (Arc::new(Mutex::new(0)), Arc::new(Notify::new()));
        let state = (Arc::clone(&asked), Arc::clone(&go));
        let wait = async move || {
            let (asked, go) = state;
            let told = go.notified();
            *asked.lock().expect("no panic") += 1;
            told.await;
            StatusCode::NOT_FOUND
        };
        let router = Router::new().fallback(wait);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, asked, go }
    }

    fn count(&self) -> usize {
        *self.asked.lock().expect("no panic")
    }
}

#[tokio::test]
async fn the_same_question_is_asked_once_for_all_who_ask_it_with_the_same_credentials() {
    let registry = Patient::serve().await;
    let allowed = [terms(
        json!({"host": registry.address, "plainHttp": true, "privateNetwork": true}),
    )];
    let registries = Registries::default();
    let reference = format!("{}/acme/wiki:1", registry.address);
    let client = |password| registries.client(&allowed, keyring(&registry.address, password));
    let (mine, theirs) = (client("mine"), client("theirs"));
    let asking = join_all((0..10).map(|_| mine.fetch(&reference)));
    let other = theirs.fetch(&reference);
    let release = async {
        support::wait::eventually("both to be asked", async || {
            (registry.count() == 2).then_some(())
        })
        .await;
        registry.go.notify_waiters();
    };
    let (answers, other, ()) = futures::join!(asking, other, release);
    assert_eq!(registry.count(), 2, "one question for each credential");
    let absent = |answer: &Result<Artifact, Refusal>| matches!(answer, Err(Refusal::Absent { .. }));
    assert!(answers.iter().all(absent), "{answers:?}");
    assert!(absent(&other), "{other:?}");
    // Nothing is kept: who asks later is told what is there then.
    let (later, ()) = futures::join!(mine.fetch(&reference), async {
        support::wait::eventually("a new question", async || {
            (registry.count() == 3).then_some(())
        })
        .await;
        registry.go.notify_waiters();
    });
    assert!(absent(&later), "{later:?}");
}

#[tokio::test]
async fn a_host_is_asked_a_few_things_at_a_time() {
    with_tls();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (inside, most) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    // Four have to be there at the same time before any is answered.
    let together = Arc::new(Barrier::new(4));
    let state = (Arc::clone(&inside), Arc::clone(&most));
    let wait = async move || {
        let (inside, most) = state;
        {
            let mut inside = inside.lock().expect("no panic");
            *inside += 1;
            let mut most = most.lock().expect("no panic");
            *most = (*most).max(*inside);
        }
        together.wait().await;
        *inside.lock().expect("no panic") -= 1;
        StatusCode::NOT_FOUND
    };
    let router = Router::new().fallback(wait);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let allowed = [terms(
        json!({"host": address, "plainHttp": true, "privateNetwork": true}),
    )];
    let registries = Registries::default();
    let client = registries.client(&allowed, Keyring::default());
    let references: Vec<String> = (0..12)
        .map(|n| format!("{address}/acme/wiki:{n}"))
        .collect();
    join_all(references.iter().map(|reference| client.fetch(reference))).await;
    assert_eq!(*most.lock().expect("no panic"), 4);
}
