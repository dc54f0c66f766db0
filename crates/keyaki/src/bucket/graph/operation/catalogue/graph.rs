//! Operations that read the graph, change it, or tell of it.

use super::{
    Described, ELEMENTS, FLAG, Field, INPUT_ELEMENTS, INTEGER, OPTIONS, TEXT, Type, VIEW, choice,
    field, required,
};

const DIRECTED: Field =
    choice("directedType", &["DIRECTED", "UNDIRECTED", "EITHER"], "Is the Edge directed?");
const SIDE: Field = choice(
    "includeIncomingOutGoing",
    &["EITHER", "INCOMING", "OUTGOING"],
    "Which side of the seeds edges must be on",
);
const SHOWN: Field = field("view", VIEW);
const SHOWN_LIST: Field =
    field("views", "java.util.List<uk.gov.gchq.gaffer.data.elementdefinition.view.View>");
const VALIDATE: Field = field("validate", FLAG);
const SKIP_INVALID: Field = field("skipInvalidElements", FLAG);
const CURRENT_TRAITS: Field = field("currentTraits", FLAG);
const ID_LIST: &str = "uk.gov.gchq.gaffer.data.element.id.EntityId[]";
const RANGES: &str = "uk.gov.gchq.gaffer.commonutil.pair.Pair<uk.gov.gchq.gaffer.data.element.id.ElementId,uk.gov.gchq.gaffer.data.element.id.ElementId>[]";
const PAIR: &str = "uk.gov.gchq.gaffer.commonutil.pair.Pair<java.lang.Iterable<uk.gov.gchq.gaffer.data.element.id.EntityId>,java.lang.Iterable<uk.gov.gchq.gaffer.data.element.id.EntityId>>";

