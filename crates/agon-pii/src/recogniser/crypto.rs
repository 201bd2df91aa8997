//! Addresses of crypto-currencies: Base58Check, bech32 and the capitals of Ethereum.

use sha2::{Digest, Sha256};

use super::Rule;
use crate::{Entity as E, checksum::keccak_256};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::Crypto, &[r"[13][a-z0-9]{25,34}", r"t[a-z0-9]{33}"])
        .check(base58_check, 1e9)
        .words(WORDS),
    Rule::new(E::Crypto, &[r"bc1[a-z0-9]{11,71}", r"tb1[a-z0-9]{11,71}"])
        .check(bech32, 1e9)
        .words(WORDS),
    Rule::new(E::Crypto, &[r"0x[0-9a-f]{40}"])
        .require(|value| value[2..].bytes().any(|byte| byte != value.as_bytes()[2]))
        .check(ethereum, 1e3)
        .prior(0.8)
        .words(WORDS),
    Rule::new(E::Crypto, &[r"[48][0-9ab][a-z0-9]{93}"])
        .require(|value| base58(value).is_some())
        .prior(0.5)
        .words(WORDS),
    Rule::new(E::Crypto, &[r"[a-z0-9]{32,44}"])
        .require(|value| {
            base58(value).is_some_and(|bytes| bytes.len() == 32)
                && value.bytes().any(|byte| byte.is_ascii_uppercase())
        })
        .words(&["solana", "sol address", "sol wallet"])
        .needs_word(),
];

const WORDS: &[&str] = &[
    "wallet", "btc", "eth", "bitcoin", "ethereum", "send to", "usdt", "tron", "monero", "~address",
];

/// The bytes behind a Base58 text; `None` for characters outside the alphabet.
fn base58(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut bytes: Vec<u8> = Vec::new();
    for byte in text.bytes() {
        let mut carry = ALPHABET.iter().position(|letter| *letter == byte)?;
        for slot in bytes.iter_mut().rev() {
            carry += usize::from(*slot) * 58;
            *slot = (carry & 0xff) as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.insert(0, (carry & 0xff) as u8);
            carry >>= 8;
        }
    }
    let zeros = text.bytes().take_while(|byte| *byte == b'1').count();
    bytes.splice(0..0, std::iter::repeat_n(0, zeros));
    Some(bytes)
}

/// The last four of 25 bytes are the beginning of the double SHA-256 of the others.
fn base58_check(text: &str) -> bool {
    let Some(bytes) = base58(text).filter(|bytes| bytes.len() == 25) else {
        return false;
    };
    let (body, check) = bytes.split_at(21);
    let network = match text.as_bytes()[0] {
        b'1' => body[0] == 0,
        b'3' => body[0] == 5,
        _ => body[0] == 0x41,
    };
    network && Sha256::digest(Sha256::digest(body))[..4] == *check
}

/// Bech32 and bech32m (BIP 173, BIP 350).
fn bech32(text: &str) -> bool {
    const ALPHABET: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const STEPS: [u32; 5] = [
        0x3b6a_57b2,
        0x2650_8e6d,
        0x1ea1_19fa,
        0x3d42_33dd,
        0x2a14_62b3,
    ];
    let mixed = text.bytes().any(|byte| byte.is_ascii_uppercase())
        && text.bytes().any(|byte| byte.is_ascii_lowercase());
    let text = text.to_ascii_lowercase();
    let (prefix, data) = text.split_at(2);
    let mut values: Vec<u32> = prefix.bytes().map(|byte| u32::from(byte) >> 5).collect();
    values.push(0);
    values.extend(prefix.bytes().map(|byte| u32::from(byte) & 31));
    for byte in data[1..].bytes() {
        let Some(value) = ALPHABET.iter().position(|letter| *letter == byte) else {
            return false;
        };
        values.push(value as u32);
    }
    let end = values.iter().fold(1_u32, |state, value| {
        let top = state >> 25;
        STEPS
            .iter()
            .enumerate()
            .filter(|(bit, _)| top >> bit & 1 == 1)
            .fold((state & 0x01ff_ffff) << 5 ^ value, |state, (_, step)| {
                state ^ step
            })
    });
    !mixed && (end == 1 || end == 0x2bc8_30a3)
}

/// Capitals carry the check (EIP-55); an address in one case has none.
fn ethereum(text: &str) -> bool {
    let hex = &text[2..];
    let lower = hex.to_ascii_lowercase();
    if hex == lower || hex == hex.to_ascii_uppercase() {
        return true;
    }
    let hash = keccak_256(lower.as_bytes());
    hex.bytes().enumerate().all(|(place, byte)| {
        let nibble = hash[place / 2] >> (if place % 2 == 0 { 4 } else { 0 }) & 0xf;
        byte.is_ascii_digit() || byte.is_ascii_uppercase() == (nibble >= 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_addresses_hold_and_changed_ones_do_not() {
        assert!(base58_check("16Yeky6GMjeNkAiNcBY7ZhrLoMSgg1BoyZ"));
        assert!(!base58_check("16Yeky6GMjeNkAiNcBY7ZhrLoMSgg1BoyY"));
        assert!(bech32("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"));
        assert!(bech32(
            "bc1p5d7rjq7g6rdk2yhzks9smlaqtedr4dekq08ge8ztwac72sfr9rusxg3297"
        ));
        assert!(!bech32("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdp"));
        assert!(ethereum("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"));
        assert!(!ethereum("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"));
    }
}
