//! A commit: one home partition's conditional writes, and the dependents that follow from them.
//!
//! Callers collect a [`Commit`]; [`Commit::seal`] checks it against the rules that every engine
//! keeps, sorts its cells and folds repeated merges, so that engines only have to do it. Keys
//! and values lie in one buffer, encoded as they are stored.

use std::any::Any;

use super::fold;
use super::space::{BucketId, Space, SpaceId, SpaceKind, Spaces};
use crate::cell::key::{self, KEY_BYTES_MAX};
use crate::cell::value::{Flags, VISIBILITY_BYTES_MAX};
use crate::cell::{Tid, Value, ValueRef, visibility};
use crate::error::{Error, Result};

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
            bytes: Vec::new(),
            slots: Vec::new(),
            fault: None,
            companions: Companions::default(),
        }
    }

    /// Sends it by another route.
    pub fn set_route(&mut self, route: Route) {
        self.route = route;
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

    /// Checks everything that can be checked without reading, sorts the cells and folds
    /// repeated merges.
    ///
    /// # Errors
    /// `Invalid` for what breaks the contract, with the place; `NotFound` for unknown spaces.
    pub fn seal(mut self, spaces: &Spaces) -> Result<Sealed> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.check_size()?;
        let mut checker =
            Checker { spaces, home: self.home.bucket, last: None, visibility: Vec::new() };
        let mut expectations = Vec::with_capacity(self.expectations.len());
        for (space, sort, expect) in std::mem::take(&mut self.expectations) {
            checker.space(space, SpaceKind::Home)?;
            let key = checker.key(space, &self.home.partition, &sort)?;
            expectations.push((key, expect));
        }
        for slot in &self.slots {
            checker.slot(slot, &self.bytes)?;
        }
        let claims = self.seal_claims(&mut checker)?;
        self.sort_and_fold(spaces)?;
        Ok(Sealed {
            tid: self.tid,
            home: self.home,
            expectations,
            claims,
            bytes: self.bytes,
            slots: self.slots,
            companions: self.companions,
        })
    }

    fn check_size(&self) -> Result<()> {
        let limit = match self.route {
            Route::Log => COMMIT_BYTES_MAX,
            Route::Bulk => BULK_BYTES_MAX,
        };
        if self.bytes.len() > limit {
            return Err(too_large(self.bytes.len(), limit));
        }
        Ok(())
    }

    /// Claims become cells like others; what they demand is checked by the engine.
    fn seal_claims(&mut self, checker: &mut Checker<'_>) -> Result<Vec<SealedClaim>> {
        let mut sealed = Vec::with_capacity(self.claims.len());
        for claim in std::mem::take(&mut self.claims) {
            checker.space(claim.space, SpaceKind::Derived)?;
            let key = checker.key(claim.space, &claim.name, b"")?;
            let write = match claim.taken {
                true => Write::Put(Value::open(&claim.owner)),
                false => Write::Delete,
            };
            self.dependent(claim.space, &claim.name, b"", write);
            self.fault.take().map_or(Ok(()), Err)?;
            let slot = self.slots.last_mut().expect("a slot was just pushed");
            slot.watched = true;
            checker.slot(slot, &self.bytes)?;
            sealed.push(SealedClaim { key, owner: claim.owner });
        }
        Ok(sealed)
    }

    fn sort_and_fold(&mut self, spaces: &Spaces) -> Result<()> {
        let bytes = &self.bytes;
        let key = |slot: &Slot| slot.key.of(bytes);
        if !self.slots.is_sorted_by(|a, b| key(a) < key(b)) {
            self.slots.sort_by(|a, b| key(a).cmp(key(b)));
        }
        let repeats = self.slots.windows(2).any(|pair| key(&pair[0]) == key(&pair[1]));
        if repeats { self.fold_repeats(spaces) } else { Ok(()) }
    }

    fn fold_repeats(&mut self, spaces: &Spaces) -> Result<()> {
        let mut kept: Vec<Slot> = Vec::with_capacity(self.slots.len());
        let slots = std::mem::take(&mut self.slots);
        let mut rest = slots.as_slice();
        while let Some(first) = rest.first() {
            let key = first.key.of(&self.bytes);
            let run = rest.partition_point(|slot| slot.key.of(&self.bytes) == key);
            let (same, after) = rest.split_at(run);
            let mut slot = *first;
            if same.len() > 1 {
                let folded = self.fold_run(spaces, key, same)?;
                let at = self.bytes.len();
                if folded.len() > u32::MAX as usize - at {
                    return Err(too_large(at + folded.len(), BULK_BYTES_MAX));
                }
                self.bytes.extend_from_slice(&folded);
                slot.value = Span::new(at, self.bytes.len());
            }
            kept.push(slot);
            rest = after;
        }
        self.slots = kept;
        Ok(())
    }

    fn fold_run(&self, spaces: &Spaces, key: &[u8], same: &[Slot]) -> Result<Vec<u8>> {
        if same.iter().any(|slot| slot.kind != SlotKind::Merge) {
            return Err(Error::invalid("commit writes a cell twice").with_bytes("key", key));
        }
        let space = spaces.usable(space_of(key))?;
        let values: Vec<&[u8]> = same.iter().map(|slot| slot.value.of(&self.bytes)).collect();
        Ok(fold::fold_or_list(space.merge.as_deref(), &values))
    }
}

