//! A commit: one home partition's conditional writes, and the dependents that follow from them.
//!
//! Callers collect a [`Commit`]; [`Commit::seal`] checks it against the rules that every engine
//! keeps, sorts its cells and folds repeated merges, so that engines only have to do it. Keys
//! and values lie in one buffer, encoded as they are stored.

use std::any::Any;

use super::space::{BucketId, SpaceId, SpaceKind};
use crate::cell::value::VISIBILITY_BYTES_MAX;
use crate::cell::{Tid, Value, key};
use crate::error::{Error, Result};

mod seal;
mod sealed;

pub use seal::check_visibility;
#[cfg(feature = "cql")]
pub use sealed::SealedClaim;
pub use sealed::{Sealed, StoredWrite};

/// The longest payload of one cell.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// The most bytes, keys and values together, of a commit through the log.
pub const COMMIT_BYTES_MAX: usize = 64 << 20;
/// The most bytes of a bulk commit.
pub const BULK_BYTES_MAX: usize = 1 << 30;

/// The partition whose cells a commit may expect things of and write conditionally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The bucket.
    pub bucket: BucketId,
    /// The partition, the same in all home spaces of the bucket.
    pub partition: Vec<u8>,
}

/// What must be true of a home cell for the commit to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Nothing is there.
    Absent,
    /// Something is there.
    Present,
    /// Exactly this stored value is there, header included.
    Equals(Vec<u8>),
}

/// What happens to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write<'a> {
    /// It gets this value.
    Put(Value<'a>),
    /// It goes.
    Delete,
    /// This operand is folded into it by the space's merge rule.
    Merge(Value<'a>),
}

/// Room that a commit begins with: enough for most, so that they need not move while they grow.
const FIRST_BYTES: usize = 4 << 10;
const FIRST_CELLS: usize = 8;

/// How a commit reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Through the log, in a group with others.
    Log,
    /// As sorted files of its own, for chunks of many thousand cells.
    Bulk,
}

/// Which condition of a commit was not met, and what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which condition.
    pub condition: Condition,
    /// The stored value that stands against it, header included.
    pub found: Option<Vec<u8>>,
}

/// A condition of a commit, by its place in the order they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// An expectation.
    Expectation(usize),
    /// A claim taken or released.
    Claim(usize),
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It took, and is durable.
    Done,
    /// Nothing was written, for these conditions were not met.
    Refused(Vec<Refusal>),
    /// Nothing was written: the home partition has a commit as late as this one's time or
    /// later. Stamp it anew.
    Stale,
}

/// Writes that take effect together.
#[derive(Debug)]
pub struct Commit {
    tid: Tid,
    home: Home,
    route: Route,
    expectations: Vec<(SpaceId, Vec<u8>, Expect)>,
    claims: Vec<Claim>,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// The first value that could not even be encoded.
    fault: Option<Error>,
    companions: Companions,
}

/// What lives as long as a commit is undecided.
#[derive(Default)]
struct Companions(Vec<Box<dyn Any + Send + Sync>>);

impl std::fmt::Debug for Companions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} companions", self.0.len())
    }
}

#[derive(Debug)]
struct Claim {
    space: SpaceId,
    name: Vec<u8>,
    owner: Vec<u8>,
    taken: bool,
}

/// Where a write lies in a commit's bytes. Bulk commits have very many of these.
#[derive(Debug, Clone, Copy)]
struct Slot {
    kind: SlotKind,
    role: SpaceKind,
    /// Whether conditions of other commits may look at the cell.
    watched: bool,
    key: Span,
    value: Span,
}

/// A range of a commit's bytes, which stay below 4 GiB: `admit` and `fold_repeats` see to it.
#[derive(Debug, Clone, Copy)]
struct Span {
    at: u32,
    bytes: u32,
}

impl Span {
    fn new(from: usize, to: usize) -> Self {
        Self { at: from as u32, bytes: (to - from) as u32 }
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.at as usize..][..self.bytes as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Put,
    Delete,
    Merge,
}

impl Commit {
    /// An empty commit of `home`, at the time in `tid`.
    #[must_use]
    pub fn new(home: Home, tid: Tid) -> Self {
        Self {
            tid,
            home,
            route: Route::Log,
            expectations: Vec::new(),
            claims: Vec::new(),
            bytes: Vec::with_capacity(FIRST_BYTES),
            slots: Vec::with_capacity(FIRST_CELLS),
            fault: None,
            companions: Companions::default(),
        }
    }

    /// Sends it by another route.
    pub fn set_route(&mut self, route: Route) {
        self.route = route;
    }

