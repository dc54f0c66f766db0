//! Tokens and services' keys over HTTP, for admins.

use axum::body::Body;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Method, StatusCode, header};
use keyaki::catalog::{Changed, NewToken, Principal, Right, ServiceRecord, Token, digest_of};
use keyaki::cell::Tid;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Representation, value, written};
use super::catalog::time;
use super::identify::refuse;
use super::operations::{parse_rfc3339, rfc3339};
use super::problem::{self, Problem};
use super::{Answer, Call, is_read, other_method};
use crate::access::signature::{fingerprint, parse_public_key};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenForm {
    user: String,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    auths: Vec<String>,
    #[serde(default)]
    expires: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServiceForm {
    public_key: String,
    #[serde(default)]
    description: String,
}

/// Makes a token that nobody can guess.
pub fn new_token() -> Result<String, Problem> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| Problem::new(&problem::INTERNAL, "no randomness is to be had"))?;
    Ok(format!("ky_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

impl Call<'_> {
    fn demand_admin(&self) -> Result<(), Problem> {
        match self.snapshot.permits(&self.principal, Right::Administer, None) {
            true => Ok(()),
            false => Err(refuse(&self.principal)),
        }
    }

    /// `/v1/_tokens`.
    pub(super) async fn tokens(&self, body: Body) -> Answer {
        match self.parts.method {
            Method::GET | Method::HEAD => {
                self.demand_admin()?;
                let items: Vec<Value> = self.snapshot.tokens.values().map(|t| shown(t)).collect();
                Representation::json(self.snapshot.tid, &json!({ "items": items }))
                    .answer(self.parts)
            }
            Method::POST => {
                self.demand_admin()?;
                self.make_token(body).await
            }
            _ => other_method(self.parts, "GET, HEAD, POST, OPTIONS"),
        }
    }

    async fn make_token(&self, body: Body) -> Answer {
        let form: TokenForm = self.json(body).await?;
        self.again().await?.demand_admin()?;
        let expires = form.expires.as_deref().map(|text| {
            parse_rfc3339(text).map(|time| time.micros() / 1_000_000).ok_or_else(|| {
                Problem::new(&problem::INVALID, "not an RFC 3339 time").with("at", "/expires")
            })
        });
        let token = NewToken {
            user: form.user,
            roles: form.roles,
            auths: form.auths,
            expires: expires.transpose()?,
        };
        let secret = new_token()?;
        let id = self.app.catalog.add_token(&self.principal, &token, &digest_of(&secret)).await?;
        let mut response =
            written(StatusCode::CREATED, id, &json!({"id": id.to_string(), "token": secret}))?;
        response.headers_mut().insert(header::LOCATION, value(&format!("/v1/_tokens/{id}"))?);
        Ok(response)
    }

    /// `/v1/_tokens/{id}`.
    pub(super) async fn token(&self, id: &str) -> Answer {
        self.demand_admin()?;
        let there = id.parse::<Tid>().ok().and_then(|id| self.snapshot.tokens.get(&id));
        let absent = || Problem::not_found("there is no such token");
        match self.parts.method {
            Method::GET | Method::HEAD => {
                let token = there.ok_or_else(absent)?;
                Representation::json(Some(token.id), &shown(token)).answer(self.parts)
            }
            Method::DELETE => {
                let token = there.ok_or_else(absent)?;
                if !self.conditions()?.demands(Some(token.id))?.hold(Some(token.id)) {
                    return Err(Problem::unmet());
                }
                match self.app.catalog.revoke_token(&self.principal, token.id).await? {
                    Changed::Done(()) => Ok(StatusCode::NO_CONTENT.into_response()),
                    Changed::Unmet | Changed::Absent => Err(absent()),
                }
            }
            _ => other_method(self.parts, "GET, HEAD, DELETE, OPTIONS"),
        }
    }

    /// `/v1/_services`.
    pub(super) fn services(&self) -> Answer {
        if !is_read(&self.parts.method) {
            return other_method(self.parts, "GET, HEAD, OPTIONS");
        }
        self.demand_admin()?;
        let all = self.snapshot.services.iter();
        let items: Vec<Value> = all.map(|(key, service)| shown_service(key, service)).collect();
        Representation::json(self.snapshot.tid, &json!({ "items": items })).answer(self.parts)
    }

    /// `/v1/_services/{fingerprint}`.
    pub(super) async fn service(&self, key: &str, body: Body) -> Answer {
        self.demand_admin()?;
        let there = self.snapshot.services.get(key);
        let tid = there.and_then(|service| service.tid.parse::<Tid>().ok());
        match self.parts.method {
            Method::GET | Method::HEAD => {
                let service = there.ok_or_else(|| Problem::not_found("there is no such key"))?;
                Representation::json(tid, &shown_service(key, service)).answer(self.parts)
            }
            Method::PUT => self.put_service(key, tid, body).await,
            Method::DELETE => {
                let demands = self.conditions()?.demands(tid)?;
                let catalog = &self.app.catalog;
                match catalog.revoke_service(&self.principal, key, &demands).await? {
                    Changed::Done(()) => Ok(StatusCode::NO_CONTENT.into_response()),
                    Changed::Unmet => Err(Problem::unmet()),
                    Changed::Absent => Err(Problem::not_found("there is no such key")),
                }
            }
            _ => other_method(self.parts, "GET, HEAD, PUT, DELETE, OPTIONS"),
        }
    }

    async fn put_service(&self, key: &str, there: Option<Tid>, body: Body) -> Answer {
        let demands = self.conditions()?.demands(there)?;
        let form: ServiceForm = self.json(body).await?;
        self.again().await?.demand_admin()?;
        let invalid =
            |detail: String| Problem::new(&problem::INVALID, detail).with("at", "/publicKey");
        let public = parse_public_key(&form.public_key).map_err(|bad| invalid(bad.to_string()))?;
        if fingerprint(&public) != key {
            return Err(invalid("the address is not the fingerprint of this key".to_owned())
                .with("fingerprint", &fingerprint(&public)));
        }
        let (catalog, public) = (&self.app.catalog, STANDARD.encode(public));
        let by: &Principal = &self.principal;
        match catalog.put_service(by, key, &form.description, &public, &demands).await? {
            Changed::Done((created, tid)) => {
                let record = ServiceRecord {
                    tid: tid.to_string(),
                    description: form.description,
                    public_key: public,
                };
                let status = if created { StatusCode::CREATED } else { StatusCode::OK };
                written(status, tid, &shown_service(key, &record))
            }
            Changed::Unmet | Changed::Absent => Err(Problem::unmet()),
        }
    }
}

fn shown(token: &Token) -> Value {
    let record = &token.record;
    let expires = record
        .expires
        .map(|seconds| rfc3339(keyaki::cell::Time::from_micros(seconds.saturating_mul(1_000_000))));
    json!({"id": token.id.to_string(), "user": record.user, "roles": record.roles,
           "auths": record.auths, "expires": expires, "time": time(token.id)})
}

fn shown_service(key: &str, service: &ServiceRecord) -> Value {
    json!({"fingerprint": key, "publicKey": service.public_key,
           "description": service.description, "tid": service.tid})
}
