//! Two inputs side by side, matched by a key.

use std::collections::HashMap;

use super::super::{Join, JoinKind};
use super::{Executor, Output, Ready, collect};
use crate::bucket::graph::element::Ends;
use crate::bucket::graph::value::{Map, MapKind, Value};
use crate::error::{Error, Result};

impl Executor {
    pub(super) async fn join(&self, join: &Join, input: Output) -> Result<Output> {
        let left = collect(input.into_values()?, &self.budget).await?;
        let right = self.run(&join.right, Output::Nothing).await?.needed()?;
        let right = collect(right.into_values()?, &self.budget).await?;
        if left.len().max(right.len()) as u64 > join.limit {
            return Err(Error::invalid("a side of a join has more items than it may")
                .with("collectionLimit", join.limit));
        }
        let (keyed, partners, names) = match join.by_right {
            true => (right, left, ["RIGHT", "LEFT"]),
            false => (left, right, ["LEFT", "RIGHT"]),
        };
        let now_ms = self.budget.now_ms();
        let mut by_key: HashMap<Value, Vec<Value>> = HashMap::new();
        for partner in partners {
            by_key.entry(join.key(&partner, 1, now_ms)?).or_default().push(partner);
        }
        let mut pairs = Vec::new();
        for item in keyed {
            let found = by_key.get(&join.key(&item, 0, now_ms)?).cloned().unwrap_or_default();
            join.pair(item, found, names, &mut pairs);
            self.budget.holding(pairs.len() as u64)?;
        }
        Ok(Output::Values(Box::new(Ready::new(pairs))))
    }
}

impl Join {
    /// What an item is matched by: its key functions, or an element's id, group and the named properties.
    fn key(&self, item: &Value, side: usize, now_ms: i64) -> Result<Value> {
        if let Some(keys) = &self.keys {
            return keys[side].apply_one(item.clone(), now_ms);
        }
        let Value::Element(element) = item else {
            return Err(Error::invalid("only elements can be matched as such").with("value", item));
        };
        let mut key = vec![element.group().into()];
        match &element.ends {
            Ends::Vertex(vertex) => key.push(vertex.clone()),
            Ends::Edge { source, destination, directed, .. } => {
                key.extend([source.clone(), destination.clone(), Value::Boolean(*directed)]);
            }
        }
        key.extend(self.group_by.iter().map(|name| element.property(name).clone()));
        Ok(Value::list(key))
    }

    fn pair(&self, item: Value, found: Vec<Value>, names: [&str; 2], pairs: &mut Vec<Value>) {
        // A tuple, as Gaffer shows one: its values by side, none where there is no partner.
        let mut push = |partner: Value| {
            let mut values = Map::new(MapKind::Linked);
            let sides = names.into_iter().zip([item.clone(), partner]);
            for (name, value) in sides.filter(|(_, value)| !value.is_null()) {
                values.insert(name.into(), value);
            }
            let mut pair = Map::new(MapKind::Linked);
            pair.insert("values".into(), Value::Map(Box::new(values)));
            pairs.push(Value::Map(Box::new(pair)));
        };
        match (self.kind, found.is_empty()) {
            (JoinKind::Inner, true) | (JoinKind::Outer, false) => {}
            (_, _) if !self.flatten => push(Value::list(found)),
            (_, true) => push(Value::Null),
            (_, false) => found.into_iter().for_each(push),
        }
    }
}
