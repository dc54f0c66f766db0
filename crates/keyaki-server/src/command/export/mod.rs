//! `keyaki export DOMAIN/BUCKET TO`: all of a graph that the caller may see, a file for each part of each group.
//!
//! It asks a running server, as `keyaki import` does: that works on every engine and while others write, and what is
//! exported is what the token's owner may see. Parts are read beside each other, and none is held in memory.

mod columns;
mod file;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::body::Body;
use http::Method;
use indicatif::{ProgressBar, ProgressStyle};
use keyaki::bucket::graph::schema::{Group, Schema};
use serde::Deserialize;
use tokio::task::JoinSet;

use self::file::Part;
use super::spaces::count;
use super::{Failure, Verdict, print, runtime};
use crate::args::{self, ExportFormat};
use crate::client::{Client, piece, with_body};
use crate::http::encode;

/// How often a part is tried whose connection breaks, and how long it waits in between.
const TRIES_MAX: u32 = 3;
const WAITS: Duration = Duration::from_secs(1);

/// What the parts share.
struct Export {
    client: Client,
    /// `/v1/domain/bucket`
    bucket: String,
    to: PathBuf,
    format: ExportFormat,
    schema: Arc<Schema>,
    elements: AtomicU64,
    bytes: AtomicU64,
    files: AtomicU64,
    progress: ProgressBar,
}

/// `/elements/splits`, as the server tells it.
#[derive(Deserialize)]
struct Splits {
    items: Vec<Split>,
}

#[derive(Deserialize)]
struct Split {
    kind: String,
    group: String,
    split: String,
}

pub fn run(wanted: args::Export, out: &mut impl Write) -> Result<Verdict, Failure> {
    let told = runtime()?.block_on(export(wanted))?;
    print(out, &told)?;
    Ok(Verdict::Sound)
}

async fn export(wanted: args::Export) -> Result<String, Failure> {
    let client = Client::new(&wanted.remote)?;
    let bucket = super::bucket_path(&wanted.bucket)?;
    let schema = client.json(&format!("{bucket}/graph/config/schema")).await?;
    let splits = client.json(&format!("{bucket}/elements/splits?parts={}", wanted.splits)).await?;
    let strange = |error| Failure::Server(format!("the answer is of another shape: {error}"));
    let splits: Splits = serde_json::from_value(splits).map_err(strange)?;
    std::fs::create_dir(&wanted.to)
        .map_err(|error| Failure::Config(format!("{}: {error}", wanted.to.display())))?;
    let progress = ProgressBar::new(splits.items.len() as u64).with_style(style());
    let export = Arc::new(Export {
        client,
        bucket,
        to: wanted.to,
        format: wanted.format,
        schema: Arc::new(Schema::from_json(&schema)?),
        elements: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        files: AtomicU64::new(0),
        progress,
    });
    export.all(splits.items, wanted.parallel.into()).await?;
    export.progress.finish_and_clear();
    Ok(format!(
        "exported {}, {}, in {} to {}\n",
        count(export.elements.load(Relaxed), "element"),
        count(export.bytes.load(Relaxed), "byte"),
        count(export.files.load(Relaxed), "file"),
        export.to.display()
    ))
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} parts, {msg}, {elapsed}");
    style.expect("the template is one")
}

impl Export {
    /// All parts, so many at a time.
    async fn all(self: &Arc<Self>, splits: Vec<Split>, at_once: usize) -> Result<(), Failure> {
        let mut numbers = std::collections::HashMap::new();
        let mut working = JoinSet::new();
        for split in splits {
            if working.len() >= at_once {
                done(working.join_next().await)?;
            }
            let number = numbers.entry((split.kind.clone(), split.group.clone())).or_insert(0usize);
            let export = Arc::clone(self);
            let part = *number;
            *number += 1;
            working.spawn(async move { export.part(split, part).await });
        }
        while !working.is_empty() {
            done(working.join_next().await)?;
        }
        Ok(())
    }

    /// One part: its file is there once it is whole. A connection that breaks is no reason to begin all of them anew.
    async fn part(&self, split: Split, number: usize) -> Result<(), Failure> {
        let mut tries = 1;
        loop {
            let mut elements = 0;
            match self.try_part(&split, number, &mut elements).await {
                Err(Failure::Lost(why)) if tries < TRIES_MAX => {
                    tracing::warn!(%why, group = split.group, number, "trying again");
                    self.elements.fetch_sub(elements, Relaxed);
                    tokio::time::sleep(WAITS * tries).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    async fn try_part(
        &self,
        split: &Split,
        number: usize,
        elements: &mut u64,
    ) -> Result<(), Failure> {
        let unknown = || Failure::Server(format!("no schema tells of the group {}", split.group));
        let group = self.schema.group(&split.group).ok_or_else(unknown)?;
        let path = format!("{}/elements?split={}", self.bucket, encode(&split.split));
        let request = with_body(self.client.request(Method::GET, &path), Body::empty())?;
        let mut response = self.client.send(request).await?;
        let mut part = None;
        while let Some(text) = piece(&mut response).await? {
            let part = match &mut part {
                Some(part) => part,
                none => none.insert(self.begin(split, group, number)?),
            };
            let more = part.write(&text)?;
            *elements += more;
            let so_far = self.elements.fetch_add(more, Relaxed) + more;
            self.progress.set_message(count(so_far, "element"));
        }
        if let Some(part) = part {
            self.bytes.fetch_add(part.finish()?, Relaxed);
            self.files.fetch_add(1, Relaxed);
        }
        self.progress.inc(1);
        Ok(())
    }

    fn begin(&self, split: &Split, group: &Arc<Group>, number: usize) -> Result<Part, Failure> {
        let folder = self.to.join(file_name(&split.kind)).join(file_name(&split.group));
        std::fs::create_dir_all(&folder).map_err(|error| file_failed(&folder, &error))?;
        let name = format!("part-{number:05}.{}", self.format.extension());
        Part::begin(folder.join(name), self.format, &self.schema, group)
    }
}

fn done(
    joined: Option<Result<Result<(), Failure>, tokio::task::JoinError>>,
) -> Result<(), Failure> {
    match joined {
        None => Ok(()),
        Some(Ok(done)) => done,
        Some(Err(error)) => Err(Failure::Io(std::io::Error::other(error))),
    }
}

fn file_failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Config(format!("{}: {error}", path.display()))
}

/// A name that every file system takes, and no two groups share.
fn file_name(group: &str) -> String {
    match group.strip_prefix('.') {
        Some(rest) => format!("%2E{}", encode(rest)),
        None => encode(group),
    }
}
