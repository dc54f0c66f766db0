//! `/elements`, read: all of a graph, or a part of it, a line of JSON for each element, as `/elements` takes them. Parts
//! are sealed: what they say is the engine's own business.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures_util::stream;
use http::Method;
use keyaki::bucket::graph::GraphSplit;
use keyaki::bucket::graph::element::Directed;
use keyaki::bucket::graph::operation::{Budget, Elements, Plan, Side, Source, Target};
use keyaki::catalog::Access;

use crate::http::Answer;
use crate::http::answer::{Representation, refuse_unacceptable};
use crate::http::inside::InBucket;
use crate::http::path::Query;
use crate::http::problem::Problem;
use crate::http::shapes::{Items, SplitShown};
use crate::http::streams::{self, NDJSON};

const PATH: &str = "/elements";
const PARTS: usize = 16;
const PARTS_MAX: usize = 1_000;
/// An answer that is no longer is known whole before it begins.
const FIRST_BYTES: usize = 256 << 10;

impl InBucket<'_> {
    /// `/elements`.
    pub(in crate::http) async fn read_elements(&self, query: Query) -> Answer {
        let parts = self.call.parts;
        refuse_unacceptable(&parts.headers, NDJSON)?;
        self.wait_for_session().await?;
        let budget = self.budget();
        let elements = match query.get("split") {
            None => self.whole(budget.clone()).await?,
            Some(split) => self.part(split, budget.clone())?,
        };
        if parts.method == Method::HEAD {
            return streams::read(parts, NDJSON, stream::empty());
        }
        self.answer_all(elements, budget).await
    }

    /// `/elements/splits`.
    pub(in crate::http) async fn element_splits(&self, query: Query) -> Answer {
        let parts = match query.get("parts") {
            None => PARTS,
            Some(text) => {
                let number = text.parse().ok().filter(|number| (1..=PARTS_MAX).contains(number));
                let wrong = || Problem::bad_request("a group is cut into 1 to 1000 parts");
                number.ok_or_else(|| wrong().with("parameter", "parts"))?
            }
        };
        self.wait_for_session().await?;
        let graph = self.graph()?;
        let mut items = Vec::new();
        for split in graph.splits(parts).await? {
            let Some(group) = graph.schema().group_by_id(split.group) else { continue };
            items.push(SplitShown {
                kind: if group.shape().is_edge { "edges" } else { "entities" },
                group: group.name().to_owned(),
                split: self.seal(&split)?,
            });
        }
        Representation::json(None, &Items { items }).answer(self.call.parts)
    }

    /// What parts of this graph are sealed for; of one of the same name that was here before they are no parts.
    fn sealed_for(&self) -> String {
        format!("elements of {}/{} {}", self.names.0, self.names.1, self.entry.record.id)
    }

    fn seal(&self, split: &GraphSplit) -> Result<String, Problem> {
        let text = URL_SAFE_NO_PAD.encode(split.encode());
        self.call.app.cursors.seal(&self.sealed_for(), &text)
    }

    fn unseal(&self, split: &str) -> Option<GraphSplit> {
        let text = self.call.app.cursors.open(&self.sealed_for(), split).ok()?;
        GraphSplit::decode(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }

    async fn whole(&self, budget: Arc<Budget>) -> Result<Elements, Problem> {
        let graph = self.graph()?;
        let plan = Plan {
            target: Target::All,
            groups: graph.schema().groups().map(|group| group.id()).collect(),
            side: Side::Either,
            directed: Directed::Either,
            budget,
        };
        Ok(graph.seen_by(self.caller.authorisations.clone()).scan(plan).await?)
    }

    fn part(&self, split: &str, budget: Arc<Budget>) -> Result<Elements, Problem> {
        let strange = || Problem::bad_request("not a split of this graph");
        let split = self.unseal(split).ok_or_else(|| strange().with("parameter", "split"))?;
        let reader = self.graph()?.seen_by(self.caller.authorisations.clone());
        Ok(reader.split(&split, budget)?)
    }

    /// A batch of lines at a time, as the reader takes them. What goes wrong with the first is told as a problem.
    async fn answer_all(&self, mut elements: Elements, budget: Arc<Budget>) -> Answer {
        let mut first = Vec::new();
        while first.len() < FIRST_BYTES {
            if !lines(&mut elements, &budget, &mut first).await? {
                let whole = stream::once(async { Ok(Bytes::from(first)) });
                return streams::read(self.call.parts, NDJSON, whole);
            }
        }
        let watch = Arc::new(self.watch(Access::Read, PATH));
        let rest = stream::try_unfold((elements, first), move |(mut elements, mut piece)| {
            let (budget, watch) = (budget.clone(), watch.clone());
            async move {
                let begun = !piece.is_empty();
                if !begun {
                    watch.look().await?;
                }
                let more = begun || lines(&mut elements, &budget, &mut piece).await?;
                Ok::<_, keyaki::Error>(more.then(|| (Bytes::from(piece), (elements, Vec::new()))))
            }
        });
        streams::read(self.call.parts, NDJSON, rest)
    }
}

/// Appends the lines of another batch; false once there is none.
async fn lines(
    elements: &mut Elements,
    budget: &Budget,
    text: &mut Vec<u8>,
) -> keyaki::Result<bool> {
    let Some(batch) = elements.next().await? else { return Ok(false) };
    budget.results(batch.len() as u64)?;
    for element in batch {
        element.write_json(text);
        text.push(b'\n');
    }
    Ok(true)
}
