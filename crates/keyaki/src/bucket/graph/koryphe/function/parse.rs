//! Functions from their JSON.

use serde_json::Value as Json;

use super::super::pattern::Pattern;
use super::super::{BinaryOperator, Predicate, Spec, catalogue, date};
use super::tuple::definitions;
use super::{Adapted, Cardinality, Csv, Function, IfFunction, Related, TimeBucket};
use crate::bucket::graph::select::Slot;
use crate::bucket::graph::value::{Class, Map, MapKind, Value};
use crate::error::{Error, Result};

impl Function {
    /// Reads `{"class": …, …}`.
    ///
    /// # Errors
    /// `Invalid` for an unknown class, or fields that it can't have.
    pub fn from_json(json: &Json) -> Result<Self> {
        let spec = Spec::new(json)?.listed(catalogue::functions(), "function")?;
        if let Some(simple) = simple(spec.short()) {
            return Ok(simple);
        }
        if let Some(function) = with_text(&spec)? {
            return Ok(function);
        }
        let predicate = |name| Predicate::from_json(spec.need(name)?).map(Box::new);
        let optional = |name| spec.get(name).map(Predicate::from_json).transpose();
        let inner = |name| spec.get(name).map(Self::from_json).transpose();
        let operator = |name| BinaryOperator::from_json(spec.need(name)?).map(Box::new);
        let by = || Ok::<_, Error>(spec.integer("by")?.unwrap_or(1));
        let part = |name| Ok::<_, Error>(spec.text(name)?.unwrap_or_default().into());
        let place = |name| {
            let place = spec.integer(name)?.map(usize::try_from).transpose();
            place.map_err(|_| spec.wrong("not a place", name))
        };
        Ok(match spec.short() {
            "ToHyperLogLogPlus" => to_sketch(&spec, Class::HyperLogLogPlus, "p", false)?,
            "IterableToHyperLogLogPlus" => to_sketch(&spec, Class::HyperLogLogPlus, "p", true)?,
            "ToHllSketch" => to_sketch(&spec, Class::HllSketch, "logK", false)?,
            "IterableToHllSketch" => to_sketch(&spec, Class::HllSketch, "logK", true)?,
            "SetValue" => Self::SetValue(spec.value("value")?),
            "DefaultIfNull" => Self::DefaultIfNull(spec.value("defaultValue")?),
            "DefaultIfEmpty" => Self::DefaultIfEmpty(spec.value("defaultValue")?),
            "Increment" => Self::Increment(spec.value("increment")?),
            "MultiplyBy" => Self::MultiplyBy(by()?),
            "MultiplyLongBy" => Self::MultiplyLongBy(by()?),
            "DivideBy" => Self::DivideBy(by()?),
            "Length" => Self::Length(spec.integer("maxLength")?),
            "NthItem" => Self::NthItem(place("selection")?.unwrap_or(0)),
            "FirstValid" => Self::FirstValid(predicate("predicate")?),
            "IterableFilter" => Self::IterableFilter(predicate("predicate")?),
            "IterableFlatten" => Self::IterableFlatten(operator("operator")?),
            "IterableFunction" => Self::IterableFunction(functions(&spec)?),
            "FunctionMap" => Self::FunctionMap(Box::new(Self::from_json(spec.need("function")?)?)),
            "ExtractValue" | "FreqMapExtractor" => Self::ExtractValue(spec.value("key")?),
            "FreqMapPredicator" => Self::FreqMapFilter(optional("predicate")?.map(Box::new)),
            "ToTypeValue" => Self::ToTypeValue(part("type")?),
            "ToTypeSubTypeValue" => Self::ToTypeSubTypeValue(part("type")?, part("subType")?),
            "MapFilter" => Self::MapFilter(Box::new([
                optional("keyPredicate")?,
                optional("valuePredicate")?,
                optional("keyValuePredicate")?,
            ])),
            "DictionaryLookup" => Self::DictionaryLookup(Box::new(dictionary(&spec)?)),
            "ApplyBiFunction" => Self::Apply(operator("function")?),
            "ToSet" => {
                let class =
                    spec.text("implementation")?.map_or(Ok(Class::HashSet), Class::named)?;
                Self::To(class)
            }
            "Cast" => {
                Self::Cast(spec.text("outputClass")?.map_or(Ok(Class::Object), Class::named)?)
            }
            "If" => Self::If(Box::new(IfFunction {
                condition: spec.flag("condition")?,
                predicate: optional("predicate")?,
                then: inner("then")?,
                otherwise: inner("otherwise")?,
            })),
            "FunctionChain" | "FunctionComposite" => Self::Chain(functions(&spec)?),
            "ExtractWalkEdgesFromHop" => Self::ExtractWalkEdges(Some(place("hop")?.unwrap_or(0))),
            "ExtractWalkEntitiesFromHop" => {
                Self::ExtractWalkEntities(Some(place("hop")?.unwrap_or(0)))
            }
            _ => return on_tuples(&spec)?.ok_or_else(|| spec.unknown("function")),
        })
    }
}

