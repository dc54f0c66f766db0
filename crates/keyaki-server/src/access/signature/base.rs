//! The signature base (RFC 9421, section 2.5): the text that a signature signs.
//!
//! ```text
//! "@method": POST
//! "content-digest": sha-256=:…:
//! "@signature-params": ("@method" "content-digest");created=1618884473;keyid="…"
//! ```
//!
//! One line per covered component, in the signer's order, each component once. The last line is the
//! input itself, written anew from what was parsed, so spelling on the wire doesn't matter.

use http::HeaderName;
use sfv::{FieldType, InnerList, Item, ListEntry};

use super::Message;
use super::error::Fault;
use super::fields::joined;
use super::query;

/// A part of a request that can be covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Component {
    Method,
    TargetUri,
    Authority,
    Scheme,
    RequestTarget,
    Path,
    Query,
    /// One parameter of the query, by its encoded name.
    QueryParam(String),
    Field(HeaderName),
}

/// What an input covers; refuses what we don't support and what is covered twice.
pub(super) fn components(input: &InnerList) -> Result<Vec<Component>, Fault> {
    let mut components = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let component = Component::of(item)?;
        if components.contains(&component) {
            return Err(Fault::RepeatedComponent(item.serialize()));
        }
        components.push(component);
    }
    Ok(components)
}

/// The text to sign. `components` are those of the input.
pub(super) fn signature_base(
    message: &Message<'_>,
    input: &InnerList,
    components: &[Component],
) -> Result<String, Fault> {
    let mut base = String::new();
    for (item, component) in input.items.iter().zip(components) {
        let name = item.serialize();
        let value = component.value(message, &name)?;
        if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return Err(Fault::Unprintable(name));
        }
        base += &format!("{name}: {value}\n");
    }
    Ok(base + "\"@signature-params\": " + &serialize(input))
}

/// An input as `Signature-Input` shows it, without its label.
pub(super) fn serialize(input: &InnerList) -> String {
    vec![ListEntry::InnerList(input.clone())].serialize().expect("the list is not empty")
}

impl Component {
    fn of(item: &Item) -> Result<Self, Fault> {
        let unknown = || Fault::UnknownComponent(item.serialize());
        let name = item.bare_item.as_string().ok_or_else(unknown)?.as_str();
        if name == "@query-param" {
            return query_param(item);
        }
        if !item.params.is_empty() {
            return Err(Fault::ComponentParameter(item.serialize()));
        }
        Ok(match name {
            "@method" => Self::Method,
            "@target-uri" => Self::TargetUri,
            "@authority" => Self::Authority,
            "@scheme" => Self::Scheme,
            "@request-target" => Self::RequestTarget,
            "@path" => Self::Path,
            "@query" => Self::Query,
            // Names of derived components are no header names, nor are those with capitals.
            _ => Self::Field(HeaderName::from_lowercase(name.as_bytes()).map_err(|_| unknown())?),
        })
    }

    fn value(&self, message: &Message<'_>, name: &str) -> Result<String, Fault> {
        let absent = || Fault::Absent(name.to_owned());
        Ok(match self {
            Self::Method => message.method.to_owned(),
            Self::TargetUri => {
                let (scheme, authority) = (scheme(message), authority(message));
                format!("{scheme}://{authority}{}", request_target(message))
            }
            Self::Authority => authority(message),
            Self::Scheme => scheme(message),
            Self::RequestTarget => request_target(message),
            Self::Path => path(message).to_owned(),
            Self::Query => format!("?{}", message.query.unwrap_or_default()),
            Self::QueryParam(encoded) => {
                let values = query::values(message.query.unwrap_or_default(), encoded);
                match <[String; 1]>::try_from(values) {
                    Ok([value]) => value,
                    Err(none) if none.is_empty() => return Err(absent()),
                    Err(_) => return Err(Fault::Ambiguous(name.to_owned())),
                }
            }
            Self::Field(field) => joined(message.headers, field)?.ok_or_else(absent)?,
        })
    }
}

fn query_param(item: &Item) -> Result<Component, Fault> {
    let name = item.params.get("name").and_then(|name| name.as_string());
    match name {
        Some(name) if item.params.len() == 1 => Ok(Component::QueryParam(name.as_str().to_owned())),
        _ => Err(Fault::ComponentParameter(item.serialize())),
    }
}

fn scheme(message: &Message<'_>) -> String {
    message.scheme.to_ascii_lowercase()
}

/// Lower case, without the scheme's own port: hosts are equal if these are.
fn authority(message: &Message<'_>) -> String {
    let authority = message.authority.to_ascii_lowercase();
    let port = match scheme(message).as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => return authority,
    };
    authority.strip_suffix(port).map(str::to_owned).unwrap_or(authority)
}

fn path<'a>(message: &Message<'a>) -> &'a str {
    if message.path.is_empty() { "/" } else { message.path }
}

fn request_target(message: &Message<'_>) -> String {
    let path = path(message);
    message.query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
}
