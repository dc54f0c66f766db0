//! Ranges of rows. Between two vertices that is all that lies under those between them. The id of an edge is one row, or
//! two where it says nothing of its direction, and with entities in view the rows of those at its ends as well: a
//! range then goes from the first row of both its seeds to the last, as in Gaffer, and so depends on where a key
//! package puts them.

use super::super::Query;
use super::super::source::Target;
use super::output::chained;
use super::{Each, Executor, Output, collect, through};
use crate::bucket::graph::element::{Directed, EdgeId, Element, Ends};
use crate::bucket::graph::key::{Way, Ways};
use crate::bucket::graph::row::{EdgeRow, Other, Row, flag, row_of};
use crate::bucket::graph::value::Value;
use crate::error::{Error, Result};

/// From a row to a row, both included.
type Span = (Row, Row);

/// What an end of a range stands for.
enum Seed {
    Vertex(Value),
    Edge(EdgeId),
}

/// What the rows of a range depend on.
struct Layout<'a> {
    query: &'a Query,
    flag_last: bool,
}

impl Executor {
    pub(super) async fn get_ranges(&self, query: &Query, input: Output) -> Result<Output> {
        let pairs = collect(input.into_values()?, &self.budget).await?;
        let mut seeds = pairs.into_iter().map(ends).collect::<Result<Vec<_>>>()?;
        seeds.retain(|pair| !pair.iter().any(|seed| self.passes_over_seed(seed)));
        for vertex in seeds.iter().flatten().flat_map(Seed::vertices) {
            self.schema.check_vertex(vertex)?;
        }
        let layout = Layout { query, flag_last: self.source.puts_flags_last() };
        let of_edges = seeds.iter().flatten().any(|seed| matches!(seed, Seed::Edge(_)));
        let spans = seeds.iter().map(|pair| layout.between(pair)).collect::<Result<_>>()?;
        let mut streams = Vec::new();
        for (first, last) in joined(spans) {
            let target = Target::Range(first.vertex.clone(), last.vertex.clone());
            let elements = self.scan(query, target, query.view.groups_by_name(None)).await?;
            // Between vertices, what lies outside of the range lies on the wrong side.
            let elements = match of_edges {
                false => elements,
                true => through(
                    elements,
                    Each(move |mut batch: Vec<Element>| {
                        batch.retain(|element| {
                            let row = row_of(element, layout.flag_last);
                            first.as_ref() <= row && row <= last.as_ref()
                        });
                        Ok(batch)
                    }),
                ),
            };
            streams.push(self.viewed(query, elements));
        }
        Ok(chained(streams))
    }

    fn passes_over_seed(&self, seed: &Seed) -> bool {
        seed.vertices().any(|vertex| self.passes_over(vertex))
    }
}

impl Seed {
    fn vertices(&self) -> impl Iterator<Item = &Value> {
        match self {
            Self::Vertex(vertex) => [Some(vertex), None],
            Self::Edge(id) => [Some(&id.source), Some(&id.destination)],
        }
        .into_iter()
        .flatten()
    }
}

impl Layout<'_> {
    /// From the first row of two seeds to the last.
    fn between(&self, pair: &[Seed; 2]) -> Result<Span> {
        let mut spans: Vec<Span> = pair.iter().flat_map(|seed| self.spans(seed)).collect();
        spans.sort();
        match (spans.first(), spans.last()) {
            (Some((from, _)), Some((_, to))) => Ok((from.clone(), to.clone())),
            _ => Err(Error::invalid("a range of edges that the operation does not ask for")),
        }
    }

    fn spans(&self, seed: &Seed) -> Vec<Span> {
        let view = &self.query.view;
        match seed {
            Seed::Vertex(vertex) => self.under(vertex),
            Seed::Edge(id) => {
                let mut spans = Vec::new();
                if let Some(directed) = self.query.directed.and(id.directed)
                    && view.has_edges()
                {
                    spans = self.edge(id, directed);
                }
                if view.has_entities() {
                    let entity = |vertex: &Value| Row { vertex: vertex.clone(), edge: None };
                    let ends = [&id.source, &id.destination];
                    spans.extend(ends.map(|end| (entity(end), entity(end))));
                }
                spans
            }
        }
    }

    /// Runs of what is wanted under a vertex.
    fn under(&self, vertex: &Value) -> Vec<Span> {
        let row = |edge: Option<EdgeRow>| Row { vertex: vertex.clone(), edge };
        let (entities, edges) = (self.query.view.has_entities(), self.query.view.has_edges());
        if self.flag_last {
            let end = |other| Some(EdgeRow { before: 0, other, behind: u8::MAX });
            let first = if entities { None } else { end(Other::Least) };
            let last = if edges { end(Other::Most) } else { None };
            return vec![(row(first), row(last))];
        }
        let ways = match edges {
            true => Ways::of(self.query.side, self.query.directed),
            false => Ways::such(|_| false),
        };
        let wanted = entities.then_some(1).into_iter().chain(ways.iter().map(flag));
        let place =
            |flag: u8, other| row((flag > 1).then_some(EdgeRow { before: flag, other, behind: 0 }));
        let mut runs: Vec<(u8, u8)> = Vec::new();
        for flag in wanted {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == flag => *last = flag,
                _ => runs.push((flag, flag)),
            }
        }
        let span = |(first, last)| (place(first, Other::Least), place(last, Other::Most));
        runs.into_iter().map(span).collect()
    }

    /// The rows that the id of an edge stands for.
    fn edge(&self, id: &EdgeId, directed: Directed) -> Vec<Span> {
        let row = |before, behind| Row {
            vertex: id.source.clone(),
            edge: Some(EdgeRow { before, other: Other::Is(id.destination.clone()), behind }),
        };
        if self.flag_last {
            let (first, last) = match directed {
                Directed::Either => (1, 3),
                Directed::Directed => (2, 2),
                Directed::Undirected => (1, 1),
            };
            return vec![(row(0, first), row(0, last))];
        }
        let ways = Ways::such(|way| way != Way::In && directed.admits(way != Way::Undirected));
        ways.iter().map(|way| (row(flag(way), 0), row(flag(way), 0))).collect()
    }
}

/// Those that overlap are one.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort();
    let mut joined: Vec<Span> = Vec::new();
    for (first, last) in spans {
        match joined.last_mut() {
            Some((_, end)) if first <= *end => {
                if *end < last {
                    *end = last;
                }
            }
            _ => joined.push((first, last)),
        }
    }
    joined
}

fn ends(pair: Value) -> Result<[Seed; 2]> {
    let Value::Pair(pair) = pair else {
        return Err(Error::invalid("a pair of seeds is wanted").with("value", pair));
    };
    let seed = |end: Value| match end {
        Value::EntityId(vertex) => Ok(Seed::Vertex(*vertex)),
        Value::EdgeId(id) => Ok(Seed::Edge(*id)),
        Value::Element(element) => Ok(match element.ends {
            Ends::Vertex(vertex) => Seed::Vertex(vertex),
            Ends::Edge { source, destination, directed, matched } => {
                let directed = if directed { Directed::Directed } else { Directed::Undirected };
                Seed::Edge(EdgeId { source, destination, directed, matched })
            }
        }),
        Value::Null | Value::Walk(_) | Value::Pair(_) => {
            Err(Error::invalid("a vertex or the id of an element is wanted").with("seed", end))
        }
        vertex => Ok(Seed::Vertex(vertex)),
    };
    let [first, second] = pair.map(seed);
    Ok([first?, second?])
}
