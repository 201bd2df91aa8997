//! Denmark, Estonia, Finland, Iceland, Latvia, Lithuania, Norway, Sweden.

use crate::{
    Entity as E,
    checksum::{digits, is_date, is_short_date, luhn, m11k, number, pair, weighted},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::DkCpr, &[r"\d{6}-?\d{4}", r"\d{6} \d{4}"])
        .require(|value| {
            let d = digits(value);
            is_short_date(&d[4..], &d[2..], &d)
        })
        .check(
            |value| weighted(&digits(value), &[4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
            11.0,
        )
        .lowers()
        .words(&["cpr", "cpr-nummer", "personnummer", "cpr-nr", "cpr nr"]),
    Rule::new(
        E::DkCvr,
        &[
            r"[1-9]\d{7}",
            r"[1-9]\d \d{2} \d{2} \d{2}",
            r"dk ?[1-9]\d{7}",
        ],
    )
    .check(
        |value| weighted(&digits(value), &[2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
        11.0,
    )
    .words(&["cvr", "cvr-nummer", "cvr-nr", "se-nummer", "moms"]),
    Rule::new(E::DkPassport, &[r"\d{9}"])
        .words(&["pasnummer", "pas nr", "~passport"])
        .needs_word(),
    Rule::new(E::EePersonalCode, &[r"[1-8]\d{10}"])
        .require(|value| baltic_date(&digits(value)))
        .check(|value| baltic(&digits(value)), 10.0)
        .words(&["isikukood", "isikukoodi", "ik"]),
    Rule::new(E::EeVat, &[r"ee ?\d{9}"])
        .check(
            |value| weighted(&digits(value), &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10),
            10.0,
        )
        .prior(-1.5)
        .words(&["kmkr", "käibemaks", "~vat"]),
    Rule::new(E::EePassport, &[r"[a-z]{1,2}\d{7}"]).words(&[
        "pass",
        "passi",
        "passi number",
        "~passport",
    ]),
    Rule::new(
        E::FiPersonalIdentityCode,
        &[r"\d{6}[-+a-fu-y]\d{3}[0-9a-y]"],
    )
    .require(fi_date)
    .check(fi_identity, 31.0)
    .prior(-2.0)
    .words(&[
        "hetu",
        "henkilötunnus",
        "personbeteckning",
        "sosiaaliturvatunnus",
        "henkilötunnukseni",
    ]),
    Rule::new(E::FiBusinessId, &[r"\d{7}-\d"])
        .check(
            |value| weighted(&digits(value), &[7, 9, 10, 5, 8, 4, 2, 1]).is_multiple_of(11),
            11.0,
        )
        .words(&["y-tunnus", "fo-nummer", "business id", "yritystunnus"]),
    Rule::new(E::FiPassport, &[r"[a-z]{2}\d{7}"]).words(&[
        "passi",
        "passin",
        "passin numero",
        "passinumero",
        "~passport",
    ]),
    Rule::new(E::FiEhic, &[r"80246\d{15}", r"80246 ?\d{5} ?\d{5} ?\d{5}"])
        .prior(-2.5)
        .words(&[
            "sairaanhoitokortti",
            "ehic",
            "eurooppalainen sairaanhoitokortti",
        ]),
    Rule::new(E::IsKennitala, &[r"\d{6}-?\d{3}[09]", r"\d{6} \d{3}[09]"])
        .require(|value| is_kennitala_date(&digits(value)))
        .check(
            |value| weighted(&digits(value), &[3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
            11.0,
        )
        .words(&["kennitala", "kennitalan", "kennitölu", "kt"]),
    Rule::new(E::LvPersonalCode, &[r"\d{6}-\d{5}", r"\d{11}"])
        .require(|value| {
            let d = digits(value);
            pair(&d) == 32 || is_short_date(&d[4..], &d[2..], &d)
        })
        .check(|value| lv(&digits(value)), 10.0)
        .lowers()
        .words(&["personas kods", "personas kodu", "personas koda"]),
    Rule::new(E::LvPassport, &[r"lv\d{7}"]).words(&["pase", "pases", "pases numurs", "~passport"]),
    Rule::new(E::LtPersonalCode, &[r"[1-8]\d{10}"])
        .require(|value| baltic_date(&digits(value)))
        .check(|value| baltic(&digits(value)), 10.0)
        .words(&["asmens kodas", "asmens kodo", "asmens kodą"]),
    Rule::new(E::LtPassport, &[r"\d{8}"])
        .words(&["paso", "pasas", "paso numeris", "~passport"])
        .needs_word(),
    Rule::new(
        E::NoFodselsnummer,
        &[r"\d{11}", r"\d{6} \d{5}", r"\d{6}-\d{5}"],
    )
    .require(|value| no_date(&digits(value)))
    .check(|value| no_birth_number(&digits(value)), 121.0)
    .words(&[
        "fødselsnummer",
        "personnummer",
        "d-nummer",
        "fnr",
        "fødselsnr",
    ]),
    Rule::new(
        E::NoOrgnr,
        &[
            r"[89]\d{8}",
            r"[89]\d{2} \d{3} \d{3}",
            r"no ?[89]\d{8}(?:mva)?",
        ],
    )
    .check(
        |value| weighted(&digits(value), &[3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
        11.0,
    )
    .words(&[
        "organisasjonsnummer",
        "org.nr",
        "orgnr",
        "org nr",
        "foretaksregisteret",
    ]),
    Rule::new(
        E::NoBankAccount,
        &[r"\d{4}\.\d{2}\.\d{5}", r"\d{4} \d{2} \d{5}", r"\d{11}"],
    )
    .check(
        |value| weighted(&digits(value), &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
        11.0,
    )
    .words(&["konto", "kontonummer", "kontonr", "bankkonto"]),
    Rule::new(E::NoPassport, &[r"[a-z]{3}\d{6}", r"\d{8}"])
        .words(&["pass", "passnummer", "passnr", "~passport"])
        .needs_word(),
    Rule::new(
        E::SePersonnummer,
        &[
            r"\d{6}[-+]?\d{4}",
            r"(?:18|19|20)\d{6}[-+]?\d{4}",
            r"\d{6} \d{4}",
        ],
    )
    .require(|value| se_date(&digits(value)))
    .check(|value| luhn(last_ten(&digits(value))), 10.0)
    .words(&[
        "personnummer",
        "personnr",
        "samordningsnummer",
        "pnr",
        "födelsenummer",
    ]),
    Rule::new(E::SeOrganisationsnummer, &[r"\d{6}-?\d{4}"])
        .require(|value| digits(value)[2] >= 2)
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&[
            "organisationsnummer",
            "orgnr",
            "org.nr",
            "org nr",
            "org.nummer",
        ]),
    Rule::new(E::SeTaxId, &[r"se ?\d{10}01"])
        .check(|value| luhn(&digits(value)[..10]), 10.0)
        .prior(-1.0)
        .words(&[
            "momsreg",
            "momsregistreringsnummer",
            "vat-nummer",
            "moms",
            "~vat",
        ]),
    Rule::new(E::SePassport, &[r"\d{8}", r"[a-z]{2}\d{6,7}"])
        .words(&["passnummer", "pass nr", "passnr", "pass", "~passport"])
        .needs_word(),
];

/// Personal codes of Estonia and Lithuania: the first digit is sex and century.
fn baltic_date(digits: &[u32]) -> bool {
    let century = 1800 + (digits[0] - 1) / 2 * 100;
    is_date(
        century + pair(&digits[1..]),
        pair(&digits[3..]),
        pair(&digits[5..]),
    )
}

fn baltic(digits: &[u32]) -> bool {
    let first = weighted(digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(digits, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10;
    digits[10] == if first == 10 { second } else { first }
}

/// The sign between date and serial is the century: `+` 1800s, `-` and U–Y 1900s, A–F 2000s.
fn fi_date(value: &str) -> bool {
    let digits = digits(value);
    let century = match value.as_bytes()[6].to_ascii_lowercase() {
        b'+' => 1800,
        b'-' | b'u'..=b'y' => 1900,
        _ => 2000,
    };
    is_date(
        century + pair(&digits[4..]),
        pair(&digits[2..]),
        pair(&digits),
    )
}

fn fi_identity(value: &str) -> bool {
    let bytes = value.as_bytes();
    let mut body = digits(&value[..6]);
    body.extend(digits(&value[7..10]));
    b"0123456789ABCDEFHJKLMNPRSTUVWXY"[(number(&body) % 31) as usize]
        == bytes[10].to_ascii_uppercase()
}

/// Firms have 40 added to the day.
fn is_kennitala_date(digits: &[u32]) -> bool {
    let day = pair(digits);
    let day = if day > 40 { day - 40 } else { day };
    let century = if digits[9] == 9 { 1900 } else { 2000 };
    is_date(century + pair(&digits[4..]), pair(&digits[2..]), day)
}

fn lv(digits: &[u32]) -> bool {
    (1 + weighted(digits, &[10, 5, 8, 4, 2, 1, 6, 3, 7, 9])) % 11 % 10 == digits[10]
}

/// D-numbers of people without residence have 40 added to the day.
fn no_date(digits: &[u32]) -> bool {
    let day = pair(digits) % 40;
    is_short_date(&digits[4..], &digits[2..], &[day / 10, day % 10])
}

fn no_birth_number(digits: &[u32]) -> bool {
    m11k(weighted(digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2])) == digits[9]
        && m11k(weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) == digits[10]
}

fn last_ten(digits: &[u32]) -> &[u32] {
    &digits[digits.len() - 10..]
}

/// Coordination numbers have 60 added to the day.
fn se_date(digits: &[u32]) -> bool {
    let short = last_ten(digits);
    let day = pair(&short[4..]) % 60;
    let year = if digits.len() == 12 {
        pair(digits) * 100 + pair(short)
    } else {
        1900 + pair(short)
    };
    is_date(year, pair(&short[2..]), day)
        || (digits.len() == 10 && is_date(year + 100, pair(&short[2..]), day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_a_finnish_code_is_its_century() {
        assert!(fi_date("290200A1234") && !fi_date("290200-1234"));
    }
}
