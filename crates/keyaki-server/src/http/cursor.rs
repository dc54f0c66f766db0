//! Cursors: where a listing goes on, sealed so that nobody can read or make one, and bound to what it is of.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::problem::{self, Problem};

const NONCE_BYTES: usize = 12;

/// Seals and opens cursors.
pub struct Cursors {
    key: LessSafeKey,
}

impl Cursors {
    pub fn new(secret: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, secret).expect("the key has its length");
        Self { key: LessSafeKey::new(key) }
    }

    /// `of` is what the listing is of: the cursor opens for nothing else.
    pub fn seal(&self, of: &str, position: &str) -> Result<String, Problem> {
        let failed = |_| Problem::new(&problem::INTERNAL, "a cursor can't be sealed");
        let mut nonce = [0; NONCE_BYTES];
        aws_lc_rs::rand::fill(&mut nonce).map_err(failed)?;
        let mut sealed = position.as_bytes().to_vec();
        let aad = Aad::from(of.as_bytes());
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(failed)?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    pub fn open(&self, of: &str, cursor: &str) -> Result<String, Problem> {
        let open = || {
            let mut bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
            let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_BYTES)?;
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let position = self.key.open_in_place(nonce, Aad::from(of.as_bytes()), sealed).ok()?;
            String::from_utf8(position.to_vec()).ok()
        };
        open().ok_or_else(|| {
            Problem::bad_request("not a cursor of this listing").with("parameter", "cursor")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_opens_only_where_it_was_made() {
        let cursors = Cursors::new(&[7; 32]);
        let sealed = cursors.seal("a/b", "key").unwrap_or_default();
        assert_eq!(cursors.open("a/b", &sealed).unwrap_or_default(), "key");
        assert!(!sealed.contains("key"));
        assert!(cursors.open("a/c", &sealed).is_err());
        assert!(cursors.open("a/b", &sealed[1..]).is_err());
        assert!(cursors.open("a/b", "").is_err());
        assert!(Cursors::new(&[8; 32]).open("a/b", &sealed).is_err());
    }
}
