//! Who may read and write a bucket: an *or* of *ands* of rules, compiled once, and closed wherever it says nothing.
//!
//! Deny is the default: without a list, with an empty list, with an empty inner list, with a rule that names nobody. A
//! rule of an unknown type is refused when it is set.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::principal::Principal;
use crate::error::{Error, Result};

/// Compiled, a pattern may be so large: some classes of Unicode, such as `\w`, and no bomb.
const PATTERN_SIZE_MAX: usize = 256 << 10;
const PATTERN_BYTES_MAX: usize = 1024;
const RULES_MAX: usize = 256;
/// Stands for anybody, and for any path.
const ANY: &str = "*";

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To see something.
    Read,
    /// To change something.
    Write,
}

/// Who may do what, as it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acl {
    /// Any of these may read, if all of its rules hold.
    #[serde(default)]
    pub read: Vec<Vec<Rule>>,
    /// And write.
    #[serde(default)]
    pub write: Vec<Vec<Rule>>,
}

/// One demand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Rule {
    /// On the path inside the bucket, with or without the slash before it.
    PathRegExp {
        /// What the whole of it matches; `*` for anything.
        re: String,
    },
    /// On the caller.
    Role {
        /// Roles, one of which it has; `*` for anybody.
        any_of: Vec<String>,
    },
    /// On the services that a request came through.
    ServiceSignature {
        /// Fingerprints of keys, each of which has signed it.
        all_of: Vec<String>,
    },
}

/// The same, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct CompiledAcl {
    read: Vec<Vec<CompiledRule>>,
    write: Vec<Vec<CompiledRule>>,
}

#[derive(Debug, Clone)]
enum CompiledRule {
    AnyPath,
    Path(Regex),
    Roles(Vec<String>),
    Services(Vec<String>),
}

impl Acl {
    /// Makes it ready to be asked.
    ///
    /// # Errors
    /// `Invalid` if a pattern is none, or too large, or there are too many rules.
    pub fn compile(&self) -> Result<CompiledAcl> {
        let rules: usize = self.read.iter().chain(&self.write).map(|all| all.len().max(1)).sum();
        if rules > RULES_MAX {
            return Err(Error::invalid("ACL has too many rules").with("most", RULES_MAX));
        }
        let list = |name: &'static str, any: &[Vec<Rule>]| {
            let all = |(at, all): (usize, &Vec<Rule>)| {
                let rule = |(rule_at, rule)| {
                    compile(rule).map_err(|e| e.with("at", format!("/acl/{name}/{at}/{rule_at}")))
                };
                all.iter().enumerate().map(rule).collect::<Result<Vec<_>>>()
            };
            any.iter().enumerate().map(all).collect::<Result<Vec<_>>>()
        };
        Ok(CompiledAcl { read: list("read", &self.read)?, write: list("write", &self.write)? })
    }
}

fn compile(rule: &Rule) -> Result<CompiledRule> {
    Ok(match rule {
        Rule::PathRegExp { re } if re == ANY => CompiledRule::AnyPath,
        Rule::PathRegExp { re } if re.len() > PATTERN_BYTES_MAX => {
            return Err(Error::invalid("pattern is too long").with("most", PATTERN_BYTES_MAX));
        }
        Rule::PathRegExp { re } => {
            // By itself first: `a)|(?:b` must not become two patterns.
            let bad = |bad| Error::invalid("pattern can't be used").because(bad);
            limited(re).build().map_err(bad)?;
            CompiledRule::Path(limited(&format!(r"\A(?:{re})\z")).build().map_err(bad)?)
        }
        Rule::Role { any_of } => CompiledRule::Roles(any_of.clone()),
        Rule::ServiceSignature { all_of } => CompiledRule::Services(all_of.clone()),
    })
}

fn limited(pattern: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(PATTERN_SIZE_MAX).dfa_size_limit(PATTERN_SIZE_MAX).nest_limit(32);
    builder
}

impl CompiledAcl {
    /// Whether a caller may do this at a path inside the bucket, which begins with a slash.
    #[must_use]
    pub fn allows(&self, principal: &Principal, access: Access, path: &str) -> bool {
        self.any(access, |rule| rule.holds(principal, path))
    }

    /// Whether there may be a path at which a caller may do this.
    #[must_use]
    pub fn allows_somewhere(&self, principal: &Principal, access: Access) -> bool {
        self.any(access, |rule| matches!(rule, CompiledRule::Path(_)) || rule.holds(principal, "/"))
    }

    /// Whether a caller may do this at every path, as far as that can be told without looking at one.
    #[must_use]
    pub fn allows_everywhere(&self, principal: &Principal, access: Access) -> bool {
        self.any(access, |rule| {
            !matches!(rule, CompiledRule::Path(_)) && rule.holds(principal, "/")
        })
    }

