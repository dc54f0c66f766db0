//! Revisions, listings of items, and changes.

use keyaki::bucket::revisions::{Listed, Revision};
use keyaki::store::ChangeRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::catalog::time;

/// A revision, without its content.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionShown {
    #[schema(format = "uuid")]
    pub tid: String,
    #[schema(format = DateTime)]
    pub time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub content_type: Option<String>,
    /// Bytes of content.
    pub length: u64,
    /// Whether it says that the item is gone.
    pub deleted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub renamed_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub renamed_to: Option<String>,
    /// Who may see it; everybody if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub visibility: Option<String>,
}

impl From<&Revision> for RevisionShown {
    fn from(revision: &Revision) -> Self {
        let stored = &revision.stored;
        let unless_empty = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            tid: revision.tid.to_string(),
            time: time(revision.tid),
            content_type: unless_empty(&stored.content_type),
            length: stored.length,
            deleted: stored.deleted,
            renamed_from: stored.renamed_from.clone(),
            renamed_to: stored.renamed_to.clone(),
            visibility: unless_empty(&revision.visibility),
        }
    }
}

/// An item in a listing, with the newest revision that the caller may see.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemShown {
    pub key: String,
    #[schema(format = "uuid")]
    pub tid: String,
    #[schema(format = DateTime)]
    pub time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub content_type: Option<String>,
    /// Bytes of content.
    pub length: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub renamed_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub visibility: Option<String>,
}

impl From<&Listed> for ItemShown {
    fn from(listed: &Listed) -> Self {
        let revision = RevisionShown::from(&listed.revision);
        Self {
            key: listed.key.clone(),
            tid: revision.tid,
            time: revision.time,
            content_type: revision.content_type,
            length: revision.length,
            renamed_from: revision.renamed_from,
            visibility: revision.visibility,
        }
    }
}

/// Which item is to be called what.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameForm {
    #[schema(schema_with = super::settings::key)]
    pub from: String,
    #[schema(schema_with = super::settings::key)]
    pub to: String,
}

/// Changes, oldest first.
#[derive(Serialize, ToSchema)]
pub struct Changes {
    pub items: Vec<ChangeShown>,
    /// Where to go on, now or later: what `since` is to say.
    #[schema(format = "uuid")]
    pub since: String,
    /// The same, if there is more already.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uuid")]
    pub next: Option<String>,
}

/// What happened to an item.
#[derive(Serialize, ToSchema)]
pub struct ChangeShown {
    #[schema(format = "uuid")]
    pub id: String,
    pub item: String,
    /// What was done: `put`, `delete`, `rename` and the like.
    pub action: String,
    #[schema(required = true)]
    pub operation: Option<OperationShown>,
    #[schema(required = true)]
    pub user: Option<String>,
    #[schema(format = DateTime)]
    pub time: String,
    /// Some of what the item was before.
    pub before: Value,
    /// And after.
    pub after: Value,
    pub visibility: String,
}

/// The caller's name for what it did.
#[derive(Serialize, ToSchema)]
pub struct OperationShown {
    pub id: String,
    pub sequence: u64,
}

impl From<&ChangeRecord> for ChangeShown {
    fn from(record: &ChangeRecord) -> Self {
        let change = &record.change;
        let operation = |id: &String| OperationShown { id: id.clone(), sequence: change.sequence };
        Self {
            id: record.id.to_string(),
            item: change.item.clone(),
            action: change.action.clone(),
            operation: change.operation.as_ref().map(operation),
            user: change.user.clone(),
            time: time(record.id),
            before: change.before.clone(),
            after: change.after.clone(),
            visibility: String::from_utf8_lossy(&record.visibility).into_owned(),
        }
    }
}
