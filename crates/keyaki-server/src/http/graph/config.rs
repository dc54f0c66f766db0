//! What Gaffer's clients ask about a graph before they ask it anything.

use serde_json::json;

use crate::http::Answer;
use crate::http::answer::Representation;
use crate::http::inside::InBucket;

impl InBucket<'_> {
    /// `/graph/config/schema`.
    pub(in crate::http) fn graph_schema(&self) -> Answer {
        let schema = self.graph()?.schema().to_json();
        Representation::json(Some(self.entry.tid), &schema).answer(self.call.parts)
    }

    /// `/graph/status`.
    pub(in crate::http) fn graph_status(&self) -> Answer {
        self.graph()?;
        let up = json!({"status": "UP", "description": "The system is working normally."});
        Representation::json(None, &up).answer(self.call.parts)
    }
}
