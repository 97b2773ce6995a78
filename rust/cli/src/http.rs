//! Requests to an editor.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;

use crate::project::Endpoint;

/// On loopback a listener answers at once or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Far beyond the cap of the server, images included.
const MAX_ANSWER_BYTES: usize = 64 << 20;

#[derive(Clone)]
pub(crate) struct Http(Client<HttpConnector, Full<Bytes>>);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing was sent: the request may safely be sent again.
    NotSent(String),
    /// The connection broke off: the request may have had its effect.
    BrokeOff(String),
}

impl Http {
    /// Must run inside a tokio runtime.
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector);
        Self(client)
    }

    /// Sends a request and returns once the head of the answer is here. Dropping the answer closes
    /// the connection, by which the server knows that nobody waits any more.
    pub(crate) async fn send(
        &self,
        endpoint: &Endpoint,
        method: Method,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        let request = request(endpoint, &endpoint.url, method, headers, body)?;
        self.0.request(request).await.map_err(|error| {
            let text = chain(&error);
            if error.is_connect() { Failure::NotSent(text) } else { Failure::BrokeOff(text) }
        })
    }

    /// Whether the editor answers, within `limit`.
    ///
    /// # Errors
    /// What is wrong, for a human.
    pub(crate) async fn health(&self, endpoint: &Endpoint, limit: Duration) -> Result<(), String> {
        let url = endpoint.url.strip_suffix("/mcp").unwrap_or(&endpoint.url);
        let request = request(endpoint, &format!("{url}/health"), Method::GET, &[], Bytes::new())
            .map_err(|it| it.to_string())?;
        let answer = match timeout(limit, self.0.request(request)).await {
            Err(_) => return Err(format!("no answer from {} in {limit:?}", endpoint.url)),
            Ok(Err(error)) => return Err(format!("{}: {}", endpoint.url, chain(&error))),
            Ok(Ok(answer)) => answer,
        };
        match answer.status().as_u16() {
            200 => Ok(()),
            401 => Err(format!("{} does not accept the token", endpoint.url)),
            status => Err(format!("{} answered with status {status}", endpoint.url)),
        }
    }
}

/// The whole body.
pub(crate) async fn collect(body: Incoming) -> Result<Bytes, Failure> {
    match Limited::new(body, MAX_ANSWER_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => Err(Failure::BrokeOff(error.to_string())),
    }
}

fn request(
    endpoint: &Endpoint,
    url: &str,
    method: Method,
    headers: &[(&str, String)],
    body: Bytes,
) -> Result<Request<Full<Bytes>>, Failure> {
    let invalid = |it: &dyn std::fmt::Display| Failure::NotSent(format!("no valid request: {it}"));
    let mut request = Request::builder().method(method).uri(url);
    if let Some(token) = &endpoint.token {
        let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|it| invalid(&it))?;
        request = request.header(AUTHORIZATION, value);
    }
    for (name, value) in headers {
        let name = HeaderName::try_from(*name).map_err(|it| invalid(&it))?;
        let value = HeaderValue::try_from(value.as_str()).map_err(|it| invalid(&it))?;
        request = request.header(name, value);
    }
    request.body(Full::new(body)).map_err(|it| invalid(&it))
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSent(text) | Self::BrokeOff(text) => f.write_str(text),
        }
    }
}

/// The causes too: hyper's own words say little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
