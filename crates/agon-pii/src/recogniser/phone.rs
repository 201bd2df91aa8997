//! Telephone numbers: with a country code anywhere, in national form beside a word or a language that says so.

mod region;

use std::ops::Range;

use super::{Reading, Recogniser, Rule};
use crate::{
    Entity as E,
    checksum::{digits, repeats_one_digit},
    context::Strength,
    finding::Evidence,
    normalise::{ends_word, starts_word},
    score,
    shapes::Candidate,
    work,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        E::PhMobileNumber,
        &[
            r"\+63[ -]?\(?9\d{2}\)?[ -]?\d{3}[ -]?\d{4}",
            r"09\d{9}",
            r"09\d{2}[ -]\d{3}[ -]\d{4}",
        ],
    )
    .prior(-0.5)
    .words(&[
        "mobile",
        "cellphone",
        "globe",
        "gcash",
        "numero",
        "cp number",
    ]),
    Rule::new(
        E::TrPhoneNumber,
        &[
            r"\+90[ -]?\(?5\d{2}\)?[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}",
            r"05\d{9}",
            r"05\d{2}[ -]\d{3}[ -]\d{2}[ -]\d{2}",
        ],
    )
    .prior(-0.5)
    .words(&["telefon numaram", "cep telefonu", "cep", "gsm"]),
];

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::PhoneNumber],
    words: &[(
        E::PhoneNumber,
        &[
            "phone",
            "tel",
            "telephone",
            "mobile",
            "call",
            "whatsapp",
            "cell",
            "my number",
            "mon numéro",
            "mi número",
            "meine nummer",
            "meu número",
            "il mio numero",
            "mijn nummer",
            "мой номер",
            "我的号码",
            "numara",
            "fax",
            "text me",
            "sms",
            "reach me",
            "llámame",
            "teléfono",
            "telefono",
            "móvil",
            "celular",
            "cellulare",
            "telefone",
            "telemóvel",
            "téléphone",
            "portable",
            "appelle",
            "appelez",
            "telefon",
            "telefoon",
            "handy",
            "mobil",
            "rufnummer",
            "ruf mich",
            "ring",
            "puhelin",
            "mobiel",
            "bel me",
            "手机",
            "手機",
            "电话",
            "電話",
            "携帯",
            "전화",
            "휴대폰",
            "핸드폰",
            "телефон",
            "номер телефона",
            "звоните",
            "моб",
            "هاتف",
            "هاتفي",
            "جوال",
            "موبايل",
            "تلفن",
            "موبایل",
            "شماره",
            "טלפון",
            "נייד",
            "फ़ोन",
            "फोन",
            "मोबाइल",
            "ফোন",
            "মোবাইল",
            "โทร",
            "โทรศัพท์",
            "điện thoại",
            "sđt",
            "số điện thoại",
            "τηλέφωνο",
            "κινητό",
            "τηλ",
            "hp",
            "nomor",
            "simu",
            "móvel",
            "mobilnummer",
            "tlf",
            "sími",
            "puh",
            "фон",
            "тел",
            "தொலைபேசி",
            "ఫోన్",
            "فون",
        ],
    )],
    find,
};

/// The longest number of the international plan (ITU-T E.164), and the signs between its digits.
const DIGITS_MAX: usize = 15;
const NUMBER_BYTES_MAX: usize = 32;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    let bytes = text.as_bytes();
    let mut next = 0;
    while next < bytes.len() {
        let start = next;
        next += 1;
        let opens = bytes[start].is_ascii_digit() || matches!(bytes[start], b'+' | b'(');
        if !opens || !text.is_char_boundary(start) || !starts_word(text, start) {
            continue;
        }
        let ends = group_ends(bytes, start);
        work::count(ends.len() + 1);
        let Some(last) = ends.last() else { continue };
        // Longest first: a number ends where its groups end.
        let best = ends
            .iter()
            .rev()
            .find_map(|end| judge(reading, start..*end));
        match best {
            Some(candidate) => {
                next = candidate.range.end;
                found.push(candidate);
            }
            // What follows inside the same run of digits is not a number of its own.
            None if bytes[start] == b'+' || bytes[start] == b'(' => {}
            None => {
                next = text[start..*last]
                    .find(' ')
                    .map_or(*last, |space| start + space + 1);
            }
        }
    }
}

