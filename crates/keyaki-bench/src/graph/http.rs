//! The same graph behind the real program, a process of its own: edges as lines of JSON, and one seed at a time over
//! connections that are kept.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::Ground;
use super::data::{self, Edge, Name, text};
use super::ingest::Sides;
use super::ours::{READER, SCHEMA};
use crate::Result;
use crate::figure::{Figure, Report};
use crate::http::child::Server;
use crate::http::load::{Client, drive};
use crate::http::rounds::{BothCpu, Turn};
use crate::http::user::{BUCKET, User, role};
use crate::http::wire::Connection;
use crate::meter;

const INGEST: &str = "graph.http_ingest";
const SEED: &str = "graph.http_seed";
pub const FIGURES: [&str; 2] = [INGEST, SEED];

const SEED_RATE: f64 = 5_000.0;
const CONNECTIONS: usize = 16;
const SEEDS: usize = 10_000;
const ROUNDS: usize = 3;
/// Answers that are compared with the edges that were sent.
const CHECKED: usize = 50;
const EDGE: &[u8] = b"{\"class\":\"uk.gov.gchq.gaffer.data.element.Edge\"";

pub fn measure(ground: &Ground<'_>, sides: &Sides, report: &mut Report) -> Result<()> {
    if !report.wants(&FIGURES) {
        return Ok(());
    }
    let count = ground.amounts.edges;
    let edges = [data::FIRST, data::SECOND].map(|seed| data::edges(count, seed));
    // One thread for the client: the server has the rest.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let dir = tempfile::tempdir_in(ground.dir)?;
        let server = Server::keyaki(dir.path(), "")?;
        let user = User::with_bucket(&server, &bucket(ground.package)?, &READER).await?;
        send(&user, "first", &edges[0], sides).await?;
        meter::rest_of(server.pid())?;
        let cpu = BothCpu::of(server.pid())?;
        let wall = send(&user, "second", &edges[1], sides).await?;
        let turn = cpu.turn(count, count as f64 / wall.as_secs_f64())?;
        let figure = Figure::more(INGEST, "edges/s", turn.rate, sides.ingest_rate).bar(0.3);
        report.add(&figure.note("cpu_us", turn.cpu_us).note("client_us", turn.client_us));
        meter::rest_of(server.pid())?;
        if report.wants(&[SEED]) {
            check(&user, &edges).await?;
            report.add(&single_seeds(ground, &server, &user).await?);
        }
        server.stop()
    })
}

fn bucket(package: &str) -> Result<Json> {
    let schema: Json = serde_json::from_str(SCHEMA)?;
    Ok(json!({
        "type": "graph",
        "acl": {"read": role(), "write": role()},
        "options": {"schema": schema, "keyPackage": package},
    }))
}

/// Sends edges as an operation of that name; answers how long it took until they were accepted.
async fn send(user: &User, operation: &str, edges: &[Edge], sides: &Sides) -> Result<Duration> {
    let mut lines = Vec::new();
    for edge in edges {
        sides.ours.element(edge).write_json(&mut lines);
        lines.push(b'\n');
    }
    let headers = format!(
        "content-type: application/x-ndjson\r\ncontent-length: {}\r\nidempotency-key: {operation}\r\n",
        lines.len()
    );
    let request = user.request("POST", &format!("{BUCKET}/elements"), &headers, &lines);
    drop(lines);
    let mut connection = Connection::open(user.address).await?;
    let begun = Instant::now();
    let reply = connection.ask(&request).await?.demand(200)?;
    let wall = begun.elapsed();
    let summary: Json = serde_json::from_slice(reply.body)?;
    match summary["accepted"].as_u64() == Some(edges.len() as u64) {
        true => Ok(wall),
        false => Err(format!("of {} edges came in: {summary}", edges.len()).into()),
    }
}

fn request(user: &User, seed: &Name) -> Vec<u8> {
    let seeds = json!([{"class": "EntitySeed", "vertex": text(seed)}]);
    let operation = json!({"class": "GetElements", "input": seeds});
    user.form("POST", &format!("{BUCKET}/graph/operations/execute"), &operation)
}

/// Some answers must have the edges that were sent; those that differ in their labels alone are one.
async fn check(user: &User, edges: &[Vec<Edge>; 2]) -> Result<()> {
    let mut connection = Connection::open(user.address).await?;
    for seed in data::seeds(CHECKED) {
        let touches = |edge: &&Edge| edge.source == seed || edge.destination == seed;
        let found = edges.iter().flatten().filter(touches);
        let places = found.map(|edge| (edge.source, edge.destination, edge.start_date));
        let expected = places.collect::<HashSet<_>>().len();
        let reply = connection.ask(&request(user, &seed)).await?.demand(200)?;
        let found = reply.body.windows(EDGE.len()).filter(|window| *window == EDGE).count();
        if found != expected {
            return Err(format!("{} has {found} edges, not {expected}", text(&seed)).into());
        }
    }
    Ok(())
}

/// Asks for one seed after the other, round and round.
struct Asker {
    connection: Connection,
    requests: Arc<[Vec<u8>]>,
    at: usize,
    bytes: usize,
}

impl Client for Asker {
    async fn once(&mut self) -> Result<bool> {
        let reply = self.connection.ask(&self.requests[self.at]).await?.demand(200)?;
        self.bytes += reply.body.len();
        self.at = (self.at + 1) % self.requests.len();
        Ok(true)
    }
}

/// The best of some rounds, after one that only warms the caches.
async fn single_seeds(ground: &Ground<'_>, server: &Server, user: &User) -> Result<Figure> {
    let requests: Arc<[_]> = data::seeds(SEEDS).iter().map(|seed| request(user, seed)).collect();
    let mut askers = Vec::with_capacity(CONNECTIONS);
    for asker in 0..CONNECTIONS {
        let connection = Connection::open(user.address).await?;
        let at = asker * requests.len() / CONNECTIONS;
        askers.push(Asker { connection, requests: Arc::clone(&requests), at, bytes: 0 });
    }
    let (mut best, mut answers) = (Turn::default(), 0);
    for round in 0..=ROUNDS {
        let cpu = BothCpu::of(server.pid())?;
        let load;
        (askers, load) = drive(askers, ground.span).await?;
        answers += load.answers;
        let turn = cpu.turn(load.answers, load.rate())?;
        if round > 0 && turn.rate > best.rate {
            best = turn;
        }
    }
    let bytes: usize = askers.iter().map(|asker| asker.bytes).sum();
    let figure = Figure::more(SEED, "op/s", best.rate, SEED_RATE);
    let figure = figure.note("cpu_us", best.cpu_us).note("client_us", best.client_us);
    Ok(figure.note("answer_bytes", bytes as f64 / answers as f64))
}
