//! Operations made of operations, and variables.

use super::{
    ANYTHING, CONDITIONAL, Described, FLAG, Field, INPUT_ANY, INPUT_ONE, INTEGER, ITERABLE,
    OPERATION, OPTIONS, TEXT, TEXTS, Type, field,
};

const CONDITION: Field = field("condition", FLAG);
const CHAINED: Field =
    field("operations", "java.util.List<uk.gov.gchq.gaffer.operation.Operation>");

pub(super) const OPERATIONS: &[Described] = &[
    Described {
        class: "uk.gov.gchq.gaffer.operation.OperationChain",
        summary: "Runs operations one after the other, each with what the one before it gave",
        fields: &[CHAINED, OPTIONS],
        input: None,
        output: Some(Type::Open),
        output_class: Some(ANYTHING),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.OperationChain", "operations": [{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"}, {"class": "uk.gov.gchq.gaffer.operation.impl.Limit", "resultLimit": 10}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.OperationChainDAO",
        summary: "A chain of operations whose class need not be written",
        fields: &[CHAINED, OPTIONS],
        input: None,
        output: Some(Type::Open),
        output_class: Some(ANYTHING),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.OperationChainDAO", "operations": [{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"}]}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.If",
        summary: "Runs one of two operations",
        fields: &[
            INPUT_ONE,
            CONDITION,
            CONDITIONAL,
            field("then", OPERATION),
            field("otherwise", OPERATION),
            OPTIONS,
        ],
        input: Some(Type::Open),
        output: Some(Type::Open),
        output_class: Some(ANYTHING),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.If", "input": [1], "conditional": {"predicate": {"class": "uk.gov.gchq.koryphe.impl.predicate.Exists"}}, "then": {"class": "uk.gov.gchq.gaffer.operation.impl.Count"}, "otherwise": {"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.While",
        summary: "Repeats an operation while something holds",
        fields: &[
            INPUT_ONE,
            CONDITION,
            CONDITIONAL,
            field("operation", OPERATION),
            field("maxRepeats", INTEGER),
            OPTIONS,
        ],
        input: Some(Type::Open),
        output: Some(Type::Open),
        output_class: Some(ANYTHING),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.While", "input": [{"class": "uk.gov.gchq.gaffer.operation.data.EntitySeed", "vertex": "a"}], "condition": true, "maxRepeats": 2, "operation": {"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAdjacentIds"}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.ForEach",
        summary: "Runs an operation for each item",
        fields: &[INPUT_ANY, field("operation", OPERATION), OPTIONS],
        input: Some(Type::Iterable),
        output: Some(Type::Iterable),
        output_class: Some(ITERABLE),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.ForEach", "input": [[1, 2], [3]], "operation": {"class": "uk.gov.gchq.gaffer.operation.impl.Count"}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.SetVariable",
        summary: "Remembers its input under a name while the chain runs",
        fields: &[INPUT_ONE, field("variableName", TEXT), OPTIONS],
        input: Some(Type::Object),
        output: None,
        output_class: None,
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.SetVariable", "variableName": "x", "input": 5}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.GetVariable",
        summary: "Gets what was remembered under a name",
        fields: &[field("variableName", TEXT), OPTIONS],
        input: None,
        output: Some(Type::Object),
        output_class: Some(ANYTHING),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.GetVariable", "variableName": "x"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.operation.impl.GetVariables",
        summary: "Gets what was remembered under several names",
        fields: &[field("variableNames", TEXTS), OPTIONS],
        input: None,
        output: Some(Type::One),
        output_class: Some("java.util.Map<java.lang.String,java.lang.Object>"),
        example: r#"{"class": "uk.gov.gchq.gaffer.operation.impl.GetVariables", "variableNames": ["x", "y"]}"#,
    },
];
