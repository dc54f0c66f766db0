//! The first five steps: a commit, two callers, a repeat, a race, pages.

use std::io::Write;
use std::path::Path;

use keyaki::cell::ValueRef;
use keyaki::cell::visibility::Authorisations;
use keyaki::store::{Committed, Page, PageRequest};
use keyaki::{Error, Result};

use super::shop::{self, Book, Place, Shop};
use super::{Failure, Teller};

const SHELF: &str = "novels";

/// Title, author and who may see it.
const BOOKS: [(&str, &str, &str); 5] = [
    ("Emma", "Austen", ""),
    ("Middlemarch", "Eliot", ""),
    ("Persuasion", "Austen", "staff|press"),
    ("Silas Marner", "Eliot", ""),
    ("Villette", "Brontë", ""),
];

/// Tells them; answers how many books are shelved in the end.
pub async fn tell(dir: &Path, teller: &mut Teller<impl Write>) -> Result<usize, Failure> {
    let store = super::open(dir)?;
    let shop = Shop::create(&store).await?;
    let everybody = Authorisations::none();
    let staff = staff()?;
    commit(&shop, teller).await?;
    two_callers(&shop, &everybody, &staff, teller).await?;
    repeat(&shop, teller).await?;
    race(&shop, teller).await?;
    pages(&shop, &everybody, &staff, teller).await?;
    Ok(BOOKS.len())
}

/// Those who may see embargoed books.
pub fn staff() -> Result<Authorisations> {
    Authorisations::new(["staff"]).map_err(|e| Error::invalid("bad authorisation").because(e))
}

async fn add(shop: &Shop, index: usize) -> Result<Committed> {
    let (title, author, visibility) = BOOKS[index];
    shop.add(&place(index), &book(title, author), visibility, &format!("add-{index}")).await
}

fn place(index: usize) -> Place {
    Place { shelf: SHELF.to_owned(), number: format!("{:03}", index + 1) }
}

fn book(title: &str, author: &str) -> Book {
    Book { title: title.to_owned(), author: author.to_owned(), price: 12 }
}

async fn commit(shop: &Shop, teller: &mut Teller<impl Write>) -> Result<(), Failure> {
    let everybody = Authorisations::none();
    teller.heading("One commit: a primary and all that follows from it")?;
    teller.line(
        "Everything is a cell: (space, partition, sort key) -> value. Home spaces hold what",
    )?;
    teller
        .line("is so, derived spaces what follows. A bookshop shelves a book, and reads back:")?;
    let tid = add(shop, 0).await?.tid()?;
    let found = shop.book(&everybody, &place(0)).await?.ok_or_else(lost)?;
    teller.seen(
        "home    primary",
        &format!("{SHELF} / 001 -> {} by {}", found.title, found.author),
    )?;
    for (name, view) in [("title", &shop.by_title), ("author", &shop.by_author)] {
        for entry in shop.entries(&everybody, view).await? {
            let (shelf, number) = (text(&entry.owner.partition), text(&entry.owner.sort));
            let title = text(&entry.payload);
            let saw = format!("by {name}: {title}, owned by {shelf} / {number}");
            teller.seen("derived view entry", &saw)?;
        }
    }
    let count = shop.count("Austen").await?;
    teller.seen("derived merged counter", &format!("books by Austen: {count}"))?;
    for record in shop.bucket.changes(&everybody, None, 10).await?.changes {
        let user = record.change.user.unwrap_or_default();
        let saw = format!("{user}: {} {}", record.change.action, record.change.item);
        teller.seen("derived change record", &saw)?;
    }
    teller.line(&format!(
        "With a claim on the title and a digest of the request, one commit: {tid}"
    ))?;
    Ok(())
}

