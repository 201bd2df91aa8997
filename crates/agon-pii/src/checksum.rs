//! Check digits: the named methods that catalogues of numbers refer to, on plain digits.
//!
//! Every function takes the value as it stands in the text and ignores separators.
//! Formulas follow the issuers' rules as collected in `docs/safety.md`; what one country does with them is in `recogniser/national`.

/// The ASCII digits of a value, as numbers, without whatever stands between them.
pub(crate) fn digits(value: &str) -> Vec<u32> {
    value
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|byte| u32::from(byte - b'0'))
        .collect()
}

/// Letters and digits of a value, letters in upper case, without whatever stands between them.
pub(crate) fn letters_and_digits(value: &str) -> Vec<u8> {
    value
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|byte| byte.to_ascii_uppercase())
        .collect()
}

/// A character as a number: digits as they are, A = 10 … Z = 35.
pub(crate) fn letter_value(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(36)
}

/// All characters as numbers: digits as they are, A = 10 … Z = 35.
pub(crate) fn letter_values(value: &str) -> Vec<u32> {
    letters_and_digits(value)
        .into_iter()
        .filter_map(letter_value)
        .collect()
}

/// Sum of digits times weights, as far as both reach.
pub(crate) fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits
        .iter()
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .sum()
}

/// Sum of the decimal digits of each product.
pub(crate) fn weighted_digit_sums(digits: &[u32], weights: &[u32]) -> u32 {
    digits
        .iter()
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .map(|product| product / 10 + product % 10)
        .sum()
}

/// The digits read as one number modulo `modulus`.
pub(crate) fn number_mod(digits: &[u32], modulus: u32) -> u32 {
    digits
        .iter()
        .fold(0, |rest, digit| (rest * 10 + digit) % modulus)
}

/// The digits read as one number; meant for at most eighteen of them.
pub(crate) fn number(digits: &[u32]) -> u64 {
    digits.iter().fold(0_u64, |value, digit| {
        value.wrapping_mul(10).wrapping_add(u64::from(*digit))
    })
}

/// Luhn's check (ISO/IEC 7812-1, annex B): every second digit from the right doubled.
pub(crate) fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let term = digit * (1 + u32::from(place % 2 == 1));
            term / 10 + term % 10
        })
        .sum();
    digits.len() > 1 && sum.is_multiple_of(10)
}