    fn any(&self, access: Access, holds: impl Fn(&CompiledRule) -> bool) -> bool {
        let any = match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        };
        any.iter().any(|all| !all.is_empty() && all.iter().all(&holds))
    }
}

impl CompiledRule {
    fn holds(&self, principal: &Principal, path: &str) -> bool {
        match self {
            Self::AnyPath => true,
            Self::Path(pattern) => {
                let bare = path.strip_prefix('/').unwrap_or(path);
                pattern.is_match(path) || pattern.is_match(bare)
            }
            Self::Roles(roles) => roles.iter().any(|role| role == ANY || principal.has_role(role)),
            Self::Services(services) => {
                !services.is_empty()
                    && services.iter().all(|service| principal.services.contains(service))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(text: &str) -> Result<CompiledAcl> {
        serde_json::from_str::<Acl>(text)
            .map_err(|e| Error::invalid("no ACL").because(e))?
            .compile()
    }

    fn user(roles: &[&str]) -> Principal {
        Principal {
            user: Some("u".to_owned()),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            ..Principal::default()
        }
    }

    #[test]
    fn what_is_empty_or_unknown_is_closed() {
        for closed in [
            "{}",
            r#"{"read": []}"#,
            r#"{"read": [[]]}"#,
            r#"{"read": [[{"type":"role","anyOf":[]}]]}"#,
            r#"{"read": [[{"type":"serviceSignature","allOf":[]}]]}"#,
            r#"{"write": [[{"type":"role","anyOf":["*"]}]]}"#,
        ] {
            assert!(!acl(closed).unwrap().allows(&user(&["a"]), Access::Read, "/x"), "{closed}");
        }
        for refused in [
            r#"{"read": [[{"type":"moon"}]]}"#,
            r#"{"read": [[{"type":"role","anyof":["*"]}]]}"#,
            r#"{"reed": []}"#,
            r#"{"read": [[{"type":"pathRegExp","re":"("}]]}"#,
            r#"{"read": [[{"type":"pathRegExp","re":"a)|(?:b"}]]}"#,
            r#"{"read": [[{"type":"pathRegExp","re":"(?:a{1000}){1000}"}]]}"#,
        ] {
            assert!(acl(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn patterns_match_the_whole_path() {
        let acl = acl(
            r#"{"read": [[{"type":"pathRegExp","re":"public/.*|about"},{"type":"role","anyOf":["*"]}]]}"#,
        )
        .unwrap();
        for (path, allowed) in [
            ("/public/a", true),
            ("/about", true),
            ("/about2", false),
            ("/not/public/a", false),
            ("/private", false),
            ("/about\n", false),
        ] {
            assert_eq!(acl.allows(&Principal::default(), Access::Read, path), allowed, "{path}");
        }
    }

    #[test]
    fn what_depends_on_the_path_is_not_everywhere() {
        let everywhere = |read: &str| {
            let acl = acl(&format!(r#"{{"read": [{read}]}}"#)).unwrap();
            let anybody = Principal::default();
            (
                acl.allows_everywhere(&anybody, Access::Read),
                acl.allows_somewhere(&anybody, Access::Read),
            )
        };
        let (any, some) =
            (r#"{"type":"pathRegExp","re":"*"}"#, r#"{"type":"pathRegExp","re":".*"}"#);
        let (all, few) = (r#"{"type":"role","anyOf":["*"]}"#, r#"{"type":"role","anyOf":["few"]}"#);
        assert_eq!(everywhere(&format!("[{any},{all}]")), (true, true));
        assert_eq!(everywhere(&format!("[{some},{all}]")), (false, true));
        assert_eq!(everywhere(&format!("[{any},{few}]")), (false, false));
        assert_eq!(everywhere("[]"), (false, false));
    }

    #[test]
    fn classes_of_characters_fit() {
        let acl = acl(r#"{"read": [[{"type":"pathRegExp","re":"\\w+/[\\w-]+\\W?"}]]}"#).unwrap();
        assert!(acl.allows(&Principal::default(), Access::Read, "/übung/no-1!"));
        assert!(!acl.allows(&Principal::default(), Access::Read, "/a b/c"));
    }

    #[test]
    fn inner_lists_are_ands_and_outer_ones_ors() {
        let acl = acl(
            r#"{"write": [[{"type":"role","anyOf":["editor"]},{"type":"serviceSignature","allOf":["k1","k2"]}],
                          [{"type":"role","anyOf":["boss"]}]]}"#,
        )
        .unwrap();
        let mut editor = user(&["editor"]);
        assert!(!acl.allows(&editor, Access::Write, "/x"));
        editor.services = vec!["k1".to_owned()];
        assert!(!acl.allows(&editor, Access::Write, "/x"));
        editor.services.push("k2".to_owned());
        assert!(acl.allows(&editor, Access::Write, "/x"));
        assert!(acl.allows(&user(&["boss"]), Access::Write, "/x"));
    }
}
