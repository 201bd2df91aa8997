//! Machine-readable lines of passports, identity cards and visas (ICAO 9303).

use std::ops::Range;

use super::{Reading, Recogniser};
use crate::{
    Entity as E,
    checksum::{icao, letter_value},
    finding::Evidence,
    shapes::Candidate,
};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::Mrz],
    words: &[(E::Mrz, &["mrz"])],
    find,
};

/// Lines of 30, 36 or 44 characters; readers of pictures lose or add some of the fillers.
const LINE_BYTES: std::ops::RangeInclusive<usize> = 28..=46;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n').chain(std::iter::once("")) {
        match candidate_line(text, start, line.trim_end()) {
            Some(range) => lines.push(range),
            None => {
                judge(text, &lines, found);
                lines.clear();
            }
        }
        start += line.len();
        // A document has at most three lines.
        if lines.len() == 3 {
            judge(text, &lines, found);
            lines.clear();
        }
    }
}

/// The run of permitted characters at the end of a line (or all of it), if it is long enough and has a filler.
fn candidate_line(text: &str, start: usize, line: &str) -> Option<Range<usize>> {
    let len = line
        .bytes()
        .rev()
        .take(*LINE_BYTES.end() + 1)
        .take_while(|byte| is_permitted(*byte))
        .count();
    let range = start + line.len() - len..start + line.len();
    (LINE_BYTES.contains(&len) && text[range.clone()].contains('<')).then_some(range)
}

fn is_permitted(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'<'
}

fn judge(text: &str, lines: &[Range<usize>], found: &mut Vec<Candidate>) {
    let bytes = text.as_bytes();
    let holds = match lines {
        [first, second] => {
            let data = &bytes[second.clone()];
            matches!(bytes[first.start], b'P' | b'V' | b'I' | b'A' | b'C')
                && data.len() >= 28
                && check(&data[..9], data[9])
                && check(&data[13..19], data[19])
                && check(&data[21..27], data[27])
        }
        [first, second, _] => {
            let (number, data) = (&bytes[first.clone()], &bytes[second.clone()]);
            matches!(number[0], b'I' | b'A' | b'C')
                && number.len() > 14
                && (check(&number[5..14], number[14]) || number[14] == b'<')
                && check(&data[..6], data[6])
                && check(&data[8..14], data[14])
        }
        _ => false,
    };
    if let (true, Some(first), Some(last)) = (holds, lines.first(), lines.last()) {
        found.push(Candidate {
            entity: E::Mrz,
            range: first.start..last.end,
            log_odds: 6.0,
            evidence: Evidence::by("mrz", 6.0).checked(true),
        });
    }
}

fn check(field: &[u8], check: u8) -> bool {
    icao(field).is_some()
        && icao(field)
            == if check == b'<' {
                Some(0)
            } else {
                letter_value(check)
            }
}
