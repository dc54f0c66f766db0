//! Random work on a graph in a bucket and on one in memory: they must tell the same, however it was cut into chunks.

use keyaki::testing::graph::Package;
use keyaki::testing::random::Random;
use serde_json::{Value as Json, json};

use super::stored::Stored;
use super::{Asked, Graph};

const ROUNDS: u64 = 12;

fn schema() -> Json {
    json!({
        "edges": {
            "knows": {"source": "v", "destination": "v", "directed": "b",
                      "properties": {"day": "day", "label": "label", "count": "count"}, "groupBy": ["day"]},
            "met": {"source": "v", "destination": "v", "directed": "b", "aggregate": false,
                    "properties": {"count": "count"}},
            "follows": {"source": "v", "destination": "v", "directed": "true", "properties": {"count": "count"}}
        },
        "entities": {"person": {"vertex": "v", "properties": {"label": "label", "count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "true": {"class": "Boolean", "validateFunctions": [{"class": "IsTrue"}]},
            "day": {"class": "Integer", "aggregateFunction": {"class": "Max"}},
            "label": {"class": "String", "aggregateFunction": {"class": "First"}},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        },
        "visibilityProperty": "label"
    })
}

struct Dice(Random);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        self.0.pick(of)
    }

    fn vertex(&mut self) -> &'static str {
        self.one(&["a", "b", "c\u{0}", "c\u{1}", "d", "ä"])
    }

    fn element(&mut self) -> Json {
        let label = self.one(&["", "x", "y", "x&y"]);
        let (count, day) = (self.below(100), self.below(2));
        match self.below(4) {
            0 => json!({"class": "Entity", "group": "person", "vertex": self.vertex(),
                        "properties": {"label": label, "count": {"Long": count}}}),
            kind @ (1 | 2) => {
                let group = ["met", "follows"][kind - 1];
                json!({"class": "Edge", "group": group, "source": self.vertex(), "destination": self.vertex(),
                        "directed": self.below(2) == 0, "properties": {"count": {"Long": count}}})
            }
            _ => {
                json!({"class": "Edge", "group": "knows", "source": self.vertex(), "destination": self.vertex(),
                        "directed": self.below(2) == 0,
                        "properties": {"label": label, "count": {"Long": count}, "day": day}})
            }
        }
    }

    fn question(&mut self) -> Json {
        let side = self.one(&["EITHER", "INCOMING", "OUTGOING"]);
        let directed = self.one(&["EITHER", "DIRECTED", "UNDIRECTED"]);
        let seeds: Vec<Json> = (0..self.below(4)).map(|_| match self.below(2) {
            0 => json!({"class": "EntitySeed", "vertex": self.vertex()}),
            _ => json!({"class": "EdgeSeed", "source": self.vertex(), "destination": self.vertex(),
                        "directedType": self.one(&["EITHER", "DIRECTED", "UNDIRECTED"])}),
        }).collect();
        let views = [
            json!(null),
            json!({"allEdges": true, "allEntities": true}),
            json!({"edges": {"knows": {"groupBy": []}}}),
            json!({"entities": {"person": {}}}),
        ];
        let view = views[self.below(4)].clone();
        let mut question = match self.below(4) {
            0 => json!({"class": "GetAllElements", "directedType": directed}),
            1 => {
                json!({"class": "GetElementsInRanges", "includeIncomingOutGoing": side, "directedType": directed,
                        "input": [{"class": "uk.gov.gchq.gaffer.commonutil.pair.Pair",
                                   "first": {"class": "EntitySeed", "vertex": self.vertex()},
                                   "second": {"class": "EntitySeed", "vertex": self.vertex()}}]})
            }
            kind => {
                let class = ["GetElements", "GetAdjacentIds"][kind - 2];
                json!({"class": class, "input": seeds, "includeIncomingOutGoing": side, "directedType": directed})
            }
        };
        if !view.is_null() {
            question["view"] = view;
        }
        question
    }
}

fn sorted(answer: keyaki::Result<Json>) -> Result<Vec<String>, keyaki::Kind> {
    let mut items: Vec<String> = match answer {
        Ok(answer) => answer.as_array().into_iter().flatten().map(Json::to_string).collect(),
        Err(error) => return Err(error.kind()),
    };
    items.sort();
    Ok(items)
}

fn play(seed: u64, package: Package, stored: &Stored, auths: &[String]) {
    let mut dice = Dice(Random::seeded(seed));
    let memory = Graph::new(&schema(), package, auths).unwrap();
    for round in 0..ROUNDS {
        let elements: Vec<Json> = (0..dice.below(12)).map(|_| dice.element()).collect();
        let class = if dice.below(5) == 0 { "DeleteElements" } else { "AddElements" };
        // What is not valid must stay hidden wherever it lies.
        let change = json!({"class": class, "input": elements, "validate": false});
        assert_eq!(sorted(memory.ask(&change)), sorted(stored.ask(&change)), "{seed} {round}");
        for _ in 0..6 {
            let question = dice.question();
            let (want, ours) = (sorted(memory.ask(&question)), sorted(stored.ask(&question)));
            assert_eq!(want, ours, "{seed} {round} {package:?} {question}");
        }
    }
}

#[test]
fn storage_tells_what_a_list_in_memory_tells() {
    for seed in 0..24 {
        let auths: Vec<String> =
            ["x", "y"][..seed as usize % 3].iter().map(|name| (*name).to_owned()).collect();
        for package in [Package::ByteEntity, Package::Sharded, Package::Classic] {
            let stored = Stored::on_memory(&schema(), package, &auths).unwrap();
            play(seed, package, &stored, &auths);
            if seed < 6 {
                let stored = Stored::on_embedded(&schema(), package, &auths).unwrap();
                play(seed, package, &stored, &auths);
            }
        }
    }
}
