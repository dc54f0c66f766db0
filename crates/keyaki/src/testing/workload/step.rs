//! A step: its primary says which step it is, how much it carries and which one it follows; the
//! rest can be worked out from that, and so can be demanded back.

use std::fmt;
use std::str::FromStr;

use crate::cell::parts::{Parts, PartsReader};
use crate::error::{Error, Result};
use crate::store::{Change, Operation, Owner};

/// Echoes are spread over so many partitions.
const ECHO_PARTITIONS: u32 = 509;
/// Steps count into so many counters, beside the one that counts them all.
const COUNTERS: u32 = 61;
/// The counter of all steps.
pub const ALL: u32 = 0;

/// Which step: the lane, and the place in it, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The lane.
    pub lane: u16,
    /// The place in it.
    pub number: u32,
}

/// How much a step carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A few hundred bytes.
    Small,
    /// A primary of several chunks.
    Large,
    /// Hundreds of dependents, by bulk.
    Bulk,
}

/// A step of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub link: Link,
    /// How much it carries.
    pub load: Load,
    /// One that was acknowledged before it, of any lane.
    pub follows: Option<Link>,
}

/// A dependent of a step: it says what its owner made it say.
pub struct Echo {
    pub number: u32,
    pub partition: Vec<u8>,
    pub payload: Vec<u8>,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.lane, self.number)
    }
}

impl FromStr for Link {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (lane, number) = text.split_once(':')?;
            Some(Self { lane: lane.parse().ok()?, number: number.parse().ok()? })
        };
        parse().ok_or_else(|| Error::corrupt("not a step's name").with("text", text))
    }
}

impl Load {
    /// A mixture: mostly small, now and then large or by bulk.
    #[must_use]
    pub fn mixed(link: Link) -> Self {
        match hash(&[b"load", &link.to_bytes()])[0] {
            0..8 => Self::Bulk,
            8..32 => Self::Large,
            _ => Self::Small,
        }
    }

    /// How many dependents follow.
    #[must_use]
    pub fn echoes(self) -> u32 {
        match self {
            Self::Small => 4,
            Self::Large => 1,
            Self::Bulk => 400,
        }
    }

    fn filler(self) -> usize {
        match self {
            Self::Small => 40,
            Self::Large => 20_000,
            Self::Bulk => 0,
        }
    }
}

impl Link {
    fn to_bytes(self) -> [u8; 6] {
        let ([a, b], [c, d, e, f]) = (self.lane.to_be_bytes(), self.number.to_be_bytes());
        [a, b, c, d, e, f]
    }

    fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self { lane: u16::from_be_bytes([a, b]), number: u32::from_be_bytes([c, d, e, f]) }
    }
}

/// The home partition of a lane. Its name has a zero byte in it, as any partition's may.
pub fn partition(lane: u16) -> Vec<u8> {
    [b"lane".as_slice(), &lane.to_be_bytes()].concat()
}

/// The lane that a home partition belongs to.
pub fn lane_of(partition: &[u8]) -> Result<u16> {
    let lane = partition.strip_prefix(b"lane").and_then(|lane| lane.try_into().ok());
    lane.map(u16::from_be_bytes)
        .ok_or_else(|| Error::corrupt("not a lane").with_bytes("partition", partition))
}

impl Step {
    /// Where its primary lies in the lane.
    pub fn sort(&self) -> Vec<u8> {
        Parts::new().bytes(b"step").u32(self.link.number).into_bytes()
    }

    /// What its primary says: load, link, the step it follows if any, and bytes made from them.
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = vec![match self.load {
            Load::Small => 0,
            Load::Large => 1,
            Load::Bulk => 2,
        }];
        payload.extend_from_slice(&self.link.to_bytes());
        let none = Link { lane: 0, number: 0 };
        payload.extend_from_slice(&self.follows.unwrap_or(none).to_bytes());
        let start = payload.len();
        payload.resize(start + self.load.filler(), 0);
        expand(&[b"filler", &self.link.to_bytes()], &mut payload[start..]);
        payload
    }

    /// Reads a payload back, and demands that every byte is right.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let read = || {
            let (&[load], rest) = payload.split_first_chunk()?;
            let (link, rest) = rest.split_first_chunk()?;
            let (follows, _) = rest.split_first_chunk()?;
            let load = *[Load::Small, Load::Large, Load::Bulk].get(usize::from(load))?;
            let follows = Some(Link::from_bytes(*follows)).filter(|link| link.number > 0);
            let step = Self { link: Link::from_bytes(*link), load, follows };
            (step.payload() == payload).then_some(step)
        };
        read().ok_or_else(|| {
            Error::corrupt("a step has other bytes than it was given")
                .with_bytes("payload", payload)
        })
    }

    /// Which step a sort key belongs to.
    pub fn number_of(sort: &[u8]) -> Result<u32> {
        let mut parts = PartsReader::new(sort);
        let number = parts.bytes().and_then(|_| parts.u32());
        number
            .map_err(|bad| Error::corrupt("not a step's key").with_bytes("sort", sort).because(bad))
    }

    /// What makes it repeat-safe.
    pub fn operation(&self) -> Operation {
        Operation {
            caller: format!("lane {}", self.link.lane),
            action: "step".to_owned(),
            id: self.link.to_string(),
            sequence: u64::from(self.link.number),
            parameters: Vec::new(),
        }
    }

    /// Its change record.
    pub fn change(&self) -> Change {
        Change {
            item: self.link.to_string(),
            action: "step".to_owned(),
            operation: Some(self.link.to_string()),
            ..Change::default()
        }
    }

    /// Where it comes in the view of all steps.
    pub fn entry_key(&self) -> Vec<u8> {
        self.link.number.to_be_bytes().to_vec()
    }

    /// One of its dependents.
    pub fn echo(&self, number: u32) -> Echo {
        let hash = hash(&[b"echo", &self.link.to_bytes(), &number.to_be_bytes()]);
        let partition = choose(&hash, ECHO_PARTITIONS).to_be_bytes().to_vec();
        Echo { number, partition, payload: hash.to_vec() }
    }

    /// The counters it adds one to: the one of all steps and, by bulk, some of the others.
    pub fn counters(&self) -> impl Iterator<Item = u32> {
        let more = if self.load == Load::Bulk { 20 } else { 1 };
        let first = choose(&hash(&[b"counters", &self.link.to_bytes()]), COUNTERS);
        let others = (0..more).map(move |number| 1 + (first + number) % COUNTERS);
        std::iter::once(ALL).chain(others)
    }
}

impl Echo {
    /// Its key: its number, then its owner, as of every derived cell.
    pub fn sort(&self, owner: &Owner) -> Result<Vec<u8>> {
        let mut sort = self.number.to_be_bytes().to_vec();
        owner.append(&mut sort)?;
        Ok(sort)
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut out = [0; 16];
    expand(parts, &mut out);
    out
}

fn expand(parts: &[&[u8]], out: &mut [u8]) {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize_xof().fill(out);
}

fn choose(hash: &[u8; 16], of: u32) -> u32 {
    let (first, _) = hash.split_first_chunk().expect("a hash has 16 bytes");
    u32::from_be_bytes(*first) % of
}
