//! Graphs: elements, and chains of operations.

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::sketch::{Sketch, text};
use crate::http::problem;
use crate::http::shapes::{Erased, Explained, IngestSummary, SplitShown};

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
    .takes_texts(
        "Elements as Gaffer writes them.",
        &[
            ("application/json", ArrayBuilder::new().items(RefOr::T(object())).into()),
            ("application/x-ndjson", text()),
            ("text/csv", text()),
        ],
    )
    .refuses(&[&problem::INVALID, &problem::CONFLICT])
    .answers_json::<IngestSummary>(200, "What became of them.")
    .heads(200, &["Idempotency-Replayed"])
}

pub fn read_elements(s: Sketch) -> Sketch {
    s.says(
        "readElements",
        TAG,
        "All elements of a graph, or those of a split",
        "A line of JSON for each, as `addElements` takes them; each edge once. The limits of chains hold.",
    )
    .for_anybody()
    .takes_by_state(&["Keyaki-Session"])
    .answers_text(200, "application/x-ndjson", "The elements that the caller may see.")
    .heads(200, &["Cache-Control"])
}

pub fn element_splits(s: Sketch) -> Sketch {
    s.says(
        "splitElements",
        TAG,
        "A graph in parts, to be read beside each other",
        "Together they are the whole graph, as it is when each is read.",
    )
    .for_anybody()
    .takes_by_state(&["Keyaki-Session"])
    .answers_items::<SplitShown>("The parts of each group.")
}

pub fn erase(s: Sketch) -> Sketch {
    s.says(
        "eraseVertex",
        TAG,
        "Erases a vertex",
        "Its entities, and all edges that touch it, whoever may see them. For owners of the bucket.",
    )
    .refuses(&[&problem::INVALID])
    .answers_json::<Erased>(200, "How many elements there were; none if it is done again.")
}

pub fn erase_named(s: Sketch) -> Sketch {
    s.says(
        "eraseNamedVertex",
        TAG,
        "Erases a vertex that no path can name",
        "As `eraseVertex` does; `..` and the empty text are vertices too.",
    )
    .refuses(&[&problem::INVALID])
    .answers_json::<Erased>(200, "How many elements there were; none if it is done again.")
}

/// What its `class` says it is.
fn object() -> Schema {
    ObjectBuilder::new().schema_type(Type::Object).into()
}

fn chain(s: Sketch) -> Sketch {
    s.for_anybody()
        .repeat_safe()
        .takes_texts(
            "An operation, or a chain of them, in Gaffer's JSON.",
            &[("application/json", object())],
        )
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

pub fn start_job(s: Sketch) -> Sketch {
    let s = s.says(
        "startJob",
        TAG,
        "Begins to run a chain of operations in the background",
        "The answer tells the job's id; `/graph/jobs/{id}` tells how it is, `/graph/jobs/{id}/results` what it gave.",
    );
    chain(s)
        .answers(201, "The job.")
        .also_any(201)
        .heads(201, &["Idempotency-Replayed", "Location"])
}

pub fn jobs(s: Sketch) -> Sketch {
    s.says("jobs", TAG, "The caller's jobs", "Those of everybody, to owners of the bucket.")
        .for_anybody()
        .answers_any("The jobs, the oldest first.")
}

pub fn job(s: Sketch) -> Sketch {
    s.says("job", TAG, "A job", "").for_anybody().answers_any("How it is.")
}

pub fn job_results(s: Sketch) -> Sketch {
    s.says("jobResults", TAG, "What a job gave", "Kept for a day, up to 64 MiB; for its user only.")
        .for_anybody()
        .answers_any("An array.")
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

pub fn version(s: Sketch) -> Sketch {
    s.says("graphVersion", TAG, "The version of Gaffer that a graph speaks", "")
        .for_anybody()
        .answers_plain("The version.")
}

pub fn config(s: Sketch) -> Sketch {
    s.says("graphConfig", TAG, "What a graph is, and what can be said to it", "As Gaffer tells it.")
        .for_anybody()
        .answers_any("Names of classes, or what is asked for.")
        .also_text(200, "text/plain")
}

pub fn config_of(s: Sketch) -> Sketch {
    s.says("graphConfigOf", TAG, "The same, of one class", "")
        .for_anybody()
        .answers_any("Filter functions for the class, or its fields.")
}

pub fn field_classes(s: Sketch) -> Sketch {
    s.says("graphFieldClasses", TAG, "The fields of a class, with their classes", "")
        .for_anybody()
        .answers_any("Classes by fields.")
}

pub fn operations(s: Sketch) -> Sketch {
    s.says("graphOperations", TAG, "The operations that there are", "")
        .for_anybody()
        .answers_any("Their classes.")
}

pub fn operation(s: Sketch) -> Sketch {
    s.says(
        "graphOperation",
        TAG,
        "An operation",
        "`details` answers this of all of them, `all` their classes.",
    )
    .for_anybody()
    .answers_any("Its summary, fields, example, and what may follow it.")
}

pub fn operation_about(s: Sketch) -> Sketch {
    s.says("graphOperationAbout", TAG, "What may follow an operation, or an example of it", "")
        .for_anybody()
        .answers_any("Classes, or an operation.")
}

pub fn schedule_job(s: Sketch) -> Sketch {
    s.says(
        "scheduleJob",
        TAG,
        "Would begin a chain again and again",
        "Jobs here run once: this is always refused, and says so.",
    )
    .for_anybody()
    .answers(201, "Never.")
}

pub fn properties(s: Sketch) -> Sketch {
    s.says("graphProperties", TAG, "The properties of the system", "As Gaffer tells them.")
        .for_anybody()
        .answers_any("Values by names.")
}

pub fn property(s: Sketch) -> Sketch {
    s.says("graphProperty", TAG, "A property of the system", "")
        .for_anybody()
        .answers_plain("Its value.")
}

pub fn paths(s: Sketch) -> Sketch {
    s.says(
        "graphPaths",
        TAG,
        "The paths of a graph",
        "Where Gaffer's generators of clients look for them; `/openapi.json` tells more.",
    )
    .for_anybody()
    .answers_any("The paths, with their methods.")
}