    /// Makes room for so many more cells with so many bytes.
    pub fn reserve(&mut self, cells: usize, bytes: usize) {
        self.slots.reserve(cells);
        self.bytes.reserve(bytes);
    }

    /// How it reaches the disk.
    #[must_use]
    pub fn route(&self) -> Route {
        self.route
    }

    /// Keeps `companion` until the engine has decided and can show what it decided, even if the
    /// caller no longer waits for the answer.
    pub fn carry(&mut self, companion: impl Send + Sync + 'static) {
        self.companions.0.push(Box::new(companion));
    }

    /// Its id, which holds its time.
    #[must_use]
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// Its home.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Demands something of a home cell. Answers the expectation's place in the order.
    pub fn expect(&mut self, space: SpaceId, sort: &[u8], expect: Expect) -> usize {
        self.expectations.push((space, sort.to_vec(), expect));
        self.expectations.len() - 1
    }

    /// Writes a cell of the home partition.
    pub fn write(&mut self, space: SpaceId, sort: &[u8], write: Write<'_>) {
        let home = std::mem::take(&mut self.home.partition);
        self.push(SpaceKind::Home, space, &home, sort, write);
        self.home.partition = home;
    }

    /// Writes a derived cell, anywhere.
    pub fn dependent(&mut self, space: SpaceId, partition: &[u8], sort: &[u8], write: Write<'_>) {
        self.push(SpaceKind::Derived, space, partition, sort, write);
    }

    /// Reserves `name` for `owner` in a derived space that holds only names; refused if another
    /// owner has it. Answers the claim's place in the order.
    pub fn claim(&mut self, space: SpaceId, name: &[u8], owner: &[u8]) -> usize {
        self.push_claim(space, name, owner, true)
    }

    /// Gives `name` back; refused if another owner has it, nothing to do if nobody has.
    pub fn release(&mut self, space: SpaceId, name: &[u8], owner: &[u8]) -> usize {
        self.push_claim(space, name, owner, false)
    }

    /// The spaces it names.
    #[cfg(feature = "cql")]
    pub(super) fn spaces(&self) -> impl Iterator<Item = SpaceId> {
        let written = self.slots.iter().map(|slot| space_of(slot.key.of(&self.bytes)));
        let expected = self.expectations.iter().map(|(space, _, _)| *space);
        written.chain(expected).chain(self.claims.iter().map(|claim| claim.space))
    }

    fn push_claim(&mut self, space: SpaceId, name: &[u8], owner: &[u8], taken: bool) -> usize {
        self.claims.push(Claim { space, name: name.to_vec(), owner: owner.to_vec(), taken });
        self.claims.len() - 1
    }

    fn push(
        &mut self,
        role: SpaceKind,
        space: SpaceId,
        partition: &[u8],
        sort: &[u8],
        write: Write<'_>,
    ) {
        let (kind, value) = match write {
            Write::Delete => (SlotKind::Delete, None),
            Write::Put(value) => (SlotKind::Put, Some(value)),
            Write::Merge(value) => (SlotKind::Merge, Some(value)),
        };
        if let Err(fault) = self.admit(partition, sort, value.as_ref()) {
            self.fault.get_or_insert(fault);
            return;
        }
        let key_at = self.bytes.len();
        key::cell_key(space.0, partition, sort, &mut self.bytes);
        let value_at = self.bytes.len();
        if let Some(value) = value {
            value.encode(self.tid.time(), &mut self.bytes);
        }
        self.slots.push(Slot {
            kind,
            role,
            watched: role == SpaceKind::Home,
            key: Span::new(key_at, value_at),
            value: Span::new(value_at, self.bytes.len()),
        });
    }

    /// Refuses what can't even be encoded, or would make the commit too large for any route.
    fn admit(&self, partition: &[u8], sort: &[u8], value: Option<&Value<'_>>) -> Result<()> {
        if let Some(value) = value
            && value.visibility.len() > VISIBILITY_BYTES_MAX
        {
            return Err(Error::invalid("visibility is too long")
                .with("bytes", value.visibility.len())
                .with("most", VISIBILITY_BYTES_MAX));
        }
        let given = partition.len() + sort.len() + value.map_or(0, Value::encoded_len);
        let bytes = self.bytes.len().saturating_add(given);
        if bytes > BULK_BYTES_MAX {
            return Err(too_large(bytes, BULK_BYTES_MAX));
        }
        Ok(())
    }
}

/// The space that a stored key belongs to.
pub(super) fn space_of(key: &[u8]) -> SpaceId {
    let id = key.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    SpaceId(id)
}

#[cold]
fn too_large(bytes: usize, most: usize) -> Error {
    Error::invalid("commit is too large").with("bytes", bytes).with("most", most)
}
