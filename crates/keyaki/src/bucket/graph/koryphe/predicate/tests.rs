use serde_json::{Value as Json, json};

use super::*;

const DAY_MS: i64 = 86_400_000;
/// A hundred days after 1970.
const NOW_MS: i64 = 100 * DAY_MS;

fn test(predicate: &Json, input: &Json) -> Result<bool> {
    let values: Vec<Value> =
        input.as_array().unwrap().iter().map(|it| Value::from_json(it).unwrap()).collect();
    Predicate::from_json(predicate)?.test(&values.iter().collect::<Vec<_>>(), NOW_MS)
}

#[test]
fn predicates_hold_as_koryphes_do() {
    let long = |number: i64| json!({"java.lang.Long": number});
    let tree = json!({"TreeSet": ["a", "b"]});
    let map = json!({"HashMap": {"k": 5}});
    for (predicate, yes, no) in [
        (json!({"class": "Exists"}), json!([1]), json!([null])),
        (json!({"class": "IsA", "type": "java.lang.Long"}), json!([null]), json!([1])),
        (json!({"class": "IsEqual", "value": long(5)}), json!([long(5)]), json!([5])),
        (json!({"class": "IsEqual"}), json!([null]), json!([5])),
        (json!({"class": "IsIn", "values": ["a", long(1)]}), json!([long(1)]), json!([1])),
        (json!({"class": "IsMoreThan", "value": long(5)}), json!([long(6)]), json!([long(5)])),
        (
            json!({"class": "IsMoreThan", "value": long(5), "orEqualTo": true}),
            json!([long(5)]),
            json!([6]),
        ),
        (json!({"class": "IsLessThan", "value": "b"}), json!(["a"]), json!([null])),
        (json!({"class": "IsTrue"}), json!([true]), json!([null])),
        (
            json!({"class": "AdaptedPredicate", "inputAdapter": {"class": "Length"}, "predicate": {"class": "IsEqual", "value": 2}}),
            json!(["ab"]),
            json!(["abc"]),
        ),
        (
            json!({"class": "AdaptedPredicate", "predicate": {"class": "IsEqual", "value": 2}}),
            json!([2]),
            json!([3]),
        ),
        (json!({"class": "IsFalse"}), json!([false]), json!([null])),
        (
            json!({"class": "Regex", "value": {"java.util.regex.Pattern": "a.c"}}),
            json!(["abc"]),
            json!(["xabc"]),
        ),
        (
            json!({"class": "MultiRegex", "value": [{"java.util.regex.Pattern": "x"}, {"java.util.regex.Pattern": "y+"}]}),
            json!(["yy"]),
            json!(["z"]),
        ),
        (
            json!({"class": "StringContains", "value": "B", "ignoreCase": true}),
            json!(["abc"]),
            json!([null]),
        ),
        (
            json!({"class": "AgeOff", "ageOffTime": DAY_MS}),
            json!([long(NOW_MS - DAY_MS + 1)]),
            json!([long(NOW_MS - DAY_MS)]),
        ),
        (json!({"class": "AgeOffFromDays"}), json!([long(NOW_MS - 1), 1]), json!([long(0), 1])),
        (json!({"class": "IsLongerThan", "minLength": 2}), json!(["abc"]), json!(["ab"])),
        (
            json!({"class": "IsShorterThan", "maxLength": 2, "orEqualTo": true}),
            json!([tree]),
            json!(["abc"]),
        ),
        (json!({"class": "IsXMoreThanY"}), json!([2, 1]), json!([2, long(1)])),
        (json!({"class": "IsXLessThanY"}), json!([1, 2]), json!([2, 2])),
        (json!({"class": "AreEqual"}), json!([null, null]), json!([1, long(1)])),
        (
            json!({"class": "AreIn", "values": ["a", "b", "c"]}),
            json!([tree]),
            json!([{"TreeSet": ["x"]}]),
        ),
        (json!({"class": "CollectionContains", "value": "a"}), json!([tree]), json!([null])),
        (json!({"class": "MapContains", "key": "k"}), json!([map]), json!([{"HashMap": {}}])),
        (
            json!({"class": "MapContainsPredicate", "keyPredicate": {"class": "Regex", "value": "k"}}),
            json!([map]),
            json!([null]),
        ),
        (
            json!({"class": "uk.gov.gchq.koryphe.predicate.PredicateMap", "key": "k", "predicate": {"class": "IsMoreThan", "value": 4}}),
            json!([map]),
            json!([{"HashMap": {"k": 4}}]),
        ),
        (
            json!({"class": "InRange", "start": 1, "end": 3, "endInclusive": false}),
            json!([1]),
            json!([3]),
        ),
        (json!({"class": "InRangeDual", "start": 1, "end": 3}), json!([0, 9]), json!([4, 9])),
        (
            json!({"class": "InRangeDual", "start": 1, "end": 3, "startFullyContained": true}),
            json!([2, 9]),
            json!([0, 2]),
        ),
        (
            json!({"class": "InTimeRange", "start": "1970-01-02", "end": "1970-01-03"}),
            json!([long(DAY_MS)]),
            json!([long(0)]),
        ),
        (
            json!({"class": "InTimeRange", "startOffset": -1, "offsetUnit": "DAY"}),
            json!([long(NOW_MS)]),
            json!([long(0)]),
        ),
        (json!({"class": "InDateRange", "end": "1970-01-02"}), json!([{"Date": 5}]), json!([null])),
        (
            json!({"class": "And", "predicates": [{"class": "Exists"}, {"class": "IsIn", "values": [1]}]}),
            json!([1]),
            json!([2]),
        ),
        (
            json!({"class": "Or", "predicates": [{"class": "IsEqual", "value": 1}, {"class": "IsEqual", "value": 2}]}),
            json!([2]),
            json!([3]),
        ),
        (
            json!({"class": "Or", "predicates": [{"selection": [1], "predicate": {"class": "IsEqual", "value": 2}}]}),
            json!([1, 2]),
            json!([2, 1]),
        ),
        (json!({"class": "Not", "predicate": {"class": "Exists"}}), json!([null]), json!([1])),
        (
            json!({"class": "If", "predicate": {"class": "Exists"}, "then": {"class": "IsEqual", "value": 1}}),
            json!([1]),
            json!([null]),
        ),
    ] {
        assert!(test(&predicate, &yes).unwrap(), "{predicate} of {yes}");
        assert!(!test(&predicate, &no).unwrap(), "not {predicate} of {no}");
    }
}

