//! Commits and scans as plain plans, so that the same can be given to two engines, and the
//! generator that makes them. Keys and values come from small sets: most of them meet.

use std::ops::Bound;

use keyaki::cell::{Tid, Value};
use keyaki::engine::{Commit, Direction, Expect, Home, Route, ScanRequest, SpaceId, Write};
use keyaki::testing::conformance::BUCKET;
use keyaki::testing::conformance::steps::set_of;
use keyaki::testing::random::Random;

const PARTITIONS: [&[u8]; 7] = [b"", b"\0", b"\x01", b"a", b"a\0", b"a\0b", b"\xff\xff"];
const SORTS: [&[u8]; 12] = [
    b"",
    b"\0",
    b"\0\0",
    b"\x01",
    b"a",
    b"a\0",
    b"a\0\0",
    b"ab",
    b"b\xff",
    b"\x7f",
    b"\xff",
    b"\xff\xff",
];
const VISIBILITIES: [&[u8]; 5] = [b"", b"a", b"a|b", b"b&c", b"\"quoted\"&a"];
const OWNERS: [&[u8]; 3] = [b"ann", b"bob", b"cat"];

/// The spaces of one kind and rule each.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    pub homes: [SpaceId; 3],
    pub derived: [SpaceId; 2],
    pub merging: [(SpaceId, Operand); 5],
    pub names: SpaceId,
    pub quarantine: SpaceId,
}

impl Places {
    pub fn all(&self) -> Vec<SpaceId> {
        let mut all = self.homes.to_vec();
        all.extend(self.derived);
        all.extend(self.merging.map(|(space, _)| space));
        all.extend([self.names, self.quarantine]);
        all
    }
}

/// What the operands of a merge space look like.
#[derive(Debug, Clone, Copy)]
pub enum Operand {
    Number,
    Bytes,
    Set,
}

