//! `/openapi.json`, and `/docs`: a page to try it in a browser. All of it is in the binary, and it asks nobody else.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode, header};

use super::answer::{Representation, refuse_unacceptable};
use super::describe::document;
use super::problem::Problem;
use super::{Answer, App};

/// The page runs its own script, wears its own style and asks its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGE: Asset = Asset {
    name: "",
    kind: "text/html; charset=utf-8",
    text: include_str!("../../console/docs.html"),
};
static ASSETS: [Asset; 4] = [
    Asset {
        name: "docs.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("../../console/docs.css"),
    },
    Asset {
        name: "docs.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("../../console/docs.js"),
    },
    Asset {
        name: "request.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("../../console/request.js"),
    },
    Asset {
        name: "keyaki.svg",
        kind: "image/svg+xml",
        text: include_str!("../../console/keyaki.svg"),
    },
];

/// A file of the page.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

/// The names of the page's parts.
pub fn assets() -> impl Iterator<Item = &'static str> {
    ASSETS.iter().map(|asset| asset.name)
}

/// What `/openapi.json` says of a server with these backends.
pub fn description(backends: &BTreeSet<String>) -> Bytes {
    serde_json::to_vec(&document(backends)).expect("the document is JSON").into()
}

/// `/openapi.json`.
pub fn openapi(app: &App, parts: &Parts) -> Answer {
    let empty = Representation::json(None, &());
    Representation { bytes: app.description.to_vec(), ..empty }.answer(parts)
}

/// `/docs`.
pub fn page(parts: &Parts) -> Answer {
    PAGE.answer(parts)
}

/// `/docs/{asset}`.
pub fn asset(parts: &Parts, name: &str) -> Answer {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    asset.ok_or_else(|| Problem::not_found("the page has no such part"))?.answer(parts)
}

impl Asset {
    fn answer(&self, parts: &Parts) -> Result<Response, Problem> {
        refuse_unacceptable(&parts.headers, self.kind)?;
        let headers = [
            (header::CONTENT_TYPE, self.kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            // A new server brings a new page.
            (header::CACHE_CONTROL, "no-cache"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::VARY, "accept"),
        ];
        let body = match parts.method == Method::HEAD {
            true => Body::empty(),
            false => Body::from(self.text),
        };
        let length = [(header::CONTENT_LENGTH, self.text.len().to_string())];
        Ok((StatusCode::OK, headers, length, body).into_response())
    }
}
