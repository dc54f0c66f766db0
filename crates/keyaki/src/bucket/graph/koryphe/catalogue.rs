//! Every predicate, binary operator and function that we know, with its fields. Their parsers know exactly these.

use crate::bucket::graph::value::short_name;

/// A class.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its full name.
    pub class: &'static str,
    /// The names of its fields, and of their classes.
    pub fields: &'static [(&'static str, &'static str)],
}

/// All predicates.
#[must_use]
pub fn predicates() -> &'static [Known] {
    PREDICATES
}

/// All binary operators.
#[must_use]
pub fn operators() -> &'static [Known] {
    OPERATORS
}

/// All functions.
#[must_use]
pub fn functions() -> &'static [Known] {
    FUNCTIONS
}

/// What makes elements of other things.
#[must_use]
pub fn element_generators() -> &'static [Known] {
    ELEMENT_GENERATORS
}

/// What makes other things of elements.
#[must_use]
pub fn object_generators() -> &'static [Known] {
    OBJECT_GENERATORS
}

/// Finds a class of any kind by its full name, or by its short one.
#[must_use]
pub fn find(class: &str) -> Option<&'static Known> {
    let kinds = [PREDICATES, OPERATORS, FUNCTIONS, ELEMENT_GENERATORS, OBJECT_GENERATORS];
    kinds.iter().find_map(|known| find_in(known, class))
}