/// Where each group of digits ends, as long as only signs of telephone numbers stand between.
fn group_ends(bytes: &[u8], start: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut n_digits = 0;
    let mut signs = 0;
    let mut open = false;
    for place in start..bytes.len().min(start + NUMBER_BYTES_MAX) {
        match bytes[place] {
            b'0'..=b'9' => {
                n_digits += 1;
                signs = 0;
                if bytes
                    .get(place + 1)
                    .is_none_or(|after| !after.is_ascii_digit())
                    && n_digits >= 7
                    && !open
                {
                    ends.push(place + 1);
                }
            }
            b'+' if place == start => {}
            b'(' if !open => open = true,
            b')' if open => open = false,
            b' ' | b'-' | b'.' | b'/' if signs < 2 && place > start => signs += 1,
            _ => break,
        }
        if n_digits > DIGITS_MAX {
            break;
        }
    }
    ends
}

fn judge(reading: &Reading<'_>, range: Range<usize>) -> Option<Candidate> {
    let text = reading.text();
    let value = &text[range.clone()];
    let bytes = text.as_bytes();
    let more = |sign: Option<&u8>, digit: Option<&u8>| {
        matches!(sign, Some(b'-' | b'.' | b'/' | b':' | b',' | b'_'))
            && digit.is_some_and(u8::is_ascii_digit)
    };
    let back = |steps: usize| {
        range
            .start
            .checked_sub(steps)
            .and_then(|place| bytes.get(place))
    };
    if !ends_word(text, range.end)
        || more(bytes.get(range.end), bytes.get(range.end + 1))
        || more(back(1), back(2))
    {
        return None;
    }
    // Dots and slashes between all digits are dates, versions and fractions unless the groups are long.
    let number = digits(value);
    if number.len() > DIGITS_MAX
        || repeats_one_digit(&number)
        || value.len() == number.len() && number.windows(2).all(|two| two[1] == (two[0] + 1) % 10)
        || value.matches('(').count() != value.matches(')').count()
    {
        return None;
    }
    let nearby = reading.surroundings.around(range.start, range.end);
    let word = nearby.word(E::PhoneNumber);
    let (pattern, prior) = form(value, &number, reading.language)?;
    let mut around = 0.0;
    let before = text[..range.start].trim_end_matches(' ');
    let after = text[range.end..].trim_start_matches(' ');
    if before.ends_with(['*', '=', '^', '<', '>', '$', '€', '£', '×', '÷', '/']) && word.is_none()
        || before.ends_with('+')
        || after.starts_with(['*', '=', '^', '+', '%', '×', '÷', '/'])
        || bytes.get(range.end) == Some(&b'_')
        || matches!(back(1), Some(b'-' | b'_' | b'#'))
    {
        around += score::ARITHMETIC;
    }
    if nearby.is_reference() {
        around += score::REFERENCE;
    }
    let by_word = word.map_or(0.0, |(strength, _)| match strength {
        Strength::Label => 5.5,
        Strength::Beside | Strength::SharedBeside => 5.0,
        Strength::Near | Strength::SharedNear => 2.5,
    });
    Some(Candidate {
        entity: E::PhoneNumber,
        range,
        log_odds: prior + around + by_word,
        evidence: Evidence {
            around,
            ..Evidence::by(pattern, prior).announced(word)
        },
    })
}