fn to_sketch(spec: &Spec<'_>, class: Class, size: &str, many: bool) -> Result<Function> {
    let number = spec.integer(size)?.map(u8::try_from).transpose();
    let number = number.map_err(|_| spec.wrong("not a size of sketches", size))?;
    Ok(Function::ToSketch { class, size: number, many })
}

/// Those that read tables, and make and change tuples.
fn on_tuples(spec: &Spec<'_>) -> Result<Option<Function>> {
    let bucket = |end, date| {
        let bucket = TimeBucket::named(spec.text("bucket")?.unwrap_or_default());
        let bucket = bucket.ok_or_else(|| spec.wrong("not a span of time", "bucket"))?;
        Ok::<_, Error>(Function::ToTimeBucket { bucket, end, date })
    };
    Ok(Some(match spec.short() {
        "CsvLinesToMaps" | "CsvToMaps" => Function::CsvToMaps(Box::new(Csv::from_spec(spec)?)),
        "DeserialiseJson" => {
            let class = spec.text("outputClass")?.map_or(Ok(Class::Object), Class::named)?;
            Function::DeserialiseJson(class)
        }
        "TupleAdaptedFunction" => Function::OnTuple(vec![Adapted::from_json(spec.json)?]),
        "ElementTransformer" | "PropertiesTransformer" | "TupleAdaptedFunctionComposite" => {
            let steps = spec.list("functions")?.unwrap_or_default();
            Function::OnTuple(steps.iter().map(Adapted::from_json).collect::<Result<_>>()?)
        }
        name @ ("TupleToElements" | "TuplesToElements") => Function::TupleToElements {
            definitions: definitions(spec)?,
            many: name == "TuplesToElements",
        },
        "HyperLogLogPlusEntityGenerator" => {
            Function::Cardinality(Box::new(Cardinality::from_spec(spec, Class::HyperLogLogPlus)?))
        }
        "HllSketchEntityGenerator" => {
            Function::Cardinality(Box::new(Cardinality::from_spec(spec, Class::HllSketch)?))
        }
        "ReduceRelatedElements" => Function::ReduceRelated(Box::new(Related::from_spec(spec)?)),
        "ToTimeBucket" | "ToTimeBucketStart" => bucket(false, false)?,
        "ToTimeBucketEnd" => bucket(true, false)?,
        "DateToTimeBucketStart" => bucket(false, true)?,
        "DateToTimeBucketEnd" => bucket(true, true)?,
        _ => return Ok(None),
    }))
}

/// Those without fields that matter.
fn simple(name: &str) -> Option<Function> {
    Some(match name {
        "Identity" | "ToElementTuple" | "ToPropertiesTuple" => Function::Identity,
        "ToNull" => Function::ToNull,
        "ToString" => Function::To(Class::String),
        "ToLong" => Function::To(Class::Long),
        "ToInteger" => Function::To(Class::Integer),
        "ToDouble" => Function::To(Class::Double),
        "ToFloat" => Function::To(Class::Float),
        "ToBoolean" => Function::To(Class::Boolean),
        "ToArray" => Function::To(Class::Array),
        "ToList" => Function::To(Class::ArrayList),
        "ToSingletonTreeSet" => Function::ToSingletonTreeSet,
        "EdgeIdExtractor" => Function::EdgeIds,
        "ToTuple" | "MapToTuple" => Function::ToTuple,
        "ToFreqMap" | "IterableToFreqMap" => Function::ToFreqMap,
        "Multiply" => Function::Multiply,
        "Divide" => Function::Divide,
        "Size" => Function::Size,
        "IsEmpty" => Function::IsEmpty,
        "Longest" => Function::Longest,
        "FirstItem" => Function::FirstItem,
        "LastItem" => Function::LastItem,
        "IterableConcat" => Function::IterableConcat,
        "IterableLongest" => Function::IterableLongest,
        "ExtractKeys" => Function::ExtractKeys,
        "ExtractValues" => Function::ExtractValues,
        "ToLowerCase" => Function::Lower,
        "ToUpperCase" => Function::Upper,
        "StringTrim" => Function::Trim,
        "ReverseString" => Function::Reverse,
        "ToBytes" => Function::ToBytes,
        "Base64Decode" => Function::Base64Decode,
        "CurrentDate" => Function::CurrentDate,
        "CurrentTime" => Function::CurrentTime,
        "ExtractGroup" => Function::ExtractGroup,
        "ToEntityId" | "ToEntitySeed" | "ToElementId" => Function::ToEntityId,
        "FromEntityId" | "FromElementId" | "UnwrapEntityId" => Function::FromEntityId,
        "ExtractWalkEdges" => Function::ExtractWalkEdges(None),
        "ExtractWalkEntities" => Function::ExtractWalkEntities(None),
        "ExtractWalkVertex" => Function::ExtractWalkVertex,
        "TypeValueToTuple" | "TypeSubTypeValueToTuple" => Function::TypeValueParts,
        "StringsToTypeValue" | "StringsToTypeSubTypeValue" => Function::StringsToTypeValue,
        _ => return None,
    })
}