/// Verhoeff's check on the dihedral group of order ten, which catches every swap of neighbours.
pub(crate) fn verhoeff(digits: &[u32]) -> bool {
    const TIMES: [[u8; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const TURN: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    let end = digits
        .iter()
        .rev()
        .enumerate()
        .fold(0_u8, |state, (place, digit)| {
            TIMES[usize::from(state)][usize::from(TURN[place % 8][*digit as usize])]
        });
    !digits.is_empty() && end == 0
}

/// ISO 7064 MOD 97-10 on letters and digits: the whole leaves 1.
pub(crate) fn mod97(characters: &[u8]) -> bool {
    let mut rest = 0;
    for byte in characters {
        let Some(value) = letter_value(*byte) else {
            return false;
        };
        rest = if value < 10 {
            rest * 10 + value
        } else {
            rest * 100 + value
        } % 97;
    }
    rest == 1
}

/// ISO 7064 MOD 11,10 with the check digit last.
pub(crate) fn mod11_10(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    let product = body.iter().fold(10, |product, digit| {
        let sum = (product + digit) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == *check
}

/// `m11`: r = S mod 11; the check digit is 0 if r < 2, else 11 − r.
pub(crate) fn m11(sum: u32) -> u32 {
    let rest = sum % 11;
    if rest < 2 { 0 } else { 11 - rest }
}

/// `m11k`: (11 − S) mod 11, where 10 is a letter or not issued.
pub(crate) fn m11k(sum: u32) -> u32 {
    (11 - sum % 11) % 11
}

/// The remainder modulo 10 that brings a sum to the next ten.
pub(crate) fn to_ten(sum: u32) -> u32 {
    (10 - sum % 10) % 10
}

/// Check digit of machine-readable documents (ICAO 9303-3, §4.9): weights 7, 3, 1, filler 0.
pub(crate) fn icao(characters: &[u8]) -> Option<u32> {
    let mut sum = 0;
    for (place, byte) in characters.iter().enumerate() {
        let value = if *byte == b'<' {
            0
        } else {
            letter_value(*byte)?
        };
        sum += value * [7, 3, 1][place % 3];
    }
    Some(sum % 10)
}

/// Whether a year (four digits), month and day are a day of the Gregorian calendar.
pub(crate) fn is_date(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Whether `yy mm dd` is a day in this or the last century; digits must be at least six.
pub(crate) fn is_short_date(year: &[u32], month: &[u32], day: &[u32]) -> bool {
    let (year, month, day) = (pair(year), pair(month), pair(day));
    is_date(1900 + year, month, day) || is_date(2000 + year, month, day)
}

/// Two digits as a number; 0 when there are fewer.
pub(crate) fn pair(digits: &[u32]) -> u32 {
    match digits {
        [tens, units, ..] => tens * 10 + units,
        _ => 0,
    }
}

/// Whether all digits are the same.
pub(crate) fn repeats_one_digit(digits: &[u32]) -> bool {
    digits.windows(2).all(|two| two[0] == two[1])
}

/// Keccak-256, as in Ethereum addresses (EIP-55); FIPS 202's permutation with the original padding.
pub(crate) fn keccak_256(message: &[u8]) -> [u8; 32] {
    const RATE_BYTES: usize = 136;
    let mut padded = message.to_vec();
    padded.push(1);
    padded.resize(padded.len().div_ceil(RATE_BYTES) * RATE_BYTES, 0);
    if let Some(last) = padded.last_mut() {
        *last |= 0x80;
    }
    let mut state = [0_u64; 25];
    for block in padded.chunks_exact(RATE_BYTES) {
        for (lane, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane ^= u64::from_le_bytes(*bytes);
        }
        keccak_permutation(&mut state);
    }
    let mut hash = [0; 32];
    for (bytes, lane) in hash.as_chunks_mut::<8>().0.iter_mut().zip(state) {
        *bytes = lane.to_le_bytes();
    }
    hash
}

/// Keccak-f[1600], 24 rounds.
fn keccak_permutation(state: &mut [u64; 25]) {
    const TURNS: [u32; 24] = [
        1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
    ];
    const PLACES: [usize; 24] = [
        10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1,
    ];
    let mut register = 1_u8;
    for _ in 0..24 {
        let mut parity = [0; 5];
        for (column, slot) in parity.iter_mut().enumerate() {
            *slot = (0..5).fold(0, |sum, row| sum ^ state[column + 5 * row]);
        }
        for (index, lane) in state.iter_mut().enumerate() {
            let column = index % 5;
            *lane ^= parity[(column + 4) % 5] ^ parity[(column + 1) % 5].rotate_left(1);
        }
        let mut moved = state[1];
        for (place, turn) in PLACES.iter().zip(TURNS) {
            (state[*place], moved) = (moved.rotate_left(turn), state[*place]);
        }
        for row in state.as_chunks_mut::<5>().0 {
            let before = *row;
            for (column, lane) in row.iter_mut().enumerate() {
                *lane ^= !before[(column + 1) % 5] & before[(column + 2) % 5];
            }
        }
        // The round constant comes from a linear feedback shift register, one bit at places 2^j − 1.
        for power in 0..7 {
            if register & 1 == 1 {
                state[0] ^= 1 << ((1_u32 << power) - 1);
            }
            register = (register << 1) ^ if register & 0x80 == 0 { 0 } else { 0x71 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luhn_takes_the_specimen_and_refuses_a_changed_digit() {
        assert!(luhn(&digits("4111 1111 1111 1111")));
        assert!(!luhn(&digits("4111 1111 1111 1112")));
        assert!(!luhn(&[]));
    }

    #[test]
    fn verhoeff_refuses_every_change_of_a_digit_and_every_swap() {
        let valid = digits("2363");
        assert!(verhoeff(&valid));
        for place in 0..valid.len() {
            for digit in 0..10 {
                let mut other = valid.clone();
                other[place] = digit;
                assert_eq!(verhoeff(&other), other == valid, "{other:?}");
            }
        }
        assert!(!verhoeff(&digits("2336")));
    }

    #[test]
    fn iso_7064_examples_hold() {
        assert!(mod97(b"370400440532013000DE89"));
        assert!(!mod97(b"370400440532013000DE88"));
        assert!(mod11_10(&digits("07945")));
        assert!(!mod11_10(&digits("07944")));
    }

    #[test]
    fn the_icao_specimen_holds() {
        assert_eq!(icao(b"L898902C3"), Some(6));
        assert_eq!(icao(b"ZE184226B<<<<<"), Some(1));
        assert_eq!(icao(b"a b"), None);
    }

    #[test]
    fn the_calendar_has_leap_years() {
        assert!(is_date(2000, 2, 29));
        assert!(!is_date(1900, 2, 29));
        assert!(!is_date(2023, 13, 1));
        assert!(!is_date(2023, 4, 31));
    }

    #[test]
    fn keccak_of_nothing_is_the_published_value() {
        let hash = keccak_256(b"");
        assert_eq!(hash[..4], [0xc5, 0xd2, 0x46, 0x01]);
        assert_eq!(hash[28..], [0x5d, 0x85, 0xa4, 0x70]);
    }
}