/// How a number is written, and the log-odds of that; `None` if it is no telephone number.
fn form(value: &str, number: &[u32], language: Option<&str>) -> Option<(&'static str, f64)> {
    let national: String = number
        .iter()
        .filter_map(|digit| char::from_digit(*digit, 10))
        .collect();
    let international = value
        .trim_start_matches('(')
        .strip_prefix('+')
        .map(|_| national.as_str())
        .or_else(|| national.strip_prefix("00"));
    if let Some(number) = international {
        let plus = value.contains('+');
        return region::is_international(number)
            .then_some((
                "phone international",
                if plus {
                    2.5
                } else if value.len() > number.len() + 2 {
                    0.2
                } else {
                    -1.5
                },
            ))
            .filter(|_| plus || number.len() >= 9)
            // A second group with zeros in front makes it a table.
            .filter(|_| {
                plus || !value
                    .split([' ', '-', '.'])
                    .skip(1)
                    .any(|group| group.starts_with("00"))
            });
    }
    if value.contains('+') {
        return None;
    }
    if is_north_american(value, &national) {
        return Some(("phone north american", 0.6));
    }
    let groups: Vec<usize> = value
        .split(|sign: char| !sign.is_ascii_digit())
        .map(str::len)
        .filter(|len| *len > 0)
        .collect();
    // Two groups with a full stop between are a decimal number.
    if groups.len() == 2 && value.contains('.') {
        return None;
    }
    // Two groups that both read as years are a span of years.
    let years = value.split(['-', '/', ' ']).all(|group| {
        group.len() == 4 && matches!(&group[..2], "15" | "16" | "17" | "18" | "19" | "20")
    });
    if years || groups.len() == 2 && value.contains('/') && groups.iter().all(|len| *len < 5) {
        return None;
    }
    let has_signs = groups.len() > 1;
    // Groups of one digit are enumerations; a number of eight groups is a table.
    if groups.len() > 6
        || groups.iter().filter(|len| **len == 1).count() > 2
        || value.contains('/') && groups.len() > 2
    {
        return None;
    }
    let in_language = language.is_some_and(|language| region::is_national(&national, language));
    let anywhere = region::is_national_somewhere(&national);
    let trunk = national.starts_with('0');
    let prior = match (in_language, anywhere, has_signs) {
        (true, _, true) if trunk => 0.2,
        (true, _, true) => -2.5,
        (true, _, false) => -3.5,
        (false, true, true) if trunk => -1.5,
        (false, true, true) => -3.5,
        (false, true, false) => -4.5,
        (false, false, _) => -5.5,
    };
    Some(("phone national", prior))
}

/// `(NXX) NXX-XXXX` and `NXX-NXX-XXXX`, with or without 1 in front (North American Numbering Plan).
fn is_north_american(value: &str, national: &str) -> bool {
    let ten = match national.len() {
        10 => national,
        11 => match national.strip_prefix('1') {
            Some(ten) => ten,
            None => return false,
        },
        // A code of another country in front is written without a plus, too.
        12 if value.starts_with(|first: char| first.is_ascii_digit())
            && value.as_bytes()[2] == b'-' =>
        {
            &national[2..]
        }
        _ => return false,
    };
    let bytes = ten.as_bytes();
    let codes =
        bytes[0] >= b'2' && bytes[3] >= b'2' && bytes[1..3] != *b"11" && bytes[4..6] != *b"11";
    let mut groups = value
        .split(|sign: char| !sign.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .rev();
    let shape =
        [groups.next(), groups.next(), groups.next()].map(|group| group.map_or(0, str::len));
    let plain_signs =
        !value.contains('/') && (value.contains('-') || value.contains('(') || value.contains('.'));
    codes && shape == [4, 3, 3] && plain_signs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn american_forms_have_an_area_and_an_exchange() {
        for value in [
            "(415) 555-0198",
            "415-555-0198",
            "415.555.0198",
            "1-415-555-0198",
        ] {
            assert!(
                is_north_american(
                    value,
                    &value.replace(|sign: char| !sign.is_ascii_digit(), "")
                ),
                "{value}"
            );
        }
        for value in ["115-555-0198", "415-155-0198", "4155550198", "41-5555-0198"] {
            assert!(
                !is_north_american(
                    value,
                    &value.replace(|sign: char| !sign.is_ascii_digit(), "")
                ),
                "{value}"
            );
        }
    }

    #[test]
    fn a_country_code_gives_a_length() {
        assert!(form("+49 30 23125 123", &digits("493023125123"), None).is_some());
        assert!(form("+999 123 456", &digits("999123456"), None).is_none());
        assert!(form("+1 23", &digits("123"), None).is_none());
    }
}
