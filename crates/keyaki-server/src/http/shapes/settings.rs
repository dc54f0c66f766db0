//! How domains and buckets are set: quotas, ACLs and the options of each type.

use keyaki::catalog::{
    Acl, ChangesOptions, Lasting, Quota, RetentionOption, RevisionsOptions, Rule, Span,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type,
};

/// An item's key: any text without control characters that does not begin with `_`, nor is a dot segment.
pub const KEY: &str = r"^(?!\.{1,2}$)[^_\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
/// As far as anybody goes: less than a thousand years.
const SPAN: &str =
    "^([1-9][0-9]{0,9}s|[1-9][0-9]{0,7}m|[1-9][0-9]{0,5}h|[1-9][0-9]{0,4}d|[1-9][0-9]{0,3}w)$";
const LASTING: &str = "^([1-9][0-9]{0,9}s|[1-9][0-9]{0,7}m|[1-9][0-9]{0,5}h|[1-9][0-9]{0,4}d|\
                       [1-9][0-9]{0,3}w|forever)$";
/// Of the year that this was written in some is over: OpenAPI has no word for now.
const YEARS_TO_COME: &str = "^(202[7-9]|20[3-9][0-9]|2[1-9][0-9]{2}|[3-9][0-9]{3})-";
/// Text without control characters.
pub const TEXT: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

fn text(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// The name of a user, a role or an authorisation.
pub fn name() -> Schema {
    text(TEXT).min_length(Some(1)).max_length(Some(256)).into()
}

/// A list of names.
pub fn names() -> Schema {
    ArrayBuilder::new().items(RefOr::T(name())).max_items(Some(256)).into()
}

/// A list of users and roles.
pub fn owners() -> Schema {
    ArrayBuilder::new().items(text(TEXT).min_length(Some(1))).max_items(Some(1000)).into()
}

/// How many there may be, if it is said.
pub fn perhaps_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    number.map(|number| whole(&number).ok_or_else(|| D::Error::custom(NO_COUNT))).transpose()
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = Number::deserialize(deserializer)?;
    whole(&number).ok_or_else(|| D::Error::custom(NO_COUNT))
}

/// More than any number has that can be counted to.
const DIGITS_MAX: usize = 20;
const NO_COUNT: &str = "not a number of things that can be counted";

/// Whole is what has no fraction: to JSON, `2.0` is `2`. It is judged as it is written, for nothing is to be rounded.
fn whole<T: TryFrom<i64>>(number: &Number) -> Option<T> {
    let written = number.to_string();
    let (mantissa, exponent) = match written.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<usize>().ok()?),
        None => (&written[..], 0),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = exponent.checked_sub(fraction.len()).filter(|zeros| *zeros < DIGITS_MAX)?;
    let whole: i64 = format!("{integer}{fraction}{}", "0".repeat(zeros)).parse().ok()?;
    T::try_from(whole).ok()
}

/// An item's key.
pub fn key() -> Schema {
    text(KEY).min_length(Some(1)).max_length(Some(1024)).into()
}

fn span() -> Schema {
    text(SPAN).examples(["7d"]).into()
}

fn perhaps_span() -> Schema {
    text(SPAN).schema_type(perhaps_text()).examples(["1d"]).into()
}

pub fn lasting() -> Schema {
    text(LASTING).schema_type(perhaps_text()).examples(["7d"]).into()
}

/// A time that is not over.
pub fn time_to_come() -> Schema {
    let time = SchemaFormat::KnownFormat(KnownFormat::DateTime);
    let schema = text(YEARS_TO_COME).schema_type(perhaps_text()).format(Some(time));
    schema.examples(["2036-01-01T00:00:00Z"]).into()
}

fn perhaps_text() -> SchemaType {
    SchemaType::from_iter([Type::String, Type::Null])
}

/// How much there may be; what is not said is not limited.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Quota)]
pub struct QuotaForm {
    /// Buckets, in a domain.
    #[serde(default, deserialize_with = "perhaps_count", skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64>,
    /// Items.
    #[serde(default, deserialize_with = "perhaps_count", skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Bytes of content.
    #[serde(default, deserialize_with = "perhaps_count", skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl From<Quota> for QuotaForm {
    fn from(Quota { buckets, items, bytes }: Quota) -> Self {
        Self { buckets, items, bytes }
    }
}

