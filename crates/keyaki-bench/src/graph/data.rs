//! The edges that are measured with: the generator of the benchmark's reference data, number for number.
//!
//! Ranks are drawn with a cubic skew, so that a few vertices have very many edges and most have few.

use keyaki::bucket::graph::element::{Element, Ends};
use keyaki::bucket::graph::schema::Group;
use keyaki::bucket::graph::value::Value;

/// How many vertices there may be.
const VERTICES: u64 = 200_000;
/// 2024-01-01, in milliseconds.
const FIRST_DAY_MS: i64 = 1_704_067_200_000;
const DAY_MS: u64 = 86_400_000;

/// Seeds of the first and the second million.
pub const FIRST: u64 = 20_240_101;
pub const SECOND: u64 = 20_240_102;
const SEEDS: u64 = 42;

/// A vertex's name: `v` and six digits.
pub type Name = [u8; 7];

/// One line of the generator's output.
#[derive(Clone, Copy)]
pub struct Edge {
    pub source: Name,
    pub destination: Name,
    pub start_date: i64,
    pub count: i64,
    pub timestamp: i64,
    pub label: &'static str,
}

impl Edge {
    /// As the library takes it.
    pub fn element(&self, group: &Group) -> Element {
        let properties = group.shape().names.iter().map(|name| match &**name {
            "startDate" => Value::Long(self.start_date),
            "count" => Value::Long(self.count),
            "timestamp" => Value::Long(self.timestamp),
            "visibility" => Value::from(self.label),
            _ => Value::Null,
        });
        Element {
            properties: properties.collect(),
            ends: Ends::edge(text(&self.source).into(), text(&self.destination).into(), true),
            shape: group.shape().clone(),
        }
    }
}

/// The name as text.
pub fn text(name: &Name) -> &str {
    str::from_utf8(name).unwrap_or("")
}

/// SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn rank(&mut self) -> u64 {
        let share = (self.next() >> 11) as f64 * 2.0_f64.powi(-53);
        (VERTICES as f64 * (share * share * share)) as u64
    }
}

fn name(rank: u64) -> Name {
    let mut digits = (rank * 7919 + 13) % VERTICES;
    let mut name = *b"v000000";
    for place in name[1..].iter_mut().rev() {
        *place = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    name
}

/// The first `count` edges of a seed.
pub fn edges(count: usize, seed: u64) -> Vec<Edge> {
    let mut numbers = Numbers(seed);
    let edge = |_| {
        let (source, mut destination) = (numbers.rank(), numbers.rank());
        if source == destination {
            destination = (destination + 1) % VERTICES;
        }
        let start_date = FIRST_DAY_MS + (DAY_MS * (numbers.next() % 30)) as i64;
        Edge {
            source: name(source),
            destination: name(destination),
            start_date,
            count: 1 + (numbers.next() % 5) as i64,
            timestamp: start_date + (numbers.next() % DAY_MS) as i64,
            label: if numbers.next() % 10 < 8 { "public" } else { "private" },
        }
    };
    (0..count).map(edge).collect()
}

/// The first `count` vertices that queries begin at.
pub fn seeds(count: usize) -> Vec<Name> {
    let mut numbers = Numbers(SEEDS);
    let mut known = std::collections::HashSet::new();
    let fresh = std::iter::from_fn(|| Some(name(numbers.next() % VERTICES)));
    fresh.filter(|seed| known.insert(*seed)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_reference() {
        let told = |edge: &Edge| {
            let (source, destination) = (text(&edge.source), text(&edge.destination));
            let Edge { start_date, count, timestamp, label, .. } = edge;
            format!("{source},{destination},true,{start_date},{count},{timestamp},{label}")
        };
        let first: Vec<String> = edges(3, FIRST).iter().map(told).collect();
        assert_eq!(
            first,
            [
                "v095975,v182568,true,1705363200000,1,1705398355559,private",
                "v143992,v179583,true,1705536000000,4,1705565818514,public",
                "v007932,v021278,true,1706313600000,4,1706344994128,public",
            ]
        );
        let seeds: Vec<String> = seeds(3).iter().map(|seed| text(seed).to_owned()).collect();
        assert_eq!(seeds, ["v195560", "v052442", "v191515"]);
    }
}