/// Finds a class of one kind.
pub(super) fn find_in(known: &'static [Known], class: &str) -> Option<&'static Known> {
    known.iter().find(|it| it.class == class || short_name(it.class) == class)
}

const fn known(class: &'static str, fields: &'static [(&'static str, &'static str)]) -> Known {
    Known { class, fields }
}

const ANY: &str = "java.lang.Object";
const TEXT: &str = "java.lang.String";
const FLAG: &str = "java.lang.Boolean";
const INTEGER: &str = "java.lang.Integer";
const LONG: &str = "java.lang.Long";
const COMPARABLE: &str = "java.lang.Comparable";
const FUNCTION: &str = "java.util.function.Function";
const PREDICATE: &str = "java.util.function.Predicate";
const OPERATOR: &str = "java.util.function.BinaryOperator";
const LIST: &str = "java.util.List";
const COLUMNS: &str = "java.util.LinkedHashMap<java.lang.String,java.lang.String>";

const PREDICATES: &[Known] = &[
    known("uk.gov.gchq.koryphe.predicate.PredicateComposite", &[("predicates", LIST)]),
    known("uk.gov.gchq.gaffer.data.element.function.ElementFilter", &[("predicates", LIST)]),
    known("uk.gov.gchq.gaffer.data.element.function.PropertiesFilter", &[("predicates", LIST)]),
    known(
        "uk.gov.gchq.gaffer.sketches.clearspring.cardinality.predicate.HyperLogLogPlusIsLessThan",
        &[("orEqualTo", FLAG), ("value", LONG)],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.predicate.HllSketchIsLessThan",
        &[("orEqualTo", FLAG), ("value", INTEGER)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.AgeOff",
        &[("ageOffDays", INTEGER), ("ageOffHours", INTEGER), ("ageOffTime", LONG)],
    ),
    known("uk.gov.gchq.koryphe.impl.predicate.AgeOffFromDays", &[]),
    known("uk.gov.gchq.koryphe.impl.predicate.And", &[("predicates", LIST)]),
    known("uk.gov.gchq.koryphe.impl.predicate.AreEqual", &[]),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.AreIn",
        &[("nullOrEmptyValuesAccepted", FLAG), ("values", LIST)],
    ),
    known("uk.gov.gchq.koryphe.impl.predicate.CollectionContains", &[("value", ANY)]),
    known("uk.gov.gchq.koryphe.impl.predicate.Exists", &[]),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.If",
        &[
            ("condition", FLAG),
            ("otherwise", PREDICATE),
            ("predicate", PREDICATE),
            ("then", PREDICATE),
        ],
    ),
    known("uk.gov.gchq.koryphe.impl.predicate.IsA", &[("type", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.predicate.IsEqual", &[("value", ANY)]),
    known("uk.gov.gchq.koryphe.impl.predicate.IsFalse", &[]),
    known("uk.gov.gchq.koryphe.impl.predicate.IsIn", &[("values", LIST)]),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.IsLessThan",
        &[("orEqualTo", FLAG), ("value", COMPARABLE)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.IsLongerThan",
        &[("minLength", INTEGER), ("orEqualTo", FLAG)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.IsMoreThan",
        &[("orEqualTo", FLAG), ("value", COMPARABLE)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.IsShorterThan",
        &[("maxLength", INTEGER), ("orEqualTo", FLAG)],
    ),
    known("uk.gov.gchq.koryphe.impl.predicate.IsTrue", &[]),
    known("uk.gov.gchq.koryphe.impl.predicate.IsXLessThanY", &[]),
    known("uk.gov.gchq.koryphe.impl.predicate.IsXMoreThanY", &[]),
    known("uk.gov.gchq.koryphe.impl.predicate.MapContains", &[("key", TEXT)]),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.MapContainsPredicate",
        &[("keyPredicate", PREDICATE)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.MultiRegex",
        &[("value", "java.util.regex.Pattern[]")],
    ),
    known("uk.gov.gchq.koryphe.impl.predicate.Not", &[("predicate", PREDICATE)]),
    known("uk.gov.gchq.koryphe.impl.predicate.Or", &[("predicates", LIST)]),
    known("uk.gov.gchq.koryphe.impl.predicate.Regex", &[("value", "java.util.regex.Pattern")]),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.StringContains",
        &[("ignoreCase", FLAG), ("value", TEXT)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.range.InDateRange",
        &[
            ("end", TEXT),
            ("endInclusive", FLAG),
            ("endOffset", LONG),
            ("offsetUnit", TEXT),
            ("start", TEXT),
            ("startInclusive", FLAG),
            ("startOffset", LONG),
            ("timeUnit", TEXT),
            ("timeZone", TEXT),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.range.InDateRangeDual",
        &[
            ("end", TEXT),
            ("endFullyContained", FLAG),
            ("endInclusive", FLAG),
            ("endOffset", LONG),
            ("offsetUnit", TEXT),
            ("start", TEXT),
            ("startFullyContained", FLAG),
            ("startInclusive", FLAG),
            ("startOffset", LONG),
            ("timeUnit", TEXT),
            ("timeZone", TEXT),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.range.InRange",
        &[
            ("end", COMPARABLE),
            ("endInclusive", FLAG),
            ("start", COMPARABLE),
            ("startInclusive", FLAG),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.range.InRangeDual",
        &[
            ("end", COMPARABLE),
            ("endFullyContained", FLAG),
            ("endInclusive", FLAG),
            ("start", COMPARABLE),
            ("startFullyContained", FLAG),
            ("startInclusive", FLAG),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.range.InTimeRange",
        &[
            ("end", TEXT),
            ("endInclusive", FLAG),
            ("endOffset", LONG),
            ("offsetUnit", TEXT),
            ("start", TEXT),
            ("startInclusive", FLAG),
            ("startOffset", LONG),
            ("timeUnit", TEXT),
            ("timeZone", TEXT),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.predicate.range.InTimeRangeDual",
        &[
            ("end", TEXT),
            ("endFullyContained", FLAG),
            ("endInclusive", FLAG),
            ("endOffset", LONG),
            ("offsetUnit", TEXT),
            ("start", TEXT),
            ("startFullyContained", FLAG),
            ("startInclusive", FLAG),
            ("startOffset", LONG),
            ("timeUnit", TEXT),
            ("timeZone", TEXT),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.predicate.AdaptedPredicate",
        &[("inputAdapter", FUNCTION), ("predicate", PREDICATE)],
    ),
    known("uk.gov.gchq.koryphe.predicate.PredicateMap", &[("key", ANY), ("predicate", PREDICATE)]),
    known(
        "uk.gov.gchq.koryphe.tuple.predicate.IntegerTupleAdaptedPredicate",
        &[
            ("inputAdapter", FUNCTION),
            ("predicate", PREDICATE),
            ("selection", "java.lang.Integer[]"),
        ],
    ),
    known(
        "uk.gov.gchq.koryphe.tuple.predicate.TupleAdaptedPredicate",
        &[("inputAdapter", FUNCTION), ("predicate", PREDICATE), ("selection", LIST)],
    ),
    known(
        "uk.gov.gchq.koryphe.tuple.predicate.TupleAdaptedPredicateComposite",
        &[("predicates", LIST)],
    ),
];

const OPERATORS: &[Known] = &[
    known("uk.gov.gchq.gaffer.data.element.function.ElementAggregator", &[("operators", LIST)]),
    known(
        "uk.gov.gchq.koryphe.binaryoperator.AdaptedBinaryOperator",
        &[("binaryOperator", OPERATOR), ("inputAdapter", FUNCTION), ("outputAdapter", ANY)],
    ),
    known("uk.gov.gchq.koryphe.binaryoperator.BinaryOperatorComposite", &[("operators", LIST)]),
    known(
        "uk.gov.gchq.koryphe.tuple.binaryoperator.TupleAdaptedBinaryOperator",
        &[("binaryOperator", OPERATOR), ("selection", LIST)],
    ),
    known(
        "uk.gov.gchq.koryphe.tuple.binaryoperator.TupleAdaptedBinaryOperatorComposite",
        &[("operators", LIST)],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.clearspring.cardinality.binaryoperator.HyperLogLogPlusAggregator",
        &[],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.binaryoperator.HllSketchAggregator",
        &[],
    ),
    known("uk.gov.gchq.gaffer.types.function.FreqMapAggregator", &[]),
    known("uk.gov.gchq.koryphe.binaryoperator.BinaryOperatorMap", &[("binaryOperator", OPERATOR)]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.And", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.CollectionConcat", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.CollectionIntersect", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.First", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.IterableMerge", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.Last", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.Max", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.Min", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.Or", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.Product", &[]),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.StringConcat", &[("separator", TEXT)]),
    known(
        "uk.gov.gchq.koryphe.impl.binaryoperator.StringDeduplicateConcat",
        &[("separator", TEXT)],
    ),
    known("uk.gov.gchq.koryphe.impl.binaryoperator.Sum", &[]),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.binaryoperator.HllUnionAggregator",
        &[],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.frequencies.binaryoperator.LongsSketchAggregator",
        &[],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.frequencies.binaryoperator.StringsSketchAggregator",
        &[],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.quantiles.binaryoperator.KllFloatsSketchAggregator",
        &[],
    ),
    known("uk.gov.gchq.gaffer.sketches.datasketches.theta.binaryoperator.SketchAggregator", &[]),
    known("uk.gov.gchq.gaffer.sketches.datasketches.theta.binaryoperator.UnionAggregator", &[]),
    known("keyaki.VisibilityAnd", &[]),
];

const CSV: &[(&str, &str)] = &[
    ("delimiter", TEXT),
    ("firstRow", INTEGER),
    ("header", LIST),
    ("nullString", TEXT),
    ("quoteChar", TEXT),
    ("trim", FLAG),
];
const MADE: &[(&str, &str)] = &[("elements", LIST), ("useGroupMapping", FLAG)];
const ADAPTED: &[(&str, &str)] =
    &[("function", FUNCTION), ("projection", LIST), ("selection", LIST)];
const BUCKET: &[(&str, &str)] = &[("bucket", TEXT)];

/// What entities that count others look like.
const CARDINALITY: &[(&str, &str)] = &[
    ("cardinalityPropertyName", TEXT),
    ("countProperty", TEXT),
    ("edgeGroupProperty", TEXT),
    ("group", TEXT),
    ("propertiesToCopy", "java.util.Set<java.lang.String>"),
    ("vertexValueConverter", FUNCTION),
];

const FUNCTIONS: &[Known] = &[
    known("uk.gov.gchq.gaffer.operation.data.generator.EdgeIdExtractor", &[]),
    known(
        "uk.gov.gchq.gaffer.operation.data.generator.EntityIdExtractor",
        &[("edgeIdentifierToExtract", "uk.gov.gchq.gaffer.data.element.IdentifierType")],
    ),
    known("uk.gov.gchq.gaffer.operation.function.ToTrailingWildcardPair", &[("endOfRange", TEXT)]),
    known(
        "uk.gov.gchq.gaffer.sketches.clearspring.cardinality.HyperLogLogPlusEntityGenerator",
        CARDINALITY,
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.HllSketchEntityGenerator",
        CARDINALITY,
    ),
    known("uk.gov.gchq.gaffer.time.function.ToSingletonTreeSet", &[]),
    known(
        "uk.gov.gchq.gaffer.types.function.FreqMapPredicator",
        &[("predicate", "uk.gov.gchq.koryphe.predicate.KoryphePredicate<java.lang.String>")],
    ),
    known("uk.gov.gchq.gaffer.data.element.function.ElementTransformer", &[("functions", LIST)]),
    known("uk.gov.gchq.gaffer.data.element.function.PropertiesTransformer", &[("functions", LIST)]),
    known(
        "uk.gov.gchq.gaffer.data.element.function.ReduceRelatedElements",
        &[("relatedVertexGroups", LIST), ("vertexAggregator", OPERATOR)],
    ),
    known("uk.gov.gchq.gaffer.data.element.function.TupleToElements", MADE),
    known("uk.gov.gchq.gaffer.data.element.function.TuplesToElements", MADE),
    known("uk.gov.gchq.gaffer.time.function.DateToTimeBucketEnd", BUCKET),
    known("uk.gov.gchq.gaffer.time.function.DateToTimeBucketStart", BUCKET),
    known("uk.gov.gchq.gaffer.time.function.ToTimeBucket", BUCKET),
    known("uk.gov.gchq.gaffer.time.function.ToTimeBucketEnd", BUCKET),
    known("uk.gov.gchq.gaffer.time.function.ToTimeBucketStart", BUCKET),
    known("uk.gov.gchq.koryphe.impl.function.CsvLinesToMaps", CSV),
    known("uk.gov.gchq.koryphe.impl.function.CsvToMaps", CSV),
    known("uk.gov.gchq.koryphe.impl.function.DeserialiseJson", &[("outputClass", TEXT)]),
    known("uk.gov.gchq.koryphe.tuple.function.TupleAdaptedFunction", ADAPTED),
    known(
        "uk.gov.gchq.koryphe.tuple.function.TupleAdaptedFunctionComposite",
        &[("functions", LIST)],
    ),
    known("uk.gov.gchq.gaffer.types.function.FreqMapExtractor", &[("key", TEXT)]),
    known("uk.gov.gchq.gaffer.types.function.StringsToTypeSubTypeValue", &[]),
    known("uk.gov.gchq.gaffer.types.function.StringsToTypeValue", &[]),
    known(
        "uk.gov.gchq.gaffer.types.function.ToTypeSubTypeValue",
        &[("subType", TEXT), ("type", TEXT)],
    ),
    known("uk.gov.gchq.gaffer.types.function.ToTypeValue", &[("type", TEXT)]),
    known("uk.gov.gchq.gaffer.data.element.function.ExtractGroup", &[]),
    known("uk.gov.gchq.gaffer.data.element.function.ExtractId", &[("id", TEXT)]),
    known("uk.gov.gchq.gaffer.data.element.function.ExtractProperty", &[("name", TEXT)]),
    known("uk.gov.gchq.gaffer.data.element.function.ToElementTuple", &[]),
    known("uk.gov.gchq.gaffer.data.element.function.ToPropertiesTuple", &[]),
    known("uk.gov.gchq.gaffer.data.element.function.TypeSubTypeValueToTuple", &[]),
    known("uk.gov.gchq.gaffer.data.element.function.TypeValueToTuple", &[]),
    known("uk.gov.gchq.gaffer.data.element.function.UnwrapEntityId", &[]),
    known("uk.gov.gchq.gaffer.data.graph.function.walk.ExtractWalkEdges", &[]),
    known(
        "uk.gov.gchq.gaffer.data.graph.function.walk.ExtractWalkEdgesFromHop",
        &[("hop", INTEGER)],
    ),
    known("uk.gov.gchq.gaffer.data.graph.function.walk.ExtractWalkEntities", &[]),
    known(
        "uk.gov.gchq.gaffer.data.graph.function.walk.ExtractWalkEntitiesFromHop",
        &[("hop", INTEGER)],
    ),
    known("uk.gov.gchq.gaffer.data.graph.function.walk.ExtractWalkVertex", &[]),
    known("uk.gov.gchq.gaffer.operation.function.FromElementId", &[]),
    known("uk.gov.gchq.gaffer.operation.function.FromEntityId", &[]),
    known("uk.gov.gchq.gaffer.operation.function.ToElementId", &[]),
    known("uk.gov.gchq.gaffer.operation.function.ToEntityId", &[]),
    known(
        "uk.gov.gchq.gaffer.sketches.clearspring.cardinality.function.IterableToHyperLogLogPlus",
        &[("p", INTEGER), ("sp", INTEGER)],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.clearspring.cardinality.function.ToHyperLogLogPlus",
        &[("p", INTEGER), ("sp", INTEGER)],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.function.IterableToHllSketch",
        &[("logK", INTEGER)],
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.function.ToHllSketch",
        &[("logK", INTEGER)],
    ),
    known("uk.gov.gchq.gaffer.types.function.IterableToFreqMap", &[]),
    known("uk.gov.gchq.gaffer.types.function.ToFreqMap", &[]),
    known("uk.gov.gchq.koryphe.function.FunctionComposite", &[("functions", LIST)]),
    known("uk.gov.gchq.koryphe.function.FunctionMap", &[("function", FUNCTION)]),
    known("uk.gov.gchq.koryphe.impl.function.ApplyBiFunction", &[("function", ANY)]),
    known("uk.gov.gchq.koryphe.impl.function.Base64Decode", &[]),
    known("uk.gov.gchq.koryphe.impl.function.Cast", &[("outputClass", ANY)]),
    known("uk.gov.gchq.koryphe.impl.function.Concat", &[("separator", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.CurrentDate", &[]),
    known("uk.gov.gchq.koryphe.impl.function.CurrentTime", &[]),
    known("uk.gov.gchq.koryphe.impl.function.DefaultIfEmpty", &[("defaultValue", ANY)]),
    known("uk.gov.gchq.koryphe.impl.function.DefaultIfNull", &[("defaultValue", ANY)]),
    known(
        "uk.gov.gchq.koryphe.impl.function.DictionaryLookup",
        &[("dictionary", "java.util.Map<java.lang.Object,java.lang.Object>")],
    ),
    known("uk.gov.gchq.koryphe.impl.function.Divide", &[]),
    known("uk.gov.gchq.koryphe.impl.function.DivideBy", &[("by", INTEGER)]),
    known("uk.gov.gchq.koryphe.impl.function.ExtractKeys", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ExtractValue", &[("key", ANY)]),
    known("uk.gov.gchq.koryphe.impl.function.ExtractValues", &[]),
    known("uk.gov.gchq.koryphe.impl.function.FirstItem", &[]),
    known("uk.gov.gchq.koryphe.impl.function.FirstValid", &[("predicate", PREDICATE)]),
    known("uk.gov.gchq.koryphe.impl.function.FunctionChain", &[("functions", LIST)]),
    known("uk.gov.gchq.koryphe.impl.function.Identity", &[]),
    known(
        "uk.gov.gchq.koryphe.impl.function.If",
        &[
            ("condition", FLAG),
            ("otherwise", FUNCTION),
            ("predicate", PREDICATE),
            ("then", FUNCTION),
        ],
    ),
    known("uk.gov.gchq.koryphe.impl.function.Increment", &[("increment", ANY)]),
    known("uk.gov.gchq.koryphe.impl.function.IsEmpty", &[]),
    known("uk.gov.gchq.koryphe.impl.function.IterableConcat", &[]),
    known("uk.gov.gchq.koryphe.impl.function.IterableFilter", &[("predicate", PREDICATE)]),
    known("uk.gov.gchq.koryphe.impl.function.IterableFlatten", &[("operator", OPERATOR)]),
    known(
        "uk.gov.gchq.koryphe.impl.function.IterableFunction",
        &[("functions", "java.util.List<java.util.function.Function>")],
    ),
    known("uk.gov.gchq.koryphe.impl.function.IterableLongest", &[]),
    known("uk.gov.gchq.koryphe.impl.function.LastItem", &[]),
    known("uk.gov.gchq.koryphe.impl.function.Length", &[("maxLength", INTEGER)]),
    known("uk.gov.gchq.koryphe.impl.function.Longest", &[]),
    known(
        "uk.gov.gchq.koryphe.impl.function.MapFilter",
        &[("keyPredicate", PREDICATE), ("keyValuePredicate", ANY), ("valuePredicate", PREDICATE)],
    ),
    known("uk.gov.gchq.koryphe.impl.function.MapToTuple", &[]),
    known("uk.gov.gchq.koryphe.impl.function.Multiply", &[]),
    known("uk.gov.gchq.koryphe.impl.function.MultiplyBy", &[("by", INTEGER)]),
    known("uk.gov.gchq.koryphe.impl.function.MultiplyLongBy", &[("by", LONG)]),
    known("uk.gov.gchq.koryphe.impl.function.NthItem", &[("selection", INTEGER)]),
    known(
        "uk.gov.gchq.koryphe.impl.function.ParseDate",
        &[("format", TEXT), ("microseconds", FLAG), ("timeZone", TEXT)],
    ),
    known(
        "uk.gov.gchq.koryphe.impl.function.ParseTime",
        &[("format", TEXT), ("timeUnit", TEXT), ("timeZone", TEXT)],
    ),
    known("uk.gov.gchq.koryphe.impl.function.ReverseString", &[]),
    known("uk.gov.gchq.koryphe.impl.function.SetValue", &[("value", ANY)]),
    known("uk.gov.gchq.koryphe.impl.function.Size", &[]),
    known("uk.gov.gchq.koryphe.impl.function.StringAppend", &[("suffix", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.StringJoin", &[("delimiter", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.StringPrepend", &[("prefix", TEXT)]),
    known(
        "uk.gov.gchq.koryphe.impl.function.StringRegexReplace",
        &[("regex", TEXT), ("replacement", TEXT)],
    ),
    known("uk.gov.gchq.koryphe.impl.function.StringRegexSplit", &[("regex", TEXT)]),
    known(
        "uk.gov.gchq.koryphe.impl.function.StringReplace",
        &[("replacement", TEXT), ("searchString", TEXT)],
    ),
    known("uk.gov.gchq.koryphe.impl.function.StringSplit", &[("delimiter", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.StringTrim", &[]),
    known(
        "uk.gov.gchq.koryphe.impl.function.StringTruncate",
        &[("ellipses", FLAG), ("length", INTEGER)],
    ),
    known("uk.gov.gchq.koryphe.impl.function.ToArray", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToBoolean", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToBytes", &[("charset", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.ToDateString", &[("format", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.ToDouble", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToFloat", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToInteger", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToList", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToLong", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToLowerCase", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToNull", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToSet", &[("implementation", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.ToString", &[("charset", TEXT)]),
    known("uk.gov.gchq.koryphe.impl.function.ToTuple", &[]),
    known("uk.gov.gchq.koryphe.impl.function.ToUpperCase", &[]),
];

const CYPHER: &[(&str, &str)] =
    &[("delimiter", TEXT), ("firstRow", INTEGER), ("nullString", TEXT), ("trim", FLAG)];

const ELEMENT_GENERATORS: &[Known] = &[
    known("uk.gov.gchq.gaffer.data.generator.JsonToElementGenerator", &[]),
    known("uk.gov.gchq.gaffer.data.generator.Neo4jCsvElementGenerator", CYPHER),
    known("uk.gov.gchq.gaffer.data.generator.NeptuneCsvElementGenerator", CYPHER),
    known(
        "uk.gov.gchq.gaffer.sketches.clearspring.cardinality.HyperLogLogPlusEntityGenerator",
        CARDINALITY,
    ),
    known(
        "uk.gov.gchq.gaffer.sketches.datasketches.cardinality.HllSketchEntityGenerator",
        CARDINALITY,
    ),
];

const CSV_STYLE: &[(&str, &str)] =
    &[("commaReplacement", TEXT), ("constants", COLUMNS), ("quoted", FLAG)];

const OBJECT_GENERATORS: &[Known] = &[
    known(
        "uk.gov.gchq.gaffer.data.generator.CsvGenerator",
        &[
            ("commaReplacement", TEXT),
            ("constants", COLUMNS),
            ("fields", COLUMNS),
            ("includeDefaultFields", FLAG),
            ("includeSchemaProperties", FLAG),
            ("quoted", FLAG),
        ],
    ),
    known(
        "uk.gov.gchq.gaffer.data.generator.MapGenerator",
        &[("constants", COLUMNS), ("fields", COLUMNS)],
    ),
    known("uk.gov.gchq.gaffer.data.generator.Neo4jCsvGenerator", CSV_STYLE),
    known("uk.gov.gchq.gaffer.data.generator.NeptuneCsvGenerator", CSV_STYLE),
    known("uk.gov.gchq.gaffer.operation.data.generator.EdgeIdExtractor", &[]),
    known(
        "uk.gov.gchq.gaffer.operation.data.generator.EntityIdExtractor",
        &[("edgeIdentifierToExtract", "uk.gov.gchq.gaffer.data.element.IdentifierType")],
    ),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bucket::graph::koryphe::{BinaryOperator, Function, Predicate};
    use crate::error::Result;

    #[test]
    fn what_is_listed_is_understood_and_nothing_else() {
        fn check<T>(known: &[Known], read: impl Fn(&serde_json::Value) -> Result<T>) {
            for it in known {
                for class in [it.class, short_name(it.class)] {
                    let unknown = match read(&json!({ "class": class })) {
                        Ok(_) => false,
                        Err(error) => error.to_string().contains("unknown"),
                    };
                    assert!(!unknown, "{class} is not understood");
                }
                let twins = known.iter().filter(|other| other.class == it.class).count();
                assert_eq!(twins, 1, "{} is there twice", it.class);
                let elsewhere = format!("com.example.{}", short_name(it.class));
                assert!(read(&json!({ "class": elsewhere })).is_err(), "{elsewhere} is not ours");
            }
        }
        check(predicates(), Predicate::from_json);
        check(operators(), BinaryOperator::from_json);
        check(functions(), Function::from_json);
        assert_eq!(find("IsMoreThan").unwrap().fields.len(), 2);
        assert!(find("NoSuchThing").is_none());
    }
}