pub(super) const OPERATIONS: &[Described] = &[
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.add.AddElements",
        summary: "Adds elements to the graph",
        fields: &[INPUT_ELEMENTS, VALIDATE, SKIP_INVALID, OPTIONS],
        input: Some(Type::Iterable),
        output: None,
        output_class: None,
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.add.AddElements", "validate": true, "skipInvalidElements": false, "input": [{"class": "uk.gov.gchq.gaffer.data.element.Entity", "group": "person", "vertex": "a", "properties": {}}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.delete.DeleteElements",
        summary: "Deletes elements from the graph",
        fields: &[INPUT_ELEMENTS, VALIDATE, SKIP_INVALID, OPTIONS],
        input: Some(Type::Iterable),
        output: Some(Type::One),
        output_class: Some("java.lang.Long"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.delete.DeleteElements", "input": [{"class": "uk.gov.gchq.gaffer.data.element.Entity", "group": "person", "vertex": "a", "properties": {}}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.get.GetElements",
        summary: "Gets the elements at, or around, the seeds",
        fields: &[
            field("input", "uk.gov.gchq.gaffer.data.element.id.ElementId[]"),
            SHOWN,
            SIDE,
            DIRECTED,
            SHOWN_LIST,
            OPTIONS,
        ],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some(ELEMENTS),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetElements", "input": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements",
        summary: "Gets all elements compatible with a provided View",
        // In Gaffer's own order, which its client looks at.
        fields: &[SHOWN, OPTIONS, DIRECTED, SHOWN_LIST],
        input: None,
        output: Some(Type::Iterable),
        output_class: Some(ELEMENTS),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.get.GetAdjacentIds",
        summary: "Gets the vertices at the other end of the seeds' edges",
        fields: &[field("input", ID_LIST), SHOWN, SIDE, DIRECTED, SHOWN_LIST, OPTIONS],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some("java.lang.Iterable<uk.gov.gchq.gaffer.data.element.id.EntityId>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAdjacentIds", "input": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}], "includeIncomingOutGoing": "EITHER"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsWithinSet",
        summary: "Gets the entities at the seeds and the edges between them",
        fields: &[field("input", ID_LIST), SHOWN, SIDE, DIRECTED, SHOWN_LIST, OPTIONS],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some(ELEMENTS),
        example: r#"{"class": "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsWithinSet", "input": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}, {"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "b"}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsBetweenSets",
        summary: "Gets the edges from one set of seeds to another, and the entities at the first",
        fields: &[
            field("input", ID_LIST),
            field("inputB", ID_LIST),
            SHOWN,
            SIDE,
            DIRECTED,
            SHOWN_LIST,
            OPTIONS,
        ],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some(ELEMENTS),
        example: r#"{"class": "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsBetweenSets", "input": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}], "inputB": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "b"}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsBetweenSetsPairs",
        summary: "Gets the edges from one set of seeds to another, both given as a pair",
        fields: &[field("input", PAIR), SHOWN, SIDE, DIRECTED, SHOWN_LIST, OPTIONS],
        input: Some(Type::Pair),
        output: Some(Type::Iterable),
        output_class: Some(ELEMENTS),
        example: r#"{"class": "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsBetweenSetsPairs", "input": {"class": "uk.gov.gchq.gaffer.commonutil.pair.Pair", "first": {"java.util.ArrayList": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}]}, "second": {"java.util.ArrayList": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "b"}]}}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsInRanges",
        summary: "Gets the elements at vertices in ranges",
        fields: &[field("input", RANGES), SHOWN, SIDE, DIRECTED, SHOWN_LIST, OPTIONS],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some(ELEMENTS),
        example: r#"{"class": "uk.gov.gchq.gaffer.accumulostore.operation.impl.GetElementsInRanges", "input": [{"class": "uk.gov.gchq.gaffer.commonutil.pair.Pair", "first": {"uk.gov.gchq.gaffer.operation.data.EntitySeed": {"vertex": "a"}}, "second": {"uk.gov.gchq.gaffer.operation.data.EntitySeed": {"vertex": "b"}}}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.GetWalks",
        summary: "Walks through the graph from the seeds, one hop for each of its operations",
        fields: &[
            field("input", ID_LIST),
            field(
                "operations",
                "java.util.List<uk.gov.gchq.gaffer.operation.OperationChain<java.lang.Iterable<uk.gov.gchq.gaffer.data.element.Element>>>",
            ),
            field("includePartial", FLAG),
            super::CONDITIONAL,
            field("resultsLimit", INTEGER),
            OPTIONS,
        ],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some("java.lang.Iterable<uk.gov.gchq.gaffer.data.graph.Walk>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.GetWalks", "input": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}], "operations": [{"class": "uk.gov.gchq.gaffer.operation.OperationChain", "operations": [{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetElements"}]}], "resultsLimit": 1000}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.store.operation.GetSchema",
        summary: "Gets the schema",
        fields: &[field("compact", FLAG), OPTIONS],
        input: None,
        output: Some(Type::One),
        output_class: Some("uk.gov.gchq.gaffer.store.schema.Schema"),
        example: r#"{"class": "uk.gov.gchq.gaffer.store.operation.GetSchema", "compact": false}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.store.operation.GetTraits",
        summary: "Gets what the store can do",
        fields: &[CURRENT_TRAITS, OPTIONS],
        input: None,
        output: Some(Type::Collection),
        output_class: Some("java.util.Set<uk.gov.gchq.gaffer.store.StoreTrait>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.store.operation.GetTraits", "currentTraits": true}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.store.operation.HasTrait",
        summary: "Says whether the store can do something",
        fields: &[CURRENT_TRAITS, required("trait", TEXT), OPTIONS],
        input: None,
        output: Some(Type::One),
        output_class: Some("java.lang.Boolean"),
        example: r#"{"class": "uk.gov.gchq.gaffer.store.operation.HasTrait", "currentTraits": true, "trait": "VISIBILITY"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.job.GetJobDetails",
        summary: "Gets how a job is",
        fields: &[required("jobId", TEXT), OPTIONS],
        input: None,
        output: Some(Type::One),
        output_class: Some("uk.gov.gchq.gaffer.jobtracker.JobDetail"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.job.GetJobDetails", "jobId": "01890a5d-ac96-774b-bcce-b302099a8057"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.job.GetAllJobDetails",
        summary: "Gets how all jobs are",
        fields: &[OPTIONS],
        input: None,
        output: Some(Type::Iterable),
        output_class: Some("java.lang.Iterable<uk.gov.gchq.gaffer.jobtracker.JobDetail>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.job.GetAllJobDetails"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.job.GetJobResults",
        summary: "Gets what a job gave",
        fields: &[required("jobId", TEXT), OPTIONS],
        input: None,
        output: Some(Type::Iterable),
        output_class: Some("java.lang.Iterable<java.lang.Object>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.job.GetJobResults", "jobId": "01890a5d-ac96-774b-bcce-b302099a8057"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.ValidateOperationChain",
        summary: "Says whether a chain could be run",
        fields: &[
            required("operationChain", "uk.gov.gchq.gaffer.operation.OperationChain"),
            OPTIONS,
        ],
        input: None,
        output: Some(Type::One),
        output_class: Some("uk.gov.gchq.koryphe.ValidationResult"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.ValidateOperationChain", "operationChain": {"class": "uk.gov.gchq.gaffer.operation.OperationChain", "operations": [{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"}]}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.get.GetGraphCreatedTime",
        summary: "Gets when the graph was made",
        fields: &[OPTIONS],
        input: None,
        output: Some(Type::One),
        output_class: Some("java.util.Map<java.lang.String,java.lang.String>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetGraphCreatedTime"}"#,
    },
];
