//! The last two steps: a process is killed in the middle of its commits, and what is left is
//! looked at.
//!
//! The victim is this program again. It prints the place of a book only when its commit has been
//! acknowledged, so what the parent has read was promised.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use keyaki::cell::visibility::Authorisations;
use keyaki::engine::ScanRequest;
use keyaki::store::Owner;
use keyaki::{Error, Result};

use super::shop::{Book, Place, Shop};
use super::story::staff;
use super::{Failure, Teller, Verdict};
use crate::command::spaces::Totals;

const WRITERS: usize = 8;
const ACKNOWLEDGED_BEFORE_KILL: usize = 500;
const AUTHOR: &str = "A Machine";

/// Shelves books without end, from several tasks, and prints each when it is safe.
pub fn victim(dir: &Path) -> Result<Verdict, Failure> {
    crate::command::runtime()?.block_on(async {
        let store = super::open(dir)?;
        let shop = Arc::new(Shop::find(&store)?);
        let mut tasks = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            tasks.spawn(shelve_without_end(shop.clone(), writer));
        }
        match tasks.join_next().await {
            Some(Ok(failure)) => Err(failure),
            _ => Err(Error::internal("a writer of the tour is gone").into()),
        }
    })
}

/// Ends only by failing; a parent that no longer reads is a failure to print.
async fn shelve_without_end(shop: Arc<Shop>, writer: usize) -> Failure {
    let mut number = 0;
    loop {
        number += 1;
        let place = Place { shelf: format!("shelf {writer}"), number: number.to_string() };
        let title = format!("Volume {writer}.{number}");
        let book = Book { title, author: AUTHOR.to_owned(), price: 1 };
        let operation = format!("volume-{writer}-{number}");
        let added = shop.add(&place, &book, "", &operation).await.and_then(|done| done.tid());
        if let Err(error) = added {
            return error.into();
        }
        if let Err(error) = writeln!(io::stdout(), "{}/{}", place.shelf, place.number) {
            return error.into();
        }
    }
}

/// Lets a victim commit for a while and kills it; answers what it was promised.
pub fn kill_a_writer(
    dir: &Path,
    teller: &mut Teller<impl Write>,
) -> Result<BTreeSet<Place>, Failure> {
    teller.heading("A crash")?;
    teller
        .line("Another process shelves books from eight tasks at once, until it gets SIGKILL.")?;
    let mut victim = Victim(
        Command::new(std::env::current_exe()?)
            .arg("tour-victim")
            .arg(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let lines =
        victim.0.stdout.take().ok_or_else(|| io::Error::other("the victim has no voice"))?;
    let mut acknowledged = BTreeSet::new();
    // What was still in the pipe when it died was acknowledged, too.
    for line in BufReader::new(lines).lines() {
        let line = line?;
        let Some((shelf, number)) = line.split_once('/') else { continue };
        acknowledged.insert(Place { shelf: shelf.to_owned(), number: number.to_owned() });
        if acknowledged.len() == ACKNOWLEDGED_BEFORE_KILL {
            victim.0.kill()?;
        }
    }
    if acknowledged.len() < ACKNOWLEDGED_BEFORE_KILL {
        return Err(Error::internal("the victim of the tour died too early").into());
    }
    Ok(acknowledged)
}

/// A child that doesn't outlive the tour.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        // It may be dead already, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reopens the store and compares what is there with what was promised.
pub async fn look(
    dir: &Path,
    shelved: usize,
    acknowledged: &BTreeSet<Place>,
    teller: &mut Teller<impl Write>,
) -> Result<(), Failure> {
    let store = super::open(dir)?;
    let shop = Shop::find(&store)?;
    let caller = staff()?;
    let books = books(&shop, &caller).await?;
    let missing = acknowledged.difference(&books).count();
    let unheard = books.len() - shelved - (acknowledged.len() - missing);
    teller.seen("acknowledged", &format!("{} books", acknowledged.len()))?;
    teller.seen("of them missing", &missing.to_string())?;
    teller.seen("committed, not yet told", &format!("{unheard}, each of them whole"))?;
    let mut whole = missing == 0;
    for (name, owners) in [
        ("entries by title", owners(shop.entries(&caller, &shop.by_title).await?, |e| e.owner)),
        ("entries by author", owners(shop.entries(&caller, &shop.by_author).await?, |e| e.owner)),
        ("change records", owners(changes(&shop, &caller).await?, |owner| owner)),
    ] {
        whole &= owners == books;
        let lacking = books.symmetric_difference(&owners).count();
        teller.seen(name, &format!("for {} books, {lacking} lacking or astray", owners.len()))?;
    }
    let (counted, there) = (shop.count(AUTHOR).await?, books.len() - shelved);
    teller.seen("merged counter", &format!("{counted}, with {there} books there"))?;
    if !whole || usize::try_from(counted) != Ok(there) {
        return Err(Error::corrupt("the crash broke a promise").with("missing", missing).into());
    }
    teller.line("What was acknowledged is there; what was not is whole or absent.")?;
    Ok(())
}

/// Where all books are, by a full scan in parts.
async fn books(shop: &Shop, caller: &Authorisations) -> Result<BTreeSet<Place>> {
    let (engine, space) = (shop.bucket.store().engine(), shop.bucket.primary());
    let mut books = BTreeSet::new();
    for split in engine.splits(space, 4).await? {
        let mut cells = shop.bucket.scan(caller, ScanRequest::split(space, split)).await?;
        while let Some(block) = cells.next_block().await? {
            books.extend(block.iter().map(|cell| place(&cell.partition(), cell.sort())));
        }
    }
    Ok(books)
}

/// The owners of all change records, read as a consumer would: page by page.
async fn changes(shop: &Shop, caller: &Authorisations) -> Result<Vec<Owner>> {
    let (mut owners, mut since) = (Vec::new(), None);
    loop {
        let page = shop.bucket.changes(caller, since, 100).await?;
        owners.extend(page.changes.into_iter().map(|record| record.owner));
        if !page.more {
            return Ok(owners);
        }
        since = Some(page.next);
    }
}

fn owners<T>(items: Vec<T>, owner: impl Fn(T) -> Owner) -> BTreeSet<Place> {
    let owners = items.into_iter().map(owner);
    owners.map(|owner| place(&owner.partition, &owner.sort)).collect()
}

fn place(partition: &[u8], sort: &[u8]) -> Place {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Place { shelf: text(partition), number: text(sort) }
}

/// Checks the closed store, as `keyaki check` does.
pub fn check(dir: &Path, teller: &mut Teller<impl Write>) -> Result<Verdict, Failure> {
    teller.heading("A check of everything")?;
    let report = keyaki::store::check(dir, keyaki::bucket::rules())?;
    let Totals { spaces, cells, bytes } = Totals::of(&report.spaces);
    teller.seen("looked at", &format!("{cells} cells in {spaces} spaces, {bytes} bytes"))?;
    teller.seen("problems", &report.problems.len().to_string())?;
    for problem in &report.problems {
        teller.line(&problem.to_string())?;
    }
    if !report.problems.is_empty() {
        return Ok(Verdict::Unsound);
    }
    teller.line("Sound: checksums, order, and every derived cell with its owner.")?;
    teller.line(
        "How it was done: crates/keyaki-server/src/command/tour/ is the library's example.",
    )?;
    Ok(Verdict::Sound)
}
