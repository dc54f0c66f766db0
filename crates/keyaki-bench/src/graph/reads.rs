//! Reading around seeds, and all of it.

use serde_json::{Value as Json, json};

use super::Ground;
use super::data::{self, Name, text};
use super::ingest::Sides;
use crate::Result;
use crate::figure::{Figure, Report};
use crate::meter::{Cost, Meter};

const VERTEX: &str = "graph.vertex";
const SEEDS: &str = "graph.seeds";
const HOPS: &str = "graph.two_hops";
const SCAN: &str = "graph.scan";
const AGGREGATED: &str = "graph.scan_aggregated";
pub const FIGURES: [&str; 5] = [VERTEX, SEEDS, HOPS, SCAN, AGGREGATED];

/// Ten times what Gaffer did.
const SEEDS_RATE: f64 = 37_000.0;
const HOPS_RATE: f64 = 3_000.0;
const SCAN_RATE: f64 = 1e6;
const ROUNDS: usize = 5;

pub fn measure(ground: &Ground<'_>, sides: &Sides, report: &mut Report) -> Result<()> {
    if report.wants(&[SEEDS]) {
        let seeds = seeds_json(&data::seeds(ground.amounts.seeds));
        let operation = json!({"class": "GetElements", "input": seeds});
        let (cost, results) = best(sides, &operation)?;
        let rate = cost.rate(ground.amounts.seeds);
        let figure = Figure::more(SEEDS, "seeds/s", rate, SEEDS_RATE);
        report.add(&figure.note("results", results.0 as f64));
    }
    if report.wants(&[HOPS]) {
        let seeds = seeds_json(&data::seeds(ground.amounts.hop_seeds));
        let hop = json!({"class": "GetAdjacentIds", "includeIncomingOutGoing": "OUTGOING"});
        let mut first = hop.clone();
        first["input"] = seeds;
        let operation = json!({"class": "OperationChain", "operations": [first, hop]});
        let (cost, results) = best(sides, &operation)?;
        let figure = Figure::more(HOPS, "seeds/s", cost.rate(ground.amounts.hop_seeds), HOPS_RATE);
        report.add(&figure.note("results", results.0 as f64));
    }
    let whole = json!({"class": "GetAllElements"});
    let folded =
        json!({"class": "GetAllElements", "view": {"edges": {"follows": {"groupBy": []}}}});
    let mut elements = 0;
    for (name, operation) in [(SCAN, whole), (AGGREGATED, folded)] {
        // How many elements there are the plain scan finds out, for both.
        let needed = report.wants(&[name]) || (name == SCAN && report.wants(&[AGGREGATED]));
        if !needed {
            continue;
        }
        let (cost, results) = best(sides, &operation)?;
        // With aggregation too it is what is read that counts.
        elements = elements.max(results.0);
        let figure = Figure::more(name, "elem/s", cost.rate(elements), SCAN_RATE);
        let figure = figure.note("results", results.0 as f64).note("cells", results.1 as f64);
        report.add(&figure.note("cpu_s", cost.cpu.as_secs_f64()));
    }
    if report.wants(&[VERTEX]) {
        // The number of sorted runs, which is chance, would decide more than anything else.
        sides.ours.pack()?;
        sides.bare.compact();
        report.say("both sides are packed");
        report.add(&vertex(ground, sides)?);
    }
    Ok(())
}

/// The best of some rounds, after one that only warms the caches.
fn best(sides: &Sides, operation: &Json) -> Result<(Cost, (usize, u64))> {
    let step = sides.ours.step(operation)?;
    let mut best = None::<Cost>;
    let mut results = (0, 0);
    for round in 0..=ROUNDS {
        let meter = Meter::start();
        results = sides.ours.runtime().block_on(sides.ours.run(&step))?;
        if round > 0 {
            let cost = meter.read();
            best = Some(best.map_or(cost, |so_far| so_far.least(cost)));
        }
    }
    Ok((best.unwrap_or_default(), results))
}

fn seeds_json(seeds: &[Name]) -> Json {
    seeds.iter().map(|seed| json!({"class": "EntitySeed", "vertex": text(seed)})).collect()
}

/// All edges of random vertices, one after the other: as the reader gives them, and as an operation's answer.
fn vertex(ground: &Ground<'_>, sides: &Sides) -> Result<Figure> {
    let vertices = data::seeds(ground.amounts.vertices);
    let view = json!({"edges": {"follows": {}}});
    let step = |vertex: &Name| {
        let seed = seeds_json(&[*vertex]);
        sides.ours.step(&json!({"class": "GetElements", "input": seed, "view": view}))
    };
    let steps = vertices.iter().map(step).collect::<Result<Vec<_>>>()?;
    let mut best = [None::<Cost>; 3];
    let mut found = [0; 3];
    for round in 0..=ROUNDS {
        found = [0; 3];
        let mut costs = [Cost::default(); 3];
        let meter = Meter::start();
        sides.ours.runtime().block_on(async {
            for vertex in &vertices {
                found[0] += sides.ours.edges_of(vertex).await?;
            }
            Result::<()>::Ok(())
        })?;
        costs[0] = meter.read();
        let meter = Meter::start();
        for vertex in &vertices {
            sides.bare.scan(vertex, |key, value| {
                std::hint::black_box((key, value));
                found[1] += 1;
            })?;
        }
        costs[1] = meter.read();
        let meter = Meter::start();
        sides.ours.runtime().block_on(async {
            for step in &steps {
                // Elements that differ in their labels alone are one in an answer, so cells are what counts.
                found[2] += sides.ours.run(step).await?.1;
            }
            Result::<()>::Ok(())
        })?;
        costs[2] = meter.read();
        if round > 0 {
            for (so_far, cost) in best.iter_mut().zip(costs) {
                *so_far = Some(so_far.map_or(cost, |so_far| so_far.least(cost)));
            }
        }
    }
    if found[0] != found[1] || found[2] != found[1] {
        return Err(format!("{found:?} edges: ours, by hand, and of operations").into());
    }
    let [reader, bare, operations] = best.map(Option::unwrap_or_default);
    let figure = Figure::rates(VERTEX, "vertex/s", vertices.len(), [operations, bare]).bar(0.5);
    let figure = figure.note("edges", found[0] as f64);
    Ok(figure.note("reader_per_s", reader.rate(vertices.len())))
}