async fn two_callers(
    shop: &Shop,
    everybody: &Authorisations,
    staff: &Authorisations,
    teller: &mut Teller<impl Write>,
) -> Result<(), Failure> {
    for index in 1..BOOKS.len() {
        add(shop, index).await?.tid()?;
    }
    teller.heading("One shelf, two callers")?;
    teller.line("Four more books; the cells of one carry the visibility `staff|press`.")?;
    for (name, caller) in [("a visitor, {}", everybody), ("the owner, {staff}", staff)] {
        let books = shop.shelf(caller, SHELF).await?;
        let titles: Vec<_> = books.into_iter().map(|book| book.title).collect();
        let changes = shop.bucket.changes(caller, None, 100).await?.changes.len();
        teller.seen(name, &format!("{}; {changes} changes", titles.join(", ")))?;
    }
    teller.line("What is hidden is absent: in reads, scans, pages, and the change feed.")?;
    Ok(())
}

async fn repeat(shop: &Shop, teller: &mut Teller<impl Write>) -> Result<(), Failure> {
    teller.heading("The same request again")?;
    teller.line("The answer got lost, so the client sends operation add-0 a second time.")?;
    let before = shop.count("Austen").await?;
    let Committed::Replayed { answer, .. } = add(shop, 0).await? else {
        return Err(Error::internal("a repeat was not recognised").into());
    };
    let after = shop.count("Austen").await?;
    teller.seen("the first answer", &text(&answer))?;
    teller.seen("books by Austen", &format!("{before} before, {after} after: nothing changed"))?;
    Ok(())
}

async fn race(shop: &Shop, teller: &mut Teller<impl Write>) -> Result<(), Failure> {
    teller.heading("Two writers, one cell")?;
    teller.line("Ben and Ida both read Emma, and both write a new price over what they saw.")?;
    let place = place(0);
    let stored = shop.bucket.stored(SHELF.as_bytes(), place.number.as_bytes()).await?;
    let seen = stored.ok_or_else(lost)?;
    let (cheap, dear) = (Book { price: 9, ..emma() }, Book { price: 15, ..emma() });
    let (ben, ida) =
        tokio::join!(shop.replace(&place, &seen, &cheap), shop.replace(&place, &seen, &dear));
    for (name, outcome) in [("Ben, writing 9,", ben?), ("Ida, writing 15,", ida?)] {
        match outcome {
            Committed::Refused(refusals) => {
                let found = refusals[0].found.as_deref().ok_or_else(lost)?;
                let price = shop::decode(ValueRef::decode(found)?.payload)?.price;
                teller.seen(name, &format!("is refused, and told what is there now: {price}"))?;
            }
            _ => teller.seen(name, "wins")?,
        }
    }
    let elsewhere = Place { shelf: "crime".to_owned(), number: "001".to_owned() };
    let namesake = shop.add(&elsewhere, &emma(), "", "add-namesake").await?;
    if let Committed::Refused(_) = namesake {
        teller.seen("A second Emma,", "on another shelf, is refused: the title is claimed")?;
    }
    Ok(())
}

fn emma() -> Book {
    book(BOOKS[0].0, BOOKS[0].1)
}

async fn pages(
    shop: &Shop,
    everybody: &Authorisations,
    staff: &Authorisations,
    teller: &mut Teller<impl Write>,
) -> Result<(), Failure> {
    teller.heading("An ordered view, in pages, both ways")?;
    teller.line("By title, two to a page; hidden entries don't make a page shorter.")?;
    for (name, caller, request) in [
        ("a visitor, forward", everybody, PageRequest::first(2)),
        ("the owner, forward", staff, PageRequest::first(2)),
        ("the owner, backward", staff, PageRequest::first(2).backward()),
    ] {
        let mut shown = Vec::new();
        let mut request = request;
        loop {
            let page = shop.bucket.page(caller, &shop.by_title, &request).await?;
            shown.push(titles(&page));
            let Some(next) = page.next else { break };
            request = request.after(next);
        }
        teller.seen(name, &shown.join(" | "))?;
    }
    Ok(())
}

fn titles(page: &Page) -> String {
    let titles: Vec<_> = page.entries.iter().map(|entry| text(&entry.payload)).collect();
    titles.join(", ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lost() -> Error {
    Error::internal("what was just committed is not there")
}
