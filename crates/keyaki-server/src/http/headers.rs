//! Headers of requests that may be there once: of two, nobody could say which one counts.

use http::HeaderMap;

use super::problem::Problem;

/// A header that may be there once, as text.
pub fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Problem> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Problem::bad_request("header is not plain text").with("header", name)),
        },
        (Some(_), Some(_)) => {
            Err(Problem::bad_request("header is there twice").with("header", name))
        }
    }
}

/// One that says yes or no.
pub fn flag(headers: &HeaderMap, name: &str) -> Result<bool, Problem> {
    match single(headers, name)? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => {
            Err(Problem::bad_request("header is neither `true` nor `false`").with("header", name))
        }
    }
}
