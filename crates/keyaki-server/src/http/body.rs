//! Bodies as they arrive: no larger than allowed, and not slower.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;

use super::bounds::{Bounds, Held};
use super::headers::single;
use super::problem::{self, Problem};

/// How long a body may take to arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

/// A body, and the room that it takes.
pub struct Whole {
    pub bytes: Bytes,
    pub held: Held,
}

/// Reads a body whole.
pub async fn read(
    bounds: &Bounds,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Whole, Problem> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
    if announced > most as u64 {
        return Err(too_large(most));
    }
    refuse_encoded(headers)?;
    let mut held = bounds.hold(announced)?;
    let whole = tokio::time::timeout(ARRIVES_WITHIN, take(bounds, &mut held, body, most)).await;
    let late = |_| Problem::new(&problem::TIMEOUT, "the body did not arrive in time");
    Ok(Whole { bytes: whole.map_err(late)??, held })
}

/// Takes frames as long as there is room for them.
async fn take(
    bounds: &Bounds,
    held: &mut Held,
    mut body: Body,
    most: usize,
) -> Result<Bytes, Problem> {
    let (mut frames, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::bad_request("the body ended early"))?;
        let Ok(bytes) = frame.into_data() else { continue };
        length += bytes.len();
        if length > most {
            return Err(too_large(most));
        }
        held.grow(bounds, length)?;
        frames.push(bytes);
    }
    match frames.len() {
        1 => Ok(frames.remove(0)),
        _ => Ok(frames.concat().into()),
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(&problem::TOO_LARGE, "the body is too large").with("most", &most.to_string())
}

/// What is stored comes back byte for byte, so nothing is decoded on the way in.
pub fn refuse_encoded(headers: &HeaderMap) -> Result<(), Problem> {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|value| !plain(value)) {
        let refused =
            Problem::new(&problem::UNSUPPORTED_TYPE, "send the body without Content-Encoding");
        let identity = HeaderValue::from_static("identity");
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
    bounds: &Bounds,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Whole, Problem> {
    let given = single(headers, header::CONTENT_TYPE.as_str())?;
    let essence = given.map(|given| given.split(';').next().unwrap_or_default().trim());
    let is_json = essence.is_none_or(|essence| {
        essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json")
    });
    if !is_json {
        return Err(unsupported(given.unwrap_or_default(), "application/json"));
    }
    read(bounds, headers, body, most).await
}

/// Refuses a media type where others are taken.
pub fn unsupported(given: &str, wanted: &'static str) -> Problem {
    Problem::new(&problem::UNSUPPORTED_TYPE, format!("send {wanted}"))
        .with("contentType", given)
        .with_header(header::ACCEPT, HeaderValue::from_static(wanted))
}
