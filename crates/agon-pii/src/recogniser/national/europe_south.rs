//! Andorra, Cyprus, Greece, Italy, Malta, Portugal, Spain.

use crate::{
    Entity as E,
    checksum::{
        digits, is_short_date, letter_values, letters_and_digits, luhn, m11, number, number_mod,
        pair, to_ten, weighted,
    },
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::AdNrt, &[r"[acdefglopu]-?\d{6}-?[a-z]"])
        .require(ad_nrt)
        .prior(-2.5)
        .words(&["nrt", "número de registre tributari"]),
    Rule::new(E::CyIdCard, &[r"\d{6,10}"])
        .words(&["ταυτότητα", "αριθμός ταυτότητας", "δελτίο ταυτότητας", "~id card"])
        .needs_word(),
    Rule::new(E::CyTaxId, &[r"[013459]\d{7}[a-z]", r"cy ?[013459]\d{7}[a-z]"])
        .check(cy_tax, 26.0)
        .words(&["φπα", "αφτ", "tic", "~vat", "~tax id"]),
    Rule::new(E::GrAmka, &[r"\d{11}", r"\d{6} \d{5}"])
        .require(|value| { let d = digits(value); is_short_date(&d[4..], &d[2..], &d) })
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["αμκα", "amka", "α.μ.κ.α"]),
    Rule::new(E::GrAfm, &[r"\d{9}", r"el ?\d{9}"])
        .check(|value| { let d = digits(value); weighted(&d, &[256, 128, 64, 32, 16, 8, 4, 2]) % 11 % 10 == d[8] }, 10.0)
        .words(&["αφμ", "α.φ.μ", "afm", "φορολογικό μητρώο"]),
    Rule::new(E::GrIdCard, &[r"[a-z]{2} ?-?\d{6}", r"(?:α|β|ε|ζ|η|ι|κ|μ|ν|ο|ρ|τ|υ|χ){2} ?-?\d{6}"])
        .words(&["ταυτότητα", "ταυτότητας", "αριθμός ταυτότητας", "αδτ", "~id card"]),
    Rule::new(E::GrPassport, &[r"[a-z]{2}\d{7}"])
        .words(&["διαβατήριο", "διαβατηρίου", "~passport"]),
    Rule::new(E::ItFiscalCode, &[r"[a-z]{6}[0-9lmnpqrstuv]{2}[abcdehlmprst][0-9lmnpqrstuv]{2}[a-z][0-9lmnpqrstuv]{3}[a-z]"])
        .require(it_fiscal_date)
        .check(it_fiscal, 26.0)
        .lowers()
        .prior(-0.7)
        .words(&["codice fiscale", "cod. fisc", "c.f", "tessera sanitaria"]),
    Rule::new(E::ItVatCode, &[r"\d{11}", r"it ?\d{11}"])
        .require(|value| number(&digits(value)) > 0)
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["partita iva", "p.iva", "p. iva", "piva", "iva"]),
    Rule::new(E::ItDriverLicense, &[r"[a-z]{2}\d{7}[a-z]", r"u1[b-hj-np-tv-z0-9]{7}[a-z]", r"u1[a-z0-9]{7}[a-z]"])
        .require(|value| value.bytes().filter(u8::is_ascii_digit).count() >= 3 && !value[2..value.len() - 1].to_ascii_lowercase().contains(['a', 'e', 'i', 'o', 'q', 'u']))
        .words(&["patente", "patente di guida", "numero patente"]),
    Rule::new(E::ItIdentityCard, &[r"[a-z]{2} ?\d{7}", r"[a-z]{2} ?\d{5} ?[a-z]{2}", r"\d{7} ?[a-z]{2}"])
        .words(&["carta d'identità", "cie", "carta di identità", "carta d’identità", "documento d'identità"]),
    Rule::new(E::ItPassport, &[r"[a-z]{2} ?\d{7}"])
        .words(&["passaporto", "numero passaporto", "~passport"]),
    Rule::new(E::MtIdCard, &[r"\d{7}[abghlmpz]", r"\d{1,6}\([abghlmpz]\)"])
        .words(&["id card", "karta tal-identità", "~identity card"]),
    Rule::new(E::MtPassport, &[r"\d{7}"])
        .words(&["~passport", "passaport"])
        .needs_word(),
    Rule::new(E::MtVat, &[r"mt ?\d{8}"])
        .check(|value| weighted(&digits(value), &[3, 4, 6, 7, 8, 9, 10, 1]).is_multiple_of(37), 37.0)
        .prior(-1.5)
        .words(&["~vat"]),
    Rule::new(E::PtCitizenCard, &[r"\d{8} ?\d ?[a-z]{2}\d", r"\d{8}[ -]\d[ -]?[a-z0-9]{2}\d"])
        .check(pt_citizen, 10.0)
        .prior(-2.0)
        .words(&["cartão de cidadão", "cartao de cidadao", "cartão do cidadão", "bilhete de identidade"]),
    Rule::new(E::PtNif, &[r"[1-35689]\d{8}", r"[1-35689]\d{2} \d{3} \d{3}", r"pt ?[1-35689]\d{8}"])
        .check(|value| { let d = digits(value); m11(weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2])) == d[8] }, 11.0)
        .words(&["nif", "contribuinte", "número de identificação fiscal", "nipc"]),
    Rule::new(E::PtPassport, &[r"[a-z]{1,2}\d{6}"])
        .words(&["passaporte", "número do passaporte", "~passport"]),
    Rule::new(E::EsNif, &[r"\d{7,8}-?[a-z]", r"\d{1,2}\.\d{3}\.\d{3}-?[a-z]", r"\d{8} [a-z]"])
        .check(es_nif, 23.0)
        .words(&["dni", "nif", "documento nacional", "documento de identidad"]),
    Rule::new(E::EsNie, &[r"[xyz]-?\d{7}-?[a-z]"])
        .check(es_nif, 23.0)
        .words(&["nie", "número de identidad de extranjero", "extranjero", "extranjería"]),
    Rule::new(E::EsCif, &[r"[abcdefghjnpqrsuvw]-?\d{7}-?[0-9a-j]"])
        .check(es_cif, 10.0)
        .words(&["cif", "nif de la empresa", "sociedad"]),
    Rule::new(E::EsBankAccount, &[r"\d{20}", r"\d{4}[ -]\d{4}[ -]\d{2}[ -]\d{10}"])
        .check(|value| es_account(&digits(value)), 121.0)
        .words(&["cuenta", "cuenta bancaria", "ccc", "número de cuenta"]),
    Rule::new(E::EsPassport, &[r"[a-z]{3}\d{6}", r"[a-z]{2}\d{6}[a-z]?"])
        .require(|value| value.as_bytes()[2].is_ascii_alphabetic())
        .words(&["pasaporte", "número de pasaporte", "~passport"]),
    Rule::new(E::EsSocialSecurity, &[r"\d{12}", r"\d{2}[ /-]\d{8}[ /-]\d{2}"])
        .check(|value| { let d = digits(value); number_mod(&d[..10], 97) == pair(&d[10..]) }, 97.0)
        .words(&["seguridad social", "número de afiliación", "nuss", "naf"]),
];

