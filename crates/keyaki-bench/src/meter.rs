//! What work costs: time on the wall, CPU of the whole process, memory at its peak.
//!
//! The CPU includes RocksDB's background threads, and children that have ended do not count.
//! Only one thing is measured at a time, so all that the process spends is its.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// Measures from when it is made.
pub struct Meter {
    began: Instant,
    cpu: Duration,
}

/// What something cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Until it was accepted.
    pub wall: Duration,
    /// Until it had settled.
    pub cpu: Duration,
}

impl Meter {
    pub fn start() -> Self {
        Self { began: Instant::now(), cpu: process_cpu() }
    }

    pub fn wall(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn cpu(&self) -> Duration {
        process_cpu() - self.cpu
    }

    /// Both, now.
    pub fn read(&self) -> Cost {
        Cost { wall: self.wall(), cpu: self.cpu() }
    }
}

impl Cost {
    /// The lesser of each: what disturbs a run only ever adds.
    pub fn least(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }

    pub fn add(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }

    /// So many things a second.
    pub fn rate(&self, things: usize) -> f64 {
        things as f64 / self.wall.as_secs_f64()
    }
}

fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Waits until the process rests: what compactions there are have come to their end. Unlike
/// settling a store it writes nothing out, and so leaves the shape of its tables alone.
pub fn rest() {
    const LOOK: Duration = Duration::from_millis(50);
    const QUIET: Duration = Duration::from_millis(1);
    const LOOKS: usize = 4;
    let mut quiet = 0;
    while quiet < LOOKS {
        let meter = Meter::start();
        std::thread::sleep(LOOK);
        quiet = if meter.cpu() < QUIET { quiet + 1 } else { 0 };
    }
}

/// Waits until another process rests; the kernel counts in ticks, and one of them is nothing.
pub fn rest_of(pid: u32) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(200);
    const LOOKS: usize = 3;
    let mut quiet = 0;
    while quiet < LOOKS {
        let before = family_cpu(pid)?;
        std::thread::sleep(LOOK);
        quiet = if family_cpu(pid)? <= before + duration(1) { quiet + 1 } else { 0 };
    }
    Ok(())
}

/// Forgets the peak so far.
pub fn reset_peak_memory() -> Result<()> {
    reset_peak_memory_of(std::process::id())
}

/// The most bytes the process has had in memory since the last reset.
pub fn peak_memory_bytes() -> Result<u64> {
    peak_memory_bytes_of(std::process::id())
}

/// As [`reset_peak_memory`], for another process.
pub fn reset_peak_memory_of(pid: u32) -> Result<()> {
    Ok(std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

/// As [`peak_memory_bytes`], for another process.
pub fn peak_memory_bytes_of(pid: u32) -> Result<u64> {
    status_bytes(pid, "VmHWM:")
}

/// What a process has in memory now.
pub fn memory_bytes(pid: u32) -> Result<u64> {
    status_bytes(pid, "VmRSS:")
}

fn status_bytes(pid: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .ok_or_else(|| format!("the kernel tells no {name}"))?;
    Ok(kib.trim().parse::<u64>()? << 10)
}

/// CPU of a process, of its children, and of those that have ended.
pub fn family_cpu(pid: u32) -> Result<Duration> {
    let mut ticks = Ticks::of(pid)?.with_ended();
    let children = format!("/proc/{pid}/task/{pid}/children");
    // One that has ended in between is counted with its parent the next time.
    for child in std::fs::read_to_string(children)?.split_whitespace() {
        ticks += child.parse().ok().and_then(|child| Ticks::of(child).ok()).map_or(0, |t| t.own);
    }
    Ok(duration(ticks))
}

/// CPU of this process, and of its children that have ended.
pub fn own_cpu_with_ended_children() -> Result<Duration> {
    let ended = Ticks::of(std::process::id())?.ended_children;
    Ok(process_cpu() + duration(ended))
}

fn duration(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

struct Ticks {
    own: u64,
    ended_children: u64,
}

impl Ticks {
    fn of(pid: u32) -> Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name comes second, in parentheses, and may hold anything.
        let rest = stat.rsplit_once(')').ok_or("the kernel tells no state")?.1;
        let numbers: Vec<u64> = rest.split_whitespace().map(|n| n.parse().unwrap_or(0)).collect();
        let at = |place: usize| numbers.get(place - 3).copied().unwrap_or(0);
        Ok(Self { own: at(14) + at(15), ended_children: at(16) + at(17) })
    }

    fn with_ended(&self) -> u64 {
        self.own + self.ended_children
    }
}
