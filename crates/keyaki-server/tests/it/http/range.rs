//! Parts of content: RFC 9110, section 14.

use super::{Server, open_bucket};

const ITEM: &str = "/v1/d.example/b/item";
const CONTENT: &str = "0123456789";

cases! {
    parts_are_given_as_asked_for,
    a_part_is_of_what_the_caller_has,
}

fn parts_are_given_as_asked_for(server: &Server) {
    server.with_bucket(open_bucket());
    let tag = server.ask("PUT", ITEM).admin().text(CONTENT).etag().to_owned();
    let whole = server.ask("GET", ITEM).send();
    assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
    for (range, part, said) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=5-500", "56789", "bytes 5-9/10"),
        ("bytes=-500", CONTENT, "bytes 0-9/10"),
    ] {
        let read = server.ask("GET", ITEM).with("Range", range).send();
        assert_eq!((read.status, read.text()), (206, part), "{range}");
        assert_eq!(read.header("content-range"), Some(said), "{range}");
        assert_eq!(read.header("content-length"), Some(&part.len().to_string()[..]));
        assert_eq!((read.etag(), read.header("content-type")), (&tag[..], Some("text/plain")));
        assert!(read.header("last-modified").is_some() && read.header("vary").is_some());
    }
    for range in ["bytes=0-1,4-5", "bytes=5-4", "bytes=x", "items=0-1", "bytes"] {
        let read = server.ask("GET", ITEM).with("Range", range).send();
        assert_eq!((read.status, read.text()), (200, CONTENT), "{range}");
    }
    for range in ["bytes=10-", "bytes=10-20", "bytes=-0"] {
        let read = server.ask("GET", ITEM).with("Range", range).send();
        read.demand_problem(416);
        assert_eq!(read.header("content-range"), Some("bytes */10"), "{range}");
    }
    let head = server.ask("HEAD", ITEM).with("Range", "bytes=0-1").send();
    assert_eq!((head.status, head.header("content-length")), (200, Some("10")));
    assert_eq!(head.header("accept-ranges"), Some("bytes"));
    let tid = tag.trim_matches('"');
    let old = server.ask("GET", &format!("{ITEM}/{tid}")).with("Range", "bytes=1-1").send();
    assert_eq!((old.status, old.text()), (206, "1"), "revisions have parts too");
}

fn a_part_is_of_what_the_caller_has(server: &Server) {
    server.with_bucket(open_bucket());
    let put = server.ask("PUT", ITEM).admin().text(CONTENT);
    let (tag, date) = (put.etag().to_owned(), put.header("last-modified").unwrap().to_owned());
    let get = |name: &str, value: &str| {
        let asked = server.ask("GET", ITEM).with("Range", "bytes=0-1");
        asked.with(name, value).send().status
    };
    assert_eq!(get("If-Range", &tag), 206);
    assert_eq!(get("If-Range", &format!("W/{tag}")), 200, "weak tags do not match");
    assert_eq!(get("If-Range", "\"other\""), 200);
    assert_eq!(get("If-Range", "Sun, 09 Sep 2001 01:46:40 GMT"), 200);
    assert_eq!(get("If-Range", "nonsense"), 200);
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    assert_eq!(get("If-Range", &date), 206);
    assert_eq!(get("If-None-Match", &tag), 304, "conditions come first");
    assert_eq!(get("If-Match", "\"other\""), 412);
    assert_eq!(get("If-Match", &tag), 206);
    let long = "A tree of Japan. ".repeat(500);
    server.ask("PUT", ITEM).admin().text(&long);
    let part = server.ask("GET", ITEM).with("Accept-Encoding", "gzip").with("Range", "bytes=0-5");
    let part = part.send();
    assert_eq!((part.status, part.text(), part.header("content-encoding")), (206, "A tree", None));
    let zipped = server.ask("GET", ITEM).with("Range", "bytes=0-5");
    let zipped = zipped.with("Accept-Encoding", "gzip, identity;q=0").send();
    assert_eq!((zipped.status, zipped.header("content-encoding")), (200, Some("gzip")));
}