impl From<QuotaForm> for Quota {
    fn from(QuotaForm { buckets, items, bytes }: QuotaForm) -> Self {
        Self { buckets, items, bytes }
    }
}

/// Who may read and write: an *or* of *ands* of rules. What is empty or missing is closed.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Acl)]
pub struct AclForm {
    #[serde(default)]
    pub read: Vec<Vec<RuleForm>>,
    #[serde(default)]
    pub write: Vec<Vec<RuleForm>>,
}

/// A demand on path, caller or services.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Rule)]
pub enum RuleForm {
    /// On the whole decoded path inside the bucket, its first slash optional; `*` is any.
    PathRegExp {
        #[schema(max_length = 1024, format = Regex, example = "public/.*")]
        re: String,
    },
    /// On the caller's roles; `*` is anybody.
    Role {
        #[serde(rename = "anyOf")]
        #[schema(example = json!(["*"]))]
        any_of: Vec<String>,
    },
    /// On the services that have signed the request, by their keys' fingerprints.
    ServiceSignature {
        #[serde(rename = "allOf")]
        all_of: Vec<String>,
    },
}

impl From<&Acl> for AclForm {
    fn from(acl: &Acl) -> Self {
        let list = |any: &[Vec<Rule>]| {
            any.iter().map(|all| all.iter().cloned().map(RuleForm::from).collect()).collect()
        };
        Self { read: list(&acl.read), write: list(&acl.write) }
    }
}

impl From<AclForm> for Acl {
    fn from(form: AclForm) -> Self {
        let list = |any: Vec<Vec<RuleForm>>| {
            any.into_iter().map(|all| all.into_iter().map(Rule::from).collect()).collect()
        };
        Self { read: list(form.read), write: list(form.write) }
    }
}

impl From<Rule> for RuleForm {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::PathRegExp { re } => Self::PathRegExp { re },
            Rule::Role { any_of } => Self::Role { any_of },
            Rule::ServiceSignature { all_of } => Self::ServiceSignature { all_of },
        }
    }
}

impl From<RuleForm> for Rule {
    fn from(rule: RuleForm) -> Self {
        match rule {
            RuleForm::PathRegExp { re } => Self::PathRegExp { re },
            RuleForm::Role { any_of } => Self::Role { any_of },
            RuleForm::ServiceSignature { all_of } => Self::ServiceSignature { all_of },
        }
    }
}

/// Options of a bucket of revisions.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RevisionsOptions)]
pub struct RevisionsForm {
    /// Whether every write must carry a condition.
    #[serde(default)]
    pub require_conditions: bool,
    /// How long operations are remembered; chosen when the bucket is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = lasting)]
    pub replay_window: Option<Lasting>,
    #[serde(default)]
    pub changes: ChangesForm,
    #[serde(default)]
    pub retention: RetentionForm,
}

/// What becomes of change records; chosen when the bucket is made.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangesOptions)]
pub struct ChangesForm {
    /// How long they are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = lasting)]
    pub keep: Option<Lasting>,
}

/// Which revisions are kept.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Retention)]
pub enum RetentionForm {
    /// All.
    All {},
    /// The latest ones, and the others for a while.
    Latest {
        #[serde(deserialize_with = "count")]
        #[schema(minimum = 1, maximum = 1000)]
        count: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(schema_with = perhaps_span)]
        grace: Option<Span>,
    },
    /// The latest ones of each interval.
    Interval {
        #[serde(deserialize_with = "count")]
        #[schema(minimum = 1, maximum = 1000)]
        count: u32,
        #[schema(schema_with = span)]
        interval: Span,
    },
    /// Each for a while.
    Ttl {
        #[schema(schema_with = span)]
        ttl: Span,
    },
}

impl Default for RetentionForm {
    fn default() -> Self {
        Self::All {}
    }
}

