//! A proxy between an operator and the API server: it writes down every write, can kill the operator at one, and does to
//! requests and watches what a network and a busy API server do.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::process::Child;
use std::sync::{Arc, Mutex, Weak};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Method, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use futures::future::BoxFuture;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::fault::{Fault, Faults, Rule, Struck};
use super::operator::{Process, kill};
use super::tap::{Watches, watched};

/// A running proxy. It acts with the operator's own rights.
pub struct ApiProxy {
    /// Where it listens.
    pub url: String,
    /// The watches that run through it.
    pub watches: Arc<Watches>,
    shared: Arc<Shared>,
    _serving: Serving,
}

/// One write request that reached the proxy. Events and leases are not counted: they are no part of the write order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// POST, PUT, PATCH or DELETE.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// Who says to be writing.
    pub user_agent: String,
    /// Whether the API server has got it.
    pub delivered: bool,
}

/// When to kill the operator, counting its writes from 1 since the proxy was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The N-th write does not reach the API server.
    Before(usize),
    /// The N-th write has reached the API server, and its answer does not reach the operator.
    After(usize),
}

struct Shared {
    client: Client,
    /// Held while a write is on its way, so that the N-th write is over before the next begins.
    one_write: tokio::sync::Mutex<()>,
    state: Mutex<Recorded>,
    faults: Mutex<Faults>,
    watches: Arc<Watches>,
}

