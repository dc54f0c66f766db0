//! What the engine does to elements by itself: equal ones become one by the group's operators, and those that its
//! validate functions refuse go. Both rules are stored with the group's part of the schema, as JSON:
//! `{"keyPackage", "vertices", "schema", "layout"}`; `vertices` is a class, or `tagged`.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::element::{Element, Ends};
use super::form::{Copies, Form};
use super::key::{self, EdgeSort, SortRange, Way, Ways};
use super::koryphe::Predicate;
use super::schema::{Definition, Group, Layout, Schema};
use super::select::{Filter, Slot};
use super::value::{Class, Value, VertexEncoding};
use crate::cell::Time;
use crate::engine::{
    BucketId, CellRef, Keep, Merge, RuleSpec, Rules, SpaceSpec, Unfoldable, Verdict,
};
use crate::error::{Error, Kind, Result};

const FOLD: &str = "graph.fold";
const VALID: &str = "graph.valid";
const LABEL: &str = "elements.";
const TAGGED: &str = "tagged";

/// Adds the rules of graphs to a book.
#[must_use]
pub fn rules(book: Rules) -> Rules {
    book.with_merge(FOLD, |parameters| Some(Arc::new(Fold(form(parameters)?))))
        .with_keep(VALID, |parameters| Some(Arc::new(Valid::new(form(parameters)?))))
}

/// The space of a group. Elements that are kept apart need no folding, and groups without validate functions no
/// judging.
pub(super) fn space(schema: &Schema, form: &Form) -> SpaceSpec {
    let rule = |name| RuleSpec::new(name, parameters(schema, form).to_string());
    let mut space = SpaceSpec::derived(BucketId(0), label(&form.group));
    if form.group.aggregates() {
        space = space.merging(rule(FOLD));
    }
    if form.group.has_validators() {
        space = space.keeping(rule(VALID));
    }
    space
}

/// How the space of a group is called; by number, for names may be long.
pub(super) fn label(group: &Group) -> String {
    format!("{LABEL}{}", group.id().0)
}

/// Whether it is the space of a group.
pub(super) fn is_group(space: &SpaceSpec) -> bool {
    space.label.strip_prefix(LABEL).is_some_and(|number| number.parse::<u16>().is_ok())
}

fn parameters(schema: &Schema, form: &Form) -> Json {
    let name = form.group.name();
    let whole = schema.definition();
    let only = |groups: &BTreeMap<_, _>| -> BTreeMap<String, _> {
        groups
            .get_key_value(name)
            .into_iter()
            .map(|(k, v): (&String, _)| (k.clone(), Clone::clone(v)))
            .collect()
    };
    let (entities, edges) = (only(&whole.entities), only(&whole.edges));
    let mut types = BTreeMap::new();
    for group in entities.values().chain(edges.values()) {
        let of_properties = group.properties.iter().map(|(_, of)| of);
        for of in group.ends.values().chain(of_properties) {
            types.extend(whole.types.get_key_value(of).map(|(k, v)| (k.clone(), v.clone())));
        }
    }
    let part = Definition {
        entities,
        edges,
        types,
        visibility_property: whole.visibility_property.clone(),
        timestamp_property: whole.timestamp_property.clone(),
        ..Definition::default()
    };
    let slots = schema.layout().groups.iter().filter(|(own, _)| own == name);
    let layout = Layout { groups: slots.cloned().collect() };
    let vertices = match form.vertices {
        VertexEncoding::Plain(class) => class.full_name(),
        VertexEncoding::Tagged => TAGGED,
    };
    json!({
        "keyPackage": form.package.name(),
        "vertices": vertices,
        "schema": part.to_json(),
        "layout": layout.to_json(),
    })
}

/// How the elements of a space are stored, as far as its rules tell: groups without any leave it to others.
pub(super) fn told_by(space: &SpaceSpec) -> Option<Form> {
    let rules = [(&space.merge, FOLD), (&space.keep, VALID)];
    let rule = rules.into_iter().find_map(|(rule, name)| rule.as_ref().filter(|r| r.name == name));
    form(&rule?.parameters)
}

fn form(parameters: &str) -> Option<Form> {
    let read = || -> Result<Form> {
        let damaged = || Error::corrupt("a graph's rule can't be read");
        let json: Json = serde_json::from_str(parameters).map_err(|e| damaged().because(e))?;
        let text = |name| json.get(name).and_then(Json::as_str).ok_or_else(damaged);
        let vertices = match text("vertices")? {
            TAGGED => VertexEncoding::Tagged,
            class => VertexEncoding::Plain(Class::named(class)?),
        };
        let layout = Layout::from_json(&json["layout"])?;
        let schema = Schema::with_layout(&json["schema"], layout)?;
        let group = Arc::clone(schema.groups().next().ok_or_else(damaged)?);
        Ok(Form { group, vertices, package: key::by_name(text("keyPackage")?)? })
    };
    let form = read();
    if let Err(error) = &form {
        tracing::warn!(%error, "a graph's rule makes no sense to this build");
    }
    form.ok()
}

/// Folds the properties of equal elements.
struct Fold(Form);

impl Merge for Fold {
    fn fold(&self, payloads: &[&[u8]], out: &mut Vec<u8>) -> Result<(), Unfoldable> {
        fold_payloads(&self.0.group, payloads.iter().rev().copied(), out).map_err(|why| {
            match why.kind() {
                Kind::Corrupt => Unfoldable("the properties of an element can't be read"),
                _ => Unfoldable("an operator can't take the properties of an element"),
            }
        })
    }
}

