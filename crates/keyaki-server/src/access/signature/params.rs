//! `Signature-Input` and `Signature`, paired by label, and what a signature says of itself.
//!
//! Every label stands in both fields. Parameters are looked at only for signatures of known keys;
//! then each one must be one we understand. `tag` is not: we define none, so a signature with a tag
//! was made for another application.

use http::{HeaderMap, HeaderName};
use sfv::{BareItem, InnerList, Integer, Item, ListEntry, Parser, key_ref};

use super::error::{Fault, SignatureError};
use super::fields::{dictionary, joined};

const INPUT: &str = "Signature-Input";
const SIGNATURE: &str = "Signature";

/// Bounds the work that one request can cause.
const SIGNATURES_MAX: usize = 16;
/// How far ahead of ours a signer's clock may be.
const AHEAD_S_MAX: u64 = 30;

/// A signature as it came: what it says to cover, and the bytes.
#[derive(Debug)]
pub(super) struct Signature {
    pub label: String,
    pub input: InnerList,
    pub bytes: Vec<u8>,
}

impl Signature {
    /// Who says to have signed; nobody if there is no keyid.
    pub fn keyid(&self) -> Result<Option<&str>, Fault> {
        let Some(keyid) = self.input.params.get("keyid") else { return Ok(None) };
        string("keyid", keyid).map(Some)
    }
}

/// All signatures of a request, in the order of `Signature-Input`.
pub(super) fn signatures(headers: &HeaderMap) -> Result<Vec<Signature>, SignatureError> {
    let read = |field: &'static str, name: HeaderName| {
        let value = joined(headers, &name)?.unwrap_or_default();
        dictionary(field, &value)
    };
    let inputs = read(INPUT, HeaderName::from_static("signature-input"))?;
    let mut values = read(SIGNATURE, HeaderName::from_static("signature"))?;
    if inputs.len() > SIGNATURES_MAX {
        return Err(Fault::TooMany(SIGNATURES_MAX).into());
    }
    let mut signatures = Vec::new();
    for (label, entry) in inputs {
        let at = |fault: Fault| fault.of(label.as_str());
        let ListEntry::InnerList(input) = entry else { return Err(at(Fault::Member(INPUT))) };
        let value = values.shift_remove(&label).ok_or_else(|| at(Fault::Unpaired(SIGNATURE)))?;
        let bytes = byte_sequence(value).ok_or_else(|| at(Fault::Member(SIGNATURE)))?;
        signatures.push(Signature { label: label.as_str().to_owned(), input, bytes });
    }
    match values.keys().next() {
        Some(label) => Err(Fault::Unpaired(INPUT).of(label.as_str())),
        None => Ok(signatures),
    }
}

/// Bytes without parameters.
pub(super) fn byte_sequence(entry: ListEntry) -> Option<Vec<u8>> {
    match entry {
        ListEntry::Item(Item { bare_item: BareItem::ByteSequence(bytes), params })
            if params.is_empty() =>
        {
            Some(bytes)
        }
        _ => None,
    }
}

/// When a signature was made, and until when it is meant to hold.
#[derive(Debug)]
pub(super) struct Times {
    created: u64,
    expires: Option<u64>,
}

impl Times {
    /// Reads the parameters, all of which must be known.
    pub fn of(input: &InnerList) -> Result<Self, Fault> {
        let (mut created, mut expires) = (None, None);
        for (name, value) in &input.params {
            match name.as_str() {
                "created" => created = Some(seconds("created", value)?),
                "expires" => expires = Some(seconds("expires", value)?),
                "alg" if string("alg", value)? != "ed25519" => return Err(Fault::Algorithm),
                "alg" => {}
                name @ ("keyid" | "nonce") => drop(string(name, value)?),
                name => return Err(Fault::UnknownParameter(name.to_owned())),
            }
        }
        Ok(Self { created: created.ok_or(Fault::NoCreated)?, expires })
    }

    /// Refuses what is too old, from the future or expired.
    pub fn check(&self, now_s: u64, max_age_s: u64) -> Result<(), Fault> {
        if self.created > now_s.saturating_add(AHEAD_S_MAX) {
            Err(Fault::Future)
        } else if self.created.saturating_add(max_age_s) < now_s {
            Err(Fault::TooOld)
        } else if self.expires.is_some_and(|expires| expires < now_s) {
            Err(Fault::Expired)
        } else {
            Ok(())
        }
    }
}

fn seconds(name: &str, value: &BareItem) -> Result<u64, Fault> {
    let integer = value.as_integer().map(i64::from);
    integer.and_then(|s| s.try_into().ok()).ok_or_else(|| Fault::Parameter(name.to_owned()))
}

fn string<'a>(name: &str, value: &'a BareItem) -> Result<&'a str, Fault> {
    let text = value.as_string().map(|text| text.as_str());
    text.ok_or_else(|| Fault::Parameter(name.to_owned()))
}

/// The input of a new signature.
pub(super) fn input(components: &[&str], created: u64, keyid: &str) -> Result<InnerList, Fault> {
    let items = components.iter().map(|text| item(text)).collect::<Result<_, _>>()?;
    let bad = |name: &str| Fault::Parameter(name.to_owned());
    let created = Integer::try_from(created).map_err(|_| bad("created"))?;
    let keyid = sfv::String::from_string(keyid.to_owned()).map_err(|_| bad("keyid"))?;
    let mut input = InnerList::new(items);
    input.params.insert(key_ref("created").to_owned(), created.into());
    input.params.insert(key_ref("keyid").to_owned(), keyid.into());
    Ok(input)
}

/// A component given as `name` or `name;parameter="value"`.
fn item(text: &str) -> Result<Item, Fault> {
    let (name, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let quoted = format!("\"{name}\"{rest}");
    Parser::new(&quoted).parse().map_err(|_| Fault::Component(text.to_owned()))
}
