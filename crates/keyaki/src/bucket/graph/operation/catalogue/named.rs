//! Operations about names.

use super::{
    ANYTHING, Described, FLAG, INPUT_ANY, INTEGER, OPTIONS, TEXT, TEXTS, Type, field, required,
};

const ACCESS: &str = "uk.gov.gchq.gaffer.access.predicate.AccessPredicate";
const PARAMETERS: &str =
    "java.util.Map<java.lang.String,uk.gov.gchq.gaffer.named.operation.ParameterDetail>";
const VIEW_PARAMETERS: &str = "java.util.Map<java.lang.String,uk.gov.gchq.gaffer.data.elementdefinition.view.ViewParameterDetail>";

pub(super) const OPERATIONS: &[Described] = &[
    Described {
        class: "uk.gov.gchq.gaffer.named.operation.NamedOperation",
        summary: "Runs a chain that was stored under a name",
        fields: &[
            INPUT_ANY,
            required("operationName", TEXT),
            field("parameters", "java.util.Map<java.lang.String,java.lang.Object>"),
            OPTIONS,
        ],
        input: Some(Type::Iterable),
        output: Some(Type::Open),
        output_class: Some(ANYTHING),
        example: r#"{"class": "uk.gov.gchq.gaffer.named.operation.NamedOperation", "operationName": "two-hops", "parameters": {"limit": 10}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.named.operation.AddNamedOperation",
        summary: "Stores a chain under a name",
        fields: &[
            required("operationName", TEXT),
            field("description", TEXT),
            required("operationChain", ANYTHING),
            field("labels", TEXTS),
            field("readAccessRoles", TEXTS),
            field("writeAccessRoles", TEXTS),
            field("readAccessPredicate", ACCESS),
            field("writeAccessPredicate", ACCESS),
            field("overwriteFlag", FLAG),
            field("parameters", PARAMETERS),
            field("score", INTEGER),
            OPTIONS,
        ],
        input: None,
        output: None,
        output_class: None,
        example: r#"{"class": "uk.gov.gchq.gaffer.named.operation.AddNamedOperation", "operationName": "two-hops", "description": "Two hops from the seeds", "operationChain": {"operations": [{"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAdjacentIds"}, {"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAdjacentIds"}, {"class": "uk.gov.gchq.gaffer.operation.impl.Limit", "resultLimit": "${limit}"}]}, "readAccessRoles": ["analyst"], "writeAccessRoles": ["editor"], "overwriteFlag": true, "parameters": {"limit": {"description": "How many at most", "valueClass": "java.lang.Long", "defaultValue": 10, "required": false}}, "score": 2}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.named.operation.DeleteNamedOperation",
        summary: "Forgets a chain that was stored under a name",
        fields: &[required("operationName", TEXT), OPTIONS],
        input: None,
        output: None,
        output_class: None,
        example: r#"{"class": "uk.gov.gchq.gaffer.named.operation.DeleteNamedOperation", "operationName": "two-hops"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.named.operation.GetAllNamedOperations",
        summary: "Gets all chains that are stored under names",
        fields: &[OPTIONS],
        input: None,
        output: Some(Type::Iterable),
        output_class: Some(
            "java.lang.Iterable<uk.gov.gchq.gaffer.named.operation.NamedOperationDetail>",
        ),
        example: r#"{"class": "uk.gov.gchq.gaffer.named.operation.GetAllNamedOperations"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.named.view.AddNamedView",
        summary: "Stores a view under a name",
        fields: &[
            required("name", TEXT),
            field("description", TEXT),
            required("view", ANYTHING),
            field("writeAccessRoles", TEXTS),
            field("readAccessPredicate", ACCESS),
            field("writeAccessPredicate", ACCESS),
            field("overwriteFlag", FLAG),
            field("parameters", VIEW_PARAMETERS),
            OPTIONS,
        ],
        input: None,
        output: None,
        output_class: None,
        example: r#"{"class": "uk.gov.gchq.gaffer.named.view.AddNamedView", "name": "many", "description": "What was counted often", "view": {"globalElements": [{"postAggregationFilterFunctions": [{"selection": ["count"], "predicate": {"class": "uk.gov.gchq.koryphe.impl.predicate.IsMoreThan", "value": {"java.lang.Long": "${least}"}}}]}]}, "overwriteFlag": true, "parameters": {"least": {"description": "More than so many", "valueClass": "java.lang.Long", "defaultValue": 1, "required": false}}}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.named.view.DeleteNamedView",
        summary: "Forgets a view that was stored under a name",
        fields: &[required("name", TEXT), OPTIONS],
        input: None,
        output: None,
        output_class: None,
        example: r#"{"class": "uk.gov.gchq.gaffer.named.view.DeleteNamedView", "name": "many"}"#,
    },
    Described {
        class: "uk.gov.gchq.gaffer.named.view.GetAllNamedViews",
        summary: "Gets all views that are stored under names",
        fields: &[OPTIONS],
        input: None,
        output: Some(Type::Iterable),
        output_class: Some(
            "java.lang.Iterable<uk.gov.gchq.gaffer.data.elementdefinition.view.NamedViewDetail>",
        ),
        example: r#"{"class": "uk.gov.gchq.gaffer.named.view.GetAllNamedViews"}"#,
    },
];
