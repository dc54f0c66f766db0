//! What can be asked of a graph? Gaffer's operations, alone or in chains.
//!
//! `parse` reads their JSON and compiles it against the schema, so that a chain that can't work is refused before
//! any of it has run. `execute` runs a chain over a `Source` and a `Sink`, lazily, within a `Budget`.

mod aggregation;
mod budget;
pub mod catalogue;
mod execute;
mod named;
mod parse;
mod source;
mod stream;
mod traits;

use std::sync::Arc;

use serde_json::Value as Json;

pub use aggregation::Aggregation;
pub use budget::{Budget, Limits};
pub use execute::{Executor, Output};
pub use named::{KnownNames, NameKind, Named, Parameter, Who, mentioned};
pub use parse::{Names, NoNames};
pub use source::{
    Apart, Background, Batches, Elements, Plan, Register, Side, Sink, Source, Target, Values,
};
pub use traits::{TRAITS, current_traits};

use super::element::Directed;
use super::koryphe::{BinaryOperator, Csv, Function, Predicate};
use super::value::Value;
use super::view::View;

/// An operation and the input it brings along; without one it takes the output of the operation before it.
#[derive(Debug, Clone)]
pub struct Step {
    /// The class name as it was written.
    pub class: Box<str>,
    /// Its own input, a list if it is many things.
    pub input: Option<Value>,
    /// What is done.
    pub operation: Operation,
}

/// What is looked for, around the seeds.
#[derive(Debug, Clone)]
pub struct Query {
    /// What is shown.
    pub view: Arc<View>,
    /// Which side of the seeds edges must be on.
    pub side: Side,
    /// Which edges.
    pub directed: Directed,
}

/// An operation.
#[derive(Debug, Clone)]
pub enum Operation {
    /// One after the other.
    Chain(Vec<Step>),
    /// Adds its input.
    AddElements {
        /// Whether elements are checked against the schema.
        validate: bool,
        /// Whether those that fail are left out, instead of failing the operation.
        skip_invalid: bool,
    },
    /// Deletes its input.
    DeleteElements {
        /// Whether elements are checked against the schema.
        validate: bool,
        /// Whether those that fail are left out, instead of failing the operation.
        skip_invalid: bool,
    },
    GetElements(Query),
    GetAllElements(Query),
    GetAdjacentIds(Query),
    GetElementsWithinSet(Query),
    GetElementsBetweenSets(Query, Vec<Value>),
    /// Like that one, with both sets in one pair.
    GetElementsBetweenPair(Query),
    GetElementsInRanges(Query),
    GetWalks(Box<Walks>),
    Aggregate(Arc<Aggregation>),
    Filter(Arc<ByGroup<Predicate>>),
    Transform(Arc<ByGroup<Vec<Json>>>),
    Map(Vec<Function>),
    Reduce {
        identity: Value,
        operator: BinaryOperator,
    },
    Join(Box<Join>),
    Sort {
        comparators: Vec<Comparator>,
        limit: Option<usize>,
        deduplicate: bool,
    },
    Min(Vec<Comparator>),
    Max(Vec<Comparator>),
    Limit {
        count: u64,
        truncate: bool,
    },
    Count,
    CountGroups(Option<u64>),
    ToSet,
    ToList,
    ToSingletonList,
    ToVertices(EdgeVertices),
    ToEntitySeeds,
    ToCsv(Table, CsvStyle),
    ToMap(Table),
    If {
        condition: Condition,
        then: Option<Box<Step>>,
        otherwise: Option<Box<Step>>,
    },
    While {
        condition: Condition,
        operation: Box<Step>,
        repeats: u64,
    },
    ForEach(Box<Step>),
    DiscardOutput,
    Validate {
        skip_invalid: bool,
    },
    GetSchema,
    GetTraits {
        /// Only what the schema makes use of.
        current: bool,
    },
    HasTrait {
        name: Box<str>,
        /// Only what the schema makes use of.
        current: bool,
    },
    SetVariable(Box<str>, Option<Value>),
    GetVariable(Box<str>),
    GetVariables(Vec<Box<str>>),
    /// Keeps something under its name.
    AddNamed {
        kind: NameKind,
        named: Box<Named>,
        /// Whether it may take the place of another.
        overwrite: bool,
    },
    DeleteNamed(NameKind, Box<str>),
    GetAllNamed(NameKind),
    GetJobDetails(Box<str>),
    GetAllJobDetails,
    GetJobResults(Box<str>),
    /// What is wrong with a chain, if anything is.
    ValidateChain(Option<Box<str>>),
    /// When the graph was made.
    GetGraphCreatedTime,
    /// Adds its input to a set that lasts as long as the chain.
    ExportToSet(Box<str>),
    GetSetExport(SetExport),
    GetExports(Vec<(Box<str>, SetExport)>),
    GenerateElements(ElementGenerator),
    /// What could not be run, and need not be unless it is come to.
    Refused(Box<str>),
}

