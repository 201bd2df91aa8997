//! Addresses of machines: IPv4, IPv6 and MAC.
//!
//! Loopback, private and unspecified addresses are found at a low score: they lead to nobody.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

use super::{Reading, Recogniser, run_forwards};
use crate::{
    Entity as E,
    context::Nearby,
    finding::Evidence,
    normalise::{ends_word, joins},
    shapes::Candidate,
};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::IpAddress, E::MacAddress],
    words: &[
        (
            E::IpAddress,
            &[
                "ip",
                "client",
                "from",
                "ip address",
                "remote addr",
                "x-forwarded-for",
                "ipv4",
                "ipv6",
            ],
        ),
        (
            E::MacAddress,
            &["mac", "ethernet", "mac address", "bssid", "hwaddr"],
        ),
    ],
    find,
};

const ADDRESS_BYTES_MAX: usize = 64;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    let bytes = text.as_bytes();
    let mut next = 0;
    while next < bytes.len() {
        let start = next;
        let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.' | b'-');
        if !is_part(bytes[start]) {
            next += 1;
            continue;
        }
        let run = run_forwards(text, start, usize::MAX, is_part);
        next = run.end;
        if run.len() < 2
            || text[..start]
                .chars()
                .next_back()
                .is_some_and(|before| joins(before) || matches!(before, '/' | '\\'))
        {
            // A path or a word goes on; a slash may still be the end of a scheme.
            if !text[..start].ends_with("://") {
                continue;
            }
        }
        let trimmed = text[run.clone()].trim_end_matches(['.', '-']);
        let trimmed = if trimmed.ends_with("::") {
            trimmed
        } else {
            trimmed.trim_end_matches(':')
        };
        let start = start + trimmed.len() - trimmed.trim_start_matches(['.', '-']).len();
        let value = start..run.start + trimmed.len();
        if value.len() < 2 || value.len() > ADDRESS_BYTES_MAX {
            continue;
        }
        let nearby = || reading.surroundings.around(value.start, value.end);
        if is_mac(&text[value.clone()]) && ends_word(text, value.end) {
            let word = nearby().word(E::MacAddress);
            let log_odds = 0.8 + if word.is_some() { 2.0 } else { 0.0 };
            push(
                found,
                E::MacAddress,
                value,
                log_odds,
                Evidence::by("mac", 0.8).announced(word),
            );
        } else if let Some((range, address)) = parse(text, value.clone()) {
            let prior = weight(text, &range, address);
            push_address(found, &nearby(), range, address, prior);
        }
    }
}

/// Strictly an address, with its zone or prefix length.
fn parse(text: &str, value: Range<usize>) -> Option<(Range<usize>, IpAddr)> {
    // A port stands behind an IPv4 address and is not part of it.
    let core = &text[value.clone()];
    let (core, port) = match core.split_once(':') {
        Some((address, port))
            if address.contains('.') && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (address, true)
        }
        _ => (core, false),
    };
    let address = core
        .parse::<Ipv4Addr>()
        .map(IpAddr::V4)
        .or_else(|_| core.parse::<Ipv6Addr>().map(IpAddr::V6))
        .ok()?;
    let mut end = value.start + core.len();
    if port {
        return Some((value.start..end, address));
    }
    if address.is_ipv6() && text[end..].starts_with('%') {
        end = run_forwards(text, end + 1, 16, |byte| byte.is_ascii_alphanumeric()).end;
    }
    if text[end..].starts_with('/') {
        let prefix = run_forwards(text, end + 1, 3, |byte| byte.is_ascii_digit());
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        if text[prefix.clone()]
            .parse::<u8>()
            .is_ok_and(|bits| bits <= bits_max)
        {
            end = prefix.end;
        }
    }
    ends_word(text, end).then_some((value.start..end, address))
}

