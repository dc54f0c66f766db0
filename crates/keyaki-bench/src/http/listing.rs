//! A listing of a million items as lines of JSON: how much the server's memory grows while it streams them.
//!
//! The items are put through the server, without waiting for the disk, and the server is started anew before they are
//! listed: nothing of them is in its memory then.

use super::Ground;
use super::child::Server;
use super::items;
use super::load::{CONNECTIONS, Client, drive};
use super::user::{BUCKET, User};
use super::wire::Connection;
use crate::Result;
use crate::figure::{Figure, Report};
use crate::meter;

pub const LIST: &str = "http.list_memory";
const MEBIBYTE: f64 = (1 << 20) as f64;
const MOST_MIB: f64 = 64.0;
/// Less is not told apart.
const LEAST_MIB: f64 = 0.1;
const LINE_ENDS: &[u8] = b"}\n";
const STREAM_ENDS: &[u8] = b"\n\r\n0\r\n\r\n";

/// Puts its share of the items.
struct Filler {
    connection: Connection,
    user: User,
    numbers: std::ops::Range<usize>,
}

impl Client for Filler {
    async fn once(&mut self) -> Result<bool> {
        let Some(number) = self.numbers.next() else { return Ok(false) };
        let content = format!("content of {number}");
        let put = items::put(&self.user, &key(number), "if-none-match: *", content.as_bytes());
        self.connection.ask(&put).await?.demand(201)?;
        Ok(true)
    }
}

fn key(number: usize) -> String {
    format!("item-{number:08}")
}

pub async fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<()> {
    if !report.wants(&[LIST]) {
        return Ok(());
    }
    let dir = tempfile::tempdir_in(ground.dir)?;
    let server = Server::keyaki(dir.path(), "sync_interval_ms = 1000")?;
    let user = items::user(&server).await?;
    let rate = fill(&user, ground.items).await?;
    server.stop()?;
    let server = Server::keyaki(dir.path(), "")?;
    let user = user.at(server.address);
    let mut connection = Connection::open(user.address).await?;
    let few = user.request("GET", &format!("{BUCKET}/?limit=10"), "", b"");
    connection.ask(&few).await?.demand(200)?;
    meter::reset_peak_memory_of(server.pid())?;
    let before = meter::memory_bytes(server.pid())?;
    let begun = std::time::Instant::now();
    let listed = list(&mut connection, &user).await?;
    let wall = begun.elapsed();
    let grown = meter::peak_memory_bytes_of(server.pid())?.saturating_sub(before);
    if listed != ground.items {
        return Err(format!("{listed} items are listed, of {}", ground.items).into());
    }
    server.stop()?;
    let grown = (grown as f64 / MEBIBYTE).max(LEAST_MIB);
    report.add(
        &Figure::less(LIST, "MiB", grown, MOST_MIB)
            .note("items", listed as f64)
            .note("items_per_s", listed as f64 / wall.as_secs_f64())
            .note("before_mib", before as f64 / MEBIBYTE)
            .note("filled_per_s", rate),
    );
    Ok(())
}

/// So many a second.
async fn fill(user: &User, items: usize) -> Result<f64> {
    let each = items.div_ceil(CONNECTIONS);
    let mut fillers = Vec::with_capacity(CONNECTIONS);
    for filler in 0..CONNECTIONS {
        let numbers = (filler * each).min(items)..((filler + 1) * each).min(items);
        let connection = Connection::open(user.address).await?;
        fillers.push(Filler { connection, user: user.clone(), numbers });
    }
    Ok(drive(fillers, std::time::Duration::MAX).await?.1.rate())
}

/// Counts lines. In the framing of chunks no line ends as those of items do.
async fn list(connection: &mut Connection, user: &User) -> Result<usize> {
    let request =
        user.request("GET", &format!("{BUCKET}/"), "accept: application/x-ndjson\r\n", b"");
    let (mut listed, mut tail) = (0, Vec::new());
    connection
        .stream(&request, |bytes| {
            // What may be cut in two is looked at together with what follows.
            let kept = tail.len();
            tail.extend_from_slice(bytes);
            let from = kept.saturating_sub(LINE_ENDS.len() - 1);
            listed += tail[from..].windows(LINE_ENDS.len()).filter(|w| *w == LINE_ENDS).count();
            let ended = tail.ends_with(STREAM_ENDS);
            tail.drain(..tail.len().saturating_sub(STREAM_ENDS.len()));
            ended
        })
        .await?;
    Ok(listed)
}
