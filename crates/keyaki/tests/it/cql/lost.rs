//! Answers of lightweight transactions that never arrive, whether or not the transaction was done: the outcome is
//! settled by the mark, and every effect is there once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use keyaki::Kind;
use keyaki::cell::SystemWallClock;
use keyaki::engine::Rules;
use keyaki::settings::CqlSettings;
use keyaki::store::Committed;
use tokio::task::JoinSet;

use super::ledger::Ledger;
use super::proxy::{Fate, Proxy, Request};
use super::{Keyspaces, eventually, nodes, open, shared, store_on};

const WRITERS: usize = 4;
const STEPS: usize = 30;
/// Between losses.
const APART: Duration = Duration::from_millis(100);
/// An item that all writers step on; each has one of its own, too.
const CONTENDED: &str = "contended";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_lost_answers_are_settled() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    for (follows, every) in [(false, 3), (true, 3)] {
        lose(keyspaces.fresh_and_punctual(), follows, every, Request::decides).await;
    }
    // Names and marks are written by such transactions, too.
    lose(keyspaces.fresh_and_punctual(), true, 7, Request::is_conditional).await;
    keyspaces.drop_all().await;
}

/// Steps, with or without dependents, while one in so many of these requests is refused, and another is done and its
/// answer lost.
async fn lose(
    settings: CqlSettings,
    follows: bool,
    every: usize,
    which: impl Fn(&Request) -> bool + Send + 'static,
) {
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings };
    let engine = open(proxied, Rules::default(), Arc::new(SystemWallClock));
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let lost = Arc::new(AtomicUsize::new(0));
    let (mut met, counted, mut last) = (0, lost.clone(), Instant::now());
    proxy.judge(move |request| {
        met += usize::from(which(request));
        // A node without connections is no node: the driver needs a moment to make new ones.
        if !which(request) || met < every || last.elapsed() < APART {
            return Fate::Pass;
        }
        (met, last) = (0, Instant::now());
        match counted.fetch_add(1, Relaxed) % 2 {
            0 => Fate::lose(),
            _ => Fate::Refuse,
        }
    });
    let done = step_all(&ledger, follows).await;
    proxy.let_pass();
    let lost = lost.load(Relaxed);
    println!("{done:?} steps took, {lost} answers were lost");
    assert!(lost >= 4, "hardly anything was lost: {lost}");
    engine.close().await.unwrap();
    assert_eq!(engine.settle().await.unwrap(), 0, "an intent was left");
    for (item, done) in done {
        let number = match follows {
            true => ledger.survey(&item).await,
            false => ledger.number(&item).await.unwrap().0,
        };
        assert_eq!(number, done, "{item}");
    }
}

/// Items, and how many steps of each were acknowledged.
async fn step_all(ledger: &Ledger, follows: bool) -> Vec<(String, u64)> {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let ledger = ledger.clone();
        writers.spawn(async move {
            let own = format!("own{writer}");
            let mut done = [(own, 0), (CONTENDED.to_owned(), 0)];
            for number in 0..STEPS {
                let (item, done) = &mut done[usize::from(number % 3 == 2)];
                let step = match follows {
                    true => ledger.step(item).await,
                    false => ledger.step_alone(item).await,
                };
                match step.unwrap() {
                    Committed::Done(_) => *done += 1,
                    Committed::Refused(_) if item == CONTENDED => {}
                    other => panic!("a step that nobody stood against: {other:?}"),
                }
            }
            done
        });
    }
    let mut done: Vec<(String, u64)> = writers.join_all().await.into_iter().flatten().collect();
    let contended = done.extract_if(.., |(item, _)| item == CONTENDED).map(|(_, done)| done).sum();
    done.push((CONTENDED.to_owned(), contended));
    done
}

/// Done, the answer swallowed, and the partition of it not to be listed: nobody may hear that it was done.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_what_could_not_be_listed_is_not_acknowledged() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..keyspaces.fresh_and_punctual() };
    let engine = keyspaces.open(proxied);
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    proxy.judge(|request| match request {
        request if request.decides() => Fate::Swallow,
        request if request.text.starts_with("INSERT") && request.mentions(b"homes") => {
            Fate::never()
        }
        _ => Fate::Pass,
    });
    let unlisted = ledger.step_alone("item").await.unwrap_err();
    assert_eq!(unlisted.kind(), Kind::Unavailable, "{unlisted:?}");
    proxy.let_pass();
    // Whole or absent, it says; the next commit lists its partition.
    eventually("it goes on", async || ledger.step_alone("item").await.is_ok()).await;
    assert_eq!(ledger.number("item").await.unwrap().0, 2);
    keyspaces.drop_all().await;
}

/// Answers that are waited for in vain, on connections that stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_answers_that_never_come_are_settled() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh_and_punctual();
    let proxy = Proxy::start(&nodes());
    let proxied = CqlSettings { nodes: proxy.nodes(), ..settings.clone() };
    let engine = keyspaces.open(proxied);
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    for number in 1..=2 {
        let mut swallowed = false;
        proxy.judge(move |request| match request.decides() && !swallowed {
            true => {
                swallowed = true;
                Fate::Swallow
            }
            false => Fate::Pass,
        });
        let begun = Instant::now();
        let done = ledger.step("item").await.unwrap();
        assert!(matches!(done, Committed::Done(_)), "{done:?}");
        assert!(begun.elapsed() >= settings.request_timeout, "{:?}", begun.elapsed());
        assert_eq!(ledger.survey("item").await, number);
    }
    keyspaces.drop_all().await;
}
