//! Reads request bodies, up to a limit (S9.5).

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::EXPECT;
use hyper::{HeaderMap, StatusCode};

use crate::http::{Response, refusal};

/// Most clients read the answer only after they have sent everything, and a connection that is
/// closed with unread data loses the answer. So what is too large is read to its end, up to here.
const MAX_DISCARDED_BYTES: usize = 64 << 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// The whole body, or what to answer instead.
///
/// # Errors
/// 413 for more than `limit` bytes, 408 for a sender that stalls, 400 for one that breaks off.
pub(crate) async fn collect(
    headers: &HeaderMap,
    body: Incoming,
    limit: usize,
) -> Result<Bytes, Response> {
    let announced = body.size_hint().lower();
    if announced > limit as u64 && headers.contains_key(EXPECT) {
        // This client asks before it sends.
        return Err(too_large(limit));
    }
    match tokio::time::timeout(TIMEOUT, read(body, limit)).await {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => Err(too_large(limit)),
        Ok(Err(error)) => {
            let message = format!("the request broke off: {error}");
            Err(refusal(StatusCode::BAD_REQUEST, &message))
        }
        Err(_) => Err(refusal(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time")),
    }
}

/// `None` when there was more than `limit`.
async fn read(mut body: Incoming, limit: usize) -> hyper::Result<Option<Bytes>> {
    // Nearly all bodies come in one piece, which then is not copied.
    let mut first = Bytes::new();
    let mut all = Vec::new();
    let mut total = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        total += data.len();
        if total > MAX_DISCARDED_BYTES {
            break;
        } else if total > limit {
            (first, all) = (Bytes::new(), Vec::new());
        } else if total == data.len() {
            first = data;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&data);
        }
    }
    let whole = if all.is_empty() { first } else { all.into() };
    Ok((total <= limit).then_some(whole))
}

fn too_large(limit: usize) -> Response {
    let message = format!("the request is larger than {limit} bytes; send less in one call");
    refusal(StatusCode::PAYLOAD_TOO_LARGE, &message)
}
