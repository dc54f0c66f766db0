//! Elements that the schema refuses after aggregation: hidden at once, and moved or removed by a sweep.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::stored::{Case, Stored, everywhere};
use super::{Asked, NOW_MS};

const HOUR_MS: i64 = 3_600_000;

fn schema() -> Json {
    json!({
        "entities": {"person": {"vertex": "v", "properties": {"seen": "seen", "count": "count"}}},
        "types": {
            "v": {"class": "String"},
            "seen": {"class": "Long", "aggregateFunction": {"class": "Max"},
                     "validateFunctions": [{"class": "AgeOff", "ageOffTime": HOUR_MS}]},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"},
                      "validateFunctions": [{"class": "IsLessThan", "value": {"Long": 10}}]}
        }
    })
}

fn person(vertex: &str, count: i64) -> Json {
    json!({"class": "Entity", "group": "person", "vertex": vertex,
           "properties": {"seen": {"Long": NOW_MS}, "count": {"Long": count}}})
}

/// What must hold on every engine.
pub const CASES: &[Case] = &[
    (&[schema], invalid_elements_vanish_at_once_and_go_to_quarantine),
    (&[schema], aged_off_elements_vanish_without_quarantine),
];

#[test]
fn elements_are_judged_on_every_engine() {
    everywhere(CASES);
}

fn invalid_elements_vanish_at_once_and_go_to_quarantine(stored: &Stored) {
    stored.add(&json!([person("a", 6), person("b", 1)]), &Json::Null).unwrap();
    assert_eq!(stored.all().len(), 2);
    stored.add(&json!([person("a", 6)]), &Json::Null).unwrap();
    assert_eq!(stored.all().len(), 1, "six and six is too much");
    assert_eq!(stored.quarantined(), 0);
    stored.sweep();
    assert_eq!((stored.all().len(), stored.quarantined()), (1, 1));
    stored.add(&json!([person("a", 2)]), &Json::Null).unwrap();
    assert_eq!(stored.all().len(), 2, "it begins anew");
}

fn aged_off_elements_vanish_without_quarantine(stored: &Stored) {
    stored.add(&json!([person("a", 1)]), &Json::Null).unwrap();
    assert_eq!(stored.all().len(), 1);
    stored.later(Duration::from_millis(HOUR_MS as u64 + 1));
    assert_eq!(stored.all().len(), 0);
    stored.sweep();
    assert_eq!((stored.all().len(), stored.quarantined()), (0, 0));
}
