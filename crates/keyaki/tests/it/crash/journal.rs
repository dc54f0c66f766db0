//! The journal: a file outside the store into which a child writes what happened, a line at a time.
//!
//! A line is one `write` to a file opened for appending, so it is there whole once that returned,
//! whatever becomes of the process. Until then a reader may find a part of it, and a kill may leave
//! one: a line without its end has not been said.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use keyaki::testing::workload::{Acknowledged, Link, Survey};

/// A journal, open for writing.
pub struct Journal(File);

impl Journal {
    pub fn open(path: &Path) -> Self {
        let file = File::options().append(true).create(true).open(path).unwrap();
        file.set_len(whole_lines(path).len() as u64).unwrap();
        Self(file)
    }

    pub fn note(&self, line: &str) {
        (&self.0).write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn acknowledge(&self, Acknowledged { link, tid }: Acknowledged) {
        self.note(&format!("ack {link} {tid}"));
    }
}

/// What a journal says.
pub struct Account {
    pub acknowledged: Vec<Acknowledged>,
    /// Whatever else was noted.
    pub notes: Vec<String>,
}

pub fn read(path: &Path) -> Account {
    let text = whole_lines(path);
    let mut account = Account { acknowledged: Vec::new(), notes: Vec::new() };
    for line in text.lines() {
        match line.strip_prefix("ack ").and_then(|rest| rest.split_once(' ')) {
            Some((link, tid)) => {
                let link: Link = link.parse().unwrap();
                account.acknowledged.push(Acknowledged { link, tid: tid.parse().unwrap() });
            }
            None => account.notes.push(line.to_owned()),
        }
    }
    account
}

fn whole_lines(path: &Path) -> String {
    let mut text = fs::read_to_string(path).unwrap_or_default();
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    text
}

impl Account {
    pub fn says(&self, note: &str) -> bool {
        self.notes.iter().any(|line| line == note)
    }

    /// Demands all that was acknowledged.
    pub fn demand(&self, survey: &Survey) {
        for acknowledged in &self.acknowledged {
            survey.demand(acknowledged).unwrap();
        }
    }
}
