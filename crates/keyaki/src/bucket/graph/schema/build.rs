//! Compiles a definition, and refuses one that Gaffer would refuse.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Definition, Group, GroupDefinition, GroupId, Layout, Schema, TypeDefinition};
use crate::bucket::graph::element::{FOREIGN, Shape};
use crate::bucket::graph::koryphe::{BinaryOperator, Predicate, Spec};
use crate::bucket::graph::select::{Filter, Slot};
use crate::bucket::graph::value::{Class, Value, VertexEncoding};
use crate::error::{Error, Result};

impl Schema {
    pub(super) fn build(definition: Definition, layout: Layout) -> Result<Self> {
        if let Some(name) =
            definition.edges.keys().find(|name| definition.entities.contains_key(*name))
        {
            return Err(Error::invalid(
                "Groups must not be shared between Entity definitions and Edge definitions",
            )
            .with("group", name));
        }
        let layout = layout.extended(&definition);
        let mut groups = Vec::new();
        let mut by_name = HashMap::new();
        for (id, (name, slots)) in layout.groups.iter().enumerate() {
            let too_many = || Error::invalid("too many groups");
            let id = u16::try_from(id).ok().filter(|id| *id != FOREIGN).ok_or_else(too_many)?;
            let id = GroupId(id);
            let (group, is_edge) = match definition.entities.get(name) {
                Some(group) => (group, false),
                None => match definition.edges.get(name) {
                    Some(group) => (group, true),
                    None => {
                        groups.push(None);
                        continue;
                    }
                },
            };
            let shape = Shape {
                number: id.0,
                group: name.as_str().into(),
                is_edge,
                names: slots.iter().map(|slot| slot.as_str().into()).collect(),
            };
            let builder = Builder { schema: &definition, group, shape };
            let built = builder.build(id).map_err(|error| error.with("group", name))?;
            groups.push(Some(Arc::new(built)));
            by_name.insert(name.as_str().into(), id);
        }
        let vertices = vertex_encoding(groups.iter().flatten());
        Ok(Self { groups, by_name, definition, layout, vertices })
    }
}

fn vertex_encoding<'a>(groups: impl Iterator<Item = &'a Arc<Group>>) -> VertexEncoding {
    let mut classes = groups.flat_map(|group| group.vertex_classes).flatten();
    match classes.next() {
        None => VertexEncoding::Plain(Class::String),
        Some(first) if first.is_exact() && classes.all(|class| class == first) => {
            VertexEncoding::Plain(first)
        }
        Some(_) => VertexEncoding::Tagged,
    }
}

struct Builder<'a> {
    schema: &'a Definition,
    group: &'a GroupDefinition,
    shape: Shape,
}

