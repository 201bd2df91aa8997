//! The United Kingdom.

use crate::{
    Entity as E,
    checksum::{digits, letters_and_digits, number, pair, weighted},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::UkNhs, &[r"\d{10}", r"\d{3}[ -]\d{3}[ -]\d{4}"])
        .check(
            |value| weighted(&digits(value), &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
            11.0,
        )
        .words(&["nhs", "nhs number", "national health", "~health"]),
    Rule::new(
        E::UkNino,
        &[
            r"[a-ceghj-prstw-z][a-ceghj-nprstw-z] ?\d{2} ?\d{2} ?\d{2} ?[a-d]",
            r"[a-ceghj-prstw-z][a-ceghj-nprstw-z]-\d{2}-\d{2}-\d{2}-[a-d]",
        ],
    )
    .require(|value| {
        !matches!(
            &letters_and_digits(value)[..2],
            b"BG" | b"GB" | b"NK" | b"KN" | b"NT" | b"TN" | b"ZZ"
        )
    })
    .prior(0.0)
    .words(&["national insurance", "ni number", "nino", "ni no"]),
    Rule::new(
        E::UkDrivingLicence,
        &[r"[a-z][a-z9]{4}\d[0156]\d[0-3]\d{2}[a-z9]{2}[a-z0-9][a-z]{2}"],
    )
    .require(driving_licence)
    .prior(0.0)
    .words(&[
        "driving licence",
        "dvla",
        "driver number",
        "driving license",
        "licence number",
    ]),
    Rule::new(E::UkPassport, &[r"[a-z]{2}\d{7}", r"\d{9}"]).words(&[
        "~passport",
        "british passport",
        "hm passport",
    ]),
    Rule::new(
        E::UkPostcode,
        &[
            r"[a-z]{1,2}\d{1,2} ?\d[a-z]{2}",
            r"[a-z]{1,2}\d[a-z] ?\d[a-z]{2}",
        ],
    )
    .require(postcode)
    .prior(-1.5)
    .words(&["postcode", "post code", "~address"]),
    Rule::new(
        E::UkVehicleRegistration,
        &[
            r"[a-hj-pr-y][a-hj-pr-y]\d{2}[ -]?[a-hj-pr-z]{3}",
            r"[a-hj-npr-tv-y]\d{1,3} ?[a-hj-pr-y]{3}",
            r"[a-hj-pr-y]{3} ?\d{1,3}[a-hj-npr-tv-y]",
        ],
    )
    .require(plate)
    .prior(-2.5)
    .words(&[
        "plate",
        "reg",
        "registration",
        "number plate",
        "vehicle",
        "vrm",
        "reg plate",
        "licence plate",
    ]),
    Rule::new(E::GbUtr, &[r"\d{10}", r"\d{5} \d{5}"])
        .check(|value| utr(&digits(value)), 11.0)
        .words(&[
            "utr",
            "hmrc",
            "unique taxpayer reference",
            "self assessment",
        ]),
    Rule::new(
        E::GbVat,
        &[
            r"gb ?\d{9}",
            r"gb ?\d{3} ?\d{4} ?\d{2}",
            r"\d{3} \d{4} \d{2}",
            r"gb ?\d{12}",
        ],
    )
    .check(|value| vat(&digits(value)), 30.0)
    .prior(-2.0)
    .words(&["vat", "vat number", "vat reg", "vat registration"]),
    Rule::new(E::UkElectoralRoll, &[r"[a-z]{2}\d{1,4}"])
        .words(&["electoral", "electoral roll", "electoral register"])
        .needs_word(),
    Rule::new(E::UkSortCode, &[r"\d{2}-\d{2}-\d{2}", r"\d{2} \d{2} \d{2}"])
        .words(&["sort code", "sortcode", "sort-code"])
        .needs_word(),
];

/// Month and day of birth at their places, the month plus 50 for women.
fn driving_licence(value: &str) -> bool {
    let digits = digits(&value[5..]);
    let month = pair(&digits[1..]);
    let month = if month > 50 { month - 50 } else { month };
    (1..=12).contains(&month) && (1..=31).contains(&pair(&digits[3..]))
}

const POSTCODE_AREAS: &[&str] = &[
    "ab", "al", "b", "ba", "bb", "bd", "bf", "bh", "bl", "bn", "br", "bs", "bt", "ca", "cb", "cf",
    "ch", "cm", "co", "cr", "ct", "cv", "cw", "da", "dd", "de", "dg", "dh", "dl", "dn", "dt", "dy",
    "e", "ec", "eh", "en", "ex", "fk", "fy", "g", "gl", "gu", "gy", "ha", "hd", "hg", "hp", "hr",
    "hs", "hu", "hx", "ig", "im", "ip", "iv", "je", "ka", "kt", "kw", "ky", "l", "la", "ld", "le",
    "ll", "ln", "ls", "lu", "m", "me", "mk", "ml", "n", "ne", "ng", "nn", "np", "nr", "nw", "ol",
    "ox", "pa", "pe", "ph", "pl", "po", "pr", "rg", "rh", "rm", "s", "sa", "se", "sg", "sk", "sl",
    "sm", "sn", "so", "sp", "sr", "ss", "st", "sw", "sy", "ta", "td", "tf", "tn", "tq", "tr", "ts",
    "tw", "ub", "w", "wa", "wc", "wd", "wf", "wn", "wr", "ws", "wv", "yo", "ze",
];

/// The area exists and the inward letters are none of `CIKMOV`.
fn postcode(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let area: String = value
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    let inward = &value.as_bytes()[value.len() - 2..];
    POSTCODE_AREAS.contains(&area.as_str()) && !inward.iter().any(|byte| b"cikmov".contains(byte))
}

/// The age code of the plates since 2001: 02–29 for spring, 51–79 for autumn.
fn plate(value: &str) -> bool {
    let value = letters_and_digits(value);
    let current = value.len() == 7
        && value[2..4].iter().all(u8::is_ascii_digit)
        && value[4].is_ascii_alphabetic();
    if !current {
        return true;
    }
    let age = (value[2] - b'0') * 10 + value[3] - b'0';
    (2..=29).contains(&age) || (51..=79).contains(&age)
}

fn utr(digits: &[u32]) -> bool {
    let rest = weighted(&digits[1..], &[6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11;
    [2, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1][rest as usize] == digits[0]
}

/// Numbers from 100 onwards may follow the later rule, which adds 55.
fn vat(digits: &[u32]) -> bool {
    let rest = weighted(digits, &[8, 7, 6, 5, 4, 3, 2, 10, 1]) % 97;
    rest == 0 || (number(&digits[..3]) >= 100 && (rest == 42 || rest == 55))
}
