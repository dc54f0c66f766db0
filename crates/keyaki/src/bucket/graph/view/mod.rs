//! What does a query want to see? Groups, and for each of them filters, aggregation and transforms.
//!
//! `definition` reads the JSON; here it is compiled against the schema, once; `pipeline` runs elements through.

mod definition;
mod pipeline;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value as Json;

pub use pipeline::Pipeline;

use super::element::Shape;
use super::koryphe::{BinaryOperator, Function, Predicate, Spec};
use super::schema::{Group, GroupId, Schema};
use super::select::{Filter, Slot};
use super::value::Class;
use crate::error::{Error, Result};
use definition::GroupView;

/// A compiled view.
#[derive(Debug)]
pub struct View {
    /// By the number of the group.
    groups: Vec<Option<ShownGroup>>,
    /// Those that are shown, by name, as they lie in a row; and whether they are of edges.
    by_name: Vec<(GroupId, bool)>,
    /// Whether nothing is left to be done in any of them once elements are folded.
    shows_as_is: bool,
}

/// A group that is shown.
#[derive(Debug)]
pub struct ShownGroup {
    group: Arc<Group>,
    /// The group's shape, with the transient properties behind.
    shape: Arc<Shape>,
    pre: Vec<Filter>,
    /// How many of the schema's group-by properties tell elements apart.
    group_by: usize,
    /// How the other properties are folded; empty if they are not.
    operators: Vec<(usize, BinaryOperator)>,
    post: Vec<Filter>,
    transforms: Vec<Transform>,
    post_transform: Vec<Filter>,
    /// Slots that are taken out in the end.
    dropped: Vec<usize>,
}

/// A function from some places of an element to others.
#[derive(Debug, Clone)]
pub struct Transform {
    /// Where its input is.
    pub selection: Vec<Slot>,
    /// What is done.
    pub function: Function,
    /// Where its output goes.
    pub projection: Vec<Slot>,
}

impl View {
    /// Compiles a view; `null` shows everything.
    ///
    /// # Errors
    /// `Invalid` with Gaffer's reasons.
    pub fn from_json(json: &Json, schema: &Schema) -> Result<Self> {
        Self::merged(std::slice::from_ref(json), schema)
    }

    /// Compiles views that are laid over each other.
    ///
    /// # Errors
    /// `Invalid` with Gaffer's reasons.
    pub fn merged(views: &[Json], schema: &Schema) -> Result<Self> {
        let mut groups: Vec<Option<ShownGroup>> = Vec::new();
        for (name, view) in definition::groups(views, schema)? {
            let Some(group) = schema.group(&name) else { continue };
            let shown = ShownGroup::new(view, group).map_err(|error| error.with("group", name))?;
            let place = usize::from(group.id().0);
            if groups.len() <= place {
                groups.resize_with(place + 1, || None);
            }
            groups[place] = Some(shown);
        }
        let shows_as_is = groups.iter().flatten().all(ShownGroup::shows_as_is);
        let mut shown: Vec<_> = groups.iter().flatten().map(|shown| &shown.group).collect();
        shown.sort_by_key(|group| group.name());
        let by_name = shown.into_iter().map(|group| (group.id(), group.shape().is_edge)).collect();
        Ok(Self { groups, by_name, shows_as_is })
    }

    /// The groups that are shown, all or only entities or edges; by name, as they lie in a row.
    #[must_use]
    pub fn groups_by_name(&self, edges: Option<bool>) -> Vec<GroupId> {
        let wanted = |(_, is_edge): &&(GroupId, bool)| edges.is_none_or(|edges| edges == *is_edge);
        self.by_name.iter().filter(wanted).map(|(group, _)| *group).collect()
    }

    /// Whether entities are shown.
    #[must_use]
    pub fn has_entities(&self) -> bool {
        self.by_name.iter().any(|(_, is_edge)| !is_edge)
    }

    /// Whether edges are shown.
    #[must_use]
    pub fn has_edges(&self) -> bool {
        self.by_name.iter().any(|(_, is_edge)| *is_edge)
    }