impl Builder<'_> {
    fn build(self, id: GroupId) -> Result<Group> {
        check_name(&self.shape.group)?;
        let vertex_classes = self.vertex_classes()?;
        let classes = self.property_classes()?;
        let group_by = self.group_by()?;
        let place = |name: &Option<String>| name.as_ref().and_then(|name| self.shape.slot(name));
        let visibility = place(&self.schema.visibility_property);
        let timestamp = place(&self.schema.timestamp_property);
        self.check_special(&classes, visibility, timestamp, &group_by)?;
        let operators = self.operators(&classes, visibility, &group_by)?;
        let validators = self.validators(&classes, &vertex_classes)?;
        let in_key = |slot: &usize| group_by.contains(slot) || visibility == Some(*slot);
        let stored = (0..classes.len()).filter(|slot| !in_key(slot)).collect();
        let absent =
            classes.iter().enumerate().map(|(slot, class)| (slot, Value::when_absent(*class)));
        let absent = absent.filter(|(_, value)| !value.is_null()).collect();
        Ok(Group {
            id,
            aggregate: self.group.aggregate,
            shape: Arc::new(self.shape),
            classes,
            vertex_classes,
            group_by,
            visibility,
            timestamp,
            operators,
            validators,
            stored,
            absent,
        })
    }

    fn type_of(&self, name: &str) -> Result<&TypeDefinition> {
        let missing = || Error::invalid("a type is not defined").with("type", name);
        self.schema.types.get(name).ok_or_else(missing)
    }

    fn class_of(&self, type_name: &str) -> Result<Class> {
        let definition = self.type_of(type_name)?;
        let class = definition.class.as_deref().unwrap_or("java.lang.Object");
        Class::named(class).map_err(|error| error.with("type", type_name))
    }

    fn vertex_classes(&self) -> Result<[Option<Class>; 2]> {
        let class = |end: &str, message| {
            let name = self.group.ends.get(end).ok_or_else(|| Error::invalid(message))?;
            self.class_of(name).map(Some)
        };
        if !self.shape.is_edge {
            return Ok([class("vertex", "Entity vertex type is not defined.")?, None]);
        }
        if let Some(directed) = self.group.ends.get("directed") {
            let class = self.class_of(directed)?;
            if !Class::Boolean.is_a(class) {
                return Err(Error::invalid("whether an edge is directed is a Boolean")
                    .with("type", directed)
                    .with("class", class.full_name()));
            }
        }
        Ok([
            class("source", "Edge source type is not defined.")?,
            class("destination", "Edge destination type is not defined.")?,
        ])
    }

    fn property_classes(&self) -> Result<Vec<Class>> {
        let class = |name: &str| {
            if Slot::reserved(name).is_some() {
                return Err(
                    Error::invalid("a property's name is a reserved word").with("property", name)
                );
            }
            let found = self.group.properties.iter().find(|(own, _)| own == name);
            found.map_or(Ok(Class::Object), |(_, type_name)| {
                self.class_of(type_name).map_err(|error| error.with("property", name))
            })
        };
        self.shape.names.iter().map(|name| class(name)).collect()
    }

    fn group_by(&self) -> Result<Vec<usize>> {
        let slot = |name: &String| {
            let missing = || Error::invalid("groupBy has no such property").with("property", name);
            self.shape.slot(name).ok_or_else(missing)
        };
        self.group.group_by.iter().map(slot).collect()
    }

    fn check_special(
        &self,
        classes: &[Class],
        visibility: Option<usize>,
        timestamp: Option<usize>,
        group_by: &[usize],
    ) -> Result<()> {
        if visibility.is_some_and(|slot| classes[slot] != Class::String) {
            return Err(Error::invalid("the visibility property must be a String"));
        }
        if visibility.is_some_and(|slot| group_by.contains(&slot)) {
            return Err(Error::invalid("the visibility property can't be in groupBy"));
        }
        if timestamp.is_some_and(|slot| classes[slot] != Class::Long) {
            return Err(Error::invalid("the timestamp property must be a Long"));
        }
        self.check_timestamp()?;
        if !self.group.aggregate && !group_by.is_empty() {
            return Err(Error::invalid(
                "Groups with aggregation disabled should not have groupBy properties",
            ));
        }
        Ok(())
    }

    /// As Gaffer has it, whose store keeps the latest.
    fn check_timestamp(&self) -> Result<()> {
        let name = self.schema.timestamp_property.as_ref();
        let of_time = self.group.properties.iter().find(|(own, _)| Some(own) == name);
        let Some((name, type_name)) = of_time else { return Ok(()) };
        match &self.type_of(type_name)?.aggregate_function {
            Some(function) if Spec::new(function)?.short() != "Max" => {
                Err(Error::invalid("the aggregator of the timestamp property must be Max")
                    .with("property", name))
            }
            _ => Ok(()),
        }
    }

    /// By slot: the group's own functions, and those of the types for the rest.
    fn operators(
        &self,
        classes: &[Class],
        visibility: Option<usize>,
        group_by: &[usize],
    ) -> Result<Vec<Option<BinaryOperator>>> {
        let mut operators: Vec<Option<BinaryOperator>> = vec![None; classes.len()];
        if !self.group.aggregate {
            return Ok(operators);
        }
        for function in &self.group.aggregate_functions {
            let spec = Spec::or_class(function, "TupleAdaptedBinaryOperator")?;
            let operator = BinaryOperator::from_json(spec.need("binaryOperator")?)?;
            let slots = self.aggregated(&spec.texts("selection")?, visibility, group_by)?;
            // Of Gaffer's own operators only these take several properties as they are, and each goes by itself.
            let takes_many = matches!(operator, BinaryOperator::First | BinaryOperator::Last);
            if slots.len() != 1 && !takes_many {
                return Err(Error::invalid("an aggregator takes one property")
                    .with("selection", format!("{:?}", spec.texts("selection")?)));
            }
            slots.into_iter().for_each(|slot| operators[slot] = Some(operator.clone()));
        }
        for (name, type_name) in &self.group.properties {
            let Some(slot) = self.shape.slot(name) else { continue };
            if operators[slot].is_none()
                && let Some(function) = &self.type_of(type_name)?.aggregate_function
            {
                let operator = BinaryOperator::from_json(function);
                operators[slot] = Some(operator.map_err(|error| error.with("type", type_name))?);
            }
            match &operators[slot] {
                None => {
                    return Err(Error::invalid(
                        "No aggregator found for a property. To disable aggregation for a group set \
                         the 'aggregate' field to false",
                    )
                    .with("property", name));
                }
                Some(operator) if !operator.takes(classes[slot]) => {
                    return Err(Error::invalid("an aggregator can't take the property's class")
                        .with("property", name)
                        .with("class", classes[slot].full_name()));
                }
                Some(_) => {}
            }
        }
        Ok(operators)
    }

    fn aggregated(
        &self,
        selection: &[&str],
        visibility: Option<usize>,
        group_by: &[usize],
    ) -> Result<Vec<usize>> {
        let mut slots = Vec::new();
        for name in selection {
            if Slot::reserved(name).is_some() {
                return Err(Error::invalid("Identifiers cannot be selected for aggregation")
                    .with("selection", name));
            }
            let unknown =
                || Error::invalid("Unknown property used in an aggregator").with("property", name);
            slots.push(self.shape.slot(name).ok_or_else(unknown)?);
        }
        match slots.as_slice() {
            [_] => Ok(slots),
            slots if slots.iter().any(|slot| visibility == Some(*slot)) => {
                Err(Error::invalid("The visibility property must be aggregated by itself"))
            }
            slots
                if slots
                    .iter()
                    .any(|slot| group_by.contains(slot) != group_by.contains(&slots[0])) =>
            {
                Err(Error::invalid(
                    "groupBy properties and others can't be aggregated by one operator",
                ))
            }
            _ => Ok(slots),
        }
    }

    /// The group's own validators, then those of the types of its ends and properties.
    fn validators(
        &self,
        classes: &[Class],
        vertex_classes: &[Option<Class>; 2],
    ) -> Result<Vec<Filter>> {
        let mut validators = Vec::new();
        let mut add = |selection: Vec<Slot>, json: &Json| {
            let predicate = Predicate::from_json(json)?;
            let class = |slot: &Slot| match slot {
                Slot::Property(slot) => Some(classes[*slot]),
                Slot::Vertex | Slot::Source => vertex_classes[0],
                Slot::Destination => vertex_classes[1],
                Slot::Directed => Some(Class::Boolean),
                _ => None,
            };
            predicate.check(&selection.iter().map(class).collect::<Vec<_>>())?;
            validators.push(Filter { selection, predicate });
            Ok::<_, Error>(())
        };
        for function in &self.group.validate_functions {
            let spec = Spec::or_class(function, "TupleAdaptedPredicate")?;
            let names = spec.texts("selection")?;
            let slots = names.iter().map(|name| Slot::named(name, &self.shape)).collect();
            add(slots, spec.need("predicate")?)?;
        }
        let ends = self.group.ends.iter().map(|(end, of)| (end.to_uppercase(), of));
        let properties = self.group.properties.iter().map(|(name, of)| (name.clone(), of));
        for (name, type_name) in ends.chain(properties) {
            let slot = Slot::named(&name, &self.shape);
            for function in &self.type_of(type_name)?.validate_functions {
                add(vec![slot], function).map_err(|error| error.with("type", type_name))?;
            }
        }
        Ok(validators)
    }
}

/// Letters, digits, `-` and `|`, as in Gaffer, and a few more that older versions of it took.
fn check_name(name: &str) -> Result<()> {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "_-|.+ ".contains(char);
    match !name.is_empty() && name.chars().all(allowed) {
        true => Ok(()),
        false => Err(Error::invalid("a group's name has other than letters, digits and -_|.+")
            .with("group", name)),
    }
}
