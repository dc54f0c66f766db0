//! Serves HTTP until it is told to stop.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use keyaki::Kind;
use keyaki::catalog::{ADMIN, Backends, Catalog, NewToken, Principal, digest_of};
use keyaki::cell::SystemWallClock;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tokio_rustls::TlsAcceptor;

use super::demo;
use super::{Failure, Verdict, runtime};
use crate::access::jwt::{JwtKey, JwtKeys, Required};
use crate::backends;
use crate::config::{Config, JwtKeyTable, JwtTable, TlsTable};
use crate::http::{App, Bounds, Cors, Cursors, Metrics, Server, description, new_token};

const LISTEN: &str = "127.0.0.1:7170";
const DATA: &str = "keyaki-data";
const TOKEN_VARIABLE: &str = "KEYAKI_ADMIN_TOKEN";
const TOKEN_BYTES_MIN: usize = 16;
/// Between attempts to reach the default backend.
const REACHED_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// In seconds: from a cached read to a slow disk.
const LATENCIES: [f64; 12] =
    [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// What was asked for on the command line.
pub struct Wanted {
    pub data: Option<PathBuf>,
    pub listen: Option<String>,
    pub config: Option<PathBuf>,
    pub demo: bool,
}

pub fn run(wanted: Wanted, out: &mut impl Write) -> Result<Verdict, Failure> {
    let config = match &wanted.config {
        Some(path) => Config::read(path).map_err(Failure::Config)?,
        None => Config::default(),
    };
    runtime()?.block_on(serve(wanted, config, out))
}

async fn serve(wanted: Wanted, config: Config, out: &mut impl Write) -> Result<Verdict, Failure> {
    // Signals that come while it starts count too.
    let mut stop = Box::pin(stop_signal()?);
    let given = wanted.data.or(config.data.clone());
    let configured = !config.backend.is_empty();
    if let Some(data) = given.as_ref().filter(|_| configured) {
        let data = data.display();
        tracing::warn!(%data, "nothing is kept there: the configuration names backends");
    }
    let temporary = match (wanted.demo && !configured, &given) {
        (true, None) => Some(tempfile::tempdir()?),
        _ => None,
    };
    let kept = temporary.as_ref().map(|dir| dir.path().join("store"));
    let data = kept.or(given).unwrap_or_else(|| PathBuf::from(DATA));
    let (backends, open) = backends::open(&config, &data)?;
    let catalog = tokio::select! {
        opened = open_catalog(backends) => opened?,
        () = &mut stop => return Ok(Verdict::Sound),
    };
    let tls = config.tls.as_ref().map(tls).transpose()?;
    let app = Arc::new(App {
        cursors: Cursors::new(&catalog.secret(random()).await?),
        catalog: catalog.clone(),
        clock: Arc::new(SystemWallClock),
        jwt: jwt(&config.jwt)?,
        limits: config.limits.clone(),
        bounds: Bounds::new(&config.limits),
        scheme: if tls.is_some() { "https" } else { "http" },
        metrics: metrics()?,
        metrics_public: config.metrics.public,
        cors: Cors::new(config.cors.origins.clone()),
        ready: AtomicBool::new(true),
        description: description(&backends::names(&config)),
    });
    let listen = wanted.listen.or(config.listen).unwrap_or_else(|| LISTEN.to_owned());
    let server = Server::bind(app.clone(), &listen, tls)
        .await
        .map_err(|error| Failure::Config(format!("can't listen on {listen}: {error}")))?;
    // Made only once it can be shown: nobody could find out a token of a start that failed.
    let admin = admin_token(&catalog).await?;
    let address = format!("{}://{}", app.scheme, server.address()?);
    writeln!(out, "Keyaki listens on {address}")?;
    if let Some(token) = &admin {
        writeln!(out, "Admin token, shown this once: {token}")?;
    }
    if wanted.demo {
        if temporary.is_none() {
            let place = match configured {
                true => catalog.backends().resolve(None)?,
                false => data.display().to_string(),
            };
            writeln!(out, "The demo is written to {place}, and stays there.")?;
        }
        demo::prepare(&catalog).await?;
        demo::explain(&address, admin.as_deref(), out)?;
    }
    out.flush()?;
    server.run(stop).await;
    open.close().await;
    Ok(Verdict::Sound)
}

/// Opens the catalog once its backend can be reached: a cluster that is away now is not away for good.
async fn open_catalog(backends: Backends) -> keyaki::Result<Catalog> {
    loop {
        match backends.default_store().await {
            Err(error) if error.kind() == Kind::Unavailable => {
                tracing::warn!(%error, "the default backend can't be reached yet");
                tokio::time::sleep(REACHED_AGAIN_AFTER).await;
            }
            reached => {
                reached?;
                return Catalog::open(backends).await;
            }
        }
    }
}

fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}

