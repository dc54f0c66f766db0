//! Tokens and services' keys over HTTP, for admins.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{StatusCode, header};
use keyaki::catalog::{Changed, NewToken, Principal, Right, ServiceRecord, Token, digest_of};
use keyaki::cell::Tid;
use serde_json::{Value, json};

use super::answer::{Representation, gone, value, written};
use super::catalog::time;
use super::identify::refuse;
use super::operations::{parse_rfc3339, rfc3339};
use super::problem::{self, Problem};
use super::sent_back;
use super::shapes::{Items, ServiceForm, ServiceShown, TokenForm, TokenMade, TokenShown};
use super::{Answer, Call};
use crate::access::signature::{fingerprint, parse_public_key};

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
    pub(super) fn tokens(&self) -> Answer {
        self.demand_admin()?;
        let items = self.snapshot.tokens.values().map(|token| shown(token)).collect();
        Representation::json(self.snapshot.tid, &Items { items }).answer(self.parts)
    }

    pub(super) async fn make_token(&self, body: Body) -> Answer {
        self.demand_admin()?;
        let form: TokenForm = self.json(body).await?;
        self.again().await?.demand_admin()?;
        let wrong = |why: &str| Problem::new(&problem::INVALID, why).with("at", "/expires");
        let expires = form.expires.as_deref().map(|text| {
            let time = parse_rfc3339(text).ok_or_else(|| wrong("not an RFC 3339 time"))?;
            match time.micros() / 1_000_000 {
                seconds if seconds > self.app.now_seconds() => Ok(seconds),
                _ => Err(wrong("the token would have expired already")),
            }
        });
        let token = NewToken {
            user: form.user,
            roles: form.roles,
            auths: form.auths,
            expires: expires.transpose()?,
        };
        let secret = new_token()?;
        let id = self.app.catalog.add_token(&self.principal, &token, &digest_of(&secret)).await?;
        let made = TokenMade { id: id.to_string(), token: secret };
        let mut response = written(StatusCode::CREATED, id, &made)?;
        response.headers_mut().insert(header::LOCATION, value(format!("/v1/_tokens/{id}"))?);
        Ok(response)
    }

    /// A token that there is, to an admin.
    fn find_token(&self, id: &str) -> Result<&Token, Problem> {
        self.demand_admin()?;
        let there = id.parse::<Tid>().ok().and_then(|id| self.snapshot.tokens.get(&id));
        there.map(|token| &**token).ok_or_else(no_token)
    }

    /// `/v1/_tokens/{id}`.
    pub(super) fn show_token(&self, id: &str) -> Answer {
        let token = self.find_token(id)?;
        Representation::json(Some(token.id), &shown(token)).answer(self.parts)
    }

    pub(super) async fn revoke_token(&self, id: &str) -> Answer {
        let id = self.find_token(id)?.id;
        if !self.conditions()?.demands(Some(id))?.hold(Some(id)) {
            return Err(Problem::unmet());
        }
        match self.app.catalog.revoke_token(&self.principal, id).await? {
            Changed::Done(tid) => gone(tid),
            Changed::Unmet | Changed::Absent => Err(no_token()),
        }
    }

    /// `/v1/_services`.
    pub(super) fn services(&self) -> Answer {
        self.demand_admin()?;
        let all = self.snapshot.services.iter();
        let items = all.map(|(key, service)| shown_service(key, service)).collect();
        Representation::json(self.snapshot.tid, &Items { items }).answer(self.parts)
    }

    /// A service's key, if there is one, to an admin.
    fn find_service(&self, key: &str) -> Result<Option<(&ServiceRecord, Option<Tid>)>, Problem> {
        self.demand_admin()?;
        let there = self.snapshot.services.get(key);
        Ok(there.map(|service| (service, service.tid.parse().ok())))
    }

    /// `/v1/_services/{fingerprint}`.
    pub(super) fn show_service(&self, key: &str) -> Answer {
        let (service, tid) = self.find_service(key)?.ok_or_else(no_key)?;
        Representation::json(tid, &shown_service(key, service)).answer(self.parts)
    }

    pub(super) async fn revoke_service(&self, key: &str) -> Answer {
        let tid = self.find_service(key)?.and_then(|(_, tid)| tid);
        let demands = self.conditions()?.demands(tid)?;
        match self.app.catalog.revoke_service(&self.principal, key, &demands).await? {
            Changed::Done(tid) => gone(tid),
            Changed::Unmet => Err(Problem::unmet()),
            Changed::Absent => Err(no_key()),
        }
    }

    pub(super) async fn put_service(&self, key: &str, body: Body) -> Answer {
        self.demand_admin()?;
        let sent: Value = self.json(body).await?;
        let again = self.again().await?;
        let there = again.find_service(key)?;
        let demands = self.met_demands(there.and_then(|(_, tid)| tid))?;
        let form: ServiceForm = match there {
            Some((service, _)) => sent_back::form(sent, &shown_service(key, service))?,
            None => sent_back::form(sent, &json!({"fingerprint": key}))?,
        };
        let invalid =
            |detail: String| Problem::new(&problem::INVALID, detail).with("at", "/publicKey");
        let public = parse_public_key(&form.public_key).map_err(|bad| invalid(bad.to_string()))?;
        if fingerprint(&public) != key {
            let differs = "the address is not the fingerprint of this key";
            return Err(Problem::new(&problem::CONFLICT, differs)
                .with("at", "/publicKey")
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
                let mut response = written(status, tid, &shown_service(key, &record))?;
                if created {
                    let location = value(format!("/v1/_services/{key}"))?;
                    response.headers_mut().insert(header::LOCATION, location);
                }
                Ok(response)
            }
            Changed::Unmet | Changed::Absent => Err(Problem::unmet()),
        }
    }
}

fn no_token() -> Problem {
    Problem::not_found("there is no such token")
}

fn no_key() -> Problem {
    Problem::not_found("there is no such key")
}

fn shown(token: &Token) -> TokenShown {
    let record = &token.record;
    let expires = record
        .expires
        .map(|seconds| rfc3339(keyaki::cell::Time::from_micros(seconds.saturating_mul(1_000_000))));
    TokenShown {
        id: token.id.to_string(),
        user: record.user.clone(),
        roles: record.roles.clone(),
        auths: record.auths.clone(),
        expires,
        time: time(token.id),
    }
}

fn shown_service(key: &str, service: &ServiceRecord) -> ServiceShown {
    ServiceShown {
        fingerprint: key.to_owned(),
        public_key: service.public_key.clone(),
        description: service.description.clone(),
        tid: service.tid.clone(),
    }
}
