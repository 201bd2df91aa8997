//! Austria, Belgium, France, Ireland, Luxembourg, the Netherlands, Switzerland.

use crate::{
    Entity as E,
    checksum::{
        digits, is_date, letters_and_digits, luhn, m11k, mod97, number, number_mod, pair, to_ten,
        verhoeff, weighted, weighted_digit_sums,
    },
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        E::AtSvnr,
        &[
            r"[1-9]\d{9}",
            r"[1-9]\d{3} \d{6}",
            r"[1-9]\d{3}-\d{6}",
            r"[1-9]\d{3} \d{2} \d{2} \d{2}",
        ],
    )
    .require(|value| {
        let d = digits(value);
        let month = pair(&d[6..]);
        pair(&d[4..]) <= 31 && (1..=15).contains(&month)
    })
    .check(|value| at_svnr(&digits(value)), 11.0)
    .words(&[
        "svnr",
        "sozialversicherungsnummer",
        "sv-nummer",
        "e-card",
        "versicherungsnummer",
    ]),
    Rule::new(
        E::AtTaxId,
        &[r"\d{2}-\d{3}/\d{4}", r"\d{2} \d{3}/\d{4}", r"\d{9}"],
    )
    .check(|value| luhn(&digits(value)), 10.0)
    .words(&["steuernummer", "finanzamt", "abgabenkontonummer"]),
    Rule::new(E::AtVat, &[r"atu ?\d{8}"])
        .check(
            |value| {
                let d = digits(value);
                to_ten(weighted_digit_sums(&d, &[1, 2, 1, 2, 1, 2, 1]) + 4) == d[7]
            },
            10.0,
        )
        .prior(-1.5)
        .words(&["uid", "uid-nummer", "ust-id", "umsatzsteuer", "~vat"]),
    Rule::new(E::AtIdCard, &[r"[a-z]{2}\d{7}"]).words(&[
        "personalausweis",
        "ausweisnummer",
        "~id card",
    ]),
    Rule::new(E::AtPassport, &[r"[a-z]{1,2} ?\d{7}"]).words(&[
        "reisepass",
        "passnummer",
        "~passport",
    ]),
    Rule::new(
        E::BeNationalNumber,
        &[
            r"\d{11}",
            r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}",
            r"\d{2}[ .-]\d{2}[ .-]\d{2}[ .-]\d{3}[ .-]\d{2}",
            r"\d{6}[ -]\d{3}[ -]\d{2}",
        ],
    )
    .require(|value| {
        let d = digits(value);
        pair(&d[2..]) <= 52 && pair(&d[4..]) <= 31
    })
    .check(|value| be_national(&digits(value)), 48.0)
    .words(&[
        "rijksregister",
        "rijksregisternummer",
        "registre national",
        "numéro national",
        "insz",
        "niss",
        "nationalregister",
    ]),
    Rule::new(
        E::BeVat,
        &[
            r"be ?[01]\d{9}",
            r"be ?[01]\d{3}[. ]\d{3}[. ]\d{3}",
            r"[01]\d{3}\.\d{3}\.\d{3}",
        ],
    )
    .check(
        |value| {
            let d = digits(value);
            number_mod(&d[..8], 97) + pair(&d[8..]) == 97
        },
        97.0,
    )
    .prior(-1.5)
    .words(&[
        "btw",
        "tva",
        "btw-nummer",
        "ondernemingsnummer",
        "numéro d'entreprise",
        "kbo",
        "bce",
        "~vat",
    ]),
    Rule::new(E::BePassport, &[r"[a-z]{2}\d{6}"]).words(&[
        "passeport",
        "paspoort",
        "paspoortnummer",
        "~passport",
    ]),
    Rule::new(
        E::ChAhv,
        &[
            r"756\.\d{4}\.\d{4}\.\d{2}",
            r"756\d{10}",
            r"756 \d{4} \d{4} \d{2}",
        ],
    )
    .check(
        |value| {
            let d = digits(value);
            to_ten(weighted(&d[..12], &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3])) == d[12]
        },
        10.0,
    )
    .prior(-2.0)
    .words(&[
        "ahv",
        "avs",
        "ahv-nummer",
        "sozialversicherungsnummer",
        "numéro avs",
        "navs",
        "numero avs",
    ]),
    Rule::new(
        E::ChUid,
        &[r"che-?\d{3}[. ]?\d{3}[. ]?\d{3}(?: (?:mwst|tva|iva))?"],
    )
    .check(
        |value| {
            let d = digits(value);
            m11k(weighted(&d, &[5, 4, 3, 2, 7, 6, 5, 4])) == d[8]
        },
        11.0,
    )
    .prior(-1.5)
    .words(&[
        "uid",
        "uid-nummer",
        "mwst",
        "ide",
        "unternehmens-identifikationsnummer",
        "numéro ide",
    ]),
    Rule::new(
        E::FrNir,
        &[
            r"[12]\d{14}",
            r"[12]\d{4}2[ab]\d{8}",
            r"[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[ab]) ?\d{3} ?\d{3} ?\d{2}",
        ],
    )
    .check(fr_nir, 97.0)
    .words(&[
        "sécurité sociale",
        "securite sociale",
        "carte vitale",
        "nir",
        "numéro de sécu",
        "n° de sécu",
        "n° ss",
        "numéro d'assuré",
        "numéro ss",
    ]),
    Rule::new(
        E::FrTaxId,
        &[r"[0-3]\d{12}", r"[0-3]\d \d{2} \d{3} \d{3} \d{3}"],
    )
    .check(
        |value| {
            let d = digits(value);
            number(&d[..10]) % 511 == number(&d[10..])
        },
        511.0,
    )
    .words(&[
        "numéro fiscal",
        "numero fiscal",
        "spi",
        "référence de l'avis",
        "impôts",
        "identifiant fiscal",
    ]),
    Rule::new(E::FrSiren, &[r"\d{9}", r"\d{3} \d{3} \d{3}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["siren", "rcs"]),
    Rule::new(
        E::FrSiret,
        &[r"\d{14}", r"\d{3} \d{3} \d{3} \d{5}", r"\d{9} \d{5}"],
    )
    .check(
        |value| {
            let d = digits(value);
            luhn(&d) && luhn(&d[..9])
        },
        100.0,
    )
    .words(&["siret"]),
    Rule::new(
        E::FrVat,
        &[r"fr ?[0-9a-z]{2} ?\d{9}", r"fr ?\d{2} ?\d{3} ?\d{3} ?\d{3}"],
    )
    .check(fr_vat, 97.0)
    .prior(-1.5)
    .words(&["tva", "tva intracommunautaire", "n° tva", "~vat"]),
    Rule::new(E::FrCni, &[r"\d{12}", r"[a-z0-9]{9}"])
        .require(|value| value.bytes().filter(u8::is_ascii_digit).count() >= 3)
        .words(&[
            "cni",
            "carte nationale",
            "carte d'identité",
            "carte nationale d'identité",
            "pièce d'identité",
        ])
        .needs_word(),
    Rule::new(
        E::FrPassport,
        &[r"\d{2}[a-z]{2}\d{5}", r"\d{2} ?[a-z]{2} ?\d{5}"],
    )
    .words(&["passeport", "numéro de passeport", "~passport"]),
    Rule::new(E::FrDriverLicense, &[r"\d{12}", r"\d{2}[a-z]{2}\d{5}"])
        .words(&["permis", "permis de conduire", "numéro de permis"])
        .needs_word(),
    Rule::new(E::IePps, &[r"\d{7}[a-w][a-ihw]?"])
        .check(ie_pps, 23.0)
        .words(&[
            "pps",
            "ppsn",
            "pps number",
            "personal public service",
            "uimh. psp",
            "upsp",
        ]),
    Rule::new(E::IePassport, &[r"[a-z]{2}\d{7}", r"c\d{8}"]).words(&[
        "~passport",
        "passport card",
        "pas éireannach",
    ]),
    Rule::new(
        E::LuNationalId,
        &[
            r"(?:18|19|20)\d{11}",
            r"(?:18|19|20)\d{6} \d{3} \d{2}",
            r"(?:18|19|20)\d{6} \d{5}",
        ],
    )
    .require(|value| {
        let d = digits(value);
        is_date(pair(&d) * 100 + pair(&d[2..]), pair(&d[4..]), pair(&d[6..]))
    })
    .check(lu_national, 100.0)
    .words(&[
        "matricule",
        "numéro national",
        "matricule national",
        "sozialversicherungsnummer",
        "matrikel",
    ]),
    Rule::new(E::LuVat, &[r"lu ?\d{8}"])
        .check(
            |value| {
                let d = digits(value);
                number_mod(&d[..6], 89) == pair(&d[6..])
            },
            89.0,
        )
        .prior(-1.5)
        .words(&["tva", "~vat", "mwst"]),
    Rule::new(
        E::NlBsn,
        &[
            r"\d{8,9}",
            r"\d{4}\.\d{2}\.\d{3}",
            r"\d{3}[ .-]\d{3}[ .-]\d{3}",
            r"\d{4} \d{2} \d{3}",
        ],
    )
    .check(|value| nl_bsn(&digits(value)), 11.0)
    .words(&[
        "bsn",
        "burgerservicenummer",
        "sofinummer",
        "bsn-nummer",
        "sofi-nummer",
    ]),
    Rule::new(
        E::NlVat,
        &[
            r"nl ?\d{9} ?b ?\d{2}",
            r"nl ?\d{4}\.\d{2}\.\d{3}\.?b\.?\d{2}",
        ],
    )
    .require(|value| !value.ends_with("00"))
    .check(nl_vat, 9.8)
    .prior(-1.0)
    .words(&["btw", "btw-id", "btw-nummer", "omzetbelasting", "~vat"]),
    Rule::new(E::NlPassport, &[r"[a-z]{2}[a-z0-9]{6}\d"])
        .require(|value| value.bytes().filter(u8::is_ascii_digit).count() >= 3)
        .words(&[
            "paspoort",
            "paspoortnummer",
            "identiteitskaart",
            "~passport",
        ]),
    Rule::new(E::NlDriverLicense, &[r"\d{10}"])
        .words(&["rijbewijs", "rijbewijsnummer"])
        .needs_word(),
];

fn at_svnr(digits: &[u32]) -> bool {
    weighted(digits, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 == digits[3]
}

/// Births from 2000 count with 2 in front of the nine digits.
fn be_national(digits: &[u32]) -> bool {
    let check = u64::from(pair(&digits[9..]));
    let body = number(&digits[..9]);
    [body, body + 2_000_000_000]
        .iter()
        .any(|body| 97 - body % 97 == check)
}

/// Corsica's 2A and 2B count as 19 and 18.
fn fr_nir(value: &str) -> bool {
    let value = String::from_utf8_lossy(&letters_and_digits(value))
        .replace("2A", "19")
        .replace("2B", "18");
    let digits = digits(&value);
    // Department 20 and months above 12 were given out too, so only the key decides.
    digits.len() == 15 && 97 - number(&digits[..13]) % 97 == number(&digits[13..])
}

fn fr_vat(value: &str) -> bool {
    let value = letters_and_digits(value);
    let siren = digits(&String::from_utf8_lossy(&value[4..]));
    let monaco = siren[..3] == [0, 0, 0];
    let key = digits(&String::from_utf8_lossy(&value[2..4]));
    // A key with letters is of the newer kind, whose rule takes the letters' places in an alphabet of 34.
    (monaco || luhn(&siren))
        && (key.len() < 2 || u64::from(pair(&key)) == (12 + 3 * (number(&siren) % 97)) % 97)
}

fn ie_pps(value: &str) -> bool {
    let value = letters_and_digits(value);
    let numbers: Vec<u32> = value[..7]
        .iter()
        .map(|byte| u32::from(byte - b'0'))
        .collect();
    let second = match value.get(8) {
        None | Some(b'W') => 0,
        Some(letter) => u32::from(letter - b'A') + 1,
    };
    let sum = weighted(&numbers, &[8, 7, 6, 5, 4, 3, 2]) + 9 * second;
    b"WABCDEFGHIJKLMNOPQRSTUV"[(sum % 23) as usize] == value[7]
}

fn lu_national(value: &str) -> bool {
    let digits = digits(value);
    let mut second = digits[..11].to_vec();
    second.push(digits[12]);
    luhn(&digits[..12]) && verhoeff(&second)
}

fn nl_bsn(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    let weights: &[u32] = if body.len() == 8 {
        &[9, 8, 7, 6, 5, 4, 3, 2]
    } else {
        &[8, 7, 6, 5, 4, 3, 2]
    };
    weighted(body, weights) % 11 == *check && digits.iter().any(|digit| *digit != 0)
}

/// Numbers of companies follow the citizen's number; sole traders have had a number of their own since 2020.
fn nl_vat(value: &str) -> bool {
    nl_bsn(&digits(value)[..9]) || mod97(&letters_and_digits(value))
}
