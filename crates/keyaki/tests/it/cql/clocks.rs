//! Two processes whose clocks are five minutes apart, on the same items. What they did to registers is recorded and
//! must be linearisable; what follows from their commits must be right; a reader follows the change feed meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use keyaki::cell::{SystemWallClock, Value, ValueRef, WallClock};
use keyaki::settings::CqlSettings;
use keyaki::store::{Bucket, Committed, Previous, Store, View};
use keyaki::testing::random::Random;

use super::history::{Act, Operation, is_linearisable};
use super::ledger::{Ledger, Recorded};
use super::process::{Process, Task, listen};
use super::{Keyspaces, demand_all, shared, store_on};
use crate::crash::journal::Journal;

const APART_S: i64 = 300;
const REGISTERS: [&str; 3] = ["x", "y", "z"];
const OPERATIONS: u64 = 240;
const STEPS: u64 = 80;
/// Of each process, at once.
const CLIENTS: u64 = 2;
const VALUE: &[u8] = b"value";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_registers_are_linearisable_though_clocks_differ() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    let settings = keyspaces.fresh();
    let dir = tempfile::tempdir().unwrap();
    let engine = keyspaces.open(settings.clone());
    Ledger::create(&store_on(&engine, 1)).await;
    let registers = REGISTERS.map(str::to_owned);
    let task = Task::new("registrar", &settings, dir.path()).on_items(registers).times(OPERATIONS);
    let mut processes = begin(&task);
    let mut histories: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
    for process in &mut processes {
        loop {
            let told = process.hear();
            if told == "over" {
                break;
            }
            let operation: Operation = serde_json::from_str(&told).unwrap();
            histories.entry(operation.register.clone()).or_default().push(operation);
        }
    }
    drop(processes);
    keyspaces.drop_all().await;
    for (register, history) in &histories {
        let count = |which: fn(&Act) -> bool| history.iter().filter(|op| which(&op.act)).count();
        let swaps = count(|act| matches!(act, Act::Swap { .. }));
        let refused = count(|act| matches!(act, Act::Refused { .. }));
        let unknown = count(|act| matches!(act, Act::Unknown { .. }));
        println!(
            "{register}: {} operations, {swaps} swaps, {refused} refused, {unknown} unknown",
            history.len()
        );
        assert!(swaps > 20 && refused > 5, "too little happened: {swaps}, {refused}");
        assert!(is_linearisable(history), "{register}: {history:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs KEYAKI_CQL"]
async fn cql_what_follows_is_right_though_clocks_differ() {
    let _cluster = shared().await;
    let keyspaces = Keyspaces::new();
    // The feed waits three leases for processes that are gone.
    let settings = CqlSettings { lease: Duration::from_secs(4), ..keyspaces.fresh() };
    let dir = tempfile::tempdir().unwrap();
    let engine = keyspaces.open(settings.clone());
    let ledger = Ledger::create(&store_on(&engine, 1)).await;
    let items = ["p", "q", "r"].map(str::to_owned);
    let task = Task::new("writer", &settings, dir.path()).on_items(items.clone()).times(STEPS);
    let mut processes = begin(&task);
    let expected = Arc::new(AtomicUsize::new(usize::MAX));
    let follower = tokio::spawn(follow(ledger.clone(), expected.clone()));
    let mut done = 0;
    for process in &mut processes {
        let told = process.hear();
        println!("{told}");
        let parsed = told.strip_prefix("done ").and_then(|rest| rest.strip_suffix(" failed 0"));
        done += parsed.unwrap_or_else(|| panic!("{told}")).parse::<u64>().unwrap();
    }
    demand_all(&ledger, &items, done).await;
    // The writers are gone, and with them the clock that was ahead; nothing may be late for that.
    drop(processes);
    for item in &items {
        assert!(matches!(ledger.step(item).await.unwrap(), Committed::Done(_)));
    }
    done += items.len() as u64;
    demand_all(&ledger, &items, done).await;
    expected.store(done as usize, SeqCst);
    let (whole, _) = ledger.changes(None).await;
    assert_eq!(follower.await.unwrap(), whole, "who followed has seen something else");
    keyspaces.drop_all().await;
}

/// Reads the feed from its beginning until it has seen so many changes.
async fn follow(ledger: Ledger, expected: Arc<AtomicUsize>) -> Vec<Recorded> {
    let (mut seen, mut since) = (Vec::new(), None);
    while seen.len() < expected.load(SeqCst) {
        let (changes, next) = ledger.changes(since).await;
        seen.extend(changes);
        since = next;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    seen
}

/// One process on time, and one ahead of it.
fn begin(task: &Task) -> [Process; 2] {
    let mut processes = [0, APART_S].map(|ahead_s| task.ahead(ahead_s).start());
    for process in &mut processes {
        assert_eq!(process.hear(), "ready");
    }
    for process in &mut processes {
        process.say("go");
    }
    processes
}

/// A process of clients that read and swap the values of registers, and tell when they did what.
pub async fn registrar(task: &Task, store: &Store, journal: &Journal) {
    let bucket = Ledger::find(store).bucket;
    listen();
    let clients = (0..CLIENTS).map(|client| {
        let mut client = Client {
            bucket: bucket.clone(),
            chance: Random::seeded(client + 10 * task.ahead_s as u64),
            // Values that nobody else puts.
            next: (1 + client) * 1_000_000 + task.ahead_s as u64 * 100_000_000,
            known: BTreeMap::new(),
        };
        async move {
            for _ in 0..task.times / CLIENTS {
                let register = client.chance.pick(&REGISTERS);
                let operation = client.operate(register).await;
                journal.note(&serde_json::to_string(&operation).unwrap());
            }
        }
    });
    futures_util::future::join_all(clients).await;
    journal.note("over");
    listen();
}

struct Client {
    bucket: Bucket,
    chance: Random,
    next: u64,
    /// How each register was stored when it was last seen.
    known: BTreeMap<&'static str, Option<Vec<u8>>>,
}

impl Client {
    async fn operate(&mut self, register: &'static str) -> Operation {
        let begun_us = SystemWallClock.now_us();
        let act = match self.known.remove(register) {
            Some(known) if !self.chance.once_in(3) => self.swap(register, known).await,
            _ => self.read(register).await,
        };
        let ended_us = SystemWallClock.now_us();
        Operation { register: register.to_owned(), begun_us, ended_us, act }
    }

    async fn read(&mut self, register: &'static str) -> Act {
        let stored = self.bucket.stored(register.as_bytes(), VALUE).await.unwrap();
        let found = number(stored.as_deref());
        self.known.insert(register, stored);
        Act::Read { found }
    }

    async fn swap(&mut self, register: &'static str, known: Option<Vec<u8>>) -> Act {
        self.next += 1;
        let (from, to) = (number(known.as_deref()), self.next);
        let previous = known.as_deref().map_or(Previous::Absent, Previous::Stored);
        let swapped = self.bucket.commit(register.as_bytes(), |draft| {
            // Registers differ in whether something follows from them: then an intent goes first.
            if register != REGISTERS[0] {
                let value = Value::open(b"");
                draft.add_entry(&View::named("registers"), register.as_bytes(), VALUE, value)?;
            }
            draft.put(VALUE, previous, Value::open(&to.to_be_bytes()))
        });
        match swapped.await {
            Ok(Committed::Refused(refusals)) => {
                let stored = refusals.into_iter().next().unwrap().found;
                let found = number(stored.as_deref());
                self.known.insert(register, stored);
                Act::Refused { from, found }
            }
            Ok(_) => Act::Swap { from, to },
            Err(_) => Act::Unknown { from, to },
        }
    }
}

fn number(stored: Option<&[u8]>) -> u64 {
    stored.map_or(0, |stored| {
        u64::from_be_bytes(ValueRef::decode(stored).unwrap().payload.try_into().unwrap())
    })
}
