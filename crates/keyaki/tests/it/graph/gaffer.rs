//! What Gaffer 2.3.2 on Accumulo answered, case by case, with both of its key packages. `golden/gaffer` are cases
//! that we were given; `golden/oracle` are many questions each about one graph of our own, asked of a Gaffer that ran
//! beside us; so is `golden/rows`, where the order of the answers counts.

use std::fs;
use std::path::Path;

use keyaki::testing::graph::Package;
use serde_json::{Value as Json, json};

use super::stored::Stored;
use super::{Asked, Graph};

/// The answers as they are compared: each a set, class names short.
fn sorted(answer: &Json) -> Vec<String> {
    let mut items: Vec<String> =
        answer.as_array().into_iter().flatten().map(|item| short(item).to_string()).collect();
    items.sort();
    items
}

fn short(json: &Json) -> Json {
    match json {
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| match (name.as_str(), value) {
                ("class", Json::String(class)) => {
                    (name.clone(), json!(class.rsplit('.').next().unwrap()))
                }
                _ => (name.clone(), short(value)),
            })
            .collect(),
        Json::Array(items) => items.iter().map(short).collect(),
        other => other.clone(),
    }
}

/// Makes an empty graph for somebody with these authorisations.
pub type Make<'a> = &'a dyn Fn(&Json, Package, &[String]) -> keyaki::Result<Box<dyn Asked>>;

pub const PACKAGES: [Package; 3] = [Package::ByteEntity, Package::Sharded, Package::Classic];

/// What is wrong with our answer to a case.
fn difference(case: &Json, package: Package, make: Make<'_>) -> Result<(), String> {
    let auths: Vec<String> = serde_json::from_value(case["auths"].clone()).unwrap_or_default();
    let graph = make(&case["schema"], package, &auths).map_err(|error| error.to_string())?;
    let options = json!({
        "validate": case["add"]["validate"], "skipInvalidElements": case["add"]["skipInvalid"]
    });
    let added = graph.add(&case["elements"], &options);
    let expected = match (package, case.get("expectedClassic")) {
        (Package::Classic, Some(classic)) => classic,
        _ => &case["expected"],
    };
    let alone = [case["operation"].clone()];
    let (operations, expected) = match case.get("operations").and_then(Json::as_array) {
        Some(operations) => (operations.as_slice(), expected.as_array().unwrap().clone()),
        None => (&alone[..], vec![expected.clone()]),
    };
    for (place, (operation, expected)) in operations.iter().zip(expected).enumerate() {
        let named = &case["named"][place];
        let refused = expected.get(0).is_some_and(|first| first.get("error").is_some());
        let answer = match &added {
            Ok(_) => graph.ask(operation),
            Err(error) => Err(keyaki::Error::new(error.kind(), error.message())),
        };
        match answer {
            Err(_) if refused => {}
            Err(error) => return Err(format!("{named} {error}")),
            Ok(answer) if refused => return Err(format!("{named} should be refused: {answer}")),
            Ok(answer) if sorted(&answer) != sorted(&expected) => {
                return Err(format!(
                    "{named}\n ours {:#?}\n want {:#?}",
                    sorted(&answer),
                    sorted(&expected)
                ));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

#[test]
fn we_answer_as_gaffer_does() {
    all_cases(&PACKAGES, &|schema, package, auths| {
        Ok(Box::new(Graph::new(schema, package, auths)?))
    });
}

/// Tries all cases with these key packages.
pub fn all_cases(packages: &[Package], make: Make<'_>) {
    let mut paths = Vec::new();
    for (place, count) in [("gaffer", 31), ("oracle", 7)] {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(place);
        let before = paths.len();
        paths.extend(fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()));
        assert_eq!(paths.len() - before, count);
    }
    paths.sort();
    let mut wrong = Vec::new();
    for path in paths {
        let case: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for package in packages {
            if let Err(difference) = difference(&case, *package, make) {
                wrong.push(format!("{} ({package:?}): {difference}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where an engine keeps vertices in order, elements of all groups come as they would from Accumulo.
#[test]
fn rows_come_in_gaffers_order() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rows/rows.json");
    let case: Json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for (package, expected) in
        [(Package::ByteEntity, &case["expected"]), (Package::Classic, &case["expectedClassic"])]
    {
        for make in [Stored::on_memory, Stored::on_embedded] {
            let graph = make(&case["schema"], package, &[]).unwrap();
            graph.add(&case["elements"], &json!({})).unwrap();
            for (place, operation) in case["operations"].as_array().unwrap().iter().enumerate() {
                let (named, wanted) = (&case["named"][place], &expected[place]);
                // With `classic`, what comes in is found under its other end, which we don't.
                if !wanted.is_null() {
                    assert_eq!(graph.ask(operation).unwrap(), *wanted, "{package:?} {named}");
                }
            }
        }
    }
}
