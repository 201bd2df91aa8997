//! What of a network address goes into a voter's pseudonym.
//!
//! Voter id = HMAC-SHA-256(voter key, `judge|` + epoch + `|` + [`canonical_prefix`]), first 16 bytes.
//! Published id = HMAC-SHA-256(release key, the 32 hexadecimal digits of the voter id), first 16 bytes.
//! A hash without a key can be reversed by listing all addresses, so there is none anywhere.
//! The keyed hash itself is computed where the keys are, in the application.

use std::net::{IpAddr, Ipv6Addr};

/// The prefix that identifies a household or a host: IPv4 as `/32`, IPv6 as its `/64` network in RFC 5952 form.
///
/// An IPv4-mapped IPv6 address becomes IPv4.
/// NAT64 and 6to4 addresses are not folded.
pub fn canonical_prefix(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("{address}/32"),
        IpAddr::V6(address) => {
            let network = Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
            format!("{network}/64")
        }
    }
}

/// The message whose keyed hash is the voter id.
pub fn voter_message(epoch: &str, address: IpAddr) -> String {
    format!("judge|{epoch}|{}", canonical_prefix(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_canonical() {
        for (address, expected) in [
            ("192.0.2.1", "192.0.2.1/32"),
            ("::ffff:192.0.2.1", "192.0.2.1/32"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::", "2001:db8:1:2::/64"),
            ("fe80::1", "fe80::/64"),
            ("2001:db8::1", "2001:db8::/64"),
            ("64:ff9b::192.0.2.1", "64:ff9b::/64"),
        ] {
            assert_eq!(
                canonical_prefix(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn the_message_names_the_epoch() {
        let address = "192.0.2.1".parse().unwrap();
        assert_eq!(
            voter_message("2026H1", address),
            "judge|2026H1|192.0.2.1/32"
        );
    }
}
