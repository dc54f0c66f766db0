//! A survey: reads all there is of a workload and fails at the first cell that should be there and
//! is not, or is there and should not.
//!
//! Keys are unique, so it is enough to see of each derived cell that its step wants it, and to
//! count for each step whether as many were seen as it wants.

use std::collections::BTreeMap;

use super::step::{self, Link, Step};
use super::{Acknowledged, COUNTERS, TIP, Workload, decode_tip};
use crate::cell::visibility::Authorisations;
use crate::cell::{Tid, ValueRef};
use crate::engine::{CellRef, ScanRequest, SpaceId};
use crate::error::{Error, Result};
use crate::store::Owner;

/// The steps that are there, all of them whole.
#[derive(Debug, Default)]
pub struct Survey {
    lanes: BTreeMap<u16, Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    tip: u32,
    steps: BTreeMap<u32, Seen>,
}

/// A step, its commit, and what was seen of its dependents.
#[derive(Debug)]
struct Seen {
    step: Step,
    tid: Tid,
    echoes: u32,
    entries: u32,
    changes: u32,
}

impl Survey {
    /// How many steps there are.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.lanes.values().map(|lane| lane.steps.len()).sum()
    }

    /// Demands that an acknowledged step is there, as the commit that was acknowledged.
    ///
    /// # Errors
    /// `Corrupt` if it is not.
    pub fn demand(&self, acknowledged: &Acknowledged) -> Result<()> {
        let Acknowledged { link, tid } = acknowledged;
        match self.find(*link) {
            None => Err(Error::corrupt("an acknowledged step is lost").with("step", link)),
            Some(seen) if seen.tid != *tid => Err(wrong("another commit took the step", *link)
                .with("acknowledged", tid)
                .with("found", seen.tid)),
            Some(_) => Ok(()),
        }
    }

    /// The last step of each lane, with its commit.
    pub fn tips(&self) -> impl Iterator<Item = (&Step, Tid)> {
        self.lanes.values().filter_map(|lane| {
            let (_, last) = lane.steps.last_key_value()?;
            Some((&last.step, last.tid))
        })
    }

    fn find(&self, link: Link) -> Option<&Seen> {
        self.lanes.get(&link.lane)?.steps.get(&link.number)
    }

    fn find_mut(&mut self, link: Link) -> Result<&mut Seen> {
        let steps = self.lanes.get_mut(&link.lane).map(|lane| &mut lane.steps);
        steps
            .and_then(|steps| steps.get_mut(&link.number))
            .ok_or_else(|| wrong("a derived cell has no step", link))
    }

    fn all(&self) -> impl Iterator<Item = &Seen> {
        self.lanes.values().flat_map(|lane| lane.steps.values())
    }

    /// A lane has no gaps, and its tip is its last step.
    fn check_lanes(&self) -> Result<()> {
        for (&lane, Lane { tip, steps }) in &self.lanes {
            let last = steps.last_key_value().map_or(0, |(&number, _)| number);
            if *tip != last || steps.len() != last as usize {
                return Err(Error::corrupt("a lane has gaps, or its tip is wrong")
                    .with("lane", lane)
                    .with("tip", tip)
                    .with("last", last)
                    .with("steps", steps.len()));
            }
        }
        Ok(())
    }

    /// The step that a step follows is there, and was committed before it.
    fn check_links(&self) -> Result<()> {
        for seen in self.all() {
            let Some(link) = seen.step.follows else { continue };
            let earlier = self.find(link).is_some_and(|followed| followed.tid < seen.tid);
            if !earlier {
                return Err(wrong("the step it follows is lost, or later", seen.step.link)
                    .with("follows", link));
            }
        }
        Ok(())
    }

    fn check_dependents(&self) -> Result<()> {
        for seen in self.all() {
            let found = (seen.echoes, seen.entries, seen.changes);
            if found != (seen.step.load.echoes(), 1, 1) {
                return Err(wrong("a step is not whole", seen.step.link)
                    .with("echoes, entries, changes", format!("{found:?}")));
            }
        }
        Ok(())
    }
}

impl Workload {
    /// Reads everything and demands that every step is whole.
    ///
    /// # Errors
    /// `Corrupt`, with the step, if anything is missing or too much; else those of the store.
    pub async fn survey(&self) -> Result<Survey> {
        let mut survey = self.primaries().await?;
        survey.check_lanes()?;
        survey.check_links()?;
        self.each(self.echoes, |cell| echo(&mut survey, cell)).await?;
        let views = self.bucket.space("views")?;
        self.each(views, |cell| entry(&mut survey, cell)).await?;
        self.changes(&mut survey).await?;
        survey.check_dependents()?;
        self.digests(&survey).await?;
        self.counters(&survey).await?;
        Ok(survey)
    }

    async fn primaries(&self) -> Result<Survey> {
        let mut found = Vec::new();
        let mut survey = Survey::default();
        self.each(self.bucket.primary(), |cell| {
            let lane = step::lane_of(&cell.partition())?;
            match cell.sort() == TIP {
                true => survey.lanes.entry(lane).or_default().tip = decode_tip(cell.encoded())?,
                false => found.push((lane, cell.sort().to_vec())),
            }
            Ok(())
        })
        .await?;
        for (lane, sort) in found {
            let seen = self.primary(lane, &sort).await?;
            let steps = &mut survey.lanes.entry(lane).or_default().steps;
            steps.insert(seen.step.link.number, seen);
        }
        Ok(survey)
    }