/// A part of what was exported.
#[derive(Debug, Clone)]
pub struct SetExport {
    /// What it was called.
    pub key: Box<str>,
    /// The first that is wanted, and the one behind the last.
    pub range: (usize, Option<usize>),
}

/// What makes elements of other things.
#[derive(Debug, Clone)]
pub enum ElementGenerator {
    /// JSON of an element each.
    Json,
    /// A table of entities and edges, as Neo4j and Neptune write them.
    Table(Box<GraphTable>),
    /// Any function that gives elements.
    Function(Box<Function>),
}

/// A table of entities and edges with a header.
#[derive(Debug, Clone)]
pub struct GraphTable {
    /// How its lines are read; the first of them is the header.
    pub csv: Csv,
    /// What the columns of vertices, their groups, groups of edges, sources and destinations are called.
    pub columns: [&'static str; 5],
}

/// Something for some groups, and for all entities, edges or elements.
#[derive(Debug)]
pub struct ByGroup<T> {
    /// By group; none is for all.
    pub groups: Option<Vec<(Box<str>, T)>>,
    /// For all entities, all edges, all elements.
    pub global: [Option<T>; 3],
}

/// Hops through the graph.
#[derive(Debug, Clone)]
pub struct Walks {
    /// Each hop.
    pub hops: Vec<Step>,
    /// Whether walks that end early count.
    pub include_partial: bool,
    /// How many walks at most.
    pub limit: u64,
    /// What must hold of a walk.
    pub condition: Option<Condition>,
}

/// Whether to go on.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Said outright.
    pub given: Option<bool>,
    /// Said of the input, perhaps after another operation on it.
    pub predicate: Option<Predicate>,
    /// That operation.
    pub transform: Option<Box<Step>>,
}

/// Two inputs side by side.
#[derive(Debug, Clone)]
pub struct Join {
    /// The other input.
    pub right: Step,
    /// How both are made comparable; none compares elements.
    pub keys: Option<[Function; 2]>,
    /// The properties that elements must share besides their ids, where elements are compared.
    pub group_by: Vec<Box<str>>,
    /// Which pairs are wanted.
    pub kind: JoinKind,
    /// Whether the right side leads.
    pub by_right: bool,
    /// Whether each pair stands alone.
    pub flatten: bool,
    /// How many items each side may have.
    pub limit: u64,
}

/// Which pairs of a join are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// All, those without a partner too.
    Full,
    /// Those without a partner.
    Outer,
    /// Those with one.
    Inner,
}

/// An order of elements by one property.
#[derive(Debug, Clone)]
pub struct Comparator {
    /// The property.
    pub property: Box<str>,
    /// The groups it is for.
    pub groups: Vec<Box<str>>,
    /// Whether the greatest comes first.
    pub reversed: bool,
}

/// Which vertices of an edge are meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeVertices {
    /// By name.
    pub ends: Option<[bool; 2]>,
    /// By the end that was a seed: that one, or the other.
    pub matched: Option<bool>,
}

/// Fields of elements as columns, with their headings, and constant ones.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name and heading.
    pub fields: Vec<(Box<str>, Box<str>)>,
    /// Name and value.
    pub constants: Vec<(Box<str>, Box<str>)>,
}

/// How CSV is written.
#[derive(Debug, Clone)]
pub struct CsvStyle {
    /// Whether the headings come first.
    pub header: bool,
    /// Whether each field is quoted.
    pub quoted: bool,
    /// What stands for commas.
    pub comma: Option<Box<str>>,
}

impl Step {
    /// Whether what it answers may come from the graph, or tell of it.
    #[must_use]
    pub fn reads(&self) -> bool {
        match &self.operation {
            Operation::AddElements { .. }
            | Operation::DeleteElements { .. }
            | Operation::AddNamed { .. }
            | Operation::DeleteNamed(..) => false,
            Operation::Chain(steps) => steps.iter().any(Self::reads),
            _ => true,
        }
    }

    /// Whether it changes the graph, itself or by one inside it.
    #[must_use]
    pub fn writes(&self) -> bool {
        let any = |step: &Option<Box<Self>>| step.as_ref().is_some_and(|step| step.writes());
        match &self.operation {
            Operation::AddElements { .. }
            | Operation::DeleteElements { .. }
            | Operation::AddNamed { .. }
            | Operation::DeleteNamed(..) => true,
            Operation::Chain(steps) => steps.iter().any(Self::writes),
            Operation::GetWalks(walks) => walks.hops.iter().any(Self::writes),
            Operation::Join(join) => join.right.writes(),
            Operation::If { condition, then, otherwise } => {
                any(&condition.transform) || any(then) || any(otherwise)
            }
            Operation::While { condition, operation, .. } => {
                any(&condition.transform) || operation.writes()
            }
            Operation::ForEach(step) => step.writes(),
            _ => false,
        }
    }
}
