//! Conditions and repetition.

use super::super::{Condition, Step};
use super::{Executor, Output, Ready, collect};
use crate::bucket::graph::koryphe::Predicate;
use crate::bucket::graph::value::Value;
use crate::error::Result;

impl Executor {
    /// Whether a condition holds of the input; `otherwise` if it says nothing.
    pub(super) async fn holds(
        &self,
        condition: &Condition,
        input: &Value,
        otherwise: bool,
    ) -> Result<bool> {
        if let Some(given) = condition.given {
            return Ok(given);
        }
        match &condition.predicate {
            Some(predicate) => self.tests(condition, predicate, input).await,
            None => Ok(otherwise),
        }
    }

    async fn tests(
        &self,
        condition: &Condition,
        predicate: &Predicate,
        input: &Value,
    ) -> Result<bool> {
        let seen = match &condition.transform {
            None => input.clone(),
            Some(step) => {
                let output = self.run(step, Output::of(input.clone())).await?;
                output.into_value(&self.budget).await?
            }
        };
        predicate.test(&[&seen], self.budget.now_ms())
    }

    pub(super) async fn repeat(
        &self,
        condition: &Condition,
        step: &Step,
        repeats: u64,
        input: Output,
    ) -> Result<Output> {
        let mut value = input.into_value(&self.budget).await?;
        for _ in 0..repeats {
            let holds = match &condition.predicate {
                // Here, unlike with `If`, the predicate goes before what is said outright.
                Some(predicate) => self.tests(condition, predicate, &value).await?,
                None => condition.given.unwrap_or(true),
            };
            if !holds {
                break;
            }
            let output = self.run(step, Output::of(value)).await?;
            value = output.into_value(&self.budget).await?;
        }
        Ok(Output::of(value))
    }

    /// The outputs, one for each item of the input.
    pub(super) async fn for_each(&self, step: &Step, input: Output) -> Result<Output> {
        let mut outputs = Vec::new();
        for item in collect(input.needed()?.into_values()?, &self.budget).await? {
            let output = self.run(step, Output::of(item)).await?;
            outputs.push(output.into_value(&self.budget).await?);
            self.budget.holding(outputs.len() as u64)?;
        }
        Ok(Output::Values(Box::new(Ready::new(outputs))))
    }
}