#[derive(Default)]
struct Recorded {
    writes: Vec<Write>,
    /// The media types that each resource is watched in.
    watched: BTreeMap<String, BTreeSet<String>>,
    armed: Option<(Moment, usize)>,
    operator: Option<Weak<Mutex<Child>>>,
    deed: Option<(usize, BoxFuture<'static, ()>)>,
    /// Nothing of a killed operator is forwarded any more.
    dead: bool,
}

struct Serving(tokio::task::JoinHandle<Infallible>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ApiProxy {
    /// Forwards to the API server of `client`, with its rights.
    pub async fn start(client: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let watches = Arc::new(Watches::default());
        let shared = Arc::new(Shared {
            client,
            one_write: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            faults: Mutex::new(Faults::of(0)),
            watches: Arc::clone(&watches),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self {
            url,
            watches,
            shared,
            _serving: Serving(serving),
        }
    }

    /// Puts a rule in force. Of several that concern a request, the first holds.
    pub fn inject(&self, rule: Rule) -> Struck {
        self.faults().inject(rule)
    }

    /// Ends every rule.
    pub fn lift(&self) {
        self.faults().lift();
    }

    /// Ends every rule; what comes by chance from now on is drawn from `seed`.
    pub fn reseed(&self, seed: u64) {
        *self.faults() = Faults::of(seed);
    }

    fn faults(&self) -> std::sync::MutexGuard<'_, Faults> {
        self.shared.faults.lock().expect("the proxy's faults")
    }

    /// Takes `process` for the operator behind it from now on.
    pub fn attach(&self, process: &Process) {
        let mut state = self.state();
        state.operator = Some(Arc::downgrade(process));
        state.dead = false;
    }

    /// Kills the operator at `moment`, once.
    pub fn kill_at(&self, moment: Moment) {
        self.state().armed = Some((moment, 0));
    }

    /// Does `deed` when the N-th write from now on has come, before it goes on: what somebody else does in between.
    pub fn before_write(&self, number: usize, deed: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        state.deed = Some((state.writes.len() + number - 1, Box::pin(deed)));
    }

    /// Whether a moment is still to come.
    pub fn is_armed(&self) -> bool {
        self.state().armed.is_some()
    }

    /// Forgets the moment that was to come.
    pub fn disarm(&self) {
        self.state().armed = None;
    }

    /// Every write so far, in the order in which they came.
    pub fn writes(&self) -> Vec<Write> {
        self.state().writes.clone()
    }

    /// The media types that each resource has been watched in.
    pub fn watched(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.state().watched.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.shared.state.lock().expect("the proxy's state")
    }
}

/// Why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection ends here, as the test wants it")]
struct Broken;

async fn serve(listener: TcpListener, shared: Arc<Shared>) -> Infallible {
    // With this task they all end.
    let mut connections = JoinSet::new();
    loop {
        if let Ok((connection, _)) = listener.accept().await {
            connections.spawn(converse(connection, Arc::clone(&shared)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(connection: TcpStream, shared: Arc<Shared>) {
    let answer = service_fn(|request: Request<hyper::body::Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (parts, body) = request.into_parts();
            let Ok(body) = to_bytes(Body::new(body), usize::MAX).await else {
                return Err(Broken);
            };
            shared.answer(Request::from_parts(parts, body)).await
        }
    });
    // How a connection ends is the operator's to see.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(connection), answer)
        .await;
}

impl Shared {
    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Body>, Broken> {
        if let Some(resource) = watched(request.uri()) {
            let accepted = request.headers().get(header::ACCEPT);
            let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
            let mut state = self.state.lock().expect("the proxy's state");
            let known = state.watched.entry(resource).or_default();
            known.insert(accepted.unwrap_or_default().to_owned());
        }
        let target = request.uri().to_string();
        let fault = {
            let mut faults = self.faults.lock().expect("the proxy's faults");
            faults.choose(request.method(), &target, request.body())
        };
        let method = request.method().clone();
        match fault {
            Some(Fault::Refused(code)) => return Ok(refusal(&method, code)),
            Some(Fault::Throttled(seconds)) => {
                let mut refusal = refusal(&method, 429);
                refusal
                    .headers_mut()
                    .insert(header::RETRY_AFTER, seconds.into());
                return Ok(refusal);
            }
            Some(Fault::Unsent) => return Err(Broken),
            Some(Fault::Slow(delay)) => tokio::time::sleep(delay).await,
            Some(Fault::AnswerLost | Fault::Misanswered(_)) | None => {}
        }
        let answer = self.forward(request).await;
        match fault {
            Some(Fault::AnswerLost) => Err(Broken),
            Some(Fault::Misanswered(code)) => Ok(refusal(&method, code)),
            _ => Ok(answer),
        }
    }

    async fn forward(&self, request: Request<Bytes>) -> Response<Body> {
        if !counts(&request) {
            return self.send(request).await;
        }
        let _turn = self.one_write.lock().await;
        let (number, strike) = self.state.lock().expect("the proxy's state").note(&request);
        if strike == Some(Strike::Before) {
            return self.kill();
        }
        if self.state.lock().expect("the proxy's state").dead {
            return gone();
        }
        let deed = {
            let mut state = self.state.lock().expect("the proxy's state");
            state.deed.take_if(|(at, _)| *at == number)
        };
        if let Some((_, deed)) = deed {
            deed.await;
        }
        let response = self.send(request).await;
        self.state.lock().expect("the proxy's state").writes[number].delivered = true;
        if strike == Some(Strike::After) {
            return self.kill();
        }
        response
    }
}

fn counts(request: &Request<Bytes>) -> bool {
    let path = request.uri().path();
    let writes = matches!(
        *request.method(),
        Method::POST | Method::PUT | Method::PATCH | Method::DELETE
    );
    writes && !path.contains("/events") && !path.contains("/leases")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strike {
    Before,
    After,
}

impl Recorded {
    /// Writes the request down; returns its place, and whether to strike at it.
    fn note(&mut self, request: &Request<Bytes>) -> (usize, Option<Strike>) {
        let agent = request.headers().get(header::USER_AGENT);
        self.writes.push(Write {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            user_agent: agent
                .and_then(|text| text.to_str().ok())
                .unwrap_or_default()
                .to_owned(),
            delivered: false,
        });
        let strike = self.armed.as_mut().and_then(|(moment, seen)| {
            *seen += 1;
            match *moment {
                Moment::Before(at) => (*seen == at).then_some(Strike::Before),
                Moment::After(at) => (*seen == at).then_some(Strike::After),
            }
        });
        if strike.is_some() {
            self.armed = None;
        }
        (self.writes.len() - 1, strike)
    }
}

impl Shared {
    async fn send(&self, request: Request<Bytes>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let resource = watched(&parts.uri);
        let mut forwarded = Request::new(kube::client::Body::from(body));
        *forwarded.method_mut() = parts.method;
        *forwarded.uri_mut() = parts
            .uri
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .parse()
            .expect("a path");
        *forwarded.headers_mut() = parts.headers;
        for hop in [
            header::HOST,
            header::AUTHORIZATION,
            header::CONNECTION,
            header::CONTENT_LENGTH,
        ] {
            forwarded.headers_mut().remove(hop);
        }
        match self.client.send(forwarded).await {
            // Watches stream through: nothing here waits for the end of a body.
            Ok(answer) => answer.map(|body| match resource {
                Some(resource) => self.watches.tap(resource, Body::new(body)),
                None => Body::new(body),
            }),
            Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        }
    }

    fn kill(&self) -> Response<Body> {
        let operator = {
            let mut state = self.state.lock().expect("the proxy's state");
            state.dead = true;
            state.operator.as_ref().and_then(Weak::upgrade)
        };
        kill(&operator.expect("an operator to kill"));
        gone()
    }
}

fn gone() -> Response<Body> {
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

/// An error as the API server words it.
pub fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    })
}

/// The answer `code` to a request of `method`.
fn refusal(method: &Method, code: u16) -> Response<Body> {
    let reason = match code {
        401 => "Unauthorized",
        409 if method == Method::POST => "AlreadyExists",
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let code = StatusCode::from_u16(code).expect("a status");
    let body = status(code.as_u16(), reason, "the test wants it so").to_string();
    (code, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
