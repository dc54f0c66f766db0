//! `keyaki import DOMAIN/BUCKET FILE…`: elements from files into a graph, over HTTP, as they are read.
//!
//! Each file is sent under a key made of what is in it. So a file counts once: after a broken connection it is sent
//! again from its beginning, and the server leaves out what it has; and whoever is not sure whether an import got through
//! repeats it.

mod source;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use http::{Method, header};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use self::source::Source;
use super::spaces::count;
use super::{Failure, Verdict, print, runtime};
use crate::args::{Import, ImportFormat};
use crate::client::{Client, whole, with_body};
use crate::http::encode;

/// Between tries, and twice as long each time.
const WAITS_FIRST: Duration = Duration::from_millis(500);
const WAITS_MAX: Duration = Duration::from_secs(30);

/// What the server tells of a body, and what is told of all of them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Summary {
    accepted: u64,
    aggregated: u64,
    rejected: u64,
    #[serde(default, skip_serializing)]
    reasons: Vec<Reason>,
    chunks: u64,
    replayed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Reason {
    index: u64,
    reason: String,
}

pub fn run(wanted: Import, out: &mut impl Write) -> Result<Verdict, Failure> {
    let json = wanted.json;
    let (files, all) = runtime()?.block_on(import(wanted))?;
    let told = match json {
        true => serde_json::to_string(&all).map_err(std::io::Error::other)? + "\n",
        false => told(files, &all),
    };
    print(out, &told)?;
    Ok(if all.rejected == 0 { Verdict::Sound } else { Verdict::Unsound })
}

fn told(files: usize, all: &Summary) -> String {
    let mut told = format!(
        "imported {}: {} accepted, {} became one with others, {} rejected; {}",
        count(files as u64, "file"),
        count(all.accepted, "element"),
        all.aggregated,
        all.rejected,
        count(all.chunks, "chunk"),
    );
    if all.replayed > 0 {
        told += &format!(", {} of them there before", all.replayed);
    }
    told + "\n"
}

async fn import(wanted: Import) -> Result<(usize, Summary), Failure> {
    let client = Client::new(&wanted.remote)?;
    let bucket = super::bucket_path(&wanted.bucket)?;
    let files = source::files(&wanted.files)?;
    let (mut all, mut seen) = (Summary::default(), HashMap::new());
    for (place, file) in files.iter().enumerate() {
        let format = format_of(file, wanted.format)?;
        let path = format!("{bucket}/elements{}", query(&wanted, format));
        let key = match &wanted.key {
            // One key for all: which of the files it is tells the sequence.
            Some(key) => Some((key.clone(), place as u64)),
            None => file.digest(&mapping(&wanted, format))?.map(|digest| {
                let times = seen.entry(digest.clone()).or_insert(0);
                *times += 1;
                (format!("import-{digest}"), *times - 1)
            }),
        };
        let sent = Sending { client: &client, file, path: &path, format, key };
        let one = sent.persistently(wanted.retries).await?;
        for reason in &one.reasons {
            // Nobody is left to be told if this fails.
            let _ =
                writeln!(std::io::stderr(), "{file}: element {}: {}", reason.index, reason.reason);
        }
        all.add(&one);
    }
    Ok((files.len(), all))
}

/// A file on its way.
struct Sending<'a> {
    client: &'a Client,
    file: &'a Source,
    path: &'a str,
    format: ImportFormat,
    /// And which of several with the same.
    key: Option<(String, u64)>,
}

impl Sending<'_> {
    /// Sends it again if the connection breaks, where that counts once.
    async fn persistently(&self, retries: u32) -> Result<Summary, Failure> {
        let mut waits = WAITS_FIRST;
        let mut left =
            if self.key.is_some() && self.file.can_be_read_again() { retries } else { 0 };
        loop {
            match self.once().await {
                Err(Failure::Lost(why)) if left > 0 => {
                    left -= 1;
                    tracing::warn!(%why, file = %self.file, "trying again");
                    tokio::time::sleep(waits).await;
                    waits = (waits * 2).min(WAITS_MAX);
                }
                Err(Failure::Lost(why)) => {
                    let advice = match self.key {
                        Some(_) => "the same command again goes on where this one stopped",
                        None => "some of it may be there: without --key it would count again",
                    };
                    return Err(Failure::Lost(format!("{}: {why}; {advice}", self.file)));
                }
                Err(Failure::Server(why)) => {
                    return Err(Failure::Server(format!("{}: {why}", self.file)));
                }
                other => return other,
            }
        }
    }

    async fn once(&self) -> Result<Summary, Failure> {
        let progress = match self.file.length()? {
            Some(length) => ProgressBar::new(length).with_style(style(BAR)),
            None => ProgressBar::no_length().with_style(style(SPINNER)),
        };
        progress.set_message(self.file.to_string());
        let mut request = self.client.request(Method::POST, self.path);
        request = request.header(header::CONTENT_TYPE, self.format.content_type());
        if let Some(length) = self.file.length()? {
            request = request.header(header::CONTENT_LENGTH, length);
        }
        if let Some((key, sequence)) = &self.key {
            request = request.header("idempotency-key", key);
            request = request.header("idempotency-sequence", *sequence);
        }
        let body = self.file.body(progress.clone())?;
        let response = self.client.send(with_body(request, body)?).await?;
        let summary = whole(response).await?;
        progress.finish_and_clear();
        serde_json::from_slice(&summary)
            .map_err(|error| Failure::Server(format!("the answer is of another shape: {error}")))
    }
}

const BAR: &str = "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta}";
const SPINNER: &str = "{msg} {spinner} {bytes}, {bytes_per_sec}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is one")
}

impl Summary {
    fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.aggregated += other.aggregated;
        self.rejected += other.rejected;
        self.chunks += other.chunks;
        self.replayed += other.replayed;
    }
}

fn format_of(file: &Source, given: Option<ImportFormat>) -> Result<ImportFormat, Failure> {
    if let Some(format) = given {
        return Ok(format);
    }
    let extension = file.path().and_then(Path::extension).and_then(|name| name.to_str());
    match extension {
        Some("ndjson" | "jsonl") => Ok(ImportFormat::Ndjson),
        Some("json") => Ok(ImportFormat::Json),
        Some("csv") => Ok(ImportFormat::Csv),
        _ => Err(Failure::Config(format!("{file}: say --format ndjson, json or csv"))),
    }
}

/// What shapes the elements: the same file is another with another mapping.
fn mapping(wanted: &Import, format: ImportFormat) -> Vec<String> {
    if format != ImportFormat::Csv {
        return Vec::new();
    }
    let directed = wanted.directed.map(|directed| directed.to_string());
    let given = [("map", &wanted.map), ("group", &wanted.group), ("directed", &directed)];
    let pair = |(name, value): (&str, &Option<String>)| {
        value.as_ref().map(|value| format!("{name}={}", encode(value)))
    };
    given.into_iter().filter_map(pair).collect()
}

/// That, and what becomes of elements that are not valid.
fn query(wanted: &Import, format: ImportFormat) -> String {
    let mut pairs = mapping(wanted, format);
    if wanted.skip_invalid {
        pairs.push("skipInvalidElements=true".to_owned());
    }
    if wanted.no_validate {
        pairs.push("validate=false".to_owned());
    }
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}
