//! Our own sources, read as text: files, their code and comments apart, and the paths they name.
//!
//! This is no Rust parser. It knows comments, literals, `#[cfg(test)]` and `use` trees, which is
//! what the rules need, and keeps every line where it was, so that a finding can name it.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

const LIBRARY: &str = "crates/keyaki/src/";

/// One `.rs` file.
pub struct Source {
    /// From the workspace's root: `crates/keyaki/src/cell/key.rs`.
    pub path: String,
    pub text: String,
    /// The text without comments and literals, line by line as it was.
    pub code: String,
    /// The comments alone, line by line as they were.
    pub comments: String,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        let (code, comments) = part(text);
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            test_lines: test_lines(&code),
            code,
            comments,
        }
    }

    /// Whether the whole file is a test's.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// Whether a line belongs to a test: the file does, or `#[cfg(test)]` stands above it.
    pub fn is_test_at(&self, line: usize) -> bool {
        self.is_test() || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Whether the file belongs to the library proper, not to its tests.
    pub fn is_library(&self) -> bool {
        self.path.starts_with(LIBRARY)
    }

    pub fn is_front_page(&self) -> bool {
        self.path.strip_prefix(LIBRARY) == Some("lib.rs")
    }

    /// A library file's place among its modules: `engine/embedded/mod.rs` is `[engine, embedded]`.
    /// The front page, and what is outside of the library, has none.
    pub fn module(&self) -> Vec<&str> {
        let inside = self.path.strip_prefix(LIBRARY).unwrap_or_default();
        let names = inside.trim_end_matches(".rs").split('/');
        names.filter(|name| !matches!(*name, "" | "mod" | "lib")).collect()
    }
}

