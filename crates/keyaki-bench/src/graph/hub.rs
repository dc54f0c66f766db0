//! A vertex with a million edges beside one with ten.

use keyaki::bucket::graph::element::{Element, Ends};
use keyaki::bucket::graph::value::Value;
use serde_json::{Value as Json, json};

use super::Ground;
use super::data::{Edge, Name};
use super::ours::Ours;
use crate::Result;
use crate::figure::{Figure, Report};
use crate::meter::{Meter, memory_bytes, peak_memory_bytes, reset_peak_memory};

const ENTITY: &str = "graph.hub_entity";
const MEMORY: &str = "graph.hub_memory";

const HUB: &str = "hub0000";
const SMALL: &str = "small00";
const SMALL_EDGES: usize = 10;
const READS: usize = 2_000;
const ROUNDS: usize = 5;
/// How much more the entity of the hub may cost.
const TIMES_MOST: f64 = 3.0;
const MEMORY_MIB_MOST: f64 = 64.0;

pub fn measure(ground: &Ground<'_>, report: &mut Report) -> Result<()> {
    if !report.wants(&[ENTITY, MEMORY]) {
        return Ok(());
    }
    let dir = tempfile::tempdir_in(ground.dir)?;
    let ours = Ours::open(&dir.path().join("ours"), &ground.settings, ground.package)?;
    load(&ours, ground.amounts.hub_edges)?;
    if report.wants(&[ENTITY]) {
        let [mut hub, mut small] = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            hub = hub.min(entity_reads(&ours, HUB)?);
            small = small.min(entity_reads(&ours, SMALL)?);
        }
        report.add(&Figure::less(ENTITY, "µs", hub, small * TIMES_MOST).note("small_us", small));
    }
    if report.wants(&[MEMORY]) {
        report.add(&streaming(&ours, ground.amounts.hub_edges)?);
    }
    Ok(())
}

fn load(ours: &Ours, hub_edges: usize) -> Result<()> {
    let edge = |source: &str, number: usize| Edge {
        source: name(source),
        destination: name(&format!("x{number:06}")),
        start_date: 0,
        count: 1,
        timestamp: 0,
        label: "public",
    };
    let hub: Vec<Edge> = (0..hub_edges).map(|number| edge(HUB, number)).collect();
    let small: Vec<Edge> = (0..SMALL_EDGES).map(|number| edge(SMALL, number)).collect();
    ours.ingest("hub", &hub)?;
    ours.ingest("small", &small)?;
    let card = ours.graph().schema().group("card").ok_or("the schema has entities")?.clone();
    let entities = [HUB, SMALL].map(|vertex| {
        let properties = card.shape().names.iter().map(|name| match &**name {
            "count" => Value::Long(1),
            _ => Value::from("public"),
        });
        let properties = properties.collect();
        let shape = card.shape().clone();
        Element { shape, ends: Ends::Vertex(vertex.into()), properties }
    });
    ours.ingest_elements("cards", entities.into_iter())?;
    ours.settle()
}

fn name(text: &str) -> Name {
    text.as_bytes().try_into().unwrap_or_default()
}

fn seeded(vertex: &str, view: Json) -> Json {
    json!({"class": "GetElements", "input": [{"class": "EntitySeed", "vertex": vertex}], "view": view})
}

/// Microseconds of one read.
fn entity_reads(ours: &Ours, vertex: &str) -> Result<f64> {
    let step = ours.step(&seeded(vertex, json!({"entities": {"card": {}}})))?;
    let meter = Meter::start();
    ours.runtime().block_on(async {
        for _ in 0..READS {
            if ours.run(&step).await?.0 != 1 {
                return Err("the vertex has one entity".into());
            }
        }
        Result::<()>::Ok(())
    })?;
    Ok(meter.wall().as_secs_f64() * 1e6 / READS as f64)
}

/// What memory grows by while the edges stream, once the cache holds what it holds.
fn streaming(ours: &Ours, edges: usize) -> Result<Figure> {
    let step = ours.step(&seeded(HUB, json!({"edges": {"follows": {}}})))?;
    let stream = || ours.runtime().block_on(ours.run(&step));
    stream()?;
    reset_peak_memory()?;
    let before = memory_bytes(std::process::id())?;
    let meter = Meter::start();
    let (found, _) = stream()?;
    let rate = meter.read().rate(found);
    let grown = peak_memory_bytes()?.saturating_sub(before) as f64 / f64::from(1 << 20);
    if found != edges {
        return Err(format!("{found} of {edges} edges came out").into());
    }
    let figure = Figure::less(MEMORY, "MiB", grown.max(0.1), MEMORY_MIB_MOST);
    Ok(figure.note("elements_per_s", rate))
}