/// The token that is to be shown, if this is the first start.
async fn admin_token(catalog: &Catalog) -> Result<Option<String>, Failure> {
    let new = NewToken {
        user: ADMIN.to_owned(),
        roles: vec![ADMIN.to_owned()],
        auths: Vec::new(),
        expires: None,
    };
    if let Ok(given) = std::env::var(TOKEN_VARIABLE) {
        if given.len() < TOKEN_BYTES_MIN || !given.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Failure::Config(format!(
                "{TOKEN_VARIABLE} must have at least {TOKEN_BYTES_MIN} printable characters"
            )));
        }
        catalog.choose_token(&new, &digest_of(&given)).await?;
        return Ok(None);
    }
    let snapshot = catalog.snapshot().await?;
    if snapshot.tokens.values().any(|token| token.record.roles.iter().any(|role| role == ADMIN)) {
        return Ok(None);
    }
    let token =
        new_token().map_err(|_| Failure::Config("no randomness is to be had".to_owned()))?;
    catalog.add_token(&Principal::default(), &new, &digest_of(&token)).await?;
    Ok(Some(token))
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    bytes
}

fn metrics() -> Result<Metrics, Failure> {
    let matcher = Matcher::Suffix("_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(matcher, &LATENCIES);
    let installed = builder.and_then(PrometheusBuilder::install_recorder);
    installed.map(Metrics::new).map_err(|error| Failure::Config(error.to_string()))
}

fn jwt(table: &JwtTable) -> Result<Option<JwtKeys>, Failure> {
    if table.keys.is_empty() {
        return Ok(None);
    }
    let keys = table.keys.iter().map(jwt_key).collect::<Result<Vec<_>, _>>()?;
    let required = Required { issuer: table.issuer.clone(), audience: table.audience.clone() };
    JwtKeys::new(keys, required).map(Some).map_err(|bad| Failure::Config(format!("jwt: {bad}")))
}

fn jwt_key(table: &JwtKeyTable) -> Result<JwtKey, Failure> {
    let told = |bad: &dyn std::fmt::Display| {
        Failure::Config(format!("jwt key {}: {bad}", table.file.display()))
    };
    let text = std::fs::read(&table.file).map_err(|error| told(&error))?;
    let pem = String::from_utf8_lossy(&text);
    let key = match &table.algorithm[..] {
        "HS256" => JwtKey::hs256(text.trim_ascii_end()),
        "RS256" => JwtKey::rs256(&pem),
        "EdDSA" => JwtKey::ed_dsa(&pem),
        other => return Err(told(&format!("no algorithm is called `{other}` here"))),
    };
    let key = key.map_err(|bad| told(&bad))?;
    let key = if table.allow_admin { key.allow_admin_role() } else { key };
    Ok(match &table.id {
        Some(id) => key.with_id(id.clone()),
        None => key,
    })
}

fn tls(table: &TlsTable) -> Result<TlsAcceptor, Failure> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let told = |bad: &dyn std::fmt::Display| Failure::Config(format!("tls: {bad}"));
    let certificates = CertificateDer::pem_file_iter(&table.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|bad| told(&bad))?;
    let key = PrivateKeyDer::from_pem_file(&table.key).map_err(|bad| told(&bad))?;
    let mut config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|bad| told(&bad))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
