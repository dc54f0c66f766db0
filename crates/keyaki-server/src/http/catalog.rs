//! Domains and buckets over HTTP: what they are, who has them, what is in them.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode, header};
use keyaki::bucket::Usage;
use keyaki::catalog::{BucketEntry, BucketSettings, Changed, Domain, DomainSpec, Right};
use keyaki::cell::Tid;
use serde_json::{Map, Value, json};

use super::answer::{Representation, value, written};
use super::conditions::Conditions;
use super::identify::refuse;
use super::json::object;
use super::problem::Problem;
use super::{Answer, Call, is_read, other_method};

/// Settings are small.
const FORM_BYTES_MAX: usize = 1 << 20;
const DOMAIN_METHODS: &str = "GET, HEAD, PUT, DELETE, OPTIONS";

impl Call<'_> {
    pub(super) fn conditions(&self) -> Result<Conditions, Problem> {
        Conditions::parse(&self.parts.headers)
    }

    /// `/v1/`: the domains that the caller may see.
    pub(super) async fn domains(&self) -> Answer {
        if !is_read(&self.parts.method) {
            return other_method(self.parts, "GET, HEAD, OPTIONS");
        }
        let seen = |domain: &Domain| {
            self.snapshot.permits(&self.principal, Right::SeeDomain, Some(domain))
        };
        let seen = self.snapshot.domains.iter().filter(|(_, domain)| seen(domain));
        let items: Vec<Value> = seen
            .map(|(name, domain)| {
                json!({"key": name, "tid": domain.tid.to_string(), "time": time(domain.tid),
                       "description": domain.record.spec.description})
            })
            .collect();
        Representation::json(self.snapshot.tid, &json!({ "items": items })).answer(self.parts)
    }

    /// `/v1/{domain}`.
    pub(super) async fn domain(&self, name: &str, body: Body) -> Answer {
        match self.parts.method {
            Method::GET | Method::HEAD => self.show_domain(name),
            Method::PUT => self.put_domain(name, body).await,
            Method::DELETE => self.delete_domain(name).await,
            _ => other_method(self.parts, DOMAIN_METHODS),
        }
    }

    /// A domain that the caller may see.
    pub(super) fn seen_domain(&self, name: &str) -> Result<&Domain, Problem> {
        let domain = self.snapshot.domains.get(name);
        match domain {
            Some(domain)
                if self.snapshot.permits(&self.principal, Right::SeeDomain, Some(domain)) =>
            {
                Ok(domain)
            }
            Some(_) => Err(refuse(&self.principal)),
            None if self.principal.user.is_none() => Err(refuse(&self.principal)),
            None => Err(Problem::not_found("there is no such domain").with("domain", name)),
        }
    }

    fn show_domain(&self, name: &str) -> Answer {
        let domain = self.seen_domain(name)?;
        let shown = self.domain_json(name, domain);
        Representation::json(Some(domain.tid), &Value::Object(shown)).answer(self.parts)
    }

    fn domain_json(&self, name: &str, domain: &Domain) -> Map<String, Value> {
        let spec = &domain.record.spec;
        let seen = domain.buckets.iter().filter(|(_, b)| b.is_seen_by(domain, &self.principal));
        let buckets: Vec<Value> = seen
            .map(|(name, bucket)| {
                json!({"name": name, "type": bucket.record.settings.kind.name(),
                       "tid": bucket.tid.to_string()})
            })
            .collect();
        let mut shown = object([
            ("name", json!(name)),
            ("tid", json!(domain.tid.to_string())),
            ("time", json!(time(domain.tid))),
            ("description", json!(spec.description)),
            ("quota", json!(spec.quota)),
            ("buckets", json!(buckets)),
        ]);
        if self.snapshot.permits(&self.principal, Right::MakeBuckets, Some(domain)) {
            shown.insert("use".to_owned(), json!({"buckets": domain.buckets.len()}));
            shown.insert("owners".to_owned(), json!(spec.owners));
            shown.insert("bucketCreators".to_owned(), json!(spec.bucket_creators));
            if let Some(acl) = &spec.acl {
                shown.insert("acl".to_owned(), json!(acl));
            }
        }
        shown
    }

    /// Whether the domain is there, if the caller may set it.
    fn may_put_domain(&self, name: &str) -> Result<Option<Tid>, Problem> {
        let there = self.snapshot.domains.get(name);
        let right = if there.is_some() { Right::OwnDomain } else { Right::Administer };
        match self.snapshot.permits(&self.principal, right, there) {
            true => Ok(there.map(|domain| domain.tid)),
            false => Err(refuse(&self.principal)),
        }
    }

    async fn put_domain(&self, name: &str, body: Body) -> Answer {
        self.may_put_domain(name)?;
        let spec: DomainSpec = self.json(body).await?;
        // Rights may have ended while the body was on its way.
        let there = self.again().await?.may_put_domain(name)?;
        let demands = self.conditions()?.demands(there)?;
        let wanted = (&demands, there.is_none());
        let changed = self.app.catalog.put_domain(&self.principal, name, &spec, wanted).await?;
        let (created, tid) = done(changed, "there is no such domain")?;
        let snapshot = self.app.catalog.snapshot().await?;
        let shown = snapshot.domains.get(name).map(|domain| self.domain_json(name, domain));
        let location = format!("/v1/{name}");
        put(created, tid, Value::Object(shown.unwrap_or_default()), &location)
    }

    async fn delete_domain(&self, name: &str) -> Answer {
        let domain = self.seen_domain(name)?;
        if !self.snapshot.permits(&self.principal, Right::OwnDomain, Some(domain)) {
            return Err(refuse(&self.principal));
        }
        let demands = self.conditions()?.demands(Some(domain.tid))?;
        let changed = self.app.catalog.delete_domain(&self.principal, name, &demands).await?;
        done(changed, "there is no such domain")?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    /// `/v1/{domain}/{bucket}`.
    pub(super) async fn bucket(&self, names: (&str, &str), body: Body) -> Answer {
        match self.parts.method {
            Method::GET | Method::HEAD => self.show_bucket(names).await,
            Method::PUT => self.put_bucket(names, body).await,
            Method::DELETE => self.delete_bucket(names).await,
            _ => other_method(self.parts, DOMAIN_METHODS),
        }
    }

    /// A bucket that is there.
    pub(super) fn find_bucket(
        &self,
        (domain, name): (&str, &str),
    ) -> Result<(&Domain, &BucketEntry), Problem> {
        let absent = |what: &str| match self.principal.user {
            // Whoever is not known is not told what there is.
            None => refuse(&self.principal),
            Some(_) => Problem::not_found(what),
        };
        let domain = self.snapshot.domains.get(domain);
        let domain = domain.ok_or_else(|| absent("there is no such domain"))?;
        let bucket = domain.buckets.get(name);
        bucket.map(|bucket| (domain, &**bucket)).ok_or_else(|| absent("there is no such bucket"))
    }

    async fn show_bucket(&self, names: (&str, &str)) -> Answer {
        let (domain, bucket) = self.find_bucket(names)?;
        if !bucket.is_seen_by(domain, &self.principal) {
            return Err(refuse(&self.principal));
        }
        let used = self.app.catalog.used(names.0, bucket).await?;
        let owned = bucket.is_owned_by(domain, &self.principal);
        let shown = bucket_json(names.1, bucket, used, owned);
        let more = owned.then(|| format!("{}-{}", used.items, used.bytes));
        let shown = Representation::json(Some(bucket.tid), &shown);
        Representation { more, ..shown }.answer(self.parts)
    }

    /// Whether the bucket is there, if the caller may set it.
    fn may_put_bucket(&self, names: (&str, &str)) -> Result<Option<Tid>, Problem> {
        let domain = self.seen_domain(names.0)?;
        let there = domain.buckets.get(names.1);
        let may = match there {
            Some(there) => there.is_owned_by(domain, &self.principal),
            None => self.snapshot.permits(&self.principal, Right::MakeBuckets, Some(domain)),
        };
        match may {
            true => Ok(there.map(|bucket| bucket.tid)),
            false => Err(refuse(&self.principal)),
        }
    }

    async fn put_bucket(&self, names: (&str, &str), body: Body) -> Answer {
        self.may_put_bucket(names)?;
        let settings: BucketSettings = self.json(body).await?;
        let there = self.again().await?.may_put_bucket(names)?;
        let demands = self.conditions()?.demands(there)?;
        let (catalog, wanted) = (&self.app.catalog, (&demands, there.is_none()));
        let changed = catalog.put_bucket(&self.principal, names, &settings, wanted).await?;
        let (created, tid) = done(changed, "there is no such bucket")?;
        let snapshot = catalog.snapshot().await?;
        let bucket = snapshot.domains.get(names.0).and_then(|domain| domain.buckets.get(names.1));
        let shown = match bucket {
            Some(bucket) => {
                let used = catalog.used(names.0, bucket).await?;
                bucket_json(names.1, bucket, used, true)
            }
            None => Value::Null,
        };
        put(created, tid, shown, &format!("/v1/{}/{}", names.0, names.1))
    }

    async fn delete_bucket(&self, names: (&str, &str)) -> Answer {
        let (domain, bucket) = self.find_bucket(names)?;
        if !bucket.is_owned_by(domain, &self.principal) {
            return Err(refuse(&self.principal));
        }
        let demands = self.conditions()?.demands(Some(bucket.tid))?;
        let changed = self.app.catalog.delete_bucket(&self.principal, names, &demands).await?;
        done(changed, "there is no such bucket")?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    /// The same request, as its caller's rights are now.
    pub(super) async fn again(&self) -> Result<Self, Problem> {
        self.app.call(self.parts).await
    }

    /// A body that must be JSON, as signed if it is.
    pub(super) async fn json<T: serde::de::DeserializeOwned>(
        &self,
        body: Body,
    ) -> Result<T, Problem> {
        let most = self.app.limits.body_bytes.min(FORM_BYTES_MAX);
        let (bounds, headers) = (&self.app.bounds, &self.parts.headers);
        let whole = super::body::read_json_bytes(bounds, headers, body, most).await?;
        self.app.check_digest(&self.principal, self.parts, &whole.bytes)?;
        super::json::read(if whole.bytes.is_empty() { b"{}" } else { &whole.bytes })
    }
}

fn bucket_json(name: &str, bucket: &BucketEntry, used: Usage, owned: bool) -> Value {
    let settings = &bucket.record.settings;
    let mut shown = match json!(settings) {
        Value::Object(shown) => shown,
        _ => Map::new(),
    };
    if !owned {
        shown.remove("acl");
    }
    shown.extend(object([
        ("name", json!(name)),
        ("tid", json!(bucket.tid.to_string())),
        ("time", json!(time(bucket.tid))),
    ]));
    // It counts what others may not see.
    if owned {
        shown.insert("use".to_owned(), json!({"items": used.items, "bytes": used.bytes}));
    }
    Value::Object(shown)
}

fn done<T>(changed: Changed<T>, absent: &str) -> Result<T, Problem> {
    match changed {
        Changed::Done(done) => Ok(done),
        Changed::Unmet => Err(Problem::unmet()),
        Changed::Absent => Err(Problem::not_found(absent)),
    }
}

fn put(created: bool, tid: Tid, shown: Value, location: &str) -> Result<Response, Problem> {
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = written(status, tid, &shown)?;
    if created {
        response.headers_mut().insert(header::LOCATION, value(location)?);
    }
    Ok(response)
}

/// A commit's time as RFC 3339 has it.
pub fn time(tid: Tid) -> String {
    super::operations::rfc3339(tid.time())
}
