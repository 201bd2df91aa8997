//! Egypt, Kenya, Mauritius, Morocco, Nigeria, South Africa.

use crate::{
    Entity as E,
    checksum::{digits, is_date, is_short_date, letter_values, luhn, number_mod, pair, verhoeff},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::EgNationalId, &[r"[23]\d{13}"])
        .require(|value| {
            let d = digits(value);
            is_date(
                (17 + d[0]) * 100 + pair(&d[1..]),
                pair(&d[3..]),
                pair(&d[5..]),
            ) && matches!(pair(&d[7..]), 1..=35 | 88)
        })
        .words(&[
            "الرقم القومي",
            "رقمي القومي",
            "رقم قومي",
            "بطاقة الرقم القومي",
            "national id",
        ]),
    Rule::new(E::KeKraPin, &[r"[ap]\d{9}[a-z]"])
        .prior(-2.0)
        .words(&["kra pin", "kra", "~pin"]),
    Rule::new(E::MaIce, &[r"\d{15}"])
        .check(|value| number_mod(&digits(value), 97) == 0, 97.0)
        .words(&["ice", "identifiant commun de l'entreprise"]),
    Rule::new(
        E::MuNationalId,
        &[r"[a-z]\d{12}[0-9a-g]", r"[a-z]\d{6}[0-9a-z]{6}[0-9a-g]"],
    )
    .require(|value| {
        let d = digits(&value[1..7]);
        d.len() == 6 && is_short_date(&d[4..], &d[2..], &d)
    })
    .check(mu_national, 17.0)
    .words(&[
        "mauritius national id",
        "national id",
        "nic",
        "national identity card",
    ]),
    Rule::new(E::NgNin, &[r"\d{11}"])
        .check(|value| verhoeff(&digits(value)), 10.0)
        .lowers()
        .words(&["nin", "nimc", "national identification number"]),
    Rule::new(E::NgVehicleRegistration, &[r"[a-z]{3}[- ]?\d{3} ?[a-z]{2}"])
        .prior(-1.5)
        .words(&[
            "plate",
            "number plate",
            "plate number",
            "vehicle registration",
        ]),
    Rule::new(
        E::ZaIdNumber,
        &[r"\d{10}[012]\d{2}", r"\d{6} \d{4} [012]\d{2}"],
    )
    .require(|value| {
        let d = digits(value);
        is_short_date(&d, &d[2..], &d[4..])
    })
    .check(|value| luhn(&digits(value)), 10.0)
    .words(&[
        "id number",
        "rsa",
        "south african id",
        "identity number",
        "rsa id",
    ]),
    Rule::new(E::ZaTaxId, &[r"[01239]\d{9}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["sars", "tax reference", "income tax number"]),
];

/// Letters as numbers, weights 14 … 2.
fn mu_national(value: &str) -> bool {
    let values = letter_values(value);
    let sum: u32 = values[..13]
        .iter()
        .zip((2..=14).rev())
        .map(|(value, weight)| value * weight)
        .sum();
    (17 - sum % 17) % 17 == values[13]
}
