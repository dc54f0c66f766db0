//! What is kept under names: its bytes, whose it is, and how parameters are filled in.

use std::sync::Arc;

use keyaki::bucket::graph::operation::{Budget, Executor, KnownNames, Step, Who, mentioned};
use keyaki::engine::ScanRequest;
use keyaki::store::Operation;
use keyaki::{Kind, Result};
use serde_json::{Value as Json, json};

use super::stored::{Stored, in_every_form, operation};
use super::{Asked, answer};

fn schema() -> Json {
    json!({
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"count": "count"}}},
        "types": {
            "v": {"class": "String"}, "b": {"class": "Boolean"},
            "count": {"class": "Long", "aggregateFunction": {"class": "Sum"}}
        }
    })
}

fn who(user: &str, roles: &[&str]) -> Who {
    let roles = roles.iter().map(|&role| role.to_owned()).collect();
    Who { user: Some(user.to_owned()), roles, administers: false }
}

/// Runs a chain as somebody would over HTTP.
fn run(stored: &Stored, who: &Who, chain: &Json, repeat: Option<Operation>) -> Result<Json> {
    stored.runtime.block_on(async {
        let graph = &stored.graph;
        let writer = Arc::new(graph.writer(who.user.clone(), repeat));
        let book = graph.names(who.clone()).changed_by(writer.clone());
        let mut known = KnownNames::default();
        book.learn(&mut known, mentioned(chain)).await?;
        let mut step = Step::from_json(chain, graph.schema(), &known);
        let missed = known.missed();
        if book.learn(&mut known, missed).await? {
            step = Step::from_json(chain, graph.schema(), &known);
        }
        let budget = Arc::new(Budget::new(stored.limits, stored.wall.clone()));
        let source = Arc::new(graph.seen_by(stored.authorisations.clone()));
        let executor = Executor::new(graph.schema().clone(), source, budget)
            .with_sink(writer)
            .with_register(Arc::new(book));
        answer(executor.execute(&step?).await?).await
    })
}

fn named(name: &str, parameters: &Json) -> Json {
    json!({"class": "NamedOperation", "operationName": name, "parameters": parameters})
}

/// A chain with a limit that can be said.
fn limited() -> Json {
    json!({
        "class": "AddNamedOperation", "operationName": "few", "description": "A few edges",
        "operationChain": {"operations": [{"class": "GetAllElements"}, {"class": "Limit", "resultLimit": "${n}"}]},
        "parameters": {"n": {"description": "how many", "valueClass": "java.lang.Long", "defaultValue": 2}},
        "readAccessRoles": ["analyst"], "writeAccessRoles": ["editor"], "labels": ["l"], "score": 3
    })
}

fn edges(count: usize) -> Json {
    let edge = |i| {
        json!({"class": "Edge", "group": "knows", "source": "a", "destination": format!("b{i}"),
               "directed": true, "properties": {"count": {"Long": i}}})
    };
    (0..count).map(edge).collect()
}

#[test]
fn chains_are_kept_found_and_filled_in() {
    in_every_form(&schema(), |stored| {
        stored.add(&edges(5), &Json::Null).unwrap();
        let (ana, rita, ed) = (who("ana", &[]), who("rita", &["analyst"]), who("ed", &["editor"]));
        let ask = |who: &Who, chain: &Json| run(stored, who, chain, None);
        let count = |who: &Who, parameters: &Json| {
            Ok::<_, keyaki::Error>(ask(who, &named("few", parameters))?.as_array().map(Vec::len))
        };
        assert!(count(&ana, &json!({})).is_err(), "there is nothing yet");
        ask(&ana, &limited()).unwrap();
        assert_eq!(count(&ana, &Json::Null).unwrap(), Some(2));
        assert_eq!(count(&rita, &json!({"n": 4})).unwrap(), Some(4));
        assert!(count(&ed, &json!({})).is_err(), "who may not see it does not find it");
        assert!(count(&ana, &json!({"m": 4})).is_err());
        assert!(count(&ana, &json!({"n": "many"})).is_err());
        let all =
            |who: &Who| ask(who, &json!({"class": "GetAllNamedOperations"})).unwrap()[0].clone();
        assert_eq!(
            all(&rita),
            json!([{
                "operationName": "few", "description": "A few edges", "creatorId": "ana", "labels": ["l"], "score": 3,
                "readAccessRoles": ["analyst"], "writeAccessRoles": ["editor"],
                "operations": "{\"operations\":[{\"class\":\"GetAllElements\"},{\"class\":\"Limit\",\"resultLimit\":\"${n}\"}]}",
                "parameters": {"n": {"description": "how many", "valueClass": "java.lang.Long", "defaultValue": 2, "required": false}}
            }])
        );
        assert_eq!(all(&ed), json!([]));
        let counted =
            json!({"operations": [{"class": "GetAllNamedOperations"}, {"class": "Count"}]});
        assert_eq!(ask(&ana, &counted).unwrap(), json!([1]));

        let taken = ask(&ana, &limited()).unwrap_err();
        assert_eq!(taken.kind(), Kind::Conflict);
        let mut over = limited();
        over["overwriteFlag"] = json!(true);
        over["readAccessRoles"] = json!(["editor"]);
        assert_eq!(ask(&rita, &over).unwrap_err().kind(), Kind::Forbidden);
        ask(&ed, &over).unwrap();
        assert_eq!(count(&ed, &json!({})).unwrap(), Some(2), "it is the editor's now");
        assert!(count(&ana, &json!({})).is_err());
        let forget = json!({"class": "DeleteNamedOperation", "operationName": "few"});
        assert_eq!(ask(&ana, &forget).unwrap_err().kind(), Kind::Forbidden);
        let admin = Who { administers: true, ..who("root", &[]) };
        assert_eq!(count(&admin, &json!({})).unwrap(), Some(2));
        ask(&admin, &forget).unwrap();
        ask(&admin, &forget).unwrap();
        assert_eq!(all(&admin), json!([]));
    });
}

