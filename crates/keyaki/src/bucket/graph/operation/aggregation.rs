//! Aggregation of elements after the fact, in any order and by any of their properties. A view's group-by must be the
//! beginning of the schema's, because it follows the order of keys; this one need not.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::bucket::graph::element::{Element, Ends};
use crate::bucket::graph::koryphe::{BinaryOperator, Spec};
use crate::bucket::graph::schema::{Group, Schema};
use crate::bucket::graph::value::Value;
use crate::error::{Error, Result};

/// How the elements of each group become one.
#[derive(Debug)]
pub struct Aggregation {
    /// By the number of the group.
    groups: BTreeMap<u16, OfGroup>,
}

#[derive(Debug)]
struct OfGroup {
    /// The slots whose values tell elements apart.
    group_by: Vec<usize>,
    operators: Vec<(usize, BinaryOperator)>,
}

/// What elements that become one have in common: the group, the ends, and the values they are grouped by.
pub(super) type Key = (u16, Ends, Vec<Value>);

impl Aggregation {
    /// Reads `{"entities": {group: {"groupBy", "elementAggregator"}}, …}`; without any of both, all groups are meant.
    ///
    /// # Errors
    /// `Invalid` for groups that do not exist, and operators that can't take their property.
    pub fn from_json(spec: &Spec<'_>, schema: &Schema) -> Result<Self> {
        let mut groups = BTreeMap::new();
        for (kind, is_edge) in [("entities", false), ("edges", true)] {
            let Some(said) = spec.get(kind) else { continue };
            let said = said.as_object().ok_or_else(|| spec.wrong("groups are an object", kind))?;
            for (name, pair) in said {
                let group = schema.group(name).filter(|group| group.shape().is_edge == is_edge);
                let missing = || spec.wrong("a group does not exist in the schema", name);
                let group = group.ok_or_else(missing)?;
                if pair.is_null() {
                    return Err(spec.wrong("a group is null", name));
                }
                let of_group =
                    OfGroup::from_json(pair, group).map_err(|e| e.with("group", name))?;
                groups.insert(group.id().0, of_group);
            }
        }
        if spec.get("entities").or_else(|| spec.get("edges")).is_none() {
            for group in schema.groups() {
                groups.insert(group.id().0, OfGroup::from_json(&Json::Null, group)?);
            }
        }
        Ok(Self { groups })
    }

    /// What the element is found by; none if those of its group stay apart.
    pub(super) fn key(&self, group: &Group, element: &Element) -> Option<Key> {
        if !group.aggregates() {
            return None;
        }
        let own = self.groups.get(&group.id().0);
        let slots = own.map_or(group.group_by(), |own| &own.group_by);
        let values = slots.iter().map(|slot| element.properties[*slot].clone());
        let mut ends = element.ends.clone();
        if let Ends::Edge { matched, .. } = &mut ends {
            *matched = None;
        }
        Some((group.id().0, ends, values.collect()))
    }

    /// Folds an element into one with the same key.
    pub(super) fn fold(&self, state: &mut Element, input: &mut Element) -> Result<()> {
        let unsaid = || Error::invalid("nothing is said of how a group is aggregated");
        let own = self.groups.get(&state.shape.number);
        let own = own.ok_or_else(|| unsaid().with("group", state.group()))?;
        for (slot, operator) in &own.operators {
            let value = std::mem::take(&mut input.properties[*slot]);
            operator.apply(&mut state.properties[*slot], value)?;
        }
        Ok(())
    }
}

impl OfGroup {
    fn from_json(pair: &Json, group: &Group) -> Result<Self> {
        let there = |name| pair.get(name).filter(|json| !json.is_null());
        let group_by = match there("groupBy") {
            None => group.group_by().to_vec(),
            Some(names) => {
                let wrong = || Error::invalid("a list of names is wanted").with("at", "groupBy");
                let names = names.as_array().ok_or_else(wrong)?;
                // Of what the group has not, all elements have none.
                names.iter().filter_map(|name| group.shape().slot(name.as_str()?)).collect()
            }
        };
        let said = there("elementAggregator").and_then(|it| it.get("operators"));
        let mut own = Vec::new();
        for json in said.and_then(Json::as_array).into_iter().flatten() {
            own.extend(group.aggregator(json)?);
        }
        let of_schema = (0..group.shape().names.len())
            .filter(|slot| !group_by.contains(slot) && own.iter().all(|(other, _)| other != slot))
            .filter_map(|slot| Some((slot, group.operator(slot)?.clone())));
        let operators = own.iter().cloned().chain(of_schema).collect();
        Ok(Self { group_by, operators })
    }
}
