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

/// Forgets the peak so far.
pub fn reset_peak_memory() -> Result<()> {
    Ok(std::fs::write("/proc/self/clear_refs", "5")?)
}

/// The most bytes the process has had in memory since the last reset.
pub fn peak_memory_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .ok_or("the kernel tells no VmHWM")?;
    Ok(kib.trim().parse::<u64>()? << 10)
}
