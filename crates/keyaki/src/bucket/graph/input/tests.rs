//! Text in pieces of every size means the same, and what is wrong is told.

use std::sync::Arc;

use serde_json::json;

use super::{ELEMENT_BYTES_MAX, Format, Given, Input, Mapping};
use crate::bucket::graph::schema::Schema;
use crate::error::Result;

fn schema() -> Arc<Schema> {
    let schema = json!({
        "edges": {"knows": {"source": "v", "destination": "v", "directed": "b", "properties": {"n": "n", "vis": "v", "set": "set"}, "aggregate": false}},
        "entities": {"person": {"vertex": "v", "properties": {"n": "n"}, "aggregate": false}},
        "types": {"v": {"class": "String"}, "b": {"class": "Boolean"}, "n": {"class": "Long"}, "set": {"class": "TreeSet"}},
        "visibilityProperty": "vis"
    });
    Arc::new(Schema::from_json(&schema).unwrap())
}

fn read(format: &Format, text: &[u8], pieces: usize) -> Result<Vec<Given>> {
    let mut input = Input::new(schema(), format.clone());
    let mut out = Vec::new();
    for piece in text.chunks(pieces.max(1)) {
        input.feed(piece, &mut out)?;
    }
    input.finish(&mut out)?;
    Ok(out)
}

/// As text: elements, or what is wrong with them.
fn shown(format: &Format, text: &str) -> Vec<String> {
    let show = |given: &Given| match &given.element {
        Ok(element) => element.to_string(),
        Err(error) => format!("! {error}"),
    };
    let whole: Vec<_> =
        read(format, text.as_bytes(), usize::MAX).unwrap().iter().map(show).collect();
    for pieces in 1..text.len().min(60) {
        let cut: Vec<_> = read(format, text.as_bytes(), pieces).unwrap().iter().map(show).collect();
        assert_eq!(cut, whole, "in pieces of {pieces}");
    }
    whole
}

#[test]
fn arrays_and_lines_are_cut_anywhere() {
    let edge = r#"{"group":"knows","source":"a]\",[","destination":"b","directed":true,"properties":{"n":{"Long":1},"set":{"TreeSet":["x","}"]}}}"#;
    let person = r#"{"group":"person","vertex":"a\\"}"#;
    let array = shown(&Format::Array, &format!(" [ {edge} ,\n{person}, 5 ] \n"));
    let lines = shown(&Format::Lines, &format!("\n{edge}\r\n\n{person}\n5"));
    assert_eq!(array.len(), 3);
    assert_eq!(array, lines);
    assert!(array[0].contains(r#"source=a]",["#) && array[2].starts_with('!'), "{array:?}");
    assert!(shown(&Format::Array, "[]").is_empty());
    assert!(shown(&Format::Lines, "").is_empty());
}

#[test]
fn arrays_that_are_none_are_refused() {
    let person = r#"{"group":"person","vertex":"a"}"#;
    for bad in [
        "".to_owned(),
        "{}".to_owned(),
        "[".to_owned(),
        format!("[{person}"),
        format!("[{person},]"),
        format!("[,{person}]"),
        format!("[{person},,{person}]"),
        format!("[{person}] x"),
    ] {
        for pieces in [1, 7, 1000] {
            assert!(read(&Format::Array, bad.as_bytes(), pieces).is_err(), "{bad}");
        }
    }
    let endless = vec![b'x'; ELEMENT_BYTES_MAX + 1];
    for format in [Format::Lines, Format::Table(Mapping::default())] {
        assert!(read(&format, &endless, 100_000).is_err(), "{format:?}");
    }
}

#[test]
fn tables_say_what_their_columns_are() {
    let plain = Format::Table(Mapping::default());
    let rows = shown(
        &plain,
        "\u{feff}group,vertex,source,destination,directed,n,visibility,set\r\n\
         knows,,a,\"b, \"\"c\"\"\nd\",false,7,p&q,\"[\"\"x\"\"]\"\r\n\
         person,z,,,,,,\n\
         person,z,,,,many,,\n\
         nobody,z,,,,,,\n\
         knows,,a,b,maybe,,,\n\
         knows,,a\n",
    );
    assert_eq!(rows.len(), 6);
    assert!(rows[0].contains("destination=b, \"c\"\nd,directed=false"), "{rows:?}");
    assert!(rows[0].contains("p&q") && rows[0].contains("n=<java.lang.Long>7"), "{rows:?}");
    assert!(rows[1].starts_with("Entity[vertex=z"), "{rows:?}");
    assert!(rows[2..].iter().all(|row| row.starts_with('!')), "{rows:?}");

    let neo4j = shown(&plain, ":START_ID(P),:END_ID(P),:TYPE,n:long\na,b,knows,3\n");
    let columns = [("from", "source"), ("to", "destination"), ("junk", "")];
    let mapping = Mapping {
        columns: columns.map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
        group: Some("knows".to_owned()),
        directed: Some(true),
    };
    assert_eq!(shown(&Format::Table(mapping), "from,to,junk,n\na,b,x,3\n"), neo4j);
    for bad in ["group,n\n", "vertex,n\n", "group,source\n", "group,vertex,VERTEX\n", "\"a\n"] {
        assert!(read(&plain, bad.as_bytes(), 5).is_err(), "{bad}");
    }
}
