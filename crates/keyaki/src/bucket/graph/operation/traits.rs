//! What the store can do, in Gaffer's words: all of it, or what the schema makes use of.

use crate::bucket::graph::schema::Schema;

/// What Gaffer's Accumulo store says of itself.
pub const TRAITS: [&str; 10] = [
    "ORDERED",
    "VISIBILITY",
    "INGEST_AGGREGATION",
    "QUERY_AGGREGATION",
    "PRE_AGGREGATION_FILTERING",
    "POST_AGGREGATION_FILTERING",
    "POST_TRANSFORMATION_FILTERING",
    "TRANSFORMATION",
    "STORE_VALIDATION",
    "MATCHED_VERTEX",
];

/// Those of them that the schema makes use of.
pub fn current_traits(schema: &Schema) -> impl Iterator<Item = &'static str> {
    let aggregates = schema.groups().any(|group| group.aggregates());
    let groups_by = schema.groups().any(|group| !group.group_by().is_empty());
    let validates = schema.groups().any(|group| group.has_validators());
    let labels = schema.visibility_property().is_some();
    TRAITS.into_iter().filter(move |name| match *name {
        "INGEST_AGGREGATION" => aggregates,
        "QUERY_AGGREGATION" => aggregates && groups_by,
        "STORE_VALIDATION" => validates,
        "VISIBILITY" => labels,
        _ => true,
    })
}
