//! Answers that are sent as they are read: lines, events, results. On request they are compressed, piece by piece, so
//! that no piece waits for the next.

use std::io::{self, Write as _};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{Stream, TryStreamExt, stream};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, header};
use keyaki::Error;
use serde::Serialize;

use super::Answer;
use super::answer::{Codings, VARY, refuse_unacceptable};
use super::conditions::{Conditions, Verdict};
use super::problem::Problem;

pub const NDJSON: &str = "application/x-ndjson";
pub const EVENTS: &str = "text/event-stream";

/// The answer to a GET or HEAD, of a type that its caller accepts.
pub fn read<S>(request: &Parts, content_type: &'static str, pieces: S) -> Answer
where
    S: Stream<Item = keyaki::Result<Bytes>> + Send + 'static,
{
    refuse_unacceptable(&request.headers, content_type)?;
    let verdict = Conditions::parse(&request.headers)?.on_untagged();
    if verdict == Verdict::Failed {
        return Err(Problem::unmet());
    }
    let codings = Codings::accepted(&request.headers)?;
    let has_body = verdict == Verdict::Go && request.method != Method::HEAD;
    let mut response = match has_body {
        true => codings.stream(content_type, pieces),
        false => codings.stream(content_type, stream::empty()).map(|_| Body::empty()),
    };
    if verdict == Verdict::NotModified {
        *response.status_mut() = http::StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    Ok(response)
}

/// Lines of JSON, as many at a time as are read from one place to the next, and no sooner than the reader takes them.
pub fn lines<P, T, F, R>(request: &Parts, begin: P, read_from: F) -> Answer
where
    P: Send + 'static,
    T: Serialize,
    F: Fn(P) -> R + Send + 'static,
    R: Future<Output = keyaki::Result<(Vec<T>, Option<P>)>> + Send + 'static,
{
    let pieces = stream::try_unfold(Some(begin), move |place| {
        let reading = place.map(&read_from);
        async move {
            let Some(reading) = reading else { return Ok(None) };
            let (items, rest) = reading.await?;
            let mut lines = Vec::new();
            for item in &items {
                serde_json::to_writer(&mut lines, item).expect("what is shown is JSON");
                lines.push(b'\n');
            }
            Ok(Some((Bytes::from(lines), rest)))
        }
    });
    read(request, NDJSON, pieces)
}

impl Codings {
    /// A stream of this type, compressed if that is wanted.
    pub fn stream<S>(&self, content_type: &'static str, pieces: S) -> Response
    where
        S: Stream<Item = keyaki::Result<Bytes>> + Send + 'static,
    {
        let gzip = self.choose_gzip(content_type, usize::MAX);
        let body = match gzip {
            true => Body::from_stream(compressed(pieces)),
            false => Body::from_stream(pieces),
        };
        let mut response = Response::new(body);
        let headers: &mut HeaderMap = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::VARY, HeaderValue::from_static(VARY));
        if gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

fn compressed<S>(pieces: S) -> impl Stream<Item = keyaki::Result<Bytes>> + Send
where
    S: Stream<Item = keyaki::Result<Bytes>> + Send + 'static,
{
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    stream::try_unfold((Box::pin(pieces), Some(encoder)), |(mut pieces, encoder)| async {
        let Some(mut encoder) = encoder else { return Ok(None) };
        let failed = |error: io::Error| Error::internal("can't be compressed").because(error);
        match pieces.try_next().await? {
            Some(piece) => {
                encoder.write_all(&piece).and_then(|()| encoder.flush()).map_err(failed)?;
                let piece = std::mem::take(encoder.get_mut());
                Ok(Some((Bytes::from(piece), (pieces, Some(encoder)))))
            }
            None => {
                let end = encoder.finish().map_err(failed)?;
                Ok(Some((Bytes::from(end), (pieces, None))))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::bufread::GzDecoder;

    use super::*;

    #[tokio::test]
    async fn every_piece_can_be_read_before_the_next() {
        let pieces = ["one\n", "two\n", "three\n"];
        let all = pieces.map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
        let mut compressed = std::pin::pin!(compressed(stream::iter(all)));
        let (mut sent, mut expected) = (Vec::new(), String::new());
        for piece in pieces {
            sent.extend_from_slice(&compressed.try_next().await.unwrap().unwrap());
            expected.push_str(piece);
            let mut read = vec![0; expected.len()];
            GzDecoder::new(&sent[..]).read_exact(&mut read).unwrap();
            assert_eq!(read, expected.as_bytes());
        }
        sent.extend_from_slice(&compressed.try_next().await.unwrap().unwrap());
        assert!(compressed.try_next().await.unwrap().is_none());
        let mut read = String::new();
        GzDecoder::new(&sent[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, expected);
    }
}
