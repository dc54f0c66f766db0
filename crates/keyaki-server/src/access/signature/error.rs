//! Why a signature, a digest or a public key was refused.
//!
//! A `Fault` says what is wrong and a `SignatureError` where: at which label, if the fault is a
//! signature's. Names that the sender chose are quoted; structured fields hold printable ASCII
//! only, so they are safe to log.

use std::fmt;

/// A fault, and the label of the signature that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureError {
    pub label: Option<String>,
    pub fault: Fault,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => write!(f, "signature {label:?}: {}", self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl std::error::Error for SignatureError {}

impl From<Fault> for SignatureError {
    fn from(fault: Fault) -> Self {
        Self { label: None, fault }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the field {field} is malformed: {reason}")]
    Field { field: &'static str, reason: String },
    #[error("the field {0} lacks this label")]
    Unpaired(&'static str),
    #[error("its member of the field {0} has the wrong type")]
    Member(&'static str),
    #[error("more than {0} signatures on one request")]
    TooMany(usize),
    #[error("the label is malformed")]
    Label,

    #[error("the component {0} is malformed")]
    Component(String),
    #[error("the component {0} is not supported")]
    UnknownComponent(String),
    #[error("the parameters of the component {0} are not supported")]
    ComponentParameter(String),
    #[error("the component {0} is covered twice")]
    RepeatedComponent(String),
    #[error("the component {0} is not in the request")]
    Absent(String),
    #[error("the component {0} stands in the request more than once")]
    Ambiguous(String),
    #[error("the value of the component {0} is not printable ASCII")]
    Unprintable(String),
    #[error("the component {0} must be covered")]
    NotCovered(&'static str),

    #[error("the parameter {0} is not supported")]
    UnknownParameter(String),
    #[error("the parameter {0} is malformed")]
    Parameter(String),
    #[error("the algorithm must be ed25519")]
    Algorithm,
    #[error("the parameter created is missing")]
    NoCreated,
    #[error("it was created too long ago")]
    TooOld,
    #[error("it was created in the future")]
    Future,
    #[error("it has expired")]
    Expired,
    #[error("it does not fit the request and the key")]
    Wrong,

    #[error("the content digest has neither sha-256 nor sha-512")]
    NoDigest,
    #[error("the content digest {0} does not fit the body")]
    Digest(&'static str),
    #[error("an Ed25519 public key is 32 bytes in base64, or PEM: {0}")]
    PublicKey(&'static str),
}

impl Fault {
    pub(super) fn of(self, label: &str) -> SignatureError {
        SignatureError { label: Some(label.to_owned()), fault: self }
    }
}