#[test]
fn what_can_not_be_asked_is_refused() {
    let refused = |predicate: Json| Predicate::from_json(&predicate).unwrap_err();
    assert_eq!(refused(json!({"class": "a.b.Nope"})).context("class"), Some("a.b.Nope"));
    refused(json!({"class": "Regex", "value": "(?<=look)behind"}));
    refused(json!({"class": "Regex", "value": "(((a{900}){900}){900})"}));
    refused(json!({"class": "IsMoreThan"}));
    refused(json!({"class": "InRange", "start": 1, "end": {"Long": 2}}));
    assert!(test(&json!({"class": "AgeOff"}), &json!(["x"])).is_err());
    let check = |predicate: Json, classes: &[Option<Class>]| {
        Predicate::from_json(&predicate).unwrap().check(classes)
    };
    assert!(check(json!({"class": "IsMoreThan", "value": 1}), &[Some(Class::Long)]).is_err());
    assert!(check(json!({"class": "IsMoreThan", "value": 1}), &[Some(Class::Integer)]).is_ok());
    assert!(check(json!({"class": "AreEqual"}), &[Some(Class::Long)]).is_err());
    assert!(
        check(json!({"class": "Not", "predicate": {"class": "IsTrue"}}), &[Some(Class::Long)])
            .is_err()
    );
}
