//! Items of buckets of revisions.

use super::sketch::Sketch;
use crate::http::shapes::{Changes, ItemShown, RenameForm, RevisionShown};

pub const TAG: &str = "Revisions";
const WRITTEN: [&str; 4] = ["ETag", "Last-Modified", "Idempotency-Replayed", "Keyaki-Unchanged"];

pub fn list(s: Sketch) -> Sketch {
    s.says(
        "listItems",
        TAG,
        "The items of a bucket",
        "With `Accept: application/x-ndjson` and no `limit`, all of them as lines of JSON.",
    )
    .for_anybody()
    .takes_by_state(&["Keyaki-Session"])
    .answers_page::<ItemShown>("A page of items, or all of them.")
    .also_text(200, "application/x-ndjson")
    .heads(200, &["Link"])
}

pub fn changes(s: Sketch) -> Sketch {
    s.says(
        "readChanges",
        TAG,
        "What happened in a bucket",
        "Oldest first. `Accept: text/event-stream` follows it; `application/x-ndjson` and no `limit` answers all of it as \
         lines of JSON.",
    )
    .for_anybody()
    .takes_by_state(&["Keyaki-Session", "Last-Event-ID"])
    .answers_json::<Changes>(200, "Changes, and where to go on.")
    .also_text(200, "application/x-ndjson")
    .also_text(200, "text/event-stream")
    .heads(200, &["Link"])
}

pub fn rename(s: Sketch) -> Sketch {
    s.says(
        "renameItem",
        TAG,
        "Renames an item",
        "Conditions are about `to`; both histories show it.",
    )
    .for_anybody()
    .conditional()
    .repeat_safe()
    .takes_json::<RenameForm>(true)
    .answers_json::<RevisionShown>(200, "It is renamed, onto what was there.")
    .answers_json::<RevisionShown>(201, "It is renamed.")
    .heads(200, &WRITTEN)
    .heads(201, &WRITTEN)
    .heads(201, &["Location"])
}

pub fn read(s: Sketch) -> Sketch {
    s.says("readItem", TAG, "What an item says", "")
        .for_anybody()
        .answers_content("The content as it was stored, with the headers stored with it.")
        .with_tag()
}

pub fn write(s: Sketch) -> Sketch {
    s.says(
        "writeItem",
        TAG,
        "Writes an item",
        "`Content-Type`, `Content-Language`, `Content-Disposition` and `Keyaki-Store-<Name>` come back with the content.",
    )
    .for_anybody()
    .conditional()
    .repeat_safe()
    .takes(&["Keyaki-Visibility", "Keyaki-Only-If-Changed"])
    .takes_content("Any content of any type.")
    .answers_json::<RevisionShown>(200, "It is written anew.")
    .answers_json::<RevisionShown>(201, "It is new.")
    .heads(200, &WRITTEN)
    .heads(201, &WRITTEN)
    .heads(201, &["Location"])
    .leads_to(201, "readItem", &[])
    .leads_to(201, "readHistory", &[])
    .leads_to(201, "readRevision", &[("revision", "$response.body#/tid")])
    .leads_to(201, "deleteItem", &[])
}

pub fn delete(s: Sketch) -> Sketch {
    s.says(
        "deleteItem",
        TAG,
        "Deletes an item",
        "Adds a revision that says so; what it said before stays in its history.",
    )
    .for_anybody()
    .conditional()
    .repeat_safe()
    .answers_json::<RevisionShown>(200, "It is gone.")
    .heads(200, &["Idempotency-Replayed"])
}

pub fn history(s: Sketch) -> Sketch {
    s.says(
        "readHistory",
        TAG,
        "An item's revisions",
        "Newest first. With `Accept: application/x-ndjson` and no `limit`, all of them as lines of JSON.",
    )
    .for_anybody()
    .answers_page::<RevisionShown>("A page of revisions, or all of them.")
    .also_text(200, "application/x-ndjson")
    .heads(200, &["Link"])
}

pub fn revision(s: Sketch) -> Sketch {
    s.says("readRevision", TAG, "What an item said", "At a tid, or at a time.")
        .for_anybody()
        .answers_content("The content as it was stored then.")
        .with_tag()
}
