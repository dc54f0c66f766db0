//! Durable conditional PUTs: every connection goes round its own items, and sends the tag that the last answer on
//! the item gave. Beside it PostgreSQL does the same, through pgbench.

use std::path::Path;
use std::time::Duration;

use super::Ground;
use super::child::Server;
use super::items::{self, content};
use super::load::{CONNECTIONS, Client, drive};
use super::postgres::Postgres;
use super::rounds::{BothCpu, Round, Turn, figure};
use super::user::{BUCKET, User};
use super::wire::Connection;
use crate::Result;
use crate::figure::Report;

pub const PUT: &str = "http.put";
/// Items of one connection, on both sides.
pub const ITEMS: usize = 16;
const CONDITION: &str = "if-match: ";

/// Writes to its own items, one after the other.
struct Writer {
    connection: Connection,
    items: Vec<Item>,
    at: usize,
}

/// The next request for an item; the tag in it is overwritten with the one that each answer brings.
struct Item {
    key: String,
    request: Vec<u8>,
    tag: std::ops::Range<usize>,
}

impl Client for Writer {
    async fn once(&mut self) -> Result<bool> {
        let item = &mut self.items[self.at];
        let reply = self.connection.ask(&item.request).await?.demand(200)?;
        item.keep_tag(reply.header("etag"))?;
        self.at = (self.at + 1) % self.items.len();
        Ok(true)
    }
}

impl Item {
    async fn create(user: &User, connection: &mut Connection, number: usize) -> Result<Self> {
        let (key, content) = (format!("item-{number}"), content(number as u64));
        let create = items::put(user, &key, "if-none-match: *", &content);
        let created = connection.ask(&create).await?.demand(201)?;
        let tag = created.header("etag").ok_or("an answer has no tag")?.to_vec();
        let condition = format!("{CONDITION}{}", String::from_utf8(tag)?);
        let request = items::put(user, &key, &condition, &content);
        let ends = request.len() - content.len() - "\r\n\r\n".len();
        let tag = ends - (condition.len() - CONDITION.len())..ends;
        Ok(Self { key, request, tag })
    }

    fn keep_tag(&mut self, tag: Option<&[u8]>) -> Result<()> {
        match tag {
            Some(tag) if tag.len() == self.tag.len() => {
                self.request[self.tag.clone()].copy_from_slice(tag);
                Ok(())
            }
            _ => Err("an answer has no tag, or one of another length".into()),
        }
    }
}

pub async fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<()> {
    if !report.wants(&[PUT]) {
        return Ok(());
    }
    let dir = tempfile::tempdir_in(ground.dir)?;
    let postgres = Postgres::start(ground.dir)?;
    report.say(&format!("http.put beside {}", postgres.version()?));
    let ours = Server::keyaki(dir.path(), "")?;
    let user = items::user(&ours).await?;
    let mut writers = writers(&user).await?;
    writers = drive(writers, ground.warm_up()).await?.0;
    postgres.bench(ground.warm_up())?;
    let mut rounds = Vec::new();
    for ours_first in super::rounds() {
        let mut round = Round::default();
        for is_ours in [ours_first, !ours_first] {
            if is_ours {
                (writers, round.ours) = turn(&ours, writers, ground.span).await?;
            } else {
                round.baseline = postgres.bench(ground.span)?;
            }
        }
        rounds.push(round);
    }
    report.add(&figure(PUT, "writes/s", rounds).bar(1.0));
    verify(ours, dir.path(), user, writers).await
}

async fn writers(user: &User) -> Result<Vec<Writer>> {
    let mut writers = Vec::with_capacity(CONNECTIONS);
    for writer in 0..CONNECTIONS {
        let mut connection = Connection::open(user.address).await?;
        let mut items = Vec::with_capacity(ITEMS);
        for number in writer * ITEMS..(writer + 1) * ITEMS {
            items.push(Item::create(user, &mut connection, number).await?);
        }
        writers.push(Writer { connection, items, at: 0 });
    }
    Ok(writers)
}

async fn turn(
    server: &Server,
    writers: Vec<Writer>,
    span: Duration,
) -> Result<(Vec<Writer>, Turn)> {
    let cpu = BothCpu::of(server.pid())?;
    let (writers, load) = drive(writers, span).await?;
    Ok((writers, cpu.turn(load.answers, load.rate())?))
}

/// What was acknowledged last is there after a kill.
async fn verify(server: Server, dir: &Path, user: User, writers: Vec<Writer>) -> Result<()> {
    drop(server);
    let server = Server::keyaki(dir, "")?;
    let user = user.at(server.address);
    let mut connection = Connection::open(server.address).await?;
    for item in writers.iter().flat_map(|writer| &writer.items) {
        let get = user.request("GET", &format!("{BUCKET}/{}", item.key), "", b"");
        let reply = connection.ask(&get).await?.demand(200)?;
        if reply.header("etag") != Some(&item.request[item.tag.clone()]) {
            return Err(format!("{} has lost an acknowledged write", item.key).into());
        }
    }
    server.stop()
}
