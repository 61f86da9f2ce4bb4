//! The address that goes into invitations: one that others can use, and that sends no token in the
//! clear.

use std::net::{IpAddr, SocketAddr};

use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use shield_protocol::this_machine::is_this_machine;
use thiserror::Error;

use crate::tls::Certificate;

/// An address that no invitation should carry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Listening everywhere says nothing about where.
    #[error(
        "{0} stands for every address of this machine, and invitations need one; give it with \
         --public-url https://..."
    )]
    Everywhere(SocketAddr),
    /// Not an address at all.
    #[error("--public-url {0} is no address; it looks like https://shield.example.org:8443")]
    NotAnAddress(String),
    /// Plain HTTP over a network.
    #[error("--public-url {0} would send every token in the clear; it must start with https://")]
    InTheClear(String),
    /// Not the root of a host.
    #[error(
        "--public-url {0} has a path, and the server's pages and API are at the root of a host; \
         give it a host name of its own"
    )]
    NotTheRoot(String),
}

/// The address that others reach the server at: the one that was given, or the one it listens on.
pub fn public_url(
    given: Option<&str>,
    listening: SocketAddr,
    certificate: Option<&Certificate>,
) -> Result<String, AddressError> {
    let Some(given) = given else {
        if listening.ip().is_unspecified() {
            return Err(AddressError::Everywhere(listening));
        }
        let scheme = if certificate.is_some() { "https" } else { "http" };
        return Ok(format!("{scheme}://{listening}"));
    };
    let no_address = || AddressError::NotAnAddress(given.to_owned());
    let parsed: Uri = given.parse().map_err(|_| no_address())?;
    let host = parsed.host().ok_or_else(no_address)?.trim_matches(['[', ']']);
    let ip: Option<IpAddr> = host.parse().ok();
    if host.is_empty() || ip.is_some_and(|ip| ip.is_unspecified()) {
        return Err(no_address());
    }
    if !matches!(parsed.path_and_query().map_or("/", PathAndQuery::as_str), "/") {
        return Err(AddressError::NotTheRoot(given.to_owned()));
    }
    match parsed.scheme_str() {
        Some("https") => Ok(given.to_owned()),
        Some("http") if is_this_machine(host) => Ok(given.to_owned()),
        Some("http") => Err(AddressError::InTheClear(given.to_owned())),
        _ => Err(no_address()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitations_carry_an_address_that_others_can_use() {
        let certificate = Certificate { chain: "chain.pem".into(), key: "key.pem".into() };
        let listening = |text: &str| text.parse::<SocketAddr>().unwrap();
        for everywhere in ["0.0.0.0:8443", "[::]:8443"].map(listening) {
            let refused = public_url(None, everywhere, Some(&certificate));
            assert_eq!(refused, Err(AddressError::Everywhere(everywhere)));
            let given = Some("https://shield.example.org");
            assert_eq!(
                public_url(given, everywhere, Some(&certificate)).as_deref(),
                Ok("https://shield.example.org")
            );
        }
        let here = listening("127.0.0.1:8443");
        assert_eq!(public_url(None, here, None).as_deref(), Ok("http://127.0.0.1:8443"));
        assert_eq!(
            public_url(None, here, Some(&certificate)).as_deref(),
            Ok("https://127.0.0.1:8443")
        );
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        let here: SocketAddr = "127.0.0.1:8443".parse().unwrap();
        let given = |url: &str| public_url(Some(url), here, None);
        for fine in [
            "https://a.example.org:8443/",
            "https://10.0.0.1",
            "http://localhost:1",
            "http://127.0.0.1",
            "http://[::1]:8443",
        ] {
            assert_eq!(given(fine).as_deref(), Ok(fine));
        }
        for clear in
            ["http://a.example.org", "http://10.0.0.1:8443", "http://localhost.example.org"]
        {
            assert_eq!(given(clear), Err(AddressError::InTheClear(clear.to_owned())));
        }
        // The page once posted its token to the root of the host, whatever was there.
        for inner in ["https://a.example.org/shield", "https://a.example.org/?shield"] {
            assert_eq!(given(inner), Err(AddressError::NotTheRoot(inner.to_owned())));
        }
        for wrong in [
            "",
            "a.example.org",
            "https://",
            "ftp://localhost",
            "https://a b",
            "https://0.0.0.0:8443",
            "http://[::]",
        ] {
            assert_eq!(given(wrong), Err(AddressError::NotAnAddress(wrong.to_owned())), "{wrong}");
        }
    }
}
