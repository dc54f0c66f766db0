//! Which number stands for a group, and which slot for a property. Both are in stored cells, so a schema that
//! changes keeps those of the old one and puts new ones behind them.

use serde_json::{Value as Json, json};

use super::definition::Definition;
use crate::error::{Error, Result};

/// The persisted order of groups and of their properties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Each group with its properties; its place is its number.
    pub groups: Vec<(String, Vec<String>)>,
}

impl Layout {
    /// Goes on with `self`: what is new in the schema comes after what was there.
    #[must_use]
    pub fn extended(mut self, schema: &Definition) -> Self {
        for (name, group) in schema.entities.iter().chain(&schema.edges) {
            let place = self.groups.iter().position(|(own, _)| own == name);
            let place = place.unwrap_or_else(|| {
                self.groups.push((name.clone(), Vec::new()));
                self.groups.len() - 1
            });
            let slots = &mut self.groups[place].1;
            for (property, _) in &group.properties {
                if !slots.contains(property) {
                    slots.push(property.clone());
                }
            }
        }
        self
    }

    /// For storing beside the schema.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let group = |(name, slots): &(String, Vec<String>)| json!({"group": name, "slots": slots});
        self.groups.iter().map(group).collect()
    }

    /// Undoes [`Self::to_json`].
    ///
    /// # Errors
    /// `Corrupt` if it is not a layout.
    pub fn from_json(json: &Json) -> Result<Self> {
        let damaged = || Error::corrupt("the layout of a graph can't be read");
        let group = |json: &Json| {
            let name = json.get("group")?.as_str()?.to_owned();
            let slots = json.get("slots")?.as_array()?.iter();
            let slots = slots.map(|slot| slot.as_str().map(str::to_owned));
            Some((name, slots.collect::<Option<Vec<_>>>()?))
        };
        let groups = json.as_array().and_then(|list| list.iter().map(group).collect());
        Ok(Self { groups: groups.ok_or_else(damaged)? })
    }
}
