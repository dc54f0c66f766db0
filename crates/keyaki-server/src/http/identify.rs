//! Who asks: a bearer token of ours, a JWT, or nobody; and which services have signed the request.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, header};
use keyaki::catalog::{Principal, Snapshot};
use keyaki::cell::visibility::Authorisations;

use super::App;
use super::problem::{self, Problem};
use crate::access::signature::{
    Message, Policy, Signed, check_content_digest, parse_public_key, signers, verify_all,
};

const SCHEME: &str = "bearer ";
/// Narrows what a request may see.
static AUTHS: HeaderName = HeaderName::from_static("keyaki-auths");
static SIGNATURE: HeaderName = HeaderName::from_static("signature");
static SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");

/// Marks a request that brings a body, however that is announced.
#[derive(Clone, Copy)]
pub struct HasBody;

/// Who asks, and the signatures by which services are known to have passed it on.
pub struct Identity {
    pub principal: Principal,
    pub signed: Vec<Signed>,
}

impl App {
    /// The caller of a request, whose body is needed only if a service has signed it.
    pub fn identify(&self, snapshot: &Snapshot, request: &Parts) -> Result<Identity, Problem> {
        let mut lines = request.headers.get_all(header::AUTHORIZATION).iter();
        let principal = match (lines.next(), lines.next()) {
            (None, _) => Principal::default(),
            (Some(value), None) => self.by_token(snapshot, value)?,
            (Some(_), Some(_)) => {
                return Err(Problem::bad_request("there are two Authorization headers")
                    .with("header", "authorization"));
            }
        };
        let signed = self.signed(snapshot, request)?;
        Ok(Identity { principal: Principal { services: signers(&signed), ..principal }, signed })
    }

    fn by_token(&self, snapshot: &Snapshot, value: &HeaderValue) -> Result<Principal, Problem> {
        let text =
            value.to_str().map_err(|_| invalid_token("the Authorization header is not text"))?;
        let scheme = text.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
        if scheme.is_none() {
            return Err(unauthenticated("only bearer tokens are known here"));
        }
        let token = text[SCHEME.len()..].trim();
        if let Some(known) = snapshot.token(token) {
            let record = &known.record;
            if record.expires.is_some_and(|expires| expires <= self.now_seconds()) {
                return Err(invalid_token("the token has expired"));
            }
            return Ok(known.principal.clone());
        }
        let Some(keys) = &self.jwt else { return Err(invalid_token("the token is not known")) };
        let claims = keys.verify(token, self.now_seconds()).map_err(|bad| {
            tracing::debug!(%bad, "a JWT was refused");
            invalid_token("the token is not valid")
        })?;
        let auths = Authorisations::new(claims.auths).map_err(|_| {
            Problem::new(&problem::FORBIDDEN, "the token's authorisations can't be used")
        })?;
        Ok(Principal {
            user: Some(claims.subject),
            roles: claims.roles.into(),
            auths,
            services: Vec::new(),
        })
    }

    fn signed(&self, snapshot: &Snapshot, request: &Parts) -> Result<Vec<Signed>, Problem> {
        if !request.headers.contains_key(&SIGNATURE_INPUT)
            && !request.headers.contains_key(&SIGNATURE)
        {
            return Ok(Vec::new());
        }
        let authority = request.uri.authority().map(|authority| authority.as_str());
        let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let message = Message {
            method: request.method.as_str(),
            scheme: self.scheme,
            authority: authority.or(host).unwrap_or_default(),
            path: request.uri.path(),
            query: request.uri.query(),
            headers: &request.headers,
            has_body: request.extensions.get::<HasBody>().is_some(),
        };
        let key = |fingerprint: &str| {
            let service = snapshot.services.get(fingerprint)?;
            parse_public_key(&service.public_key).ok()
        };
        verify_all(&message, &key, self.now_seconds(), &Policy::default())
            .map_err(|bad| unauthenticated(&format!("a signature is not valid: {bad}")))
    }

    /// What a signature says of the body must be so.
    pub fn check_digest(
        &self,
        principal: &Principal,
        request: &Parts,
        body: &Bytes,
    ) -> Result<(), Problem> {
        if principal.services.is_empty() {
            return Ok(());
        }
        let mut lines = request.headers.get_all("content-digest").iter();
        match (lines.next(), lines.next()) {
            (Some(digest), None) => check_content_digest(digest, body)
                .map_err(|bad| unauthenticated(&format!("Content-Digest does not hold: {bad}"))),
            (None, _) if body.is_empty() => Ok(()),
            _ => Err(unauthenticated("a signed body needs one Content-Digest header")),
        }
    }
}

/// The cells that a request may see: all that its caller may, or fewer.
pub fn authorisations(principal: &Principal, request: &Parts) -> Result<Authorisations, Problem> {
    let held = &principal.auths;
    let mut wanted: Vec<&str> = Vec::new();
    let mut narrowed = false;
    for value in request.headers.get_all(&AUTHS) {
        narrowed = true;
        let text = value.to_str().map_err(|_| Problem::bad_request("Keyaki-Auths is not text"))?;
        wanted.extend(text.split(',').map(str::trim).filter(|term| !term.is_empty()));
    }
    if !narrowed {
        return Ok(held.clone());
    }
    if let Some(more) = wanted.iter().find(|term| !held.contains(term)) {
        return Err(Problem::new(
            &problem::FORBIDDEN,
            "Keyaki-Auths asks for more than the caller has",
        )
        .with("authorisation", more));
    }
    Authorisations::new(wanted).map_err(|_| Problem::bad_request("Keyaki-Auths can't be used"))
}

pub fn unauthenticated(detail: &str) -> Problem {
    challenged(detail, "Bearer realm=\"keyaki\"")
}

/// As RFC 6750 has it: another token may do.
fn invalid_token(detail: &str) -> Problem {
    challenged(detail, "Bearer realm=\"keyaki\", error=\"invalid_token\"")
}

fn challenged(detail: &str, challenge: &'static str) -> Problem {
    Problem::new(&problem::UNAUTHENTICATED, detail)
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

/// Refuses what a caller may not do: who is not known yet may come back with a token.
pub fn refuse(principal: &Principal) -> Problem {
    match &principal.user {
        None => unauthenticated("this needs a token"),
        Some(_) => Problem::new(&problem::FORBIDDEN, "nothing allows you that"),
    }
}
