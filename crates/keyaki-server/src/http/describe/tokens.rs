//! Tokens and services' keys.

use super::sketch::Sketch;
use crate::http::shapes::{ServiceForm, ServiceShown, TokenForm, TokenMade, TokenShown};

pub const TOKENS: &str = "Tokens";
pub const SERVICES: &str = "Services";

pub fn list(s: Sketch) -> Sketch {
    s.says("listTokens", TOKENS, "All tokens", "Without the tokens themselves.")
        .answers_items::<TokenShown>("The tokens.")
        .with_tag()
}

pub fn make(s: Sketch) -> Sketch {
    s.says(
        "makeToken",
        TOKENS,
        "Makes a token",
        "It is shown this once; the server keeps only a digest of it.",
    )
    .takes_json::<TokenForm>(true)
    .answers_json::<TokenMade>(201, "It is in force.")
    .heads(201, &["ETag", "Last-Modified", "Location"])
    .leads_to(201, "showToken", &[("id", "$response.body#/id")])
    .leads_to(201, "revokeToken", &[("id", "$response.body#/id")])
}

pub fn show(s: Sketch) -> Sketch {
    s.says("showToken", TOKENS, "A token", "Without the token itself.")
        .answers_json::<TokenShown>(200, "The token.")
        .with_tag()
}

pub fn revoke(s: Sketch) -> Sketch {
    s.says(
        "revokeToken",
        TOKENS,
        "Revokes a token",
        "When this answers, no server honours it any more.",
    )
    .conditional()
    .answers_nothing("It is gone.")
}

pub fn services(s: Sketch) -> Sketch {
    s.says("listServices", SERVICES, "All services' keys", "")
        .answers_items::<ServiceShown>("The keys.")
        .with_tag()
}

pub fn service(s: Sketch) -> Sketch {
    s.says("showService", SERVICES, "A service's key", "")
        .answers_json::<ServiceShown>(200, "The key.")
        .with_tag()
}

pub fn put_service(s: Sketch) -> Sketch {
    s.says("putService", SERVICES, "Registers a service's key", "Under its own fingerprint.")
        .conditional()
        .takes_json::<ServiceForm>(true)
        .answers_json::<ServiceShown>(200, "It is described anew.")
        .answers_json::<ServiceShown>(201, "It is honoured.")
        .heads(200, &["ETag", "Last-Modified"])
        .heads(201, &["ETag", "Last-Modified", "Location"])
        .leads_to(201, "showService", &[])
        .leads_to(201, "revokeService", &[])
}

pub fn revoke_service(s: Sketch) -> Sketch {
    s.says(
        "revokeService",
        SERVICES,
        "Forgets a service's key",
        "When this answers, no server honours it any more.",
    )
    .conditional()
    .answers_nothing("It is gone.")
}
