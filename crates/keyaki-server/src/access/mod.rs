//! Who signed this? Tokens of others (JWT), and services that requests came through (HTTP message signatures).

pub mod jwt;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        unused_imports,
        reason = "whoever signs is a client, and those are tests here"
    )
)]
pub mod signature;
