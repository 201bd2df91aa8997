//! Who is asking: the visit's cookie and the client's address.
//!
//! The cookie holds 32 random bytes; the store knows only their SHA-256, so that a copy of the database opens nobody's battles.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use agon_domain::VisitId;
use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use rand::RngExt as _;
use sha2::{Digest as _, Sha256};

use crate::{
    app::{App, AppError},
    config::Network,
};

/// The cookie's name where the arena is reached over plain HTTP.
const COOKIE: &str = "agon_visit";
/// The cookie's name over HTTPS: browsers then refuse it from other hosts and over HTTP.
const SECURE_COOKIE: &str = "__Host-agon_visit";
/// How long a browser keeps the cookie, in seconds: 180 days.
const COOKIE_SECONDS: u32 = 180 * 24 * 60 * 60;

/// Who is asking.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// The visit, when the request carries a well-formed cookie. It may be unknown to the store.
    pub visit: Option<VisitId>,
    /// The client's address, past the configured proxies. Held in memory only.
    pub address: IpAddr,
}

impl Visitor {
    /// The visit.
    ///
    /// # Errors
    ///
    /// [`AppError::ConsentRequired`] without one.
    pub fn visit(&self) -> Result<VisitId, AppError> {
        self.visit.ok_or(AppError::ConsentRequired)
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let peer = parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| {
                address.ip()
            });
        Ok(Self {
            visit: visit_of(&parts.headers, app.config().raw.server.https),
            address: client_address(peer, &parts.headers, &app.config().trusted_proxies),
        })
    }
}

/// Accepts the terms for this visitor, with a new visit when there is none, and returns the cookie to set.
///
/// # Errors
///
/// [`AppError::ConsentOutdated`] when `policy_version` is not in force; the store's failures.
pub async fn give_consent(
    app: &App,
    visitor: &Visitor,
    policy_version: &str,
    locale: Option<String>,
) -> Result<HeaderValue, AppError> {
    // A visit is never taken over from the request alone: an unknown id would let a page plant one.
    let secret: [u8; 32] = app.with_rng(|rng| rng.random());
    app.give_consent(visit_id(&secret), visitor.address, policy_version, locale)
        .await?;
    Ok(cookie(&secret, app.config().raw.server.https))
}

fn cookie(secret: &[u8; 32], https: bool) -> HeaderValue {
    let digits = VisitId::from_bytes(*secret).to_string();
    let (name, secure) = if https {
        (SECURE_COOKIE, "; Secure")
    } else {
        (COOKIE, "")
    };
    let text = format!(
        "{name}={digits}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"
    );
    // Unwrap safety: names, digits and attributes are all visible ASCII.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The id of the visit with this secret.
pub fn visit_id(secret: &[u8; 32]) -> VisitId {
    VisitId::from_bytes(Sha256::digest(secret).into())
}

fn visit_of(headers: &HeaderMap, https: bool) -> Option<VisitId> {
    let wanted = if https { SECURE_COOKIE } else { COOKIE };
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == wanted)
        .and_then(|(_, digits)| digits.parse::<VisitId>().ok())
        .map(|secret| visit_id(secret.as_bytes()))
}

/// The right-most address of `X-Forwarded-For` that no trusted proxy has, read only when the peer itself is a trusted proxy.
fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(peer) {
        return peer.to_canonical();
    }
    let mut nearest = peer;
    let hops = headers
        .get_all("x-forwarded-for")
        .iter()
        .rev()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.rsplit(','));
    for hop in hops {
        let Some(address) = parse_hop(hop.trim()) else {
            break;
        };
        nearest = address;
        if !is_trusted(address) {
            break;
        }
    }
    nearest.to_canonical()
}

/// An address, alone, in brackets, or with a port.
fn parse_hop(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
        .or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_address(peer: &str, forwarded: &[&str], expected: &str) {
        let trusted = [
            Network::parse("10.0.0.0/8").unwrap(),
            Network::parse("::1").unwrap(),
        ];
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_str(value).unwrap());
        }
        let address = client_address(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(address, expected.parse::<IpAddr>().unwrap());
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        check_address("203.0.113.5", &["198.51.100.9"], "203.0.113.5");
        check_address("10.0.0.1", &["198.51.100.9"], "198.51.100.9");
        check_address("10.0.0.1", &["198.51.100.9, 203.0.113.7"], "203.0.113.7");
        check_address(
            "10.0.0.1",
            &["198.51.100.9, 203.0.113.7, 10.2.3.4"],
            "203.0.113.7",
        );
        check_address("10.0.0.1", &["198.51.100.9", "203.0.113.7"], "203.0.113.7");
        check_address("10.0.0.1", &["nonsense"], "10.0.0.1");
        check_address("10.0.0.1", &["198.51.100.9, nonsense"], "10.0.0.1");
        check_address("10.0.0.1", &[], "10.0.0.1");
        check_address("::1", &["[2001:db8::7]:4711"], "2001:db8::7");
        check_address("::ffff:10.0.0.1", &["198.51.100.9:80"], "198.51.100.9");
    }

    #[test]
    fn a_cookie_is_read_back_and_is_not_the_id() {
        let secret = [0xab; 32];
        for https in [false, true] {
            let set = cookie(&secret, https);
            let text = set.to_str().unwrap();
            assert!(text.contains("HttpOnly; SameSite=Strict"));
            assert_eq!(text.contains("Secure"), https);
            let pair = text.split(';').next().unwrap();
            let mut headers = HeaderMap::new();
            headers.insert(
                header::COOKIE,
                HeaderValue::from_str(&format!("other=1; {pair}")).unwrap(),
            );
            let visit = visit_of(&headers, https).unwrap();
            assert_eq!(visit, visit_id(&secret));
            assert!(!text.contains(&visit.to_string()));
            assert_eq!(visit_of(&headers, !https), None);
        }
    }

    #[test]
    fn a_malformed_cookie_is_no_visit() {
        for value in [
            "agon_visit=",
            "agon_visit=xyz",
            "agon_visit=00",
            "agon_visit",
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::from_static(value));
            assert_eq!(visit_of(&headers, false), None);
        }
    }
}
