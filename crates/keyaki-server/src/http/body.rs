//! Bodies as they arrive: no larger than allowed, and not slower.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::problem::{self, Problem};

/// How long a body may take to arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

/// Reads a body whole.
pub async fn read(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::new(&problem::TOO_LARGE, "the body is too large").with("most", &most.to_string())
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|n| n > most as u64) {
        return Err(too_large());
    }
    refuse_encoded(headers)?;
    let whole = tokio::time::timeout(ARRIVES_WITHIN, Limited::new(body, most).collect()).await;
    match whole {
        Err(_) => Err(Problem::new(&problem::TIMEOUT, "the body did not arrive in time")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::bad_request("the body ended early")),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
    }
}

/// What is stored comes back byte for byte, so nothing is decoded on the way in.
fn refuse_encoded(headers: &HeaderMap) -> Result<(), Problem> {
    let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|value| !plain(value)) {
        let refused =
            Problem::new(&problem::UNSUPPORTED_TYPE, "send the body without Content-Encoding");
        let identity = http::HeaderValue::from_static("identity");
        return Err(refused.with_header(header::ACCEPT_ENCODING, identity));
    }
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err(Problem::bad_request("a part of an item can't be written")
            .with("header", "content-range"));
    }
    Ok(())
}

/// Reads a body that says it is JSON.
pub async fn read_json_bytes(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Bytes, Problem> {
    let given = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let essence = given.map(|given| given.split(';').next().unwrap_or_default().trim());
    let is_json = essence.is_none_or(|essence| {
        essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json")
    });
    if !is_json {
        return Err(Problem::new(&problem::UNSUPPORTED_TYPE, "send application/json")
            .with("contentType", given.unwrap_or_default()));
    }
    read(headers, body, most).await
}
