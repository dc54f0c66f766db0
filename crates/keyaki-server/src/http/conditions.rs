//! Conditional requests (RFC 9110, section 13): entity tags, lists of them, dates, and which of them count when.
//!
//! A tag is `"<tid>"`, or `"<tid>/<more>"` where an answer also shows what changes on its own; a write looks at the tid
//! alone. A compressed answer's tag ends in `-gzip`; whoever sends that back means the same item, so the suffix is
//! taken off before anything is compared. That nothing has changed is told only of the answer that the caller has.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, header};
use keyaki::bucket::{Demands, Matching};
use keyaki::cell::{Tid, Time};

use super::problem::{self, Problem};

/// What a compressed answer's tag ends with.
pub const GZIP_SUFFIX: &str = "-gzip";

/// Where conditions are.
const NAMES: [HeaderName; 4] = [
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];

/// The conditions of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    matching: Option<Tags>,
    not_matching: Option<Tags>,
    modified_since: Option<SystemTime>,
    unmodified_since: Option<SystemTime>,
    /// A date that is there twice: a read is answered as if it were not there, a change is not made.
    repeated: Option<HeaderName>,
}

#[derive(Debug, PartialEq, Eq)]
enum Tags {
    Any,
    List(Vec<Tag>),
}

#[derive(Debug, PartialEq, Eq)]
struct Tag {
    weak: bool,
    /// Without the suffix of compressed answers.
    opaque: String,
    gzip: bool,
}

impl Tag {
    /// None if it can be no item's.
    fn tid(&self) -> Option<Tid> {
        self.opaque.split('/').next()?.parse().ok()
    }
}

/// What a read comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Answer it.
    Go,
    /// Say that nothing has changed.
    NotModified,
    /// Refuse it.
    Failed,
}

