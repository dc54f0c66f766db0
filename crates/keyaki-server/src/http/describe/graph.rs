//! Graphs: elements, and chains of operations.

use super::sketch::Sketch;
use crate::http::problem;
use crate::http::shapes::{Explained, IngestSummary};

pub const TAG: &str = "Graph";

pub fn elements(s: Sketch) -> Sketch {
    s.says(
        "addElements",
        TAG,
        "Adds elements",
        "A JSON array, lines of JSON, or CSV whose first record names the columns. With `Idempotency-Key` a body that is \
         sent again, whole or after a broken connection, counts once.",
    )
    .for_anybody()
    .repeat_safe()
    .takes_texts("Elements as Gaffer writes them.", &["application/json", "application/x-ndjson", "text/csv"])
    .refuses(&[&problem::INVALID, &problem::CONFLICT])
    .answers_json::<IngestSummary>(200, "What became of them.")
    .heads(200, &["Idempotency-Replayed"])
}

fn chain(s: Sketch) -> Sketch {
    s.for_anybody()
        .repeat_safe()
        .takes_texts("An operation, or a chain of them, in Gaffer's JSON.", &["application/json"])
        .refuses(&[&problem::INVALID, &problem::CONFLICT])
}

pub fn execute(s: Sketch) -> Sketch {
    let s = s.says(
        "executeOperation",
        TAG,
        "Runs a chain of operations",
        "One that only reads needs the right to read, one that writes the right to write. The answer is an array, one \
         value, or nothing; `explain` answers what the chain cost instead.",
    );
    chain(s).answers_json::<Explained>(200, "What the chain gives, or what it cost.").also_any(200)
}

pub fn execute_chunked(s: Sketch) -> Sketch {
    let s = s.says(
        "executeOperationChunked",
        TAG,
        "Runs a chain of operations, a line for each result",
        "",
    );
    chain(s).answers_json::<Explained>(200, "What the chain gives, or what it cost.").also_any(200)
}

pub fn schema(s: Sketch) -> Sketch {
    s.says("graphSchema", TAG, "The schema of a graph", "As Gaffer shows it.")
        .for_anybody()
        .answers_any("The schema.")
}

pub fn status(s: Sketch) -> Sketch {
    s.says("graphStatus", TAG, "Whether a graph can be asked", "")
        .for_anybody()
        .answers_any("How it is.")
}