/// A write, owned.
#[derive(Debug, Clone)]
pub enum Change {
    Put { visibility: &'static [u8], payload: Vec<u8> },
    Merge { visibility: &'static [u8], operand: Vec<u8> },
    Delete,
}

/// What to demand of a cell.
#[derive(Debug, Clone, Copy)]
pub enum Demand {
    Absent,
    Present,
    /// What was there when the commit was planned.
    Unchanged,
    /// The same with a bit flipped.
    Else,
}

/// A commit, owned.
#[derive(Debug, Clone)]
pub struct CommitPlan {
    pub partition: &'static [u8],
    pub bulk: bool,
    pub demands: Vec<(SpaceId, &'static [u8], Demand)>,
    pub writes: Vec<(SpaceId, &'static [u8], Change)>,
    pub dependents: Vec<(SpaceId, &'static [u8], &'static [u8], Change)>,
    pub claims: Vec<(&'static [u8], &'static [u8], bool)>,
}

impl CommitPlan {
    /// Now and then it breaks the contract, by writing a cell twice or to the wrong kind.
    pub fn random(random: &mut Random, places: &Places) -> Self {
        let mut plan = Self {
            partition: random.pick(&PARTITIONS),
            bulk: random.once_in(6),
            demands: Vec::new(),
            writes: Vec::new(),
            dependents: Vec::new(),
            claims: Vec::new(),
        };
        for _ in 0..random.below(3) {
            let demand = random.pick(&[
                Demand::Absent,
                Demand::Present,
                Demand::Unchanged,
                Demand::Unchanged,
                Demand::Unchanged,
                Demand::Else,
            ]);
            plan.demands.push((random.pick(&places.homes), random.pick(&SORTS), demand));
        }
        for _ in 0..random.below(4) {
            let write = (random.pick(&places.homes), random.pick(&SORTS), put(random));
            plan.writes.push(write);
        }
        for _ in 0..random.below(8) {
            plan.add_dependent(random, places);
        }
        if random.once_in(4) {
            let taken = !random.once_in(3);
            plan.claims.push((random.pick(&PARTITIONS), random.pick(&OWNERS), taken));
        }
        if random.once_in(60) {
            plan.writes.push((places.derived[0], b"", Change::Delete));
        }
        if !random.once_in(60) {
            plan.write_each_cell_once();
        }
        plan
    }

    fn add_dependent(&mut self, random: &mut Random, places: &Places) {
        let (partition, sort) = (random.pick(&PARTITIONS), random.pick(&SORTS));
        if random.once_in(3) {
            self.dependents.push((random.pick(&places.derived), partition, sort, put(random)));
            return;
        }
        let (space, operand) = random.pick(&places.merging);
        let change = match random.once_in(6) {
            true => Change::Delete,
            false => Change::Merge {
                visibility: random.pick(&VISIBILITIES),
                operand: operand.random(random),
            },
        };
        self.dependents.push((space, partition, sort, change));
    }

    fn write_each_cell_once(&mut self) {
        self.writes.sort_by_key(|(space, sort, _)| (*space, *sort));
        self.writes.dedup_by_key(|(space, sort, _)| (*space, *sort));
        // Merges may repeat, but not beside a delete.
        let cell = |d: &(SpaceId, &'static [u8], &'static [u8], Change)| (d.0, d.1, d.2);
        self.dependents.sort_by_key(cell);
        self.dependents.dedup_by(|b, a| {
            let merges = [&*a, &*b].iter().all(|write| matches!(write.3, Change::Merge { .. }));
            cell(a) == cell(b) && !merges
        });
    }

    /// The commit, with what [`Demand::Unchanged`] found.
    pub fn build(&self, tid: Tid, found: &[Option<Vec<u8>>], names: SpaceId) -> Commit {
        let home = Home { bucket: BUCKET, partition: self.partition.to_vec() };
        let mut commit = Commit::new(home, tid);
        commit.set_route(if self.bulk { Route::Bulk } else { Route::Log });
        for ((space, sort, demand), found) in self.demands.iter().zip(found) {
            commit.expect(*space, sort, demand.expect(found.clone()));
        }
        for (space, sort, change) in &self.writes {
            commit.write(*space, sort, change.write());
        }
        for (space, partition, sort, change) in &self.dependents {
            commit.dependent(*space, partition, sort, change.write());
        }
        for (name, owner, taken) in &self.claims {
            match taken {
                true => commit.claim(names, name, owner),
                false => commit.release(names, name, owner),
            };
        }
        commit
    }
}

impl Demand {
    fn expect(self, found: Option<Vec<u8>>) -> Expect {
        match (self, found) {
            (Self::Absent, _) | (Self::Unchanged, None) => Expect::Absent,
            (Self::Present, _) => Expect::Present,
            (Self::Unchanged, Some(value)) => Expect::Equals(value),
            (Self::Else, found) => {
                let mut value = found.unwrap_or_else(|| b"nothing".to_vec());
                let last = value.len() - 1;
                value[last] ^= 1;
                Expect::Equals(value)
            }
        }
    }
}

impl Change {
    fn write(&self) -> Write<'_> {
        match self {
            Self::Put { visibility, payload } => Write::Put(Value::visible_to(visibility, payload)),
            Self::Merge { visibility, operand } => {
                Write::Merge(Value::visible_to(visibility, operand))
            }
            Self::Delete => Write::Delete,
        }
    }
}

impl Operand {
    fn random(self, random: &mut Random) -> Vec<u8> {
        match self {
            Self::Number => (random.below(7) as i64 - 2).to_be_bytes().to_vec(),
            Self::Bytes => {
                let length = random.below(4);
                random.bytes(length)
            }
            Self::Set => {
                let length = random.below(3);
                set_of(&random.bytes(length))
            }
        }
    }
}

/// Most are short, some bad, some so long that a scan needs several blocks.
fn put(random: &mut Random) -> Change {
    if random.once_in(5) {
        return Change::Delete;
    }
    let length = match random.below(12) {
        0 => 20_000 + random.below(20_000),
        1 => 3_000,
        _ => random.below(40),
    };
    let mut payload = random.bytes(length);
    if random.once_in(6) {
        payload.splice(..0, *b"bad");
    }
    Change::Put { visibility: random.pick(&VISIBILITIES), payload }
}

/// A scan of a partition, or of a prefix of it, both ways, with or without a limit.
pub fn scan(random: &mut Random, places: &Places) -> ScanRequest {
    let space = random.pick(&places.all());
    let partition = random.pick(&PARTITIONS);
    let bound = |random: &mut Random| {
        let sort = random.pick(&SORTS).to_vec();
        random.pick(&[Bound::Unbounded, Bound::Included(()), Bound::Excluded(())]).map(|()| sort)
    };
    let mut request = match random.once_in(4) {
        true => ScanRequest::prefix(space, partition, random.pick(&SORTS)),
        false => {
            let (from, to) = (bound(random), bound(random));
            ScanRequest::range(space, partition, from, to)
        }
    };
    if random.once_in(2) {
        request.direction = Direction::Backward;
    }
    if random.once_in(2) {
        request.limit = Some(random.below(15));
    }
    request
}

/// A cell somewhere.
pub fn cell(random: &mut Random, places: &Places) -> (SpaceId, &'static [u8], &'static [u8]) {
    (random.pick(&places.all()), random.pick(&PARTITIONS), random.pick(&SORTS))
}
