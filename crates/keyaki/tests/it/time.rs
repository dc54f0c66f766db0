//! The clock never goes back and never repeats; ids give their times back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use keyaki::cell::time::{HybridClock, SystemWallClock, Tid, Time, WallClock};
use keyaki::testing::clock::FakeClock;
use proptest::prelude::*;
use uuid::Uuid;

const HOUR: Duration = Duration::from_secs(3600);
const START: u64 = 1_700_000_000_000_000;

fn clock() -> (Arc<FakeClock>, HybridClock) {
    let wall = Arc::new(FakeClock::at(START));
    (wall.clone(), HybridClock::new(wall))
}

fn time(micros: u64) -> Time {
    Time::from_micros(micros)
}

#[test]
fn follows_the_wall_clock_and_counts_where_it_stands() {
    let (wall, clock) = clock();
    assert_eq!(clock.next(), time(START));
    assert_eq!(clock.next(), time(START + 1));
    wall.advance(HOUR);
    assert_eq!(clock.next(), time(START).saturating_add(HOUR));
}

#[test]
fn rises_across_a_jump_back() {
    let (wall, clock) = clock();
    let before = clock.next();
    wall.jump_back(HOUR);
    assert_eq!(wall.now_us(), START - 3_600_000_000);
    let after: Vec<Time> = (0..1000).map(|_| clock.next()).collect();
    assert!(before < after[0] && after.is_sorted_by(|a, b| a < b));
    assert_eq!(after[999], time(START + 1000), "it counts on in single steps");
    wall.advance(2 * HOUR);
    assert_eq!(clock.next(), time(START).saturating_add(HOUR), "and follows the wall again later");
}

#[test]
fn a_reading_neither_ticks_nor_goes_back() {
    let (wall, clock) = clock();
    assert_eq!([clock.now(), clock.now()], [time(START); 2]);
    wall.jump_back(HOUR);
    assert_eq!(clock.now(), time(START), "though nothing was issued at that time");
    assert_eq!(clock.next(), time(START + 1), "a commit comes after what was read before it");
    assert_eq!(clock.now(), time(START + 1));
}

#[test]
fn goes_on_above_what_it_observed() {
    let (_, clock) = clock();
    assert_eq!(clock.next(), time(START));
    clock.observe(time(START - 5));
    assert_eq!(clock.next(), time(START + 1), "the past changes nothing");
    let far = time(START).saturating_add(24 * 365 * HOUR);
    assert_eq!(clock.ahead_of_wall(far), 24 * 365 * HOUR);
    assert_eq!(clock.ahead_of_wall(time(START - 5)), Duration::ZERO);
    clock.observe(far);
    assert_eq!(clock.now(), far);
    assert_eq!(clock.next(), far.saturating_add(Duration::from_micros(1)));
}

#[test]
fn the_ends_of_time_do_no_harm() {
    let clock = HybridClock::new(Arc::new(FakeClock::at(u64::MAX)));
    assert!(clock.next() < clock.next());
    assert!(clock.now() < Time::MAX, "an absurd wall clock is not believed");
    clock.observe(Time::MAX);
    let beyond = clock.next();
    assert!(beyond > Time::MAX);
    assert_eq!(Tid::new(beyond, 0).time(), beyond);
}

#[test]
fn times_are_unique_and_rising_across_threads() {
    let (wall, clock) = clock();
    let issue = || {
        let times: Vec<Time> = (0..20_000).map(|_| clock.next()).collect();
        assert!(times.is_sorted_by(|a, b| a < b), "each thread sees time rise");
        times
    };
    let shake = || (0..1000).for_each(|round| wall.set(START + (round * 7919) % 50_000));
    let all: Vec<Time> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(issue)).collect();
        scope.spawn(shake);
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 8 * 20_000);
}

#[test]
fn the_machine_clock_tells_microseconds() {
    let year = 365 * 24 * 3_600_000_000;
    let now = SystemWallClock.now_us();
    assert!(now > 50 * year && now < 500 * year, "{now} is not a time after 2020 in microseconds");
}