#[test]
fn what_could_never_run_is_not_kept() {
    let stored =
        Stored::on_memory(&schema(), keyaki::testing::graph::Package::ByteEntity, &[]).unwrap();
    let with = |field: &str, value: Json| {
        let mut add = limited();
        add[field] = value;
        add
    };
    let chain = |json: Json| with("operationChain", json!({"operations": json}));
    let own = named("few", &Json::Null);
    for (wrong, what) in [
        (with("operationName", json!("")), "1 to 1024"),
        (with("operationChain", Json::Null), "missing"),
        (chain(json!([])), "no operations"),
        (chain(json!([{"class": "Nope"}])), "Nope"),
        (chain(json!([own, {"class": "Limit", "resultLimit": "${n}"}])), "nested"),
        (
            chain(json!([{"class": "If", "then": own}, {"class": "Limit", "resultLimit": "${n}"}])),
            "nested",
        ),
        (chain(json!([{"class": "GetAllElements"}])), "does not occur"),
        (with("parameters", json!({"n": {"valueClass": "Long"}})), "description"),
        (
            with(
                "parameters",
                json!({"n": {"description": "", "valueClass": "Long", "required": true, "defaultValue": 1}}),
            ),
            "required",
        ),
        (
            with(
                "parameters",
                json!({"n": {"description": "", "valueClass": "Long", "defaultValue": "x"}}),
            ),
            "class",
        ),
        (with("readAccessPredicate", json!({"class": "NoAccessPredicate"})), "not both"),
        (with("description", json!("x")), ""),
    ] {
        let got = run(&stored, &who("ana", &[]), &wrong, None);
        match what {
            "" => assert!(got.is_ok(), "{got:?}"),
            what => {
                assert!(got.as_ref().unwrap_err().to_string().contains(what), "{what}: {got:?}")
            }
        }
    }
}

#[test]
fn operations_as_parameters_do_not_go_on_for_ever() {
    let stored =
        Stored::on_memory(&schema(), keyaki::testing::graph::Package::ByteEntity, &[]).unwrap();
    let ana = who("ana", &[]);
    let any = json!({
        "class": "AddNamedOperation", "operationName": "any", "operationChain": {"operations": ["${a}", "${b}"]},
        "parameters": {"a": {"description": "", "valueClass": "Operation", "required": true},
                       "b": {"description": "", "valueClass": "Operation", "defaultValue": {"class": "Count"}}}
    });
    run(&stored, &ana, &any, None).unwrap();
    stored.add(&edges(3), &Json::Null).unwrap();
    let all = json!({"class": "GetAllElements"});
    assert_eq!(run(&stored, &ana, &named("any", &json!({"a": all})), None).unwrap(), json!([3]));
    let list = json!({"class": "ToList"});
    let deeper = |inner: &Json| named("any", &json!({"a": inner, "b": list}));
    let nested = (0..2).fold(all.clone(), |inner, _| deeper(&inner));
    assert_eq!(run(&stored, &ana, &nested, None).unwrap().as_array().map(Vec::len), Some(3));
    let refused = run(&stored, &ana, &(0..4).fold(all, |inner, _| deeper(&inner)), None);
    assert!(refused.unwrap_err().to_string().contains("too deep"));
}

