//! JWTs by configuration: who their callers are, and what they may not become by them.

use std::path::Path;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use keyaki::cell::{SystemWallClock, WallClock};
use serde_json::{Value, json};

use super::{Server, open_bucket};

const ITEM: &str = "/v1/d.example/b/item";
const CLERKS: &str = "a secret of those who make clerks";
const ADMINS: &str = "a secret of those who make admins";

/// A server that honours tokens of two keys, of which one may make admins.
fn start(dir: &Path) -> Server {
    let mut text = "[jwt]\nissuer = \"https://id.example\"\naudience = \"keyaki\"\n".to_owned();
    for (name, secret, more) in [("clerks", CLERKS, ""), ("admins", ADMINS, "allow_admin = true\n")]
    {
        let file = dir.join(name);
        std::fs::write(&file, format!("{secret}\n")).unwrap();
        text += &format!("[[jwt.keys]]\nid = {name:?}\nalgorithm = \"HS256\"\nfile = {file:?}\n");
        text += more;
    }
    let config = dir.join("keyaki.toml");
    std::fs::write(&config, text).unwrap();
    let server = Server::on(&dir.join("store"), &["--config", config.to_str().unwrap()]);
    server.with_bucket(open_bucket());
    server
}

fn now() -> u64 {
    SystemWallClock.now_us() / 1_000_000
}

/// A token of somebody, with other claims over the usual ones.
fn token(key: (&str, &str), user: &str, other: Value) -> String {
    let mut claims = json!({"sub": user, "exp": now() + 600, "iss": "https://id.example",
                            "aud": ["keyaki", "other"], "roles": ["editor"]});
    claims.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    let header = Header { kid: Some(key.0.to_owned()), ..Header::new(Algorithm::HS256) };
    jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(key.1.as_bytes())).unwrap()
}

#[test]
fn tokens_of_known_keys_are_honoured_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path());
    let clerks = ("clerks", CLERKS);
    let put = |token: &str| server.ask("PUT", ITEM).bearer(token).text("x");
    assert_eq!(put(&token(clerks, "ann", json!({}))).status, 201);
    let feed = server.ask("GET", "/v1/d.example/b/_changes").settled().send().value();
    assert_eq!(feed["items"][0]["user"], "ann");
    put(&token(clerks, "ann", json!({"roles": []}))).demand_problem(403);
    let unsigned = token(clerks, "ann", json!({}));
    let unsigned = format!("{}.", unsigned.rsplit_once('.').unwrap().0);
    for refused in [
        token(clerks, "ann", json!({"aud": "other"})),
        token(clerks, "ann", json!({"aud": null})),
        token(clerks, "ann", json!({"iss": "https://evil.example"})),
        token(clerks, "ann", json!({"exp": now() - 60})),
        token(clerks, "ann", json!({"nbf": now() + 60})),
        token(clerks, "", json!({})),
        token(("clerks", ADMINS), "ann", json!({})),
        token(("others", CLERKS), "ann", json!({})),
        unsigned,
    ] {
        let refused = put(&refused);
        refused.demand_problem(401);
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
    let narrow = token(clerks, "spy", json!({"auths": ["secret"]}));
    let hidden = server.ask("PUT", "/v1/d.example/b/hidden").bearer(&narrow);
    assert_eq!(hidden.with("Keyaki-Visibility", "secret").text("x").status, 201);
    server.ask("GET", "/v1/d.example/b/hidden").send().demand_problem(404);
    assert_eq!(server.ask("GET", "/v1/d.example/b/hidden").bearer(&narrow).send().status, 200);
}

#[test]
fn only_a_key_that_may_makes_admins() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path());
    let tokens = |token: &str| server.ask("GET", "/v1/_tokens").bearer(token).send();
    let delete = |token: &str| server.ask("DELETE", "/v1/d.example/b").bearer(token).send();
    let (clerks, admins) = (("clerks", CLERKS), ("admins", ADMINS));
    let roles = json!({"roles": ["admin"]});
    let claimed = token(clerks, "ann", roles.clone());
    tokens(&claimed).demand_problem(403);
    delete(&claimed).demand_problem(403);
    // The admin's token has made the bucket, under that name.
    let named = token(clerks, "admin", json!({}));
    tokens(&named).demand_problem(401);
    delete(&named).demand_problem(401);
    assert_eq!(tokens(&token(admins, "root", roles)).status, 200);
    assert_eq!(delete(&token(admins, "admin", json!({}))).status, 204, "that key may say so");
}
