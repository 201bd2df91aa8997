//! Postal addresses, where street, number and postcode or town stand in the order of a country.

use std::ops::Range;

use super::{Reading, Recogniser, Rule};
use crate::{Entity as E, finding::Evidence, shapes::Candidate};

/// Words for streets in English, as alternatives of a regular expression.
macro_rules! english_streets {
    () => {
        "street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|way|court|ct|place|parkway|pkwy|square|sq|terrace|close|crescent|highway|hwy"
    };
}

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::Address, &[
        concat!(r"\d{1,5}[a-z]? (?:[a-z.']{1,14} ){1,4}(?:", english_streets!(), r")\.?(?:,? (?:apt|suite|unit|flat|#)\.? ?[a-z0-9-]{1,6})?,? (?:[a-z.'-]{2,16},? ){1,3}(?:[a-z]{2},? \d{5}|[a-z]{1,2}\d[a-z0-9]? \d[a-z]{2})"),
        r"\d{1,4}(?: ?bis| ?ter)?,? (?:rue|avenue|boulevard|place|allée|chemin|impasse|quai|route|cours) [^\x00-\x1f,;:.]{2,40},? \d{5} [^\x00-\x40]{3,20}",
    ])
        .require(has_capitals)
        .prior(1.2)
        .words(WORDS),
    Rule::new(E::Address, &[concat!(r"\d{1,5}[a-z]? (?:[a-z.']{1,14} ){1,3}(?:", english_streets!(), r")")])
        .require(has_capitals)
        .prior(-2.0)
        .words(WORDS)
        .needs_word(),
];

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::Address],
    words: &[],
    find,
};

const WORDS: &[&str] = &[
    "ship to",
    "live at",
    "my address",
    "deliver to",
    "home address",
    "adresse",
    "wohne",
    "habite",
    "street address",
    "mailing address",
    "direccion",
    "dirección",
    "indirizzo",
    "endereço",
    "адрес",
    "住所",
    "地址",
    "住在",
];

/// Words of Chinese addresses in their order: a town or district, a street, the house.
const TOWNS: [char; 6] = ['省', '市', '区', '區', '县', '縣'];
const STREETS: [char; 5] = ['路', '街', '道', '巷', '弄'];
/// Characters in front of the house number that may belong to the address.
const CHARS_MAX: usize = 30;

/// Streets in their first words, as in `Musterstr. 1, 10115 Berlin`, and Chinese addresses, which end in the house number.
fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    for (house, sign) in text.match_indices(['号', '號']) {
        let number = text[..house]
            .bytes()
            .rev()
            .take(6)
            .take_while(u8::is_ascii_digit)
            .count();
        let street = &text[..house - number];
        if number == 0
            || !street.ends_with(STREETS)
            || street.ends_with("鉄道")
            || street.ends_with("铁道")
        {
            continue;
        }
        let mut start = street.len();
        for character in street.chars().rev().take(CHARS_MAX) {
            let is_han = ('\u{4e00}'..='\u{9fff}').contains(&character);
            if !(is_han || character.is_ascii_digit())
                || matches!(character, '在' | '址' | '到' | '是' | '于')
            {
                break;
            }
            start -= character.len_utf8();
        }
        if street[start..].contains(TOWNS) {
            push(found, start..house + sign.len());
        }
    }
    for postcode in text.match_indices(", ").map(|(comma, _)| comma) {
        if let Some(range) = german(text, postcode) {
            push(found, range);
        }
    }
}

fn push(found: &mut Vec<Candidate>, range: Range<usize>) {
    found.push(Candidate {
        entity: E::Address,
        range,
        log_odds: 1.0,
        evidence: Evidence::by("address", 1.0),
    });
}

/// A street with its number in front of the comma, five digits and a town behind it.
fn german(text: &str, comma: usize) -> Option<Range<usize>> {
    const STREETS: &[&str] = &[
        "straße", "strasse", "str.", "weg", "platz", "allee", "gasse", "ring", "damm", "ufer",
    ];
    let behind = &text.as_bytes()[comma + 2..];
    if behind.len() < 8 || !behind[..5].iter().all(u8::is_ascii_digit) || behind[5] != b' ' {
        return None;
    }
    let town = text[comma + 8..]
        .chars()
        .take(30)
        .take_while(|character| character.is_alphabetic() || *character == '-')
        .map(char::len_utf8)
        .sum::<usize>();
    let (street, number) = text[..comma].rsplit_once(' ')?;
    let has_number = number.starts_with(|first: char| first.is_ascii_digit()) && number.len() <= 5;
    let from = street
        .char_indices()
        .rev()
        .take(CHARS_MAX)
        .take_while(|(_, character)| !matches!(character, ',' | '\n' | ':' | ' '))
        .last()?
        .0;
    let is_street = STREETS
        .iter()
        .any(|ending| street[from..].to_lowercase().ends_with(ending));
    (has_number && is_street && town >= 3).then_some(from..comma + 8 + town)
}

/// The name of the street begins with a capital.
fn has_capitals(value: &str) -> bool {
    value
        .split(' ')
        .skip(1)
        .take(4)
        .any(|word| word.starts_with(|first: char| first.is_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_german_address_has_a_street_and_a_postcode() {
        let text = "An Max, Musterstr. 1, 10115 Berlin, IBAN";
        assert_eq!(
            german(text, text.find(", 101").unwrap()).map(|range| &text[range]),
            Some("Musterstr. 1, 10115 Berlin")
        );
        let text = "Im Jahr 1, 10115 Menschen";
        assert_eq!(german(text, 9), None);
    }
}