/// Of numbers, F stays below 700000, A and L have a range of their own.
fn ad_nrt(value: &str) -> bool {
    let serial = number(&digits(value));
    match value.as_bytes()[0].to_ascii_uppercase() {
        b'F' => serial < 700_000,
        b'A' | b'L' => (700_000..800_000).contains(&serial),
        _ => true,
    }
}

fn cy_tax(value: &str) -> bool {
    const ODD: [u32; 10] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21];
    let all = digits(value);
    let sum: u32 = all
        .iter()
        .enumerate()
        .map(|(place, digit)| {
            if place % 2 == 0 {
                ODD[*digit as usize]
            } else {
                *digit
            }
        })
        .sum();
    letters_and_digits(value)
        .last()
        .map(|letter| u32::from(*letter))
        == Some(u32::from(b'A') + sum % 26)
}

/// The code with its letters for digits (used when two people would share a code) read back as digits.
fn it_digit(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => b"LMNPQRSTUV"
            .iter()
            .position(|letter| *letter == byte)
            .map_or(0, |place| place as u32),
    }
}

/// The day, for women plus 40, is checked loosely: specimens use day 11 and the like.
fn it_fiscal_date(value: &str) -> bool {
    let value = letters_and_digits(value);
    let day = it_digit(value[9]) * 10 + it_digit(value[10]);
    let day = if day > 40 { day - 40 } else { day };
    (1..=31).contains(&day)
}

fn it_fiscal(value: &str) -> bool {
    const ODD: [u32; 36] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3,
        6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
    ];
    let values = letter_values(value);
    let sum: u32 = values[..15]
        .iter()
        .enumerate()
        .map(|(place, value)| match (place % 2, *value) {
            (0, value) => ODD[value as usize],
            (_, digit @ 0..10) => digit,
            (_, letter) => letter - 10,
        })
        .sum();
    values[15] == 10 + sum % 26
}

fn pt_citizen(value: &str) -> bool {
    let values = letter_values(value);
    let sum: u32 = values
        .iter()
        .rev()
        .enumerate()
        .map(|(place, value)| {
            let term = if place % 2 == 1 { value * 2 } else { *value };
            if place % 2 == 1 && term > 9 {
                term - 9
            } else {
                term
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// X, Y and Z in front count as 0, 1 and 2.
fn es_nif(value: &str) -> bool {
    let value = letters_and_digits(value);
    let Some((check, body)) = value.split_last() else {
        return false;
    };
    let body = body.iter().fold(0_usize, |sum, byte| {
        sum * 10
            + usize::from(if byte.is_ascii_digit() {
                byte - b'0'
            } else {
                byte - b'X'
            })
    });
    b"TRWAGMYFPDXBNJZSQVHLCKE"[body % 23] == *check
}

fn es_cif(value: &str) -> bool {
    let value = letters_and_digits(value);
    let body: Vec<u32> = value[1..8]
        .iter()
        .map(|byte| u32::from(byte - b'0'))
        .collect();
    let sum: u32 = body
        .iter()
        .enumerate()
        .map(|(place, digit)| {
            if place % 2 == 0 {
                digit * 2 / 10 + digit * 2 % 10
            } else {
                *digit
            }
        })
        .sum();
    let check = to_ten(sum);
    value[8] == b'0' + check as u8 || value[8] == b"JABCDEFGHI"[check as usize]
}

fn es_account(digits: &[u32]) -> bool {
    const WEIGHTS: [u32; 10] = [1, 2, 4, 8, 5, 10, 9, 7, 3, 6];
    let check = |sum: u32| match 11 - sum % 11 {
        11 => 0,
        10 => 1,
        other => other,
    };
    check(weighted(&digits[..8], &WEIGHTS[2..])) == digits[8]
        && check(weighted(&digits[10..], &WEIGHTS)) == digits[9]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spanish_letters_follow_the_number() {
        assert!(es_nif("12345678Z") && es_nif("X0000000T") && !es_nif("12345678A"));
    }
}