#[test]
fn views_are_kept_and_merged() {
    in_every_form(&schema(), |stored| {
        stored.add(&edges(5), &Json::Null).unwrap();
        let (ana, bob) = (who("ana", &[]), who("bob", &[]));
        let add = json!({
            "class": "AddNamedView", "name": "many", "view": {"edges": {"${group}": {"preAggregationFilterFunctions": [
                {"selection": ["count"], "predicate": {"class": "IsMoreThan", "value": {"Long": "${least}"}}}]}}},
            "parameters": {
                "group": {"description": "", "valueClass": "String", "required": true},
                "least": {"description": "", "valueClass": "Long", "defaultValue": 1}}
        });
        run(stored, &ana, &add, None).unwrap();
        let seen = |view: Json| {
            let got = run(stored, &bob, &json!({"class": "GetAllElements", "view": view}), None);
            got.map(|got| got.as_array().map(Vec::len))
        };
        let view = |parameters: Json| json!({"class": "NamedView", "name": "many", "parameters": parameters});
        assert_eq!(seen(view(json!({"group": "knows"}))).unwrap(), Some(3));
        assert_eq!(seen(view(json!({"group": "knows", "least": 3}))).unwrap(), Some(1));
        assert!(seen(view(json!({}))).is_err(), "what is required must be said");
        let mut narrower = view(json!({"group": "knows"}));
        narrower["edges"] = json!({"knows": {"postAggregationFilterFunctions": [
            {"selection": ["count"], "predicate": {"class": "IsLessThan", "value": {"Long": 4}}}]}});
        assert_eq!(seen(narrower).unwrap(), Some(2), "what is said beside a name comes on top");
        assert!(seen(json!({"class": "NamedView", "name": "nope"})).is_err());
        let inside = json!({"class": "AddNamedOperation", "operationName": "seen", "readAccessRoles": ["r"],
            "operationChain": {"operations": [{"class": "GetAllElements", "view": {
                "class": "NamedView", "name": "${view}", "parameters": {"group": "knows"}}}]},
            "parameters": {"view": {"description": "", "valueClass": "String", "defaultValue": "many"}}});
        run(stored, &ana, &inside, None).unwrap();
        let got = run(stored, &ana, &named("seen", &json!({})), None).unwrap();
        assert_eq!(got.as_array().map(Vec::len), Some(3));
        let forget = json!({"class": "DeleteNamedView", "name": "many"});
        assert_eq!(run(stored, &bob, &forget, None).unwrap_err().kind(), Kind::Forbidden);
        let all = json!({"class": "GetAllNamedViews"});
        assert_eq!(run(stored, &bob, &all, None).unwrap()[0][0]["creatorId"], "ana");
        run(stored, &ana, &forget, None).unwrap();
        assert_eq!(run(stored, &bob, &all, None).unwrap(), json!([[]]));
    });
}

#[test]
fn a_repeat_changes_nothing_and_is_no_conflict() {
    in_every_form(&schema(), |stored| {
        let ana = who("ana", &[]);
        let send = |chain: &Json, id: &str| run(stored, &ana, chain, Some(operation(id)));
        send(&limited(), "one").unwrap();
        send(&limited(), "one").unwrap();
        assert_eq!(send(&limited(), "two").unwrap_err().kind(), Kind::Conflict);
        let forget = json!({"class": "DeleteNamedOperation", "operationName": "few"});
        send(&forget, "three").unwrap();
        send(&limited(), "one").unwrap();
        let all = run(stored, &ana, &json!({"class": "GetAllNamedOperations"}), None).unwrap();
        assert_eq!(all, json!([[]]), "it was added once, and is gone");
    });
}

#[test]
fn names_have_these_bytes() {
    let stored =
        Stored::on_memory(&schema(), keyaki::testing::graph::Package::ByteEntity, &[]).unwrap();
    run(&stored, &who("ana", &[]), &limited(), None).unwrap();
    let view = json!({"class": "AddNamedView", "name": "v", "view": {"allEdges": true}});
    run(&stored, &who("ana", &[]), &view, None).unwrap();
    let bucket = stored.graph.bucket();
    let cells: Vec<(String, String)> = stored.runtime.block_on(async {
        let request = ScanRequest::partition(bucket.primary(), b"names".to_vec());
        let mut scan = bucket.store().engine().scan(request).await.unwrap();
        let block = scan.next_block().await.unwrap().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        block.iter().map(|cell| (text(cell.sort()), text(cell.payload()))).collect()
    });
    let operation = concat!(
        r#"{"name":"few","json":"{\"operations\":[{\"class\":\"GetAllElements\"},{\"class\":\"Limit\",\"resultLimit\":\"${n}\"}]}","#,
        r#""description":"A few edges","creator":"ana","labels":["l"],"readRoles":["analyst"],"writeRoles":["editor"],"#,
        r#""parameters":{"n":{"description":"how many","defaultValue":2,"valueClass":"java.lang.Long","required":false}},"score":3}"#,
    );
    let view = r#"{"name":"v","json":"{\"allEdges\":true}","creator":"ana"}"#;
    let wanted = [("operation\0few\0", operation), ("view\0v\0", view)];
    assert_eq!(cells, wanted.map(|(sort, value)| (sort.to_owned(), value.to_owned())));
}