impl From<&RevisionsOptions> for RevisionsForm {
    fn from(options: &RevisionsOptions) -> Self {
        Self {
            require_conditions: options.require_conditions,
            replay_window: options.replay_window,
            changes: ChangesForm { keep: options.changes.keep },
            retention: match options.retention {
                RetentionOption::All => RetentionForm::All {},
                RetentionOption::Latest { count, grace } => RetentionForm::Latest { count, grace },
                RetentionOption::Interval { count, interval } => {
                    RetentionForm::Interval { count, interval }
                }
                RetentionOption::Ttl { ttl } => RetentionForm::Ttl { ttl },
            },
        }
    }
}

impl From<RevisionsForm> for RevisionsOptions {
    fn from(form: RevisionsForm) -> Self {
        Self {
            require_conditions: form.require_conditions,
            replay_window: form.replay_window,
            changes: ChangesOptions { keep: form.changes.keep },
            retention: match form.retention {
                RetentionForm::All {} => RetentionOption::All,
                RetentionForm::Latest { count, grace } => RetentionOption::Latest { count, grace },
                RetentionForm::Interval { count, interval } => {
                    RetentionOption::Interval { count, interval }
                }
                RetentionForm::Ttl { ttl } => RetentionOption::Ttl { ttl },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// There and back again, without a loss.
    fn kept<F>(form: Value) -> Value
    where
        F: serde::de::DeserializeOwned + Serialize,
    {
        json!(serde_json::from_value::<F>(form).unwrap())
    }

    #[test]
    fn twins_say_what_the_library_says() {
        let options = json!({"requireConditions": true, "replayWindow": "2w", "changes": {"keep": "forever"},
                             "retention": {"type": "latest", "count": 3, "grace": "1d"}});
        let ours: RevisionsForm = serde_json::from_value(options.clone()).unwrap();
        let theirs: RevisionsOptions = serde_json::from_value(options.clone()).unwrap();
        assert_eq!(RevisionsOptions::from(ours), theirs);
        assert_eq!(json!(RevisionsForm::from(&theirs)), options);
        for retention in [
            json!({"type": "all"}),
            json!({"type": "interval", "count": 2, "interval": "12h"}),
            json!({"type": "ttl", "ttl": "90s"}),
        ] {
            assert_eq!(kept::<RetentionForm>(retention.clone()), retention);
            assert_eq!(kept::<RetentionOption>(retention.clone()), retention);
        }
        let whole = json!({"items": 2.0, "bytes": 9_007_199_254_740_993_u64});
        assert_eq!(
            kept::<QuotaForm>(whole),
            json!({"items": 2, "bytes": 9_007_199_254_740_993_u64})
        );
        let latest = json!({"type": "latest", "count": 3.0});
        assert_eq!(kept::<RetentionForm>(latest), json!({"type": "latest", "count": 3}));
        for bad in [
            "-1",
            "1.5",
            "1e300",
            "18446744073709551615",
            "\"1\"",
            "0.99999999999999999999",
            "2.00000000000000000001",
            "1e-400",
            "1.5e99999999999999999999",
        ] {
            let form = serde_json::from_str::<QuotaForm>(&format!("{{\"items\": {bad}}}"));
            assert!(form.is_err(), "{bad}");
        }
        for (good, items) in [("1.50e1", 15), ("20e1", 200), ("0.0", 0), ("1E3", 1000)] {
            let form = serde_json::from_str::<QuotaForm>(&format!("{{\"items\": {good}}}"));
            assert_eq!(form.unwrap().items, Some(items), "{good}");
        }
        let acl = json!({"read": [[{"type": "role", "anyOf": ["*"]}, {"type": "pathRegExp", "re": "a"}]],
                         "write": [[{"type": "serviceSignature", "allOf": ["k"]}]]});
        let ours: AclForm = serde_json::from_value(acl.clone()).unwrap();
        let theirs: Acl = serde_json::from_value(acl.clone()).unwrap();
        assert_eq!(Acl::from(ours), theirs);
        assert_eq!(json!(AclForm::from(&theirs)), acl);
    }
}