#[test]
fn tid_bytes_are_as_promised() {
    // 0x018bcfe56800 ms, 0x1c8 = 456 us.
    let tid = Tid::new(time(START + 456), 0x0123_4567_89ab_cdef);
    assert_eq!(tid.to_string(), "018bcfe5-6800-71c8-8123-456789abcdef");
    assert_eq!(Tid::new(Time::ZERO, u64::MAX).to_string(), "00000000-0000-7000-bfff-ffffffffffff");
    assert_eq!(time(0x0102).to_bytes(), [0, 0, 0, 0, 0, 0, 1, 2]);
}

#[test]
fn what_is_no_tid_is_refused() {
    for (text, why) in [
        ("", "nothing"),
        ("018bcfe5-6800-41c8-8123-456789abcdef", "version 4"),
        ("018bcfe5-6800-71c8-0123-456789abcdef", "another variant"),
        ("018bcfe5-6800-73e8-8123-456789abcdef", "1000 microseconds in a millisecond"),
        ("ffffffff-6800-71c8-8123-456789abcdef", "the year 10889"),
        ("018bcfe5680071c88123456789abcdef", "no hyphens"),
        ("018BCFE5-6800-71C8-8123-456789ABCDEF", "upper case"),
        ("{018bcfe5-6800-71c8-8123-456789abcdef}", "braces"),
        ("018bcfe5-6800-71c8-8123-456789abcdef ", "a space"),
    ] {
        assert!(text.parse::<Tid>().is_err(), "{why}");
    }
    assert!(Tid::from_uuid(Uuid::nil()).is_err());
    assert!(Tid::from_bytes([0xff; 16]).is_err());
}

#[test]
fn arithmetic_stays_inside_time() {
    let micro = Duration::from_micros(1);
    assert_eq!(Time::from_micros(Time::MAX.micros() + 1), Time::MAX);
    assert_eq!(Time::from_bytes([0xff; 8]), Time::MAX);
    assert_eq!(Time::MAX.checked_add(micro), None);
    assert_eq!(Time::MAX.saturating_add(Duration::MAX), Time::MAX);
    assert_eq!(Time::ZERO.checked_sub(micro), None);
    assert_eq!(Time::ZERO.saturating_sub(Duration::MAX), Time::ZERO);
    assert_eq!(time(5).checked_sub(2 * micro), Some(time(3)));
    assert_eq!(time(5).since(time(3)), 2 * micro);
    assert_eq!(time(3).since(time(5)), Duration::ZERO);
}

fn any_time() -> impl Strategy<Value = Time> {
    prop_oneof![0..=Time::MAX.micros(), START..START + 3000].prop_map(time)
}

proptest! {
    #[test]
    fn tids_give_back_what_they_were_made_from(time in any_time(), node in 0u64..1 << 62) {
        let tid = Tid::new(time, node);
        prop_assert_eq!((tid.time(), tid.node()), (time, node));
        prop_assert_eq!(tid.to_string().parse::<Tid>(), Ok(tid));
        prop_assert_eq!(Tid::from_bytes(*tid.as_bytes()), Ok(tid));
        prop_assert_eq!(Time::from_bytes(time.to_bytes()), time);
    }

    #[test]
    fn tids_order_by_time_whatever_the_node(a in any_time(), b in any_time(), nodes in any::<[u64; 2]>()) {
        prop_assume!(a != b);
        let [tid_a, tid_b] = [Tid::new(a, nodes[0]), Tid::new(b, nodes[1])];
        prop_assert_eq!(tid_a.cmp(&tid_b), a.cmp(&b));
        prop_assert_eq!(tid_a.as_bytes().cmp(tid_b.as_bytes()), a.cmp(&b));
        prop_assert_eq!(tid_a.to_string().cmp(&tid_b.to_string()), a.cmp(&b));
        prop_assert_eq!(a.to_bytes().cmp(&b.to_bytes()), a.cmp(&b));
    }

    #[test]
    fn random_text_and_bytes_are_no_tids_or_come_back(text in ".{0,40}", bytes in any::<[u8; 16]>()) {
        prop_assert!(text.parse::<Tid>().is_err());
        if let Ok(tid) = Tid::from_bytes(bytes) {
            prop_assert_eq!(Tid::new(tid.time(), tid.node()), tid);
        }
    }
}
