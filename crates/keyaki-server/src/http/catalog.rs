//! Domains and buckets over HTTP: what they are, who has them, what is in them.

use aws_lc_rs::digest::{Context, SHA256};
use axum::body::Body;
use http::{StatusCode, header};
use keyaki::bucket::{Demands, Usage};
use keyaki::catalog::{BucketEntry, BucketSettings, Changed, Domain, DomainSpec, Right};
use keyaki::cell::{Tid, Time};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{Representation, gone, value, written_as};
use super::conditions::Conditions;
use super::identify::refuse;
use super::problem::{self, Problem};
use super::sent_back;
use super::shapes::{
    BucketForm, BucketListed, BucketShown, DomainForm, DomainListed, DomainShown, DomainUse, Items,
};
use super::{Answer, Call};

/// Settings are small.
const FORM_BYTES_MAX: usize = 1 << 20;
/// Of a digest in a tag.
const TAG_BYTES: usize = 8;

impl Call<'_> {
    pub(super) fn conditions(&self) -> Result<Conditions, Problem> {
        Conditions::parse(&self.parts.headers)
    }

    /// `/v1/`: the domains that the caller may see.
    pub(super) async fn domains(&self) -> Answer {
        let seen = |domain: &Domain| {
            self.snapshot.permits(&self.principal, Right::SeeDomain, Some(domain))
        };
        let seen = self.snapshot.domains.iter().filter(|(_, domain)| seen(domain));
        let items: Vec<_> = seen
            .map(|(name, domain)| {
                let tid = self.told_tid(domain);
                let (key, description) = (name.clone(), domain.record.spec.description.clone());
                DomainListed { key, tid: tid.to_string(), time: time(tid), description }
            })
            .collect();
        // The tag follows from what the caller sees: what others have doesn't change it.
        let newest = items.iter().filter_map(|item| item.tid.parse().ok()).max();
        let more = Some(digest(items.iter().map(|item| &item.tid[..])));
        let shown = Representation::json(newest, &Items { items });
        Representation { more, modified: None, ..shown }.answer(self.parts)
    }

    /// The tid that a domain has for a caller: it moves with its buckets for those who may know of all of them.
    fn told_tid(&self, domain: &Domain) -> Tid {
        match self.knows_all_of(domain) {
            true => domain.tid,
            false => domain.set(),
        }
    }

    fn knows_all_of(&self, domain: &Domain) -> bool {
        self.snapshot.permits(&self.principal, Right::MakeBuckets, Some(domain))
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

    /// `/v1/{domain}`.
    pub(super) async fn show_domain(&self, name: &str) -> Answer {
        let domain = self.seen_domain(name)?;
        let (shown, own) = self.shown(name, domain).await?;
        let shown = Representation::json(Some(self.told_tid(domain)), &shown);
        Representation { more: own.tag, modified: own.modified, ..shown }.answer(self.parts)
    }

    /// A domain, and what is known of that in it which changes on its own.
    async fn shown(&self, name: &str, domain: &Domain) -> Result<(DomainShown, Own), Problem> {
        let spec = &domain.record.spec;
        let seen = domain.buckets.iter().filter(|(_, b)| b.is_seen_by(domain, &self.principal));
        let buckets = seen.map(|(name, bucket)| BucketListed {
            name: name.clone(),
            kind: bucket.record.settings.kind.name(),
            tid: bucket.tid.to_string(),
        });
        let buckets: Vec<_> = buckets.collect();
        let all = self.knows_all_of(domain);
        let used = match all {
            true => self.app.catalog.used_in_domain(name, domain).await?,
            false => None,
        };
        let tid = self.told_tid(domain);
        let own = match all {
            true => Own::of(tid, used),
            // When a bucket went is no date of what is left.
            false => {
                let tag = digest(buckets.iter().map(|bucket| &bucket.tid[..]));
                Own { tag: Some(tag), modified: None }
            }
        };
        let shown = DomainShown {
            name: name.to_owned(),
            tid: tid.to_string(),
            time: time(tid),
            description: spec.description.clone(),
            quota: spec.quota.into(),
            buckets,
            used: all.then_some(DomainUse {
                buckets: domain.buckets.len(),
                items: used.map(|(used, _)| used.items),
                bytes: used.map(|(used, _)| used.bytes),
            }),
            owners: all.then(|| spec.owners.clone()),
            bucket_creators: all.then(|| spec.bucket_creators.clone()),
            acl: spec.acl.as_ref().filter(|_| all).map(Into::into),
        };
        Ok((shown, own))
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

    pub(super) async fn put_domain(&self, name: &str, body: Body) -> Answer {
        self.may_put_domain(name)?;
        let sent: Value = self.json(body).await?;
        // Rights may have ended while the body was on its way.
        let again = self.again().await?;
        let there = again.may_put_domain(name)?;
        let demands = self.met_demands(there)?;
        let form: DomainForm = match again.snapshot.domains.get(name) {
            Some(domain) => sent_back::form(sent, &self.shown(name, domain).await?.0)?,
            None => sent_back::form(sent, &json!({"name": name}))?,
        };
        let spec = DomainSpec::from(form);
        let wanted = (&demands, there.is_none());
        let changed = self.app.catalog.put_domain(&self.principal, name, &spec, wanted).await?;
        let (created, tid) = done(changed, "there is no such domain")?;
        let snapshot = self.app.catalog.snapshot().await?;
        let domain = snapshot.domains.get(name).ok_or_else(deleted_meanwhile)?;
        let (shown, own) = self.shown(name, domain).await?;
        put(created, (tid, own.tag), &shown, format!("/v1/{name}"))
    }

    /// What is demanded of something before it is set anew, if it holds now.
    pub(super) fn met_demands(&self, there: Option<Tid>) -> Result<Demands, Problem> {
        let demands = self.conditions()?.demands(there)?;
        match demands.hold(there) {
            true => Ok(demands),
            false => Err(Problem::unmet()),
        }
    }

    pub(super) async fn delete_domain(&self, name: &str) -> Answer {
        let domain = self.seen_domain(name)?;
        if !self.snapshot.permits(&self.principal, Right::OwnDomain, Some(domain)) {
            return Err(refuse(&self.principal));
        }
        let demands = self.conditions()?.demands(Some(domain.tid))?;
        let changed = self.app.catalog.delete_domain(&self.principal, name, &demands).await?;
        gone(done(changed, "there is no such domain")?)
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

    /// `/v1/{domain}/{bucket}`.
    pub(super) async fn show_bucket(&self, names: (&str, &str)) -> Answer {
        let (domain, bucket) = self.find_bucket(names)?;
        if !bucket.is_seen_by(domain, &self.principal) {
            return Err(refuse(&self.principal));
        }
        let used = self.app.catalog.used(names.0, bucket).await?;
        let owned = bucket.is_owned_by(domain, &self.principal);
        let shown = BucketShown::new(names.1, bucket, used.0, owned);
        let shown = Representation::json(Some(bucket.tid), &shown);
        let own = Own::of(bucket.tid, owned.then_some(used));
        Representation { more: own.tag, modified: own.modified, ..shown }.answer(self.parts)
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

    pub(super) async fn put_bucket(&self, names: (&str, &str), body: Body) -> Answer {
        self.may_put_bucket(names)?;
        let sent: Value = self.json(body).await?;
        let again = self.again().await?;
        let there = again.may_put_bucket(names)?;
        let demands = self.met_demands(there)?;
        let form: BucketForm = match again.find_bucket(names) {
            Ok((_, bucket)) => {
                let (used, _) = self.app.catalog.used(names.0, bucket).await?;
                sent_back::form(sent, &BucketShown::new(names.1, bucket, used, true))?
            }
            Err(_) => sent_back::form(sent, &json!({"name": names.1}))?,
        };
        let settings = BucketSettings::try_from(form)?;
        let (catalog, wanted) = (&self.app.catalog, (&demands, there.is_none()));
        let changed = catalog.put_bucket(&self.principal, names, &settings, wanted).await?;
        let (created, tid) = done(changed, "there is no such bucket")?;
        let snapshot = catalog.snapshot().await?;
        let bucket = snapshot.domains.get(names.0).and_then(|domain| domain.buckets.get(names.1));
        let bucket = bucket.ok_or_else(deleted_meanwhile)?;
        let (used, _) = catalog.used(names.0, bucket).await?;
        let shown = BucketShown::new(names.1, bucket, used, true);
        put(created, (tid, Some(use_tag(used))), &shown, format!("/v1/{}/{}", names.0, names.1))
    }

    pub(super) async fn delete_bucket(&self, names: (&str, &str)) -> Answer {
        let (domain, bucket) = self.find_bucket(names)?;
        if !bucket.is_owned_by(domain, &self.principal) {
            return Err(refuse(&self.principal));
        }
        let demands = self.conditions()?.demands(Some(bucket.tid))?;
        let changed = self.app.catalog.delete_bucket(&self.principal, names, &demands).await?;
        gone(done(changed, "there is no such bucket")?)
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

/// What changes without the tid of what it is shown with.
struct Own {
    /// What the tag says of it.
    tag: Option<String>,
    /// When it or the tid last changed, if that can be told.
    modified: Option<Time>,
}

impl Own {
    /// How much is in use and since when, if that is shown.
    fn of(tid: Tid, used: Option<(Usage, Time)>) -> Self {
        let since = used.map_or(Time::ZERO, |(_, since)| since);
        Self { tag: used.map(|(used, _)| use_tag(used)), modified: Some(tid.time().max(since)) }
    }
}

fn deleted_meanwhile() -> Problem {
    Problem::new(&problem::CONFLICT, "it was deleted meanwhile")
}

fn done<T>(changed: Changed<T>, absent: &str) -> Result<T, Problem> {
    match changed {
        Changed::Done(done) => Ok(done),
        Changed::Unmet => Err(Problem::unmet()),
        Changed::Absent => Err(Problem::not_found(absent)),
    }
}

fn put(
    created: bool,
    (tid, more): (Tid, Option<String>),
    shown: &impl Serialize,
    location: String,
) -> Answer {
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = written_as(status, (tid, more.as_deref()), shown)?;
    if created {
        response.headers_mut().insert(header::LOCATION, value(location)?);
    }
    Ok(response)
}

/// What a tag says of a list of tids.
fn digest<'a>(tids: impl Iterator<Item = &'a str>) -> String {
    let mut digest = Context::new(&SHA256);
    tids.for_each(|tid| digest.update(tid.as_bytes()));
    let digest = digest.finish();
    digest.as_ref()[..TAG_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a tag says of how much is in use.
fn use_tag(used: Usage) -> String {
    format!("{}-{}", used.items, used.bytes)
}

/// A commit's time as RFC 3339 has it.
pub fn time(tid: Tid) -> String {
    super::operations::rfc3339(tid.time())
}
