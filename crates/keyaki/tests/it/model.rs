//! Random work on the embedded engine and on memory, side by side: every outcome and every byte
//! must agree, whatever is committed, swept, compacted, dropped or reopened in between.
//!
//! `KEYAKI_SEED` repeats a run, `KEYAKI_STEPS` makes it longer. A find is kept as a test of its
//! own: a seed means nothing once the generator changes.

mod plan;
mod world;

use keyaki::testing::random::Random;

use world::World;

const STEPS: u64 = 1_200;
/// Enough that a run meets empty, small and well filled stores.
const WORLDS: u64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_agrees_with_memory() {
    let seed = from_environment("KEYAKI_SEED").unwrap_or_else(seed_of_this_run);
    let steps = from_environment("KEYAKI_STEPS").unwrap_or(STEPS);
    println!("KEYAKI_SEED={seed} KEYAKI_STEPS={steps}");
    let mut seeds = Random::seeded(seed);
    for _ in 0..WORLDS {
        let mut world = World::new(seeds.number()).await;
        for step in 0..steps / WORLDS {
            world.step(step).await;
        }
        world.compare_everything().await;
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Another one each time.
fn seed_of_this_run() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