/// A commit that keeps the contract: sorted, at most one write per cell.
#[derive(Debug)]
pub struct Sealed {
    tid: Tid,
    home: Home,
    expectations: Vec<(Vec<u8>, Expect)>,
    claims: Vec<SealedClaim>,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    companions: Companions,
}

#[derive(Debug)]
struct SealedClaim {
    key: Vec<u8>,
    owner: Vec<u8>,
}

/// A cell's change as it is stored: whole key, value with header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredWrite<'a> {
    /// The cell gets this value.
    Put(&'a [u8]),
    /// The cell goes.
    Delete,
    /// This operand is folded into it.
    Merge(&'a [u8]),
}

impl Sealed {
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

    /// As [`Commit::carry`].
    pub fn carry(&mut self, companion: impl Send + Sync + 'static) {
        self.companions.0.push(Box::new(companion));
    }

    /// Bytes of keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Cells it writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it writes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The writes, by rising key.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], StoredWrite<'_>)> {
        self.slots.iter().map(|slot| self.stored(slot))
    }

    /// The writes that conditions of later commits may look at: home cells and claims.
    pub fn watched_writes(&self) -> impl Iterator<Item = (&[u8], StoredWrite<'_>)> {
        self.slots.iter().filter(|slot| slot.watched).map(|slot| self.stored(slot))
    }

    fn stored(&self, slot: &Slot) -> (&[u8], StoredWrite<'_>) {
        let value = slot.value.of(&self.bytes);
        let write = match slot.kind {
            SlotKind::Put => StoredWrite::Put(value),
            SlotKind::Delete => StoredWrite::Delete,
            SlotKind::Merge => StoredWrite::Merge(value),
        };
        (slot.key.of(&self.bytes), write)
    }

    /// The spaces it writes to, by rising id.
    pub fn spaces(&self) -> impl Iterator<Item = SpaceId> {
        let mut last = None;
        self.slots.iter().filter_map(move |slot| {
            let space = space_of(slot.key.of(&self.bytes));
            (last.replace(space) != Some(space)).then_some(space)
        })
    }

    /// Checks every condition against what `read` finds under a stored key.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn refusals(
        &self,
        mut read: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
    ) -> Result<Vec<Refusal>> {
        let mut refusals = Vec::new();
        for (index, (key, expect)) in self.expectations.iter().enumerate() {
            let found = read(key)?;
            let met = match expect {
                Expect::Absent => found.is_none(),
                Expect::Present => found.is_some(),
                Expect::Equals(value) => found.as_deref() == Some(value),
            };
            if !met {
                refusals.push(Refusal { condition: Condition::Expectation(index), found });
            }
        }
        for (index, claim) in self.claims.iter().enumerate() {
            let Some(found) = read(&claim.key)? else { continue };
            if ValueRef::decode(&found)?.payload != claim.owner {
                let condition = Condition::Claim(index);
                refusals.push(Refusal { condition, found: Some(found) });
            }
        }
        Ok(refusals)
    }
}

