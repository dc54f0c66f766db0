//! `/vertices/{vertex}`, or `/graph/vertices?vertex=` for those that no path can name: everything about a vertex, erased.
//! It goes whoever may see it, so only those may do it who may delete the bucket.

use keyaki::bucket::graph::value::{Class, Value, VertexEncoding};
use serde_json::Value as Json;

use super::elements::{JSON, summary};
use crate::http::Answer;
use crate::http::answer::refuse_unacceptable;
use crate::http::conditions::{Conditions, Verdict};
use crate::http::identify::refuse;
use crate::http::inside::InBucket;
use crate::http::path::Query;
use crate::http::problem::Problem;
use crate::http::shapes::Erased;

impl InBucket<'_> {
    /// `/vertices/{vertex}`.
    pub(in crate::http) async fn erase(&self, text: &str, query: Query) -> Answer {
        if !self.who()?.administers {
            return Err(refuse(&self.call.principal));
        }
        let vertex = self.vertex(text, query.get("vertexClass"))?;
        refuse_unacceptable(self.headers(), JSON)?;
        if Conditions::parse(self.headers())?.on_untagged() != Verdict::Go {
            return Err(Problem::unmet());
        }
        let (erased, tid) = self.graph()?.erase(&vertex, self.caller.user.clone()).await?;
        summary(&Erased { erased }, tid)
    }

    /// `/graph/vertices?vertex=`.
    pub(in crate::http) async fn erase_named(&self, query: Query) -> Answer {
        let which = || Problem::bad_request("which vertex?").with("parameter", "vertex");
        let vertex = query.get("vertex").ok_or_else(which)?.to_owned();
        self.erase(&vertex, query).await
    }

    /// The vertex that a text means; of what class it is the schema tells, unless the caller does.
    fn vertex(&self, text: &str, class: Option<&str>) -> Result<Value, Problem> {
        let schema = self.graph()?.schema();
        let class = match (class, schema.vertices()) {
            (Some(class), _) => Class::named(class)?,
            (None, VertexEncoding::Plain(class)) => class,
            (None, VertexEncoding::Tagged) => Class::String,
        };
        let json = match class {
            Class::String => Json::from(text),
            // What is no JSON is a string: a date, say, or base64.
            _ => serde_json::from_str(text).unwrap_or_else(|_| Json::from(text)),
        };
        let vertex = Value::from_json_as(&json, class)?;
        schema.check_vertex(&vertex)?;
        Ok(vertex)
    }
}