/// Folds the properties of equal elements, the latest first: so Accumulo hands them to Gaffer, which shows wherever
/// an operator looks at the order, as in `First` or `StringConcat`.
pub(super) fn fold_payloads<'a>(
    group: &Group,
    payloads: impl Iterator<Item = &'a [u8]>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut state = vec![Value::Null; group.classes().len()];
    let mut input = state.clone();
    for (place, payload) in payloads.enumerate() {
        if place == 0 {
            group.decode_properties(payload, &mut state)?;
            continue;
        }
        input.fill(Value::Null);
        group.decode_properties(payload, &mut input)?;
        group.fold(&mut state, &mut input)?;
    }
    group.encode_properties(&state, out)
}

/// Keeps the elements that the validate functions take. What has aged off has expired; the rest is invalid.
struct Valid {
    form: Form,
    /// The verdicts on edges without and with a direction, where the validate functions look at nothing else.
    by_direction: Option<[Verdict; 2]>,
    /// Where all edges lie that they keep then.
    kept: Vec<SortRange>,
}

impl Valid {
    fn new(form: Form) -> Self {
        let group = &form.group;
        let mut slots = group.validators().iter().flat_map(|filter| &filter.selection);
        let by_direction = group.shape().is_edge && slots.all(|slot| *slot == Slot::Directed);
        let by_direction = by_direction.then(|| {
            [false, true]
                .map(|directed| verdict(group, &edge_without_more(group, directed), Time::ZERO))
        });
        let kept = by_direction.filter(|_| form.package.ways_lie_apart()).map(|verdicts| {
            let keeps = |way| verdicts[usize::from(way != Way::Undirected)] == Verdict::Keep;
            form.package.edges(Ways::such(keeps))
        });
        Self { form, by_direction, kept: kept.unwrap_or_default() }
    }
}

impl Keep for Valid {
    fn judge(&self, cell: &CellRef<'_>, now: Time) -> Verdict {
        if let Some(verdicts) = &self.by_direction {
            let parts = self.form.package.edge_parts(cell.sort());
            let at = |parts: EdgeSort<'_>| verdicts[usize::from(parts.way != Way::Undirected)];
            return parts.map_or(Verdict::Invalid, at);
        }
        match self.form.read(cell, Ways::all(), Copies::Unmatched) {
            Ok(Some(element)) => verdict(&self.form.group, &element, now),
            _ => Verdict::Invalid,
        }
    }

    fn keeps_all(&self, from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>) -> bool {
        self.kept.iter().any(|(first, last)| {
            let (Bound::Included(first), Bound::Excluded(last)) = (first, last) else {
                return false;
            };
            let begins =
                matches!(from, Bound::Included(key) | Bound::Excluded(key) if key >= first);
            begins && matches!(to, Bound::Excluded(key) if key <= last)
        })
    }
}

/// How the edges of a group can lie, where its validate functions refuse those with a direction, or those without one,
/// whatever else they are.
pub(super) fn valid_ways(group: &Group) -> Ways {
    let takes = |directed| {
        let edge = edge_without_more(group, directed);
        let refuses = |filter: &Filter| {
            filter.selection == [Slot::Directed] && !matches!(filter.holds(&edge, 0), Ok(true))
        };
        !group.validators().iter().any(refuses)
    };
    Ways::such(|way| takes(way != Way::Undirected))
}

/// What an edge is to those who look at its direction alone.
fn edge_without_more(group: &Group, directed: bool) -> Element {
    let ends = Ends::edge(Value::Null, Value::Null, directed);
    Element { shape: Arc::clone(group.shape()), ends, properties: Vec::new() }
}

fn verdict(group: &Group, element: &Element, now: Time) -> Verdict {
    match group.failing(element, (now.micros() / 1000) as i64) {
        Ok(None) => Verdict::Keep,
        Ok(Some(filter)) if is_age(&filter.predicate) => Verdict::Expired,
        Ok(Some(_)) | Err(_) => Verdict::Invalid,
    }
}

fn is_age(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::AgeOff(_) | Predicate::AgeOffFromDays)
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use super::*;
    use crate::cell::key::cell_key;

    #[test]
    fn where_all_are_kept_none_is_refused() {
        let schema = json!({
            "edges": {"e": {"source": "v", "destination": "v", "directed": "yes"}},
            "types": {"v": {"class": "String"},
                      "yes": {"class": "Boolean", "validateFunctions": [{"class": "IsTrue"}]}}
        });
        let group = Arc::clone(Schema::from_json(&schema).unwrap().group("e").unwrap());
        let mut value = Vec::new();
        crate::cell::Value::open(&[0]).encode(Time::ZERO, &mut value);
        for (name, keeps) in [("byteEntity", true), ("sharded", true), ("classic", false)] {
            let (vertices, package) =
                (VertexEncoding::Plain(Class::String), key::by_name(name).unwrap());
            let rule = Valid::new(Form { group: Arc::clone(&group), vertices, package });
            let verdict = |sort: &[u8]| {
                let mut key = Vec::new();
                cell_key(7, b"v", sort, &mut key);
                rule.judge(&CellRef::decode(&key, &value).unwrap(), Time::ZERO)
            };
            let mut kept = 0;
            for chosen in 1_u8..8 {
                for range in package.edges(Ways::such(|way| chosen & 1 << way as u8 != 0)) {
                    if !rule.keeps_all(&range.0, &range.1) {
                        continue;
                    }
                    kept += 1;
                    for way in Ways::all().iter() {
                        let sort = rule.form.edge_sort(way, b"w", b"");
                        let is_kept = verdict(&sort) == Verdict::Keep;
                        assert!(is_kept || !range.contains(&sort), "{name}: {range:?} has {way:?}");
                    }
                }
            }
            assert_eq!(kept > 0, keeps, "{name}");
        }
    }
}
