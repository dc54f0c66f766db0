//! Something to look at: a domain with a bucket of pages and a graph in it, and commands to try.

mod rail;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use keyaki::Result;
use keyaki::bucket::revisions::Content;
use keyaki::bucket::{Caller, Demands, Request};
use keyaki::catalog::{
    ADMIN, Acl, BucketKind, BucketSettings, Catalog, DomainSpec, OpenBucket, Principal, Quota,
    RevisionsOptions, Rule,
};
use keyaki::cell::visibility::Authorisations;

const DOMAIN: &str = "demo.example";
const BUCKET: &str = "pages";
const GRAPH: &str = "rail";
const QUESTION: &str =
    r#"{"class":"GetElements","input":[{"class":"EntitySeed","vertex":"Shinjuku"}]}"#;
const PAGES: [(&str, &str); 4] = [
    ("welcome", "Keyaki keeps what you write, and what it said before.\n"),
    ("trees/keyaki", "Zelkova serrata, a tree of Japan.\n"),
    ("trees/keyaki", "Zelkova serrata, the Japanese zelkova: up to 30 metres tall.\n"),
    ("trees/sugi", "Cryptomeria japonica.\n"),
];

/// Makes the domain, unless it is there.
pub async fn prepare(catalog: &Catalog) -> Result<()> {
    let by = Principal {
        user: Some("demo".to_owned()),
        roles: [ADMIN.to_owned()].into(),
        ..Principal::default()
    };
    if catalog.snapshot().await?.domains.contains_key(DOMAIN) {
        return Ok(());
    }
    let spec =
        DomainSpec { description: "Something to look at".to_owned(), ..DomainSpec::default() };
    catalog.put_domain(&by, DOMAIN, &spec, (&Demands::default(), true)).await?;
    let pages = BucketKind::Revisions(RevisionsOptions::default());
    if let Some(open) = make(catalog, &by, BUCKET, pages).await? {
        write_pages(&open, by.user.clone()).await?;
    }
    if let Some(open) = make(catalog, &by, GRAPH, BucketKind::Graph(rail::options())).await? {
        rail::fill(open.graph()?, by.user.clone()).await?;
    }
    Ok(())
}

/// A bucket that anybody may read.
async fn make(
    catalog: &Catalog,
    by: &Principal,
    name: &str,
    kind: BucketKind,
) -> Result<Option<Arc<OpenBucket>>> {
    let anybody = vec![vec![Rule::Role { any_of: vec!["*".to_owned()] }]];
    let settings = BucketSettings {
        kind,
        acl: Some(Acl { read: anybody, write: Vec::new() }),
        quota: Quota::default(),
        backend: None,
        replication: None,
    };
    catalog.put_bucket(by, (DOMAIN, name), &settings, (&Demands::default(), true)).await?;
    let snapshot = catalog.snapshot().await?;
    match snapshot.domains.get(DOMAIN).and_then(|domain| domain.buckets.get(name)) {
        Some(entry) => catalog.open_bucket(DOMAIN, entry).await.map(Some),
        None => Ok(None),
    }
}

async fn write_pages(open: &OpenBucket, user: Option<String>) -> Result<()> {
    let caller = Caller { user, authorisations: Authorisations::none() };
    let request = Request { caller, demands: Demands::default(), operation: None };
    for (key, text) in PAGES {
        let content = Content {
            content_type: "text/plain; charset=utf-8".to_owned(),
            headers: BTreeMap::new(),
            visibility: String::new(),
            bytes: text.as_bytes().to_vec(),
        };
        open.revisions()?.put(&request, key, &content, false).await?;
    }
    Ok(())
}

/// Prints commands to try.
pub fn explain(address: &str, token: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let bucket = format!("{address}/v1/{DOMAIN}/{BUCKET}");
    // Between double quotes, where a shell puts in what a variable says.
    let token = token.unwrap_or("$KEYAKI_ADMIN_TOKEN");
    let auth = format!("-H \"Authorization: Bearer {token}\" -H 'Content-Type: text/plain'");
    writeln!(out, "\nTry it in a browser, at {address}/docs, or in another terminal:\n")?;
    for (what, command) in [
        ("what is in it", format!("curl {bucket}/")),
        ("read a page", format!("curl -i {bucket}/trees%2Fkeyaki")),
        ("its history", format!("curl {bucket}/trees%2Fkeyaki/")),
        ("write one", format!("curl -i -X PUT {auth} -d 'Hello' {bucket}/hello")),
        (
            "write it only if it is new: 412 the second time",
            format!("curl -i -X PUT {auth} -H 'If-None-Match: *' -d 'Hello' {bucket}/new"),
        ),
        (
            "ask the graph: what is next to Shinjuku, and on which line",
            format!(
                "curl -H 'Content-Type: application/json' -d '{QUESTION}' {address}/v1/{DOMAIN}/{GRAPH}/graph/operations/execute"
            ),
        ),
        ("follow the changes", format!("curl -N -H 'Accept: text/event-stream' {bucket}/_changes")),
    ] {
        writeln!(out, "  # {what}\n  {command}\n")?;
    }
    writeln!(out, "Ctrl-C stops it.")
}
