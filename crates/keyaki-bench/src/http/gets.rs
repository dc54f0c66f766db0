//! GET of a 1 KiB item over connections that are kept, beside a bare handler with the same bytes in memory.

use std::time::Duration;

use super::Ground;
use super::child::Server;
use super::items::{self, content};
use super::load::{CONNECTIONS, Client, drive};
use super::rounds::{BothCpu, Round, Turn, figure};
use super::user::{BUCKET, User};
use super::wire::Connection;
use crate::Result;
use crate::figure::Report;

pub const GET: &str = "http.get";
const KEY: &str = "read";

/// Asks for one thing again and again.
struct Reader {
    connection: Connection,
    request: Vec<u8>,
    expected: Vec<u8>,
}

impl Client for Reader {
    async fn once(&mut self) -> Result<bool> {
        let reply = self.connection.ask(&self.request).await?.demand(200)?;
        match reply.body == self.expected {
            true => Ok(true),
            false => Err("the content is another".into()),
        }
    }
}

pub async fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<()> {
    if !report.wants(&[GET]) {
        return Ok(());
    }
    let dir = tempfile::tempdir_in(ground.dir)?;
    let (ours, bare) = (Server::keyaki(dir.path(), "")?, Server::bare()?);
    let user = items::user(&ours).await?;
    let put = items::put(&user, KEY, "if-none-match: *", &content(0));
    Connection::open(user.address).await?.ask(&put).await?.demand(201)?;
    let mut our_readers = readers(&user).await?;
    let mut bare_readers = readers(&user.at(bare.address)).await?;
    // What both do at first is not what they do in the long run.
    our_readers = drive(our_readers, ground.warm_up()).await?.0;
    bare_readers = drive(bare_readers, ground.warm_up()).await?.0;
    let mut rounds = Vec::new();
    for ours_first in super::rounds() {
        let mut round = Round::default();
        for is_ours in [ours_first, !ours_first] {
            if is_ours {
                (our_readers, round.ours) = turn(&ours, our_readers, ground.span).await?;
            } else {
                (bare_readers, round.baseline) = turn(&bare, bare_readers, ground.span).await?;
            }
        }
        rounds.push(round);
    }
    report.add(&figure(GET, "answers/s", rounds).bar(0.6));
    Ok(())
}

async fn readers(user: &User) -> Result<Vec<Reader>> {
    let request = user.request("GET", &format!("{BUCKET}/{KEY}"), "", b"");
    let mut readers = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let connection = Connection::open(user.address).await?;
        readers.push(Reader { connection, request: request.clone(), expected: content(0) });
    }
    Ok(readers)
}

async fn turn(
    server: &Server,
    readers: Vec<Reader>,
    span: Duration,
) -> Result<(Vec<Reader>, Turn)> {
    let cpu = BothCpu::of(server.pid())?;
    let (readers, load) = drive(readers, span).await?;
    Ok((readers, cpu.turn(load.answers, load.rate())?))
}