/// Log-odds of an address by what kind it is.
fn weight(text: &str, range: &Range<usize>, address: IpAddr) -> f64 {
    const QUIET: f64 = -1.2;
    let value = &text[range.clone()];
    let is_network = value
        .split_once('/')
        .is_some_and(|(base, _)| base.ends_with(".0") || base.ends_with("::"));
    let address = address.to_canonical();
    let leads_nowhere =
        address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_network;
    match address {
        _ if leads_nowhere => QUIET,
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let shared = first == 100 && (64..128).contains(&second);
            let resolver = matches!(
                v4.octets(),
                [8, 8, 8 | 4, 8 | 4] | [1, 1 | 0, 1 | 0, 1] | [9, 9, 9, 9] | [1, 2, 3, 4]
            );
            // A first octet below 2 or four single digits is more often a version or a section.
            let version = first < 2 || v4.octets().iter().all(|octet| *octet < 10);
            if v4.is_private()
                || v4.is_link_local()
                || v4.is_broadcast()
                || shared
                || resolver
                || v4.octets()[3] == 0
            {
                QUIET
            } else if version {
                -0.8
            } else {
                0.8
            }
        }
        IpAddr::V6(v6) => {
            let groups = v6.segments().iter().filter(|group| **group != 0).count();
            if v6.is_unique_local() || v6.is_unicast_link_local() {
                QUIET
            } else if groups < 3 && !value.bytes().any(|byte| byte.is_ascii_digit()) {
                -4.0
            } else if groups < 2 || (groups < 3 && value.len() < 9) {
                -0.8
            } else {
                1.5
            }
        }
    }
}

fn push_address(
    found: &mut Vec<Candidate>,
    nearby: &Nearby<'_>,
    range: Range<usize>,
    address: IpAddr,
    prior: f64,
) {
    let word = nearby.word(E::IpAddress);
    // A word cannot make a private address lead to somebody.
    let mut log_odds = prior
        + if word.is_some() && prior > -1.0 {
            1.5
        } else {
            0.0
        };
    if nearby.is_reference() && address.is_ipv4() {
        log_odds = log_odds.min(-3.0);
    }
    push(
        found,
        E::IpAddress,
        range,
        log_odds,
        Evidence::by("ip", prior).announced(word),
    );
}

fn push(
    found: &mut Vec<Candidate>,
    entity: E,
    range: Range<usize>,
    log_odds: f64,
    evidence: Evidence,
) {
    found.push(Candidate {
        entity,
        range,
        log_odds,
        evidence,
    });
}

/// Six pairs by colons or hyphens, or three groups of four by dots; neither all zero nor all ones.
fn is_mac(value: &str) -> bool {
    let groups_of = |separator: char, count: usize, len: usize| {
        let mut n_groups = 0;
        value.split(separator).all(|group| {
            n_groups += 1;
            group.len() == len && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        }) && n_groups == count
    };
    let is_shaped = groups_of(':', 6, 2)
        || groups_of('-', 6, 2)
        || groups_of('.', 3, 4) && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let mut hex = value.bytes().filter(u8::is_ascii_hexdigit);
    let first = hex.next().map(|byte| byte.to_ascii_lowercase());
    is_shaped
        && !(matches!(first, Some(b'0' | b'f'))
            && hex.all(|byte| Some(byte.to_ascii_lowercase()) == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_strictly_with_zone_and_prefix() {
        for (text, expected) in [
            ("203.0.113.5/24", Some("203.0.113.5/24")),
            ("203.0.113.5:8080", Some("203.0.113.5")),
            ("fe80::1%eth0", Some("fe80::1%eth0")),
            ("203.0.113.256", None),
            ("1.2.3", None),
        ] {
            let run = run_forwards(text, 0, 64, |byte| {
                byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
            });
            assert_eq!(
                parse(text, run).map(|(range, _)| &text[range]),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_mac_address_is_neither_all_zero_nor_broadcast() {
        assert!(
            is_mac("00:1A:2B:3C:4D:5E") && is_mac("00-1a-2b-3c-4d-5e") && is_mac("001a.2b3c.4d5e")
        );
        assert!(
            !is_mac("ff:ff:ff:ff:ff:ff")
                && !is_mac("00:00:00:00:00:00")
                && !is_mac("00:1A:2B:3C:4D")
        );
        assert!(!is_mac("1234.5678.9012"));
    }
}