#[cold]
fn too_large(bytes: usize, most: usize) -> Error {
    Error::invalid("commit is too large").with("bytes", bytes).with("most", most)
}

/// The space that a stored key belongs to.
pub(super) fn space_of(key: &[u8]) -> SpaceId {
    let id = key.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    SpaceId(id)
}

/// Looks each space up once per run of cells, and each visibility likewise.
struct Checker<'a> {
    spaces: &'a Spaces,
    home: BucketId,
    last: Option<std::sync::Arc<Space>>,
    visibility: Vec<u8>,
}

impl Checker<'_> {
    fn space(&mut self, id: SpaceId, role: SpaceKind) -> Result<&Space> {
        if self.last.as_ref().is_none_or(|space| space.id() != id) {
            self.last = Some(self.spaces.usable(id)?);
        }
        let space = self.last.as_deref().expect("a space was just looked up");
        let spec = &space.record.spec;
        if spec.kind != role {
            let message = match role {
                SpaceKind::Home => "a derived space can only be written as a dependent",
                SpaceKind::Derived => "a home space can't be written as a dependent",
            };
            return Err(Error::invalid(message).with("space", id.0).with("label", &spec.label));
        }
        if role == SpaceKind::Home && spec.bucket != self.home {
            return Err(Error::invalid("a home space of another bucket")
                .with("space", id.0)
                .with("bucket", self.home.0));
        }
        Ok(space)
    }

    fn key(&self, space: SpaceId, partition: &[u8], sort: &[u8]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(partition.len() + sort.len() + 8);
        key::cell_key(space.0, partition, sort, &mut key);
        check_key(&key)?;
        Ok(key)
    }

    fn slot(&mut self, slot: &Slot, bytes: &[u8]) -> Result<()> {
        let key = slot.key.of(bytes);
        check_key(key)?;
        let space = self.space(space_of(key), slot.role)?;
        let fits = match slot.kind {
            SlotKind::Put => !space.merges(),
            SlotKind::Merge => space.merges(),
            SlotKind::Delete => true,
        };
        if !fits {
            let message = match slot.kind {
                SlotKind::Merge => "a space without a merge rule takes no merges",
                _ => "a space with a merge rule takes no puts",
            };
            return Err(Error::invalid(message).with_bytes("key", key));
        }
        match slot.kind {
            SlotKind::Delete => Ok(()),
            _ => self.value(slot.value.of(bytes)).map_err(|e| e.with_bytes("key", key)),
        }
    }

    fn value(&mut self, encoded: &[u8]) -> Result<()> {
        let value = ValueRef::decode(encoded)?;
        if value.flags.contains(Flags::UNFOLDED) {
            return Err(Error::invalid("only engines leave operands unfolded"));
        }
        if value.payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Error::invalid("value is too large")
                .with("bytes", value.payload.len())
                .with("most", PAYLOAD_BYTES_MAX));
        }
        if value.visibility.is_empty() || value.visibility == self.visibility {
            return Ok(());
        }
        check_visibility(value.visibility)?;
        self.visibility.clear();
        self.visibility.extend_from_slice(value.visibility);
        Ok(())
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::invalid("key is too large")
            .with("bytes", key.len())
            .with("most", KEY_BYTES_MAX)
            .with_bytes("key", key));
    }
    Ok(())
}

/// Refuses a visibility that nobody could read by.
///
/// # Errors
/// `Invalid`, with the place.
pub fn check_visibility(expression: &[u8]) -> Result<()> {
    visibility::validate(expression).map_err(|malformed| {
        Error::invalid("visibility is malformed")
            .with_bytes("visibility", expression)
            .because(malformed)
    })
}