/// Every `.rs` file of the workspace's crates.
pub fn workspace() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut folders = vec![root.join("crates")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
                sources.push(Source::new(name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

/// A word, a `::` or a single sign of the code.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
}

pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (number, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()) {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                word => word,
            };
            tokens.push(Token { text: &rest[..length], line: number + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// A path as written, with the `{…}` of a `use` tree multiplied out.
pub struct Named<'a> {
    pub segments: Vec<&'a str>,
    pub line: usize,
}

/// All paths of two segments or more.
pub fn paths(code: &str) -> Vec<Named<'_>> {
    let mut found = Vec::new();
    let mut prefixes: Vec<Vec<&str>> = Vec::new();
    let mut path = Named { segments: Vec::new(), line: 0 };
    let mut before = "";
    for token in tokens(code) {
        let goes_on = before == "::";
        let renames = !prefixes.is_empty() && (token.text == "as" || before == "as");
        if token.text == "{" && goes_on {
            prefixes.push(std::mem::take(&mut path.segments));
        } else if token.text != "::" && !renames {
            if !goes_on {
                let segments = prefixes.last().cloned().unwrap_or_default();
                found.push(std::mem::replace(&mut path, Named { segments, line: token.line }));
            }
            if token.text.starts_with(is_word) || (token.text == "*" && goes_on) {
                path.segments.push(token.text);
            } else {
                path.segments.clear();
            }
            if token.text == "}" {
                prefixes.pop();
            }
        }
        before = token.text;
    }
    found.push(path);
    found.retain(|path| path.segments.len() > 1);
    found
}

/// Parts code from comments. Literals belong to neither.
fn part(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let mut rest = text;
    while !rest.is_empty() {
        let in_word = code.ends_with(is_word);
        let (piece, after) = rest.split_at(first_piece(rest, in_word));
        let is_comment = piece.starts_with("//") || piece.starts_with("/*");
        let is_code = !is_comment && piece.chars().count() == 1;
        for c in piece.chars() {
            let blank = if c == '\n' { '\n' } else { ' ' };
            code.push(if is_code { c } else { blank });
            comments.push(if is_comment { c } else { blank });
        }
        rest = after;
    }
    (code, comments)
}

/// The length of the comment or literal that `text` starts with, else of its first character.
fn first_piece(text: &str, in_word: bool) -> usize {
    let one = text.chars().next().map_or(0, char::len_utf8);
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let is_char = quoted.starts_with('\\') || quoted.chars().nth(1) == Some('\'');
        return if is_char { 1 + until_quote(quoted, '\'') } else { one };
    }
    let marked = text.strip_prefix(['b', 'c']).filter(|_| !in_word).unwrap_or(text);
    if let Some(quoted) = marked.strip_prefix('"') {
        return text.len() - quoted.len() + until_quote(quoted, '"');
    }
    let Some(raw) = marked.strip_prefix('r').filter(|_| !in_word) else {
        return one;
    };
    let quoted = raw.trim_start_matches('#');
    if !quoted.starts_with('"') {
        return one;
    }
    let end = format!("\"{}", "#".repeat(raw.len() - quoted.len()));
    let length = quoted[1..].find(&end).map_or(quoted.len(), |at| 1 + at + end.len());
    text.len() - quoted.len() + length
}

/// The bytes up to and with the closing quote; a backslash hides what follows it.
fn until_quote(text: &str, quote: char) -> usize {
    let mut is_hidden = false;
    for (at, c) in text.char_indices() {
        if c == quote && !is_hidden {
            return at + 1;
        }
        is_hidden = c == '\\' && !is_hidden;
    }
    text.len()
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(next) = text[at..].find(['/', '*']) {
        at += next;
        match text.get(at..at + 2) {
            Some("/*") => depth += 1,
            Some("*/") => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The lines of each item under `#[cfg(test)]`: to its closing brace, or its semicolon.
fn test_lines(code: &str) -> Vec<RangeInclusive<usize>> {
    let tokens = tokens(code);
    let marker = ["#", "[", "cfg", "(", "test", ")", "]"];
    let is_marker = |at: &usize| tokens[*at..].iter().map(|t| t.text).take(7).eq(marker);
    let mut found = Vec::new();
    for start in (0..tokens.len()).filter(is_marker) {
        let mut depth = 0;
        for token in &tokens[start + marker.len()..] {
            match token.text {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(token.text, "}" | ";") {
                found.push(tokens[start].line..=token.line);
                break;
            }
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

mod tests {
    use super::{Source, paths};

    #[test]
    fn code_and_comments_come_apart_line_by_line() {
        let text = "let a = \"// no\"; // yes\n/* b /* c */ d */ let e = '\"'; // f\n\
                    let g = r#\"x \" y\"#; let h: &'a str = b\"\\\"z\"; let r#i = '\\''; end";
        let source = Source::new("a.rs", text);
        let squeeze = |text: &str| {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(words).collect::<Vec<_>>()
        };
        assert_eq!(
            squeeze(&source.code),
            ["let a = ;", "let e = ;", "let g = ; let h: &'a str = ; let r#i = ; end"]
        );
        assert_eq!(squeeze(&source.comments), ["// yes", "/* b /* c */ d */ // f", ""]);
    }

    #[test]
    fn use_trees_are_multiplied_out() {
        let code = "use crate::{\n  a::{self, B as C},\n  d::*,\n};\nfn f(x: super::e::F) -> G { h::<i::J>(x.k) }";
        let found: Vec<_> = paths(code).iter().map(|p| (p.segments.join("::"), p.line)).collect();
        let expected = [
            ("crate::a::self", 2),
            ("crate::a::B", 2),
            ("crate::d::*", 3),
            ("super::e::F", 5),
            ("i::J", 5),
        ];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn test_code_is_told_from_the_rest() {
        let text = "fn a() {}\n#[cfg(test)]\nuse b;\nfn c() {}\n#[cfg(test)]\nmod tests {\n fn d() {}\n}\nfn e() {}";
        let source = Source::new("crates/k/src/a.rs", text);
        let marked: Vec<_> = (1..=9).filter(|line| source.is_test_at(*line)).collect();
        assert_eq!(marked, [2, 3, 5, 6, 7, 8]);
    }
}
