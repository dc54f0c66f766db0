//! A server, asked over HTTP from the command line: a connection for each request, bodies streamed both ways. What the
//! server refuses is told in its own words.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::args::Remote;
use crate::command::Failure;

const TOKEN_VARIABLE: &str = "KEYAKI_TOKEN";
/// Where systems keep the certificates that they trust.
const SYSTEM_CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Most of an answer that is read whole.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A server, and who asks it.
pub struct Client {
    host: String,
    port: u16,
    authority: String,
    tls: Option<TlsConnector>,
    token: Option<String>,
}

impl Client {
    pub fn new(remote: &Remote) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::Config(format!("--server {}: {why}", remote.server));
        let uri: Uri = remote.server.parse().map_err(|_| wrong("not an address"))?;
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => Some(connector(remote.ca.as_deref())?),
            _ => return Err(wrong("begins with neither http:// nor https://")),
        };
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("leave out what follows host and port"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
        let token = remote.token.clone().or_else(|| std::env::var(TOKEN_VARIABLE).ok());
        Ok(Self { host, port, authority: authority.to_string(), tls, token })
    }

    /// Begins a request to a path; it still lacks a body.
    pub fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(header::HOST, &self.authority);
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    /// Asks, and answers as soon as the server does, unless it refuses.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, Failure> {
        let broken = |error: &dyn std::error::Error| {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Failure::Lost(format!("the connection to {} broke: {error}{cause}", self.authority))
        };
        let unreached = |error: io::Error| {
            Failure::Lost(format!("{} can't be reached: {error}", self.authority))
        };
        let stream = TcpStream::connect((&self.host[..], self.port)).await.map_err(unreached)?;
        let _ = stream.set_nodelay(true);
        let response = match &self.tls {
            None => converse(stream, request).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone())
                    .map_err(|error| Failure::Config(format!("--server: {error}")))?;
                converse(tls.connect(name, stream).await.map_err(unreached)?, request).await
            }
        };
        let response = response.map_err(|error| broken(&error))?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(refusal(response).await),
        }
    }

    /// What a path says, as JSON.
    pub async fn json(&self, path: &str) -> Result<Value, Failure> {
        let request = self.request(Method::GET, path).header(header::ACCEPT, "application/json");
        let response = self.send(with_body(request, Body::empty())?).await?;
        let bytes = whole(response).await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::Server(format!("the answer to {path} is no JSON: {error}")))
    }
}

pub fn with_body(request: http::request::Builder, body: Body) -> Result<Request<Body>, Failure> {
    let wrong = |error| Failure::Config(format!("no request can be made of that: {error}"));
    request.body(body).map_err(wrong)
}

/// The next piece of an answer; an answer that breaks off is no answer.
pub async fn piece(response: &mut Response<Incoming>) -> Result<Option<Bytes>, Failure> {
    let early = |error| Failure::Lost(format!("the answer broke off: {error}"));
    while let Some(frame) = response.body_mut().frame().await {
        if let Ok(bytes) = frame.map_err(early)?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// All of an answer.
pub async fn whole(response: Response<Incoming>) -> Result<Bytes, Failure> {
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    let early = |error| Failure::Lost(format!("the answer broke off: {error}"));
    Ok(body.map_err(early)?.to_bytes())
}

async fn converse<S>(stream: S, request: Request<Body>) -> hyper::Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the answer, or with its reader.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
    sender.send_request(request).await
}

/// A problem document as one line.
async fn refusal(response: Response<Incoming>) -> Failure {
    let status = response.status();
    let problem: Value = match whole(response).await {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => Value::Null,
    };
    let mut told = format!("the server answers {status}");
    if let Some(detail) = problem["detail"].as_str() {
        told += &format!(": {detail}");
    }
    let said = ["type", "title", "status", "detail", "instance"];
    for (name, value) in problem.as_object().into_iter().flatten() {
        if !said.contains(&&name[..]) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            told += &format!(", {name} {value}");
        }
    }
    if status == StatusCode::UNAUTHORIZED {
        told += &format!("; name a token with --token or {TOKEN_VARIABLE}");
    }
    match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT => Failure::Lost(told),
        _ => Failure::Server(told),
    }
}

fn connector(given: Option<&Path>) -> Result<TlsConnector, Failure> {
    let file = given.map(PathBuf::from).or_else(|| {
        let mut known = SYSTEM_CERTIFICATES.iter().map(PathBuf::from);
        known.find(|path| path.exists())
    });
    let file = file.ok_or_else(|| Failure::Config("name trusted certificates with --ca".into()))?;
    let told = |bad: &dyn std::fmt::Display| {
        Failure::Config(format!("certificates in {}: {bad}", file.display()))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&file).map_err(|bad| told(&bad))? {
        let certificate = certificate.map_err(|bad| told(&bad))?;
        // Systems trust some that are too old to be read; one that was named must do.
        if let Err(bad) = roots.add(certificate)
            && given.is_some()
        {
            return Err(told(&bad));
        }
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
