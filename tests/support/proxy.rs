//! A proxy between an operator and the API server, which writes down every write and can kill the operator at one.

use std::sync::{Arc, Mutex, Weak};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use kube::Client;
use std::process::Child;
use tokio::net::TcpListener;

use super::operator::{Process, kill};

/// A running proxy. It acts with the operator's own rights.
pub struct ApiProxy {
    /// Where it listens.
    pub url: String,
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
}

#[derive(Default)]
struct Recorded {
    writes: Vec<Write>,
    armed: Option<(Moment, usize)>,
    operator: Option<Weak<Mutex<Child>>>,
    deed: Option<(usize, BoxFuture<'static, ()>)>,
    /// Nothing of a killed operator is forwarded any more.
    dead: bool,
}

struct Serving(tokio::task::JoinHandle<()>);

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
        let shared = Arc::new(Shared {
            client,
            one_write: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        });
        let router = Router::new()
            .fallback(forward)
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router)
                .await
                .expect("the proxy serves");
        });
        Self {
            url,
            shared,
            _serving: Serving(serving),
        }
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

    fn state(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.shared.state.lock().expect("the proxy's state")
    }
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !counts(&request) {
        return shared.send(request).await;
    }
    let _turn = shared.one_write.lock().await;
    let (number, strike) = shared
        .state
        .lock()
        .expect("the proxy's state")
        .note(&request);
    if strike == Some(Strike::Before) {
        return shared.kill();
    }
    if shared.state.lock().expect("the proxy's state").dead {
        return gone();
    }
    let deed = {
        let mut state = shared.state.lock().expect("the proxy's state");
        state.deed.take_if(|(at, _)| *at == number)
    };
    if let Some((_, deed)) = deed {
        deed.await;
    }
    let response = shared.send(request).await;
    shared.state.lock().expect("the proxy's state").writes[number].delivered = true;
    if strike == Some(Strike::After) {
        return shared.kill();
    }
    response
}

fn counts(request: &Request) -> bool {
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
    fn note(&mut self, request: &Request) -> (usize, Option<Strike>) {
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
    async fn send(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return gone();
        };
        let mut forwarded = axum::http::Request::new(kube::client::Body::from(bytes));
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
            Ok(answer) => answer.map(Body::new),
            Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        }
    }

    fn kill(&self) -> Response {
        let operator = {
            let mut state = self.state.lock().expect("the proxy's state");
            state.dead = true;
            state.operator.as_ref().and_then(Weak::upgrade)
        };
        kill(&operator.expect("an operator to kill"));
        gone()
    }
}

fn gone() -> Response {
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}