/// Those whose fields are strings.
fn with_text(spec: &Spec<'_>) -> Result<Option<Function>> {
    let text = |name, default: &str| Ok::<_, Error>(spec.text(name)?.unwrap_or(default).to_owned());
    let boxed = |name, default: &str| Ok::<_, Error>(text(name, default)?.into_boxed_str());
    let format = || Ok::<_, Error>(spec.text("format")?.map(Into::into));
    let zone = || spec.text("timeZone")?.map_or(Ok(0), date::zone_offset_ms);
    Ok(Some(match spec.short() {
        "Concat" => Function::Concat(boxed("separator", ",")?),
        "StringAppend" => Function::Append(text("suffix", "")?.into()),
        "StringPrepend" => Function::Prepend(text("prefix", "")?.into()),
        "StringReplace" => Function::Replace(boxed("searchString", "")?, boxed("replacement", "")?),
        "StringRegexReplace" => {
            let replacement = braced(&text("replacement", "")?);
            Function::RegexReplace(Pattern::part(&text("regex", "")?)?, replacement.into())
        }
        "StringSplit" => Function::Split(boxed("delimiter", "")?),
        "StringRegexSplit" => Function::RegexSplit(Pattern::part(&text("regex", "")?)?),
        "StringJoin" => Function::Join(boxed("delimiter", "")?),
        "StringTruncate" => Function::Truncate {
            length: spec.integer("length")?.unwrap_or(0).max(0) as usize,
            ellipses: spec.flag("ellipses")?.unwrap_or(false),
        },
        "ParseDate" => Function::ParseDate {
            format: format()?,
            zone_ms: zone()?,
            microseconds: spec.flag("microseconds")?.unwrap_or(false),
        },
        "ParseTime" => Function::ParseTime {
            format: format()?,
            zone_ms: zone()?,
            unit_ms: spec.text("timeUnit")?.map_or(Ok(1.0), date::unit_ms)?,
        },
        "ToDateString" => Function::ToDateString(format()?),
        "ToTrailingWildcardPair" => Function::ToWildcardPair(boxed("endOfRange", "~")?),
        "EntityIdExtractor" => {
            let name = text("edgeIdentifierToExtract", "DESTINATION")?;
            let end = Slot::reserved(&name).filter(|slot| *slot != Slot::Group);
            let wrong = || spec.wrong("not an end of an edge", "edgeIdentifierToExtract");
            Function::EntityIds(end.ok_or_else(wrong)?)
        }
        "ExtractProperty" => Function::ExtractProperty(boxed("name", "")?),
        "ExtractId" => Function::ExtractId(boxed("id", "VERTEX")?),
        _ => return Ok(None),
    }))
}

/// Java's `$1` ends with its digit; ours would take the letters behind it for part of a name.
fn braced(replacement: &str) -> String {
    let mut braced = String::with_capacity(replacement.len());
    let mut rest = replacement.chars().peekable();
    while let Some(char) = rest.next() {
        match rest.peek() {
            Some(digit) if char == '$' && digit.is_ascii_digit() => {
                braced.push_str(&format!("${{{digit}}}"));
                rest.next();
            }
            _ => braced.push(char),
        }
    }
    braced
}

fn functions(spec: &Spec<'_>) -> Result<Vec<Function>> {
    spec.list("functions")?.unwrap_or_default().iter().map(Function::from_json).collect()
}

fn dictionary(spec: &Spec<'_>) -> Result<Map> {
    let wrong = || spec.wrong("a dictionary is an object", "dictionary");
    let mut dictionary = Map::new(MapKind::Hash);
    for (key, value) in spec.need("dictionary")?.as_object().ok_or_else(wrong)? {
        dictionary.insert(key.as_str().into(), Value::from_json(value)?);
    }
    Ok(dictionary)
}