    /// The view without its entities.
    #[must_use]
    pub fn edges_only(mut self) -> Self {
        for group in &mut self.groups {
            group.take_if(|shown| !shown.shape.is_edge);
        }
        self.by_name.retain(|(_, is_edge)| *is_edge);
        self
    }

    fn group(&self, number: u16) -> Option<&ShownGroup> {
        self.groups.get(usize::from(number))?.as_ref()
    }
}

impl ShownGroup {
    fn new(view: GroupView, group: &Arc<Group>) -> Result<Self> {
        let mut shape = Shape::clone(group.shape());
        let mut classes: Vec<Option<Class>> = group.classes().iter().copied().map(Some).collect();
        for (name, class) in &view.transient {
            if shape.slot(name).is_some() {
                return Err(Error::invalid(
                    "Transient property is not transient as it has been found in the schema",
                )
                .with("property", name));
            }
            shape.names.push(name.as_str().into());
            classes.push(Some(Class::named(class)?));
        }
        let transforms = transforms(&view.transforms, &mut shape)?;
        // Of what is projected to and was not declared, nothing is known.
        classes.resize(shape.names.len(), None);
        if view.unchecked {
            classes.fill(None);
        }
        let known = Known { shape: &shape, classes: &classes, vertices: group.vertex_classes() };
        let filters = |list: &[Json]| filters(list, &known);
        known.check(&transforms)?;
        let (pre, post) = (filters(&view.pre)?, filters(&view.post)?);
        let post_transform = filters(&view.post_transform)?;
        let group_by = group_by(&view, group)?;
        Ok(Self {
            pre,
            group_by,
            operators: operators(&view, group, group_by)?,
            post,
            transforms,
            post_transform,
            dropped: dropped(&view, &shape),
            group: Arc::clone(group),
            shape: if shape.names.len() == group.shape().names.len() {
                Arc::clone(group.shape())
            } else {
                Arc::new(shape)
            },
        })
    }
}

/// The view's group-by must be the first few of the schema's.
fn group_by(view: &GroupView, group: &Group) -> Result<usize> {
    let Some(names) = &view.group_by else { return Ok(group.group_by().len()) };
    let slots = |name: &String| {
        let missing = || {
            Error::invalid("Group by properties in the view are not all included in the group by field in the schema")
                .with("property", name)
        };
        let slot = group.shape().slot(name).filter(|slot| group.group_by().contains(slot));
        slot.ok_or_else(missing)
    };
    let mut slots = names.iter().map(slots).collect::<Result<Vec<_>>>()?;
    slots.sort_unstable();
    slots.dedup();
    let mut first: Vec<usize> = group.group_by()[..slots.len()].to_vec();
    first.sort_unstable();
    match first == slots {
        true => Ok(slots.len()),
        false => Err(Error::invalid(
            "Group by properties are not in the same order as the group by properties in the schema",
        )
        .with("groupBy", format!("{names:?}"))),
    }
}

/// The schema's operators for what does not tell elements apart any more, or the view's own.
fn operators(
    view: &GroupView,
    group: &Group,
    group_by: usize,
) -> Result<Vec<(usize, BinaryOperator)>> {
    if !group.aggregates() {
        return Ok(Vec::new());
    }
    let kept = &group.group_by()[..group_by];
    let slots = (0..group.shape().names.len()).filter(|slot| !kept.contains(slot));
    let mut operators: Vec<(usize, BinaryOperator)> =
        slots.filter_map(|slot| Some((slot, group.operator(slot)?.clone()))).collect();
    for json in &view.aggregator {
        let Some((slot, operator)) = group.aggregator(json)? else { continue };
        match operators.iter_mut().find(|(own, _)| *own == slot) {
            Some((_, own)) => *own = operator,
            None if kept.contains(&slot) => {}
            None => operators.push((slot, operator)),
        }
    }
    Ok(operators)
}

/// What is known of an element's places.
struct Known<'a> {
    shape: &'a Shape,
    classes: &'a [Option<Class>],
    vertices: [Option<Class>; 2],
}

