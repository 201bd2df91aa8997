//! Voters' pseudonyms: keyed hashes, never an address or a plain hash.
//!
//! Voter id = HMAC-SHA-256(voter key, `judge|` + epoch + `|` + canonical prefix), first 16 bytes; the epoch changes every half-year.
//! Published id = HMAC-SHA-256(release key, the 32 hexadecimal digits of the voter id), first 16 bytes, so that one voter has one id inside a release and different ids in different releases.
//! References: EDPB guidelines 01/2025 on pseudonymisation; RFC 2104 (HMAC).

use std::net::IpAddr;

use agon_domain::{VoterId, voter::voter_message};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{Timestamp, tz::TimeZone};
use sha2::Sha256;

/// The half-year in UTC, such as `2026H1`, after which the same address has another pseudonym.
pub fn epoch(now: Timestamp) -> String {
    let date = TimeZone::UTC.to_datetime(now).date();
    format!(
        "{:04}H{}",
        date.year(),
        if date.month() <= 6 { 1 } else { 2 }
    )
}

/// The pseudonym of whoever is at `address` in `epoch`.
pub fn voter_id(voter_key: &[u8; 32], epoch: &str, address: IpAddr) -> VoterId {
    VoterId::from_bytes(keyed_hash(
        voter_key,
        voter_message(epoch, address).as_bytes(),
    ))
}

/// The pseudonym of whoever voted in an imported battle: a keyed hash of what the source calls them, another one in each source.
///
/// HMAC-SHA-256(voter key, `import|` + length of the source's name in bytes + `|` + that name + `|` + judge), first 16 bytes.
pub fn imported_voter_id(voter_key: &[u8; 32], source: &str, judge: &str) -> VoterId {
    // The length keeps a name with a bar in it apart from others.
    let message = format!("import|{}|{source}|{judge}", source.len());
    VoterId::from_bytes(keyed_hash(voter_key, message.as_bytes()))
}

/// What a release publishes for a voter, as 32 hexadecimal digits.
pub fn published_id(release_key: &[u8; 32], voter: VoterId) -> String {
    VoterId::from_bytes(keyed_hash(release_key, voter.to_string().as_bytes())).to_string()
}

fn keyed_hash(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    // Unwrap safety: HMAC takes keys of every length.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(message);
    let hash: [u8; 32] = mac.finalize().into_bytes().into();
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of the published vectors: bytes 00 to 1f, and 20 to 3f.
    fn key(first: u8) -> [u8; 32] {
        std::array::from_fn(|idx| first + u8::try_from(idx).unwrap())
    }

    #[test]
    fn pseudonyms_equal_the_published_vectors() {
        for (address, epoch, expected) in [
            ("192.0.2.1", "2026H1", "a79f3b54308076a04011df57150a9ed8"),
            (
                "::ffff:192.0.2.1",
                "2026H1",
                "a79f3b54308076a04011df57150a9ed8",
            ),
            ("192.0.2.1", "2026H2", "9d4f03b8b11235fb6f77ae24b9907eb8"),
            ("198.51.100.7", "2026H1", "083634025907cbbd86689a0cce16a220"),
            (
                "2001:db8:1:2:3:4:5:6",
                "2026H1",
                "aec4300a98661be1d24f451baf69578a",
            ),
            (
                "2001:db8:1:2::",
                "2026H1",
                "aec4300a98661be1d24f451baf69578a",
            ),
            (
                "2001:db8:1:3::1",
                "2026H1",
                "67416b081666b3a40db3eb6c6253e20f",
            ),
            ("fe80::1", "2026H1", "23c17ab7534905cd9fdd170b84ea50e8"),
        ] {
            assert_eq!(
                voter_id(&key(0), epoch, address.parse().unwrap()).to_string(),
                expected,
                "{address}"
            );
        }
        let voter = "a79f3b54308076a04011df57150a9ed8".parse().unwrap();
        assert_eq!(
            published_id(&key(0x20), voter),
            "156aa4de67dd7e1c199a322d66d5cde8"
        );
        assert_eq!(
            published_id(&key(0x40), voter),
            "818c8ce2fd8eba4f360111aec272e986"
        );
    }

    #[test]
    fn an_imported_voter_is_one_in_a_source_and_another_elsewhere() {
        let id = |key_start, source, judge| imported_voter_id(&key(key_start), source, judge);
        let voter = id(0, "logs", "192.0.2.1");
        assert_eq!(voter, id(0, "logs", "192.0.2.1"));
        for other in [
            id(1, "logs", "192.0.2.1"),
            id(0, "log", "s|192.0.2.1"),
            id(0, "logs", "192.0.2.2"),
            voter_id(&key(0), "2026H1", "192.0.2.1".parse().unwrap()),
        ] {
            assert_ne!(voter, other);
        }
    }

    #[test]
    fn an_epoch_is_half_a_year_in_utc() {
        for (time, expected) in [
            ("2026-06-30T23:59:59Z", "2026H1"),
            ("2026-07-01T00:00:00Z", "2026H2"),
            ("2026-12-31T23:59:59.999999Z", "2026H2"),
            ("2027-01-01T00:00:00Z", "2027H1"),
        ] {
            assert_eq!(epoch(time.parse().unwrap()), expected, "{time}");
        }
    }
}