    /// A step's primary, put together from its chunks; its commit is in its digest.
    async fn primary(&self, lane: u16, sort: &[u8]) -> Result<Seen> {
        let link = Link { lane, number: Step::number_of(sort)? };
        let partition = step::partition(lane);
        let payload = self.bucket.read(&Authorisations::none(), &partition, sort).await?;
        let payload = payload.ok_or_else(|| wrong("a step went while it was read", link))?;
        let step = Step::decode(&payload)?;
        if step.link != link {
            return Err(wrong("a step says it is another", link).with("says", step.link));
        }
        let tid = self.commit_of(&step).await?;
        Ok(Seen { step, tid, echoes: 0, entries: 0, changes: 0 })
    }

    async fn commit_of(&self, step: &Step) -> Result<Tid> {
        let replay = self.bucket.space("replay")?;
        let partition = step::partition(step.link.lane);
        let digest = step.operation().digest();
        let stored = self.store.engine().read(replay, &partition, &digest).await?;
        let stored = stored.ok_or_else(|| wrong("a step has no digest", step.link))?;
        let tid = ValueRef::decode(&stored)?.payload.first_chunk();
        tid.and_then(|tid| Tid::from_bytes(*tid).ok())
            .ok_or_else(|| wrong("a digest names no commit", step.link))
    }

    async fn changes(&self, survey: &mut Survey) -> Result<()> {
        let mut since = None;
        loop {
            let page = self.bucket.changes(&Authorisations::none(), since, 1_000).await?;
            for record in page.changes {
                let link = record.change.item.parse()?;
                let seen = survey.find_mut(link)?;
                if seen.tid != record.id {
                    return Err(wrong("a change record of another commit", link));
                }
                seen.changes += 1;
            }
            if !page.more {
                return Ok(());
            }
            since = Some(page.next);
        }
    }

    /// Each step has its digest, as was seen; so it is enough that there are no more.
    async fn digests(&self, survey: &Survey) -> Result<()> {
        let mut digests = 0;
        let count = |_: &CellRef<'_>| {
            digests += 1;
            Ok(())
        };
        self.each(self.bucket.space("replay")?, count).await?;
        match digests == survey.steps() {
            true => Ok(()),
            false => Err(Error::corrupt("there are digests without a step")
                .with("digests", digests)
                .with("steps", survey.steps())),
        }
    }

    /// Every counter holds what the steps that are there have added to it.
    async fn counters(&self, survey: &Survey) -> Result<()> {
        let mut expected = BTreeMap::new();
        for counter in survey.all().flat_map(|seen| seen.step.counters()) {
            *expected.entry(counter.to_be_bytes().to_vec()).or_default() += 1_i64;
        }
        let mut found = BTreeMap::new();
        self.each(self.counts, |cell| {
            let sum = cell.payload().try_into();
            let sum = sum.map_err(|_| Error::corrupt("a counter is no number"))?;
            found.insert(cell.sort().to_vec(), i64::from_be_bytes(sum));
            if cell.partition() != COUNTERS { Err(stray(cell)) } else { Ok(()) }
        })
        .await?;
        match found == expected {
            true => Ok(()),
            false => Err(Error::corrupt("counters are not what the steps add up to")
                .with("found", format!("{found:?}"))
                .with("expected", format!("{expected:?}"))),
        }
    }

    async fn each(
        &self,
        space: SpaceId,
        mut visit: impl FnMut(&CellRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let engine = self.store.engine();
        for split in engine.splits(space, 1).await? {
            let mut scan = engine.scan(ScanRequest::split(space, split)).await?;
            while let Some(block) = scan.next_block().await? {
                block.iter().try_for_each(|cell| visit(&cell))?;
            }
        }
        Ok(())
    }
}

fn echo(survey: &mut Survey, cell: &CellRef<'_>) -> Result<()> {
    let (number, owner) = Owner::part(cell.sort())?;
    let number = number.try_into().map(u32::from_be_bytes).map_err(|_| stray(cell))?;
    let seen = owner_of(survey, &owner)?;
    let echo = seen.step.echo(number);
    let wanted = number < seen.step.load.echoes()
        && *cell.partition() == echo.partition
        && cell.payload() == echo.payload
        && cell.time() == seen.tid.time();
    seen.echoes += 1;
    if wanted { Ok(()) } else { Err(stray(cell)) }
}

fn entry(survey: &mut Survey, cell: &CellRef<'_>) -> Result<()> {
    let (key, owner) = Owner::part(cell.sort())?;
    let seen = owner_of(survey, &owner)?;
    seen.entries += 1;
    if key == seen.step.entry_key() { Ok(()) } else { Err(stray(cell)) }
}

fn owner_of<'a>(survey: &'a mut Survey, owner: &Owner) -> Result<&'a mut Seen> {
    let lane = step::lane_of(&owner.partition)?;
    survey.find_mut(Link { lane, number: Step::number_of(&owner.sort)? })
}

fn wrong(message: &'static str, link: Link) -> Error {
    Error::corrupt(message).with("step", link)
}

fn stray(cell: &CellRef<'_>) -> Error {
    Error::corrupt("a derived cell that no step wants")
        .with_bytes("partition", &cell.partition())
        .with_bytes("sort", cell.sort())
}
