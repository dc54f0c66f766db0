//! What all signature tests share: a request that can be signed, changed and verified.

mod digests_and_keys;
mod flipped_bits;
mod inputs;
mod refusals;
mod rfc_vectors;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

const NOW_S: u64 = 1_700_000_000;
const BODY: &[u8] = b"{\"hello\": \"world\"}";
/// What the default policy asks of a request with a query and a body.
const COVERED: [&str; 5] = ["@method", "@authority", "@path", "@query", "content-digest"];

/// A signer whose keyid is its fingerprint.
struct Signer {
    pair: Ed25519KeyPair,
    public: [u8; 32],
    keyid: String,
}

impl Signer {
    fn new(seed: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let public = pair.public_key().as_ref().try_into().unwrap();
        Self { pair, public, keyid: fingerprint(&public) }
    }
}

#[derive(Clone)]
struct Request {
    method: String,
    scheme: String,
    authority: String,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    has_body: bool,
}

impl Request {
    fn post() -> Self {
        let mut request = Self {
            method: "POST".into(),
            scheme: "https".into(),
            authority: "example.com".into(),
            path: "/v1/shop/people".into(),
            query: Some("limit=5&after=x".into()),
            headers: HeaderMap::new(),
            has_body: true,
        };
        request.add("content-digest", &content_digest(BODY));
        request
    }

    fn get() -> Self {
        let mut request = Self { query: None, has_body: false, ..Self::post() };
        request.method = "GET".into();
        request.headers.clear();
        request
    }

    fn message(&self) -> Message<'_> {
        Message {
            method: &self.method,
            scheme: &self.scheme,
            authority: &self.authority,
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
            has_body: self.has_body,
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers.append(name, HeaderValue::from_str(value).unwrap());
    }

    /// Adds a signature of the components, made now.
    fn sign(&mut self, label: &str, components: &[&str], signer: &Signer) {
        let message = self.message();
        let values = sign(&message, label, components, &signer.pair, NOW_S, &signer.keyid);
        let (input, signature) = values.unwrap();
        self.add("Signature-Input", &input);
        self.add("Signature", &signature);
    }

    /// Adds a signature over an input that is written by hand and need not make sense to `sign`;
    /// `lines` are those of the base but for the last.
    fn sign_raw(&mut self, label: &str, input: &str, lines: &str, signer: &Signer) {
        let base = format!("{lines}\"@signature-params\": {input}");
        let bytes = STANDARD.encode(signer.pair.sign(base.as_bytes()));
        self.add("Signature-Input", &format!("{label}={input}"));
        self.add("Signature", &format!("{label}=:{bytes}:"));
    }

    fn verify(&self, known: &[&Signer]) -> Result<Vec<String>, SignatureError> {
        self.verify_with(known, NOW_S, &Policy::default())
    }

    fn verify_with(
        &self,
        known: &[&Signer],
        now_s: u64,
        policy: &Policy,
    ) -> Result<Vec<String>, SignatureError> {
        let keys = |keyid: &str| {
            known.iter().find(|signer| signer.keyid == keyid).map(|signer| signer.public)
        };
        verify_all(&self.message(), &keys, now_s, policy).map(|signed| signers(&signed))
    }

    /// The fault that refuses the request, which must name the label `sig`.
    fn fault(&self, signer: &Signer) -> Fault {
        let error = self.verify(&[signer]).unwrap_err();
        assert_eq!(error.label.as_deref(), Some("sig"), "{error}");
        error.fault
    }
}

const CHOSEN: Policy = Policy { max_age_s: 300, coverage: Coverage::Chosen };
