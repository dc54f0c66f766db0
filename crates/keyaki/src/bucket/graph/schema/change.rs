//! Which schema may follow which, once there are elements: what is stored must still be readable, and mean the
//! same. New groups, new properties (behind the old ones), other validators, descriptions and the operators of
//! properties outside group-by are fine.

use serde_json::Value as Json;

use super::{Group, Schema};
use crate::bucket::graph::value::VertexEncoding;
use crate::error::{Error, Result};

impl Schema {
    /// The schema that follows this one.
    ///
    /// # Errors
    /// `Invalid` if it is no schema, or stored elements would not fit it; with the reason.
    pub fn changed(&self, json: &Json) -> Result<Self> {
        let next = Self::with_layout(json, self.layout.clone())?;
        if self.visibility_property() != next.visibility_property() {
            return Err(Error::invalid("the visibility property of a graph can't change"));
        }
        for group in self.groups() {
            match next.group(group.name()) {
                None => {
                    return Err(Error::invalid("a group can't be removed from the schema")
                        .with("group", group.name()));
                }
                Some(after) => check(group, after).map_err(|e| e.with("group", group.name()))?,
            }
        }
        if self.groups().next().is_some() && !reads(self.vertices, next.vertices) {
            return Err(Error::invalid("the class of the vertices can't change"));
        }
        Ok(next)
    }
}

fn reads(before: VertexEncoding, after: VertexEncoding) -> bool {
    before == after
}

fn check(before: &Group, after: &Group) -> Result<()> {
    if before.shape.is_edge != after.shape.is_edge {
        return Err(Error::invalid("a group can't change between entities and edges"));
    }
    if before.vertex_classes != after.vertex_classes {
        return Err(Error::invalid("the class of a group's vertices can't change"));
    }
    if before.aggregate != after.aggregate {
        return Err(Error::invalid("aggregation can't be turned on or off"));
    }
    if before.group_by != after.group_by {
        return Err(Error::invalid("groupBy can't change"));
    }
    for (slot, class) in before.classes.iter().enumerate() {
        let name = &before.shape.names[slot];
        if after.classes[slot] != *class {
            return Err(Error::invalid("a property can't be removed or change its class")
                .with("property", name));
        }
    }
    Ok(())
}
