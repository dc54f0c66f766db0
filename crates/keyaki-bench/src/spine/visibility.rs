//! Parsing and evaluating one access expression, nothing remembered in between.

use std::hint::black_box;

use keyaki::cell::visibility::{Authorisations, evaluate};

use crate::Result;
use crate::cells::READER;
use crate::figure::{Figure, Report};
use crate::meter::Meter;

const VISIBILITY: &str = "spine.visibility";
const EXPRESSION: &[u8] = b"a&(b|c)";
const NANOS_MOST: f64 = 150.0;
const ROUNDS: usize = 10;
const EVALUATIONS: u32 = 500_000;

pub fn measure(report: &mut Report) -> Result<()> {
    if !report.wants(&[VISIBILITY]) {
        return Ok(());
    }
    let reader = Authorisations::new(READER)?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let meter = Meter::start();
        for _ in 0..EVALUATIONS {
            if black_box(evaluate(black_box(EXPRESSION), &reader)) != Ok(true) {
                return Err("the reader should see this".into());
            }
        }
        best = best.min(meter.cpu().as_secs_f64() * 1e9 / f64::from(EVALUATIONS));
    }
    report.add(&Figure::less(VISIBILITY, "ns", best, NANOS_MOST));
    Ok(())
}
