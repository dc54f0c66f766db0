//! Commit times and the ids made from them.
//!
//! [`HybridClock`] gives every commit of a process a time of its own: the wall clock's microseconds
//! where they have moved on, the last time plus one where they have not. Invariant: no time is issued
//! twice or out of order, whatever the wall clock does, and none at or below a time that was observed
//! or read. A [`Tid`] is a time made into a UUIDv7. Where the random part of an id comes from, and
//! what is observed when, is left to the store.
//!
//! | bound   | year  | what it is                                                              |
//! |---------|-------|-------------------------------------------------------------------------|
//! | 2^46 ms | 4199  | the most a wall clock is believed                                       |
//! | 2^47 ms | 6429  | [`Time::MAX`]: what claims more, on disk or on the wire, is read as this |
//! | 2^48 ms | 10889 | the last that fits a [`Tid`]: 4,460 years of a tick per microsecond away |

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::fmt::Hyphenated;
use uuid::{Uuid, Variant};

const MICROS_PER_MILLI: u64 = 1000;
const WALL_MICROS_MAX: u64 = (1 << 46) * MICROS_PER_MILLI;

/// Microseconds since the Unix epoch, as a [`HybridClock`] issued them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// See the table above.
    pub const MAX: Self = Self((1 << 47) * MICROS_PER_MILLI - 1);

    /// At most [`Time::MAX`].
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        if micros < Self::MAX.0 { Self(micros) } else { Self::MAX }
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Big endian, so that bytes order as times do.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Undoes [`Time::to_bytes`]; at most [`Time::MAX`].
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_micros(u64::from_be_bytes(bytes))
    }

    /// None beyond [`Time::MAX`]; parts of a microsecond are dropped.
    #[must_use]
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let micros = u64::try_from(duration.as_micros()).ok()?;
        self.0.checked_add(micros).map(Self).filter(|time| *time <= Self::MAX)
    }

    /// None before the epoch; parts of a microsecond are dropped.
    #[must_use]
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        let micros = u64::try_from(duration.as_micros()).ok()?;
        self.0.checked_sub(micros).map(Self)
    }

    /// At most [`Time::MAX`].
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        self.checked_add(duration).unwrap_or(Self::MAX)
    }

    /// At least [`Time::ZERO`].
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).unwrap_or(Self::ZERO)
    }

    /// How long after `earlier`; zero if it is not after.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// What the clock on the wall says. It may jump, forwards and back.
pub trait WallClock: Send + Sync {
    /// Microseconds since the Unix epoch.
    fn now_us(&self) -> u64;
}

/// The machine's clock. A clock set before 1970 says 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemWallClock;

impl WallClock for SystemWallClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time"
    )]
    fn now_us(&self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
    }
}

/// A hybrid logical clock: near the wall clock, and never back.
///
/// Its one word is read and changed by single atomic steps, whose order all threads agree on; nothing
/// else is published through it, so relaxed ordering is enough.
pub struct HybridClock {
    wall: Arc<dyn WallClock>,
    last: AtomicU64,
}

impl HybridClock {
    /// A clock that has issued nothing yet.
    pub fn new(wall: Arc<dyn WallClock>) -> Self {
        Self { wall, last: AtomicU64::new(0) }
    }

    /// A time of its own: above every time issued, read or observed before.
    pub fn next(&self) -> Time {
        let wall = self.wall_micros();
        let tick = |last: u64| wall.max(last + 1);
        Time(tick(self.last.update(Relaxed, Relaxed, tick)))
    }

    /// A reading: not below any time issued, read or observed before, and below every time issued after.
    pub fn now(&self) -> Time {
        let wall = self.wall_micros();
        Time(wall.max(self.last.fetch_max(wall, Relaxed)))
    }

    /// Makes every time issued from now on come after `time`.
    ///
    /// However far ahead `time` is, this takes it: it has been written somewhere, and a commit below
    /// it would be lost behind it. The clock then counts on from there until the wall clock has
    /// caught up. Whoever hears times from others can ask [`HybridClock::ahead_of_wall`] first, and
    /// decline to follow.
    pub fn observe(&self, time: Time) {
        self.last.fetch_max(time.0, Relaxed);
    }

