//! Domains and buckets.

use super::sketch::Sketch;
use crate::http::problem;
use crate::http::shapes::{BucketForm, BucketShown, DomainForm, DomainListed, DomainShown};

pub const DOMAINS: &str = "Domains";
pub const BUCKETS: &str = "Buckets";

pub fn domains(s: Sketch) -> Sketch {
    s.says("listDomains", DOMAINS, "The domains that the caller may see", "")
        .for_anybody()
        .answers_items::<DomainListed>("The domains.")
        .with_tag()
}

pub fn domain(s: Sketch) -> Sketch {
    s.says("showDomain", DOMAINS, "A domain and its buckets", "Its ETag changes with its buckets.")
        .for_anybody()
        .answers_json::<DomainShown>(200, "The domain.")
        .with_tag()
}

pub fn put_domain(s: Sketch) -> Sketch {
    s.says(
        "putDomain",
        DOMAINS,
        "Makes a domain, or sets it anew",
        "Admins make domains, owners change them.",
    )
    .conditional()
    .takes_json::<DomainForm>(false)
    .answers_json::<DomainShown>(200, "It is set anew.")
    .answers_json::<DomainShown>(201, "It is made.")
    .heads(200, &["ETag", "Last-Modified"])
    .heads(201, &["ETag", "Last-Modified", "Location"])
    .leads_to(201, "showDomain", &[])
    .leads_to(201, "putBucket", &[])
    .leads_to(201, "deleteDomain", &[])
}

pub fn delete_domain(s: Sketch) -> Sketch {
    s.says(
        "deleteDomain",
        DOMAINS,
        "Deletes a domain with all its buckets",
        "At once; its cells go in the background.",
    )
    .conditional()
    .answers_nothing("It is gone.")
}

pub fn bucket(s: Sketch) -> Sketch {
    s.says("showBucket", BUCKETS, "A bucket", "To its owners with ACL and use.")
        .for_anybody()
        .answers_json::<BucketShown>(200, "The bucket.")
        .with_tag()
}

pub fn put_bucket(s: Sketch) -> Sketch {
    s.says(
        "putBucket",
        BUCKETS,
        "Makes a bucket, or sets it anew",
        "Type, backend, replication, `replayWindow` and `changes` are chosen when it is made.",
    )
    .conditional()
    .takes_json::<BucketForm>(true)
    .answers_json::<BucketShown>(200, "It is set anew.")
    .answers_json::<BucketShown>(201, "It is made.")
    .heads(200, &["ETag", "Last-Modified"])
    .heads(201, &["ETag", "Last-Modified", "Location"])
    .refuses(&[&problem::FULL, &problem::UNSUPPORTED])
    .leads_to(201, "showBucket", &[])
    .leads_to(201, "listItems", &[])
    .leads_to(201, "writeItem", &[])
    .leads_to(201, "readChanges", &[])
    .leads_to(201, "deleteBucket", &[])
}

pub fn delete_bucket(s: Sketch) -> Sketch {
    s.says("deleteBucket", BUCKETS, "Deletes a bucket", "At once; its cells go in the background.")
        .conditional()
        .answers_nothing("It is gone.")
}
