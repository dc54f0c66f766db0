//! The baseline of reads: an axum handler that answers the same bytes, from memory, whatever it is asked for.

use std::io::Write;

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::get;
use tokio::net::TcpListener;

use super::child::LISTENS;
use super::items::{CONTENT_TYPE, content};
use crate::Result;

/// Serves until it is killed.
pub fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let bytes = Bytes::from(content(0));
        let handler = move || async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], bytes) };
        let router = Router::new().route("/v1/{domain}/{bucket}/{key}", get(handler));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{LISTENS}{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        Ok(axum::serve(listener, router).await?)
    })
}