    /// How far `time` lies ahead of the wall clock; zero if it does not.
    pub fn ahead_of_wall(&self, time: Time) -> Duration {
        time.since(Time(self.wall_micros()))
    }

    fn wall_micros(&self) -> u64 {
        self.wall.now_us().min(WALL_MICROS_MAX)
    }
}

impl fmt::Debug for HybridClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HybridClock").field("last", &self.last).finish_non_exhaustive()
    }
}

/// A transaction id: a UUIDv7 that gives its [`Time`] back. Orders by time, as bytes and as text.
///
/// | bits | content                                        |
/// |------|------------------------------------------------|
/// | 48   | milliseconds since the Unix epoch, big endian  |
/// | 4    | version, 7                                     |
/// | 12   | microseconds within the millisecond, 0 to 999  |
/// | 2    | variant, binary 10                             |
/// | 62   | node: whatever sets processes apart            |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(Uuid);

const NODE_MASK: u64 = (1 << 62) - 1;

impl Tid {
    /// How long it is as text.
    pub const TEXT_BYTES: usize = Hyphenated::LENGTH;

    /// The two highest bits of `node` are dropped.
    #[must_use]
    pub fn new(time: Time, node: u64) -> Self {
        let (millis, micros) = (time.0 / MICROS_PER_MILLI, time.0 % MICROS_PER_MILLI);
        let high = (millis << 16) | (0x7 << 12) | micros;
        let low = (0b10 << 62) | (node & NODE_MASK);
        Self(Uuid::from_u64_pair(high, low))
    }

    /// Refuses what [`Tid::new`] cannot have made.
    pub fn from_uuid(uuid: Uuid) -> Result<Self, BadTid> {
        let tid = Self(uuid);
        let (high, _) = uuid.as_u64_pair();
        if uuid.get_version_num() != 7 || uuid.get_variant() != Variant::RFC4122 {
            Err(BadTid { reason: "not a UUID of version 7" })
        } else if high & 0xfff >= MICROS_PER_MILLI || tid.time() > Time::MAX {
            Err(BadTid { reason: "not a time that Keyaki has issued" })
        } else {
            Ok(tid)
        }
    }

    /// Refuses what [`Tid::new`] cannot have made.
    pub fn from_bytes(bytes: [u8; 16]) -> Result<Self, BadTid> {
        Self::from_uuid(Uuid::from_bytes(bytes))
    }

    /// In the order of time.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Exactly the time it was made from.
    #[must_use]
    pub fn time(&self) -> Time {
        let (high, _) = self.0.as_u64_pair();
        Time((high >> 16) * MICROS_PER_MILLI + (high & 0xfff))
    }

    /// As text, in a buffer of the caller's.
    pub fn encode<'b>(&self, buffer: &'b mut [u8; Self::TEXT_BYTES]) -> &'b str {
        self.0.hyphenated().encode_lower(buffer)
    }

    /// The 62 bits it was made from.
    #[must_use]
    pub fn node(&self) -> u64 {
        let (_, low) = self.0.as_u64_pair();
        low & NODE_MASK
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encode(&mut [0; Self::TEXT_BYTES]))
    }
}

/// Takes the form with hyphens only: ids are compared as text in ETags, so they have one spelling.
impl FromStr for Tid {
    type Err = BadTid;

    fn from_str(text: &str) -> Result<Self, BadTid> {
        let uuid = Uuid::try_parse(text).map_err(|_| BadTid { reason: "not a UUID" })?;
        let tid = Self::from_uuid(uuid)?;
        if uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text {
            Ok(tid)
        } else {
            Err(BadTid { reason: "not in lower case with hyphens" })
        }
    }
}

/// Bytes or text that are not a [`Tid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTid {
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for BadTid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a transaction id: {}", self.reason)
    }
}

impl std::error::Error for BadTid {}
