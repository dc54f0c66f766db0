//! Named operations and views: running them, keeping them, and forgetting them.

use serde_json::Value as Json;

use super::super::{NameKind, Named, Operation, Parameter};
use super::{Parser, Spec};
use crate::bucket::graph::value::short_name;
use crate::error::{Error, Result};

/// The most that is kept under a name, in bytes of JSON.
const NAMED_BYTES_MAX: usize = 256 << 10;
const NAME_BYTES_MAX: usize = 1 << 10;

impl Parser<'_> {
    pub(super) fn naming(&self, spec: &Spec<'_>) -> Result<Option<Operation>> {
        Ok(Some(match spec.short() {
            "NamedOperation" => self.named(spec)?,
            "AddNamedOperation" => add(spec, NameKind::Operation)?,
            "AddNamedView" => add(spec, NameKind::View)?,
            "DeleteNamedOperation" => {
                Operation::DeleteNamed(NameKind::Operation, name(spec, "operationName")?.into())
            }
            "DeleteNamedView" => Operation::DeleteNamed(NameKind::View, name(spec, "name")?.into()),
            "GetAllNamedOperations" => Operation::GetAllNamed(NameKind::Operation),
            "GetAllNamedViews" => Operation::GetAllNamed(NameKind::View),
            _ => return Ok(None),
        }))
    }

    fn named(&self, spec: &Spec<'_>) -> Result<Operation> {
        let name = name(spec, "operationName")?;
        let many =
            || Error::invalid("named operations lie too deep, or are too many").with("name", name);
        let names_deep = self.names_deep.checked_sub(1).ok_or_else(many)?;
        self.names_left.set(self.names_left.get().checked_sub(1).ok_or_else(many)?);
        let unknown = || Error::invalid("The named operation was not found").with("name", name);
        let named = self.names.operation(name).ok_or_else(unknown)?;
        let chain = named.filled(NameKind::Operation, spec.get("parameters"))?;
        let step = Parser { names_deep, ..*self }.step(&chain)?;
        // What it is given goes to the first of its steps, if that has nothing of its own.
        Ok(match step.operation {
            chain @ Operation::Chain(_) => chain,
            _ => Operation::Chain(vec![step]),
        })
    }

    /// What lies behind a name; what is said beside it comes on top.
    pub(super) fn named_view(&self, json: &Json) -> Result<Option<Json>> {
        let class = json.get("class").and_then(Json::as_str).unwrap_or_default();
        if short_name(class) != "NamedView" {
            return Ok(None);
        }
        let name = json.get("name").and_then(Json::as_str).unwrap_or_default();
        let unknown = || Error::invalid("The named view was not found").with("name", name);
        let view = self.names.view(name).ok_or_else(unknown)?;
        view.filled(NameKind::View, json.get("parameters")).map(Some)
    }
}

fn name<'a>(spec: &Spec<'a>, field: &str) -> Result<&'a str> {
    spec.need(field)?;
    let name = spec.text(field)?.unwrap_or_default();
    match name.len() {
        1..=NAME_BYTES_MAX => Ok(name),
        _ => Err(spec.wrong("a name has 1 to 1024 bytes", field)),
    }
}

fn add(spec: &Spec<'_>, kind: NameKind) -> Result<Operation> {
    let (name_field, json_field) = match kind {
        NameKind::Operation => ("operationName", "operationChain"),
        NameKind::View => ("name", "view"),
    };
    let texts = |field| -> Result<Option<Vec<String>>> {
        let list = spec.get(field).map(|_| spec.texts(field)).transpose()?;
        Ok(list.map(|list| list.into_iter().map(str::to_owned).collect()))
    };
    let read_roles = match kind {
        NameKind::Operation => texts("readAccessRoles")?,
        NameKind::View => None,
    };
    let named = Named {
        name: name(spec, name_field)?.to_owned(),
        json: match spec.need(json_field)? {
            // Read from a request, it is still as it was written.
            Json::String(text) => text.clone(),
            json => json.to_string(),
        },
        description: spec.text("description")?.map(str::to_owned),
        creator: None,
        labels: texts("labels")?,
        read_roles,
        write_roles: texts("writeAccessRoles")?,
        read_access: spec.get("readAccessPredicate").cloned(),
        write_access: spec.get("writeAccessPredicate").cloned(),
        parameters: parameters(spec)?,
        score: spec.integer("score")?,
    };
    for (roles, predicate) in
        [("readAccessRoles", "readAccessPredicate"), ("writeAccessRoles", "writeAccessPredicate")]
    {
        if spec.get(roles).is_some() && spec.get(predicate).is_some() {
            return Err(spec.wrong("roles or a predicate, not both", predicate));
        }
    }
    if named.json.len() > NAMED_BYTES_MAX {
        return Err(spec.wrong("too much for one name", json_field).with("most", NAMED_BYTES_MAX));
    }
    named.check(kind)?;
    let overwrite = spec.flag("overwriteFlag")?.unwrap_or(false);
    Ok(Operation::AddNamed { kind, named: Box::new(named), overwrite })
}

fn parameters(spec: &Spec<'_>) -> Result<Option<std::collections::BTreeMap<String, Parameter>>> {
    let Some(json) = spec.get("parameters") else { return Ok(None) };
    let list = json.as_object().ok_or_else(|| spec.wrong("an object is wanted", "parameters"))?;
    let read = |(name, json): (&String, &Json)| {
        Parameter::from_json(name, json).map(|parameter| (name.clone(), parameter))
    };
    list.iter().map(read).collect::<Result<_>>().map(Some)
}
