//! Settings that are sent back as they were shown. What only the server says of them is taken off before they are read,
//! provided that it is what the server says.

use std::mem::discriminant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::problem::{self, Problem};

/// What must be as it is shown.
const FIXED: [&str; 4] = ["name", "fingerprint", "tid", "time"];
/// What changes by itself: it may have been true when it was shown.
const MOVING: [&str; 2] = ["use", "buckets"];

/// Settings that were sent, beside those that are shown now.
pub fn form<T: DeserializeOwned>(mut sent: Value, shown: &impl Serialize) -> Result<T, Problem> {
    if let Value::Object(members) = &mut sent {
        let shown = json!(shown);
        for name in FIXED {
            let Some(said) = members.remove(name) else { continue };
            if shown.get(name) != Some(&said) {
                let why = "this is the server's to say, and is not what it says";
                return Err(Problem::new(&problem::INVALID, why).with("at", &format!("/{name}")));
            }
        }
        for name in MOVING {
            let like = |shown: &Value, said: &Value| discriminant(shown) == discriminant(said);
            let pair = shown.get(name).zip(members.get(name));
            if pair.is_some_and(|(shown, said)| like(shown, said)) {
                members.remove(name);
            }
        }
    }
    super::json::form(sent, "")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_the_server_says_may_be_said_back() {
        let shown = json!({"name": "n", "tid": "t", "use": {"items": 1}, "other": 0});
        for (sent, refused) in [
            (json!({}), None),
            (json!({"name": "n", "tid": "t", "use": {"items": 2}}), None),
            (json!({"name": "m"}), Some("/name")),
            (json!({"time": "now"}), Some("/time")),
            (json!({"use": 5}), Some("/use")),
            (json!({"buckets": []}), Some("/buckets")),
            (json!({"other": 0}), Some("/other")),
        ] {
            // Whatever is left has no place there.
            let read = form::<BTreeMap<String, Nothing>>(sent.clone(), &shown);
            match (read, refused) {
                (Ok(left), None) => assert!(left.is_empty(), "{sent}"),
                (Err(problem), Some(at)) => assert_eq!(problem.place(), Some(at), "{sent}"),
                (read, _) => panic!("{sent}: {read:?}"),
            }
        }
    }

    #[derive(Debug)]
    struct Nothing;

    impl<'de> serde::Deserialize<'de> for Nothing {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Err(serde::de::Error::custom("nothing is left"))
        }
    }
}
