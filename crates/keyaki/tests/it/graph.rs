//! The graph bucket: its semantic layer over a graph in memory, and its storage on the engines.

pub mod check; // edges that are not under both ends, and what is held counted anew
pub mod gaffer;
mod generate; // elements made of other things, sets, chains that are only looked at
pub mod ingest; // chunks that are sent again, summaries, deletion
mod jobs; // chains in the background
mod key; // the bytes of rows
mod names; // chains and views under names
mod operations;
mod random; // random work beside a graph in memory
pub mod rules; // what the engine does to elements by itself
pub mod stored; // a graph in a bucket, on every engine

use std::sync::Arc;

use keyaki::bucket::graph::operation::{Budget, Executor, Limits, NoNames, Output, Step};
use keyaki::bucket::graph::schema::Schema;
use keyaki::cell::visibility::Authorisations;
use keyaki::testing::clock::FakeClock;
use keyaki::testing::graph::{MemoryGraph, Package};
use keyaki::{Error, Result};
use serde_json::{Value as Json, json};

/// The middle of 2024.
pub const NOW_MS: i64 = 1_718_000_000_000;

/// A graph and somebody who asks.
struct Graph {
    schema: Arc<Schema>,
    memory: MemoryGraph,
    authorisations: Authorisations,
    limits: Limits,
}

/// Something that answers operations.
pub trait Asked {
    /// What a chain answers: a list if it streams, a list of one if it does not.
    fn ask(&self, operation: &Json) -> Result<Json>;

    fn add(&self, elements: &Json, options: &Json) -> Result<Json> {
        let mut operation = json!({"class": "AddElements", "input": elements});
        for (name, value) in options.as_object().into_iter().flatten() {
            operation[name] = value.clone();
        }
        self.ask(&operation)
    }
}

impl Graph {
    fn new(schema: &Json, package: Package, auths: &[String]) -> Result<Self> {
        let schema = Arc::new(Schema::from_json(schema)?);
        let memory = MemoryGraph::new(Arc::clone(&schema), package);
        let authorisations = Authorisations::new(auths.iter().map(String::as_str)).unwrap();
        Ok(Self { schema, memory, authorisations, limits: Limits::default() })
    }
}

impl Asked for Graph {
    fn ask(&self, operation: &Json) -> Result<Json> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let clock = Arc::new(FakeClock::at(NOW_MS as u64 * 1000));
            let budget = Arc::new(Budget::new(self.limits, clock));
            let step = Step::from_json(operation, &self.schema, &NoNames)?;
            let source = Arc::new(self.memory.seen_by(self.authorisations.clone(), NOW_MS));
            let executor = Executor::new(Arc::clone(&self.schema), source, budget)
                .with_sink(Arc::new(self.memory.clone()));
            answer(executor.execute(&step).await?).await
        })
    }
}

async fn answer(output: Output) -> Result<Json> {
    let alone = matches!(output, Output::Value(_) | Output::Json(_));
    let text = written(output).await?;
    if text.is_empty() {
        return Ok(Json::Null);
    }
    let json = serde_json::from_slice(&text)
        .map_err(|error| Error::internal("bad JSON").because(error))?;
    Ok(if alone { json!([json]) } else { json })
}

async fn written(mut output: Output) -> Result<Vec<u8>> {
    let (mut text, mut started) = (Vec::new(), false);
    while output.write_json(&mut started, &mut text).await? {}
    Ok(text)
}
