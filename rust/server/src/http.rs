//! Routes, and refusals that a client can read.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, StatusCode};
use rmcp::ErrorData;
use rmcp::model::JsonRpcError;
use rmcp::transport::StreamableHttpService;
use serde_json::{Value, json};

use crate::access::Access;
use crate::body;
use crate::endpoint::Endpoint;
use crate::sessions::Sessions;

pub(crate) type Response = hyper::Response<BoxBody<Bytes, Infallible>>;

pub(crate) const MCP_PATH: &str = "/mcp";
const HEALTH_PATH: &str = "/health";
/// Longest text of rmcp's that is passed on as a reason.
const MAX_REASON_BYTES: usize = 4096;

/// The body of a request, for tools that decide by its spelling. rmcp hands the parts on.
#[derive(Clone)]
pub(crate) struct Sent(pub(crate) Bytes);

pub(crate) struct Routes {
    pub(crate) access: Access,
    pub(crate) mcp: StreamableHttpService<Endpoint, Sessions>,
    pub(crate) max_request_bytes: usize,
    /// What `/health` answers.
    pub(crate) identity: Value,
}

impl Routes {
    /// Calls `let_in` as soon as the request has passed the access check.
    pub(crate) async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        let_in: impl FnOnce(),
    ) -> Response {
        if let Err(denied) = self.access.check(request.uri(), request.headers()) {
            tracing::warn!(?denied, path = request.uri().path(), "request refused");
            return denied.response();
        }
        let_in();
        match request.uri().path() {
            MCP_PATH => self.mcp(request).await,
            HEALTH_PATH if request.method() == Method::GET => {
                json_response(StatusCode::OK, &self.identity)
            }
            HEALTH_PATH => {
                let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
                response
            }
            _ => refusal(StatusCode::NOT_FOUND, "nothing here; the MCP endpoint is /mcp"),
        }
    }

    async fn mcp(&self, request: Request<Incoming>) -> Response {
        let (mut parts, body) = request.into_parts();
        let body = match body::collect(&parts.headers, body, self.max_request_bytes).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let ends_session = parts.method == Method::DELETE;
        let sent = body.clone();
        parts.extensions.insert(Sent(body.clone()));
        let mut response = self.mcp.handle(Request::from_parts(parts, Full::new(body))).await;
        if response.status().is_client_error() {
            return explained(response, &sent).await;
        }
        if ends_session && response.status() == StatusCode::ACCEPTED {
            // It has ended, and some clients take "accepted" for a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }
}

/// rmcp refuses some requests with plain text. Clients show JSON-RPC errors, so it becomes one.
async fn explained(response: Response, request: &Bytes) -> Response {
    if response.headers().contains_key(CONTENT_TYPE) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let reason = Limited::new(body, MAX_REASON_BYTES).collect().await.map(|it| it.to_bytes());
    let reason = String::from_utf8_lossy(reason.as_deref().unwrap_or_default()).into_owned();
    // rmcp answers 415 both for the wrong content type and for a body that it cannot read.
    let unreadable = parts.status == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && reason.starts_with("fail to deserialize");
    let error = if !unreadable {
        ErrorData::invalid_request(reason, None)
    } else {
        parts.status = StatusCode::BAD_REQUEST;
        match serde_json::from_slice::<Value>(request) {
            Err(error) => ErrorData::parse_error(format!("the body is not JSON: {error}"), None),
            Ok(Value::Array(_)) => {
                ErrorData::invalid_request("batches are not supported; send single messages", None)
            }
            Ok(_) => ErrorData::invalid_request("the body is not a JSON-RPC 2.0 message", None),
        }
    };
    let mut response = error_response(parts.status, error);
    // `Allow`, for example.
    response.headers_mut().extend(parts.headers);
    response
}

pub(crate) fn refusal(status: StatusCode, message: &str) -> Response {
    error_response(status, ErrorData::invalid_request(message.to_owned(), None))
}

fn error_response(status: StatusCode, error: ErrorData) -> Response {
    json_response(status, &json!(JsonRpcError::new(None, error)))
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