impl Conditions {
    pub fn parse(headers: &HeaderMap) -> Result<Self, Problem> {
        // Most requests have few headers and no conditions: that is seen sooner than each is looked up.
        if !headers.keys().any(|name| NAMES.contains(name)) {
            return Ok(Self::default());
        }
        Ok(Self {
            matching: tags(headers, header::IF_MATCH)?,
            not_matching: tags(headers, header::IF_NONE_MATCH)?,
            modified_since: date(headers, &header::IF_MODIFIED_SINCE),
            unmodified_since: date(headers, &header::IF_UNMODIFIED_SINCE),
            repeated: [header::IF_MODIFIED_SINCE, header::IF_UNMODIFIED_SINCE]
                .into_iter()
                .find(|name| headers.get_all(name).iter().count() > 1),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.matching.is_none() && self.not_matching.is_none() && self.unmodified_since.is_none()
    }

    /// On something that is there, for GET and HEAD, in the order that the RFC gives. Of what has no date, none holds or
    /// fails.
    pub fn on_read(&self, tag: &str, modified: Option<Time>) -> Verdict {
        let modified = modified.map(in_seconds);
        match (&self.matching, self.unmodified_since) {
            (Some(tags), _) if !tags.hold(tag, false) => return Verdict::Failed,
            (None, Some(date)) if modified.is_some_and(|modified| modified > date) => {
                return Verdict::Failed;
            }
            _ => {}
        }
        match (&self.not_matching, self.modified_since) {
            (Some(tags), _) if tags.hold(tag, true) => Verdict::NotModified,
            (None, Some(date)) if modified.is_some_and(|modified| modified <= date) => {
                Verdict::NotModified
            }
            _ => Verdict::Go,
        }
    }

    /// On something that is there and has neither tag nor date: no tag is its own.
    pub fn on_untagged(&self) -> Verdict {
        match (&self.matching, &self.not_matching) {
            (Some(Tags::List(_)), _) => Verdict::Failed,
            (_, Some(Tags::Any)) => Verdict::NotModified,
            _ => Verdict::Go,
        }
    }

    /// Whether a caller says to have this very answer, compressed or not.
    pub fn have(&self, tag: &str, gzip: bool) -> bool {
        match &self.not_matching {
            None => false,
            Some(Tags::Any) => true,
            Some(Tags::List(list)) => list.iter().any(|t| t.opaque == tag && t.gzip == gzip),
        }
    }

    /// Whether a caller says what it has.
    pub fn have_tags(&self) -> bool {
        self.not_matching.is_some()
    }

    /// What a write demands. A date is judged by what is there now, and then that must still be there.
    pub fn demands(&self, there: Option<Tid>) -> Result<Demands, Problem> {
        if let Some(name) = &self.repeated {
            return Err(Problem::bad_request("header is there twice").with("header", name.as_str()));
        }
        let mut matching = self.matching.as_ref().map(Tags::strong);
        if matching.is_none()
            && let (Some(date), Some(tid)) = (self.unmodified_since, there)
        {
            let holds = in_seconds(tid.time()) <= date;
            matching = Some(Matching::Tids(holds.then_some(tid).into_iter().collect()));
        }
        Ok(Demands { matching, not_matching: self.not_matching.as_ref().map(Tags::all) })
    }

    /// Refuses a write without a condition where one is required.
    pub fn require(&self) -> Result<(), Problem> {
        match self.is_empty() {
            true => Err(Problem::new(
                &problem::PRECONDITION_REQUIRED,
                "this bucket takes no write without If-Match or If-None-Match",
            )),
            false => Ok(()),
        }
    }
}

impl Tags {
    fn hold(&self, opaque: &str, weakly: bool) -> bool {
        match self {
            Self::Any => true,
            Self::List(list) => {
                list.iter().any(|tag| tag.opaque == opaque && (weakly || !tag.weak))
            }
        }
    }

    /// Strong comparison: weak tags match nothing.
    fn strong(&self) -> Matching {
        self.filtered(|tag| !tag.weak)
    }

    fn all(&self) -> Matching {
        self.filtered(|_| true)
    }

    fn filtered(&self, which: impl Fn(&Tag) -> bool) -> Matching {
        match self {
            Self::Any => Matching::Any,
            Self::List(list) => {
                Matching::Tids(list.iter().filter(|tag| which(tag)).filter_map(Tag::tid).collect())
            }
        }
    }
}

fn tags(headers: &HeaderMap, name: HeaderName) -> Result<Option<Tags>, Problem> {
    let mut list = Vec::new();
    let (mut any, mut there) = (false, false);
    for value in headers.get_all(&name) {
        there = true;
        let bad = || {
            Problem::bad_request("not `*` and not a list of entity tags")
                .with("header", name.as_str())
        };
        let text = value.to_str().map_err(|_| bad())?.trim();
        match text {
            "*" => any = true,
            text => list.extend(parse_list(text).ok_or_else(bad)?),
        }
    }
    // Either a star or tags, if there is anything.
    match any == list.is_empty() || !there {
        false => Err(Problem::bad_request("`*` can't be mixed with entity tags")
            .with("header", name.as_str())),
        true if !there => Ok(None),
        true if any => Ok(Some(Tags::Any)),
        true => Ok(Some(Tags::List(list))),
    }
}

/// Tags between commas; empty elements are allowed, as in all lists, but not nothing else.
fn parse_list(text: &str) -> Option<Vec<Tag>> {
    let (mut tags, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return (!tags.is_empty()).then_some(tags);
        }
        let (weak, tail) = match rest.strip_prefix("W/") {
            Some(tail) => (true, tail),
            None => (false, rest),
        };
        let (opaque, tail) = tail.strip_prefix('"')?.split_once('"')?;
        let allowed = |b: u8| b == 0x21 || (0x23..=0x7e).contains(&b) || b >= 0x80;
        if !opaque.bytes().all(allowed) {
            return None;
        }
        let plain = opaque.strip_suffix(GZIP_SUFFIX);
        let gzip = plain.is_some();
        tags.push(Tag { weak, opaque: plain.unwrap_or(opaque).to_owned(), gzip });
        rest = tail.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
}

/// A date that can't be read is as if it were not there, as the RFC says.
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    match values.next() {
        Some(_) => None,
        None => httpdate::parse_http_date(value).ok(),
    }
}

/// A time as dates tell it.
pub fn in_seconds(time: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.micros() / 1_000_000)
}

