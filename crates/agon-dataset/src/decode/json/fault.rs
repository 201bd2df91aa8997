//! What is wrong with a record, in words.

/// An error of the parser with the place in the record, from 1, in place of the line, which would be counted from the record's start.
///
/// Python writes numbers that are none as bare words, which is by far the commonest way in which JSON is none.
pub(super) fn describe(bytes: &[u8], error: &serde_json::Error) -> String {
    let line_start = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    let place = line_start + error.column();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+');
    let at = place.saturating_sub(1).min(bytes.len());
    let n_before = bytes[..at]
        .iter()
        .rev()
        .take_while(|&byte| is_word(byte))
        .count();
    let n_behind = bytes[at..].iter().take_while(|&byte| is_word(byte)).count();
    let word = String::from_utf8_lossy(&bytes[at - n_before..at + n_behind]);
    let bare = word.trim_start_matches(['-', '+']).to_ascii_lowercase();
    if error.is_syntax() && matches!(bare.as_str(), "nan" | "inf" | "infinity") {
        return format!(
            "`{word}` at byte {} of the record: expected a number or null",
            at - n_before + 1
        );
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    format!("{text} at byte {place} of the record")
}
