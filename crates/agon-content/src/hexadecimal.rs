//! Hashes as people and lists write them: hexadecimal digits.

/// How much of a wrong text an error repeats, in characters.
const SHOWN_CHARACTERS_MAX: usize = 80;

/// `N` bytes from 2 · `N` hexadecimal digits of either case; `None` if there is anything else.
pub(crate) fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; N];
    for (byte, &[high, low]) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        // Two digits below 16 fit in a byte.
        *byte = (digit(high)? << 4 | digit(low)?) as u8;
    }
    Some(bytes)
}

/// `text` for an error message: as it is, or its beginning.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_either_case_are_read_and_nothing_else() {
        assert_eq!(parse("00fFa9"), Some([0, 255, 0xa9]));
        for wrong in [
            "", "00", "00ff", "00ffa", "00ffag", "0x00ff", "00ffé", " 0ffa9",
        ] {
            assert_eq!(parse::<3>(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn long_texts_are_shortened_between_characters() {
        assert_eq!(shortened("abc"), "abc");
        let long = "ä".repeat(81);
        assert_eq!(shortened(&long), format!("{}…", "ä".repeat(80)));
    }
}
