//! Germany.

use crate::{
    Entity as E,
    checksum::{
        digits, icao, is_short_date, letter_value, letters_and_digits, mod11_10, pair,
        repeats_one_digit, to_ten, weighted, weighted_digit_sums,
    },
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::DeTaxId, &[r"[1-9]\d{10}", r"[1-9]\d \d{3} \d{3} \d{3}"])
        .require(|value| tax_id_digits(&digits(value)))
        .check(|value| mod11_10(&digits(value)), 10.0)
        .words(&[
            "steuer-id",
            "steueridentifikationsnummer",
            "steuerliche identifikationsnummer",
            "idnr",
            "steuer-identifikationsnummer",
            "identifikationsnummer",
            "~tax id",
        ]),
    Rule::new(
        E::DeTaxNumber,
        &[r"(?:0[1-9]|1[0-6])\d{11}", r"\d{2,3}/\d{3,4}/\d{4,5}"],
    )
    .words(&["steuernummer", "finanzamt", "steuer-nr", "st.-nr", "stnr"]),
    Rule::new(
        E::DeIdCard,
        &[r"[cfghjklmnprtvwxyz0-9]{9}", r"[cfghjklmnprtvwxyz0-9]{9}\d"],
    )
    .require(document_has_letter)
    .check(document, 10.0)
    .lowers()
    .words(ID_CARD_WORDS),
    // The form of before 2010 has no check digit.
    Rule::new(E::DeIdCard, &[r"t\d{8}"]).words(ID_CARD_WORDS),
    Rule::new(
        E::DePassport,
        &[
            r"[cfghjklmnprtvwxyz][cfghjklmnprtvwxyz0-9]{7}\d",
            r"[cfghjklmnprtvwxyz][cfghjklmnprtvwxyz0-9]{8}\d",
        ],
    )
    .require(document_has_letter)
    .check(document, 10.0)
    .lowers()
    .words(&[
        "reisepass",
        "passnummer",
        "reisepassnummer",
        "pass-nr",
        "~passport",
    ]),
    Rule::new(E::DeSocialSecurity, &[r"\d{2} ?\d{6} ?[a-z] ?\d{3}"])
        .require(|value| social_security_date(&digits(value)))
        .check(social_security, 10.0)
        .words(&[
            "rentenversicherungsnummer",
            "sozialversicherungsnummer",
            "sv-nummer",
            "rvnr",
            "versicherungsnummer",
            "rentenversicherung",
            "social security",
        ]),
    Rule::new(E::DeHealthInsurance, &[r"[a-z]\d{9}"])
        .check(health_insurance, 10.0)
        .words(&[
            "krankenversichertennummer",
            "gesundheitskarte",
            "kvnr",
            "versichertennummer",
            "krankenversicherung",
            "krankenkasse",
        ]),
    Rule::new(E::DeLanr, &[r"\d{9}"])
        .check(|value| lanr(&digits(value)), 10.0)
        .words(&[
            "lanr",
            "arztnummer",
            "lebenslange arztnummer",
            "vertragsarzt",
        ]),
    Rule::new(E::DeBsnr, &[r"\d{9}"])
        .require(|value| !repeats_one_digit(&digits(value)))
        .words(&["betriebsstätte", "betriebsstättennummer", "bsnr", "praxis"]),
    Rule::new(E::DeFuehrerschein, &[r"[a-z]{2}\d{8}[a-z0-9]"]).words(&[
        "führerschein",
        "führerscheinnummer",
        "fuehrerschein",
        "fahrerlaubnis",
        "driving licence",
    ]),
    Rule::new(E::DeHandelsregister, &[r"hr[ab] ?\d{1,6}"])
        .prior(0.3)
        .words(&[
            "amtsgericht",
            "handelsregister",
            "registergericht",
            "handelsregisternummer",
        ]),
    Rule::new(
        E::DeKfz,
        &[
            r"[a-z]{1,3}-[a-z]{1,2} ?\d{1,4}[eh]?",
            r"[a-z]{1,3} [a-z]{1,2} \d{1,4}[eh]?",
            r"(?:ä|ö|ü|[a-z]){1,3}-[a-z]{1,2} \d{1,4}[eh]?",
        ],
    )
    .prior(-3.5)
    .words(&["kennzeichen", "kfz", "nummernschild", "autokennzeichen"]),
    Rule::new(E::DePlz, &[r"\d{5}"])
        .require(|value| (1001..=99998).contains(&crate::checksum::number(&digits(value))))
        .words(&["plz", "postleitzahl", "wohnort"]),
    Rule::new(E::DeVatId, &[r"de ?\d{9}", r"de ?\d{3} ?\d{3} ?\d{3}"])
        .check(|value| mod11_10(&digits(value)), 10.0)
        .lowers()
        .prior(-1.5)
        .words(&[
            "ust-id",
            "ustid",
            "umsatzsteuer",
            "ust-idnr",
            "umsatzsteuer-identifikationsnummer",
            "rechnung",
            "vat",
            "mwst",
        ]),
];

const ID_CARD_WORDS: &[&str] = &[
    "personalausweis",
    "ausweisnummer",
    "ausweis-nr",
    "perso",
    "~id card",
];

/// Among the first ten digits exactly one occurs two or three times, and the others at most once.
fn tax_id_digits(digits: &[u32]) -> bool {
    let mut counts = [0_u8; 10];
    for digit in &digits[..10] {
        counts[*digit as usize] += 1;
    }
    let repeated: Vec<u8> = counts.into_iter().filter(|count| *count > 1).collect();
    // A tax number with ten different digits is only ever an example; examples are kept.
    repeated.iter().all(|count| *count <= 3) && repeated.len() <= 1
}

fn document_has_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Printed are nine characters; the check digit follows as the tenth, or is taken for the ninth.
///
/// Nine characters alone may therefore end in any digit, so that a failed check only lowers the score.
fn document(value: &str) -> bool {
    let value = letters_and_digits(value);
    value
        .split_last()
        .is_some_and(|(check, body)| icao(body) == letter_value(*check))
}

fn social_security_date(digits: &[u32]) -> bool {
    let day = pair(&digits[2..]);
    let day = if day > 50 { day - 50 } else { day };
    is_short_date(&digits[6..], &digits[4..], &[day / 10, day % 10])
}

fn social_security(value: &str) -> bool {
    let value = letters_and_digits(value);
    let mut all = digits_of(&value[..8]);
    let Some(letter) = letter_value(value[8]).filter(|letter| *letter >= 10) else {
        return false;
    };
    all.extend([(letter - 9) / 10, (letter - 9) % 10]);
    all.extend(digits_of(&value[9..11]));
    let sum = weighted_digit_sums(&all, &[2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]);
    letter_value(value[11]) == Some(sum % 10)
}

fn health_insurance(value: &str) -> bool {
    let value = letters_and_digits(value);
    let Some(letter) = letter_value(value[0]).filter(|letter| *letter >= 10) else {
        return false;
    };
    let mut all = vec![(letter - 9) / 10, (letter - 9) % 10];
    all.extend(digits_of(&value[1..9]));
    let sum = weighted_digit_sums(&all, &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    letter_value(value[9]) == Some(sum % 10)
}

fn lanr(digits: &[u32]) -> bool {
    to_ten(weighted(digits, &[4, 9, 4, 9, 4, 9])) == digits[6]
}

fn digits_of(bytes: &[u8]) -> Vec<u32> {
    bytes
        .iter()
        .filter_map(|byte| letter_value(*byte))
        .collect()
}
