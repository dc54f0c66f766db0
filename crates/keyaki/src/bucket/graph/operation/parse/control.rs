//! Operations made of operations, and variables.

use serde_json::Value as Json;

use super::super::catalogue::{self, Described};
use super::super::{Condition, Join, JoinKind, Operation, Step};
use super::{Function, Parser, Predicate, Spec};
use crate::error::{Error, Result};

/// Gaffer's own limit on each side of a join.
const JOINED_MAX: u64 = 100_000;
/// Gaffer's own limit on repetition.
const REPEATS_MAX: i64 = 1000;

impl Parser<'_> {
    pub(super) fn control(&self, spec: &Spec<'_>) -> Result<Option<Operation>> {
        let needed = |name| self.step(spec.need(name)?).map(Box::new);
        let name = || {
            spec.need("variableName")?;
            Ok::<_, Error>(spec.text("variableName")?.unwrap_or_default().into())
        };
        Ok(Some(match spec.short() {
            "OperationChain" | "OperationChainDAO" => {
                let steps = spec.list("operations")?.unwrap_or_default();
                let steps = steps.iter().map(|step| self.step(step)).collect::<Result<Vec<_>>>()?;
                check_chain(&steps)?;
                Operation::Chain(steps)
            }
            "If" => Operation::If {
                condition: self.condition(spec.flag("condition")?, spec.get("conditional"))?,
                then: self.branch(spec.get("then"))?,
                otherwise: self.branch(spec.get("otherwise"))?,
            },
            "While" => {
                let repeats = spec.integer("maxRepeats")?.unwrap_or(REPEATS_MAX);
                if repeats > REPEATS_MAX {
                    return Err(
                        spec.wrong("Max repeats of the While operation is too large", "maxRepeats")
                    );
                }
                Operation::While {
                    condition: self.condition(spec.flag("condition")?, spec.get("conditional"))?,
                    operation: needed("operation")?,
                    repeats: repeats.max(0) as u64,
                }
            }
            "ForEach" => Operation::ForEach(needed("operation")?),
            "Join" => Operation::Join(Box::new(self.join(spec)?)),
            "SetVariable" => {
                let value = spec.get("input").map(|_| spec.value("input")).transpose()?;
                Operation::SetVariable(name()?, value)
            }
            "GetVariable" => Operation::GetVariable(name()?),
            "GetVariables" => {
                let names = spec.texts("variableNames")?;
                Operation::GetVariables(names.into_iter().map(Into::into).collect())
            }
            _ => return Ok(None),
        }))
    }

    /// A branch, which may be one that can't be run as long as it is not taken. What nobody knows is refused.
    fn branch(&self, json: Option<&Json>) -> Result<Option<Box<Step>>> {
        let Some(json) = json else { return Ok(None) };
        match self.step(json) {
            Ok(step) => Ok(Some(Box::new(step))),
            Err(error) if error.message() == Spec::UNKNOWN => Err(error),
            Err(error) => {
                let class = json.get("class").and_then(Json::as_str).unwrap_or("OperationChain");
                let operation = Operation::Refused(error.to_string().into());
                Ok(Some(Box::new(Step { class: class.into(), input: None, operation })))
            }
        }
    }

    pub(super) fn condition(&self, given: Option<bool>, json: Option<&Json>) -> Result<Condition> {
        let part = |name| json.and_then(|json| json.get(name)).filter(|json| !json.is_null());
        Ok(Condition {
            given,
            predicate: part("predicate").map(Predicate::from_json).transpose()?,
            transform: part("transform").map(|json| self.step(json).map(Box::new)).transpose()?,
        })
    }

    fn join(&self, spec: &Spec<'_>) -> Result<Join> {
        let matching = Spec::or_class(spec.need("matchMethod")?, "ElementMatch")?;
        let key = |name| matching.get(name).map_or(Ok(Function::Identity), Function::from_json);
        let (keys, group_by) = match matching.short() {
            "KeyFunctionMatch" => {
                (Some([key("firstKeyFunction")?, key("secondKeyFunction")?]), Vec::new())
            }
            "ElementMatch" => (None, matching.texts("elementGroupByProperties")?),
            _ => return Err(matching.unknown("match method")),
        };
        let right: Step = self.step(spec.need("operation")?)?;
        Ok(Join {
            right,
            keys,
            group_by: group_by.into_iter().map(Into::into).collect(),
            kind: match spec.text("joinType")? {
                Some("INNER") => JoinKind::Inner,
                Some("FULL") => JoinKind::Full,
                Some("OUTER") => JoinKind::Outer,
                None => return Err(spec.wrong("A join type must be specified", "joinType")),
                Some(_) => return Err(spec.wrong("not a type of join", "joinType")),
            },
            by_right: match (spec.text("matchKey")?, spec.text("joinType")?) {
                (Some("LEFT"), _) | (None, Some("INNER")) => false,
                (Some("RIGHT"), _) => true,
                _ => {
                    let message = "You must specify an Iterable side to match on";
                    return Err(spec.wrong(message, "matchKey"));
                }
            },
            limit: spec.integer("collectionLimit")?.map_or(JOINED_MAX, |limit| limit.max(0) as u64),
            flatten: spec.flag("flatten")?.unwrap_or(true),
        })
    }
}

/// Refuses operations that could not take what the one before them gives.
fn check_chain(steps: &[Step]) -> Result<()> {
    if steps.is_empty() {
        return Err(Error::invalid("Operation chain contains no operations"));
    }
    let mut before: Option<&Described> = None;
    for step in steps {
        let own = catalogue::find(&step.class);
        let first = match &step.operation {
            Operation::Chain(inner) => {
                inner.first().and_then(|first| catalogue::find(&first.class))
            }
            _ => own,
        };
        if let (Some(before), Some(first)) = (before, first)
            && !before.feeds(first)
        {
            return Err(Error::invalid("Invalid combination of operations")
                .with("operation", first.class)
                .with("after", before.class));
        }
        before = own.filter(|described| described.output.is_some());
    }
    Ok(())
}