/// The tag of an item.
pub fn etag(tid: Tid) -> String {
    ["\"", tid.encode(&mut [0; Tid::TEXT_BYTES]), "\""].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tid(seconds: u64) -> Tid {
        Tid::new(Time::from_micros(seconds * 1_000_000 + 5), 7)
    }

    fn conditions(pairs: &[(&'static str, &str)]) -> Result<Conditions, Problem> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        Conditions::parse(&headers)
    }

    #[test]
    fn reads_compare_strongly_and_weakly() {
        let (one, other) = (tid(1), tid(2));
        let strong = etag(one);
        let weak = format!("W/{strong}");
        let gzip = format!("\"{one}-gzip\"");
        for (name, value, expected) in [
            ("if-match", &strong[..], Verdict::Go),
            ("if-match", &weak, Verdict::Failed),
            ("if-match", "*", Verdict::Go),
            ("if-match", "\"x\"", Verdict::Failed),
            ("if-match", &gzip, Verdict::Go),
            ("if-none-match", &strong, Verdict::NotModified),
            ("if-none-match", &weak, Verdict::NotModified),
            ("if-none-match", &gzip, Verdict::NotModified),
            ("if-none-match", "*", Verdict::NotModified),
            ("if-none-match", &etag(other), Verdict::Go),
        ] {
            let conditions = conditions(&[(name, value)]).unwrap_or_default();
            let verdict = conditions.on_read(&one.to_string(), Some(one.time()));
            assert_eq!(verdict, expected, "{name}: {value}");
        }
    }

    #[test]
    fn what_has_no_tag_is_matched_by_a_star_alone() {
        for (name, value, expected) in [
            ("if-match", "*", Verdict::Go),
            ("if-match", "\"\"", Verdict::Failed),
            ("if-none-match", "*", Verdict::NotModified),
            ("if-none-match", "\"\"", Verdict::Go),
            ("if-modified-since", "Sun, 09 Sep 2001 01:46:40 GMT", Verdict::Go),
        ] {
            let verdict = conditions(&[(name, value)]).unwrap_or_default().on_untagged();
            assert_eq!(verdict, expected, "{name}: {value}");
        }
    }

    #[test]
    fn lists_may_be_long_and_on_several_lines() {
        let one = tid(1);
        let list = format!("\"a,b\" ,, W/\"c\",{}", etag(one));
        let parsed = conditions(&[("if-none-match", "\"z\""), ("if-none-match", &list)]);
        let verdict = parsed.unwrap_or_default().on_read(&one.to_string(), None);
        assert_eq!(verdict, Verdict::NotModified);
        for bad in ["abc", "\"a", "\"a\" \"b\"", "", ",", "w/\"a\"", "\"a b\"", "*, \"a\""] {
            assert!(conditions(&[("if-match", bad)]).is_err(), "{bad}");
        }
        assert!(conditions(&[("if-match", "*"), ("if-match", "\"a\"")]).is_err());
    }

    #[test]
    fn dates_count_only_without_tags() {
        let one = tid(1_000_000_000);
        let (same, before) = ("Sun, 09 Sep 2001 01:46:40 GMT", "Sun, 09 Sep 2001 01:46:39 GMT");
        for (pairs, expected) in [
            (vec![("if-modified-since", same)], Verdict::NotModified),
            (vec![("if-modified-since", before)], Verdict::Go),
            (vec![("if-modified-since", "yesterday")], Verdict::Go),
            (vec![("if-modified-since", same), ("if-none-match", "\"x\"")], Verdict::Go),
            (vec![("if-unmodified-since", same)], Verdict::Go),
            (vec![("if-unmodified-since", before)], Verdict::Failed),
            (vec![("if-unmodified-since", before), ("if-match", "*")], Verdict::Go),
        ] {
            let parsed = conditions(&pairs).unwrap_or_default();
            let tag = one.to_string();
            assert_eq!(parsed.on_read(&tag, Some(one.time())), expected, "{pairs:?}");
            assert_eq!(parsed.on_read(&tag, None), Verdict::Go, "{pairs:?}, and there is no date");
        }
        for name in ["if-modified-since", "if-unmodified-since"] {
            let twice = conditions(&[(name, before), (name, before)]).unwrap_or_default();
            assert_eq!(twice.on_read(&one.to_string(), Some(one.time())), Verdict::Go);
            assert!(twice.demands(Some(one)).is_err(), "nobody knows what {name} demands");
        }
    }
}