impl Known<'_> {
    /// Refuses transforms that can't take what they select, or give what they project to.
    fn check(&self, transforms: &[Transform]) -> Result<()> {
        for transform in transforms {
            if let Some(input) = self.classes(&transform.selection) {
                transform.function.check_input(&input)?;
            }
            if let Some(output) = self.classes(&transform.projection) {
                transform.function.check_output(&output)?;
            }
        }
        Ok(())
    }

    /// The classes of places; none if one of them is not known, which leaves nothing to check.
    fn classes(&self, slots: &[Slot]) -> Option<Vec<Option<Class>>> {
        let [first, second] = self.vertices;
        let class = |slot: &Slot| match slot {
            Slot::Property(slot) => self.classes.get(*slot).copied().flatten(),
            Slot::Directed => Some(Class::Boolean),
            Slot::Group => Some(Class::String),
            Slot::Vertex | Slot::Source => first,
            Slot::Destination => second,
            Slot::MatchedVertex | Slot::AdjacentMatchedVertex if first == second => first,
            _ => None,
        };
        slots.iter().map(|slot| class(slot).map(Some)).collect()
    }
}

/// Refuses filters that can't be asked about elements of the group.
pub(in crate::bucket::graph) fn check_filters(list: &[Json], group: &Group) -> Result<()> {
    let classes: Vec<Option<Class>> = group.classes().iter().copied().map(Some).collect();
    let known = Known { shape: group.shape(), classes: &classes, vertices: group.vertex_classes() };
    filters(list, &known).map(drop)
}

/// Refuses transforms that elements of the group can't go through.
pub(in crate::bucket::graph) fn check_transforms(list: &[Json], group: &Group) -> Result<()> {
    let mut shape = Shape::clone(group.shape());
    let transforms = transforms(list, &mut shape)?;
    let mut classes: Vec<Option<Class>> = group.classes().iter().copied().map(Some).collect();
    classes.resize(shape.names.len(), None);
    Known { shape: &shape, classes: &classes, vertices: group.vertex_classes() }.check(&transforms)
}

/// Reads filters and checks that they can be asked about what they select.
fn filters(list: &[Json], known: &Known<'_>) -> Result<Vec<Filter>> {
    let filter = |json: &Json| {
        let spec = Spec::or_class(json, "TupleAdaptedPredicate")?;
        let names = spec.texts("selection")?;
        let selection: Vec<Slot> =
            names.iter().map(|name| Slot::named(name, known.shape)).collect();
        let predicate = Predicate::from_json(spec.need("predicate")?)?;
        if let Some(classes) = known.classes(&selection) {
            predicate.check(&classes)?;
        }
        Ok(Filter { selection, predicate })
    };
    list.iter().map(filter).collect()
}

/// Reads transforms; what they project to and nobody has yet becomes a slot.
pub(in crate::bucket::graph) fn transforms(
    list: &[Json],
    shape: &mut Shape,
) -> Result<Vec<Transform>> {
    let mut transforms = Vec::new();
    for json in list {
        let spec = Spec::or_class(json, "TupleAdaptedFunction")?;
        let selection = spec.texts("selection")?;
        let selection = selection.iter().map(|name| Slot::named(name, shape)).collect();
        let mut projection = Vec::new();
        for name in spec.texts("projection")? {
            if Slot::named(name, shape) == Slot::Absent {
                shape.names.push(name.into());
            }
            projection.push(Slot::named(name, shape));
        }
        let function = Function::from_json(spec.need("function")?)?;
        transforms.push(Transform { selection, function, projection });
    }
    Ok(transforms)
}

fn dropped(view: &GroupView, shape: &Shape) -> Vec<usize> {
    let is_dropped = |name: &str| match (&view.properties, &view.exclude) {
        (Some(kept), _) => !kept.iter().any(|own| own == name),
        (None, Some(excluded)) => excluded.iter().any(|own| own == name),
        (None, None) => false,
    };
    (0..shape.names.len()).filter(|slot| is_dropped(&shape.names[*slot])).collect()
}
