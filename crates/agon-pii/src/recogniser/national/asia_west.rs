//! Iran, Israel, Saudi Arabia, Turkey, the United Arab Emirates.

use crate::{
    Entity as E,
    checksum::{digits, luhn, pair, repeats_one_digit, weighted},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        E::TrNationalId,
        &[r"[1-9]\d{10}", r"[1-9]\d{2} \d{3} \d{3} \d{2}"],
    )
    .check(|value| tr_national(&digits(value)), 100.0)
    .words(&[
        "tc kimlik",
        "t.c. kimlik",
        "kimlik no",
        "kimlik numaram",
        "tckn",
        "tc no",
        "t.c",
    ]),
    Rule::new(E::TrTaxNumber, &[r"\d{10}"])
        .check(|value| tr_tax(&digits(value)), 10.0)
        .words(&["vergi", "vergi kimlik", "vkn", "vergi no"]),
    Rule::new(
        E::TrLicensePlate,
        &[
            r"\d{2} [a-z]{1,3} \d{2,4}",
            r"\d{2}[a-z]{1,3}\d{2,4}",
            r"\d{2} ?[a-z]{1,3} ?\d{2,4}",
        ],
    )
    .require(|value| (1..=81).contains(&pair(&digits(value))))
    .prior(-3.5)
    .words(&["plaka", "plakalı", "plakası", "plaka no"]),
    Rule::new(E::IlId, &[r"\d{9}", r"\d{8}-\d", r"\d{8}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&[
            "תעודת זהות",
            "ת.ז",
            "ת״ז",
            "מספר זהות",
            "teudat zehut",
            "israeli id",
        ]),
    Rule::new(E::IlCompanyId, &[r"5\d{8}", r"5\d-\d{6}-\d"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["ח.פ", "ח.פ.", "ח״פ", "חברה פרטית", "מספר חברה"]),
    Rule::new(
        E::IlBankAccount,
        &[r"\d{2}-\d{3}-\d{5,9}", r"\d{2}/\d{3}/\d{5,9}"],
    )
    .words(&["חשבון בנק", "מספר חשבון", "מספר חשבון בנק"]),
    Rule::new(E::SaNationalId, &[r"[12]\d{9}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&[
            "الهوية الوطنية",
            "رقم الهوية",
            "رقم الإقامة",
            "هويتي",
            "iqama",
            "national id",
        ]),
    Rule::new(
        E::AeEmiratesId,
        &[r"784-\d{4}-\d{7}-\d", r"784\d{12}", r"784 \d{4} \d{7} \d"],
    )
    .check(|value| luhn(&digits(value)), 10.0)
    .prior(-1.5)
    .words(&["الهوية", "الهوية الإماراتية", "رقم الهوية", "emirates id"]),
    Rule::new(E::IrNationalId, &[r"\d{10}", r"\d{3}-\d{6}-\d"])
        .require(|value| !repeats_one_digit(&digits(value)))
        .check(|value| ir_national(&digits(value)), 11.0)
        .words(&["کد ملی", "کدملی", "شماره ملی"]),
];

fn tr_national(d: &[u32]) -> bool {
    let odd = d[0] + d[2] + d[4] + d[6] + d[8];
    let even = d[1] + d[3] + d[5] + d[7];
    // Ten times the even sum is added so that the difference stays positive.
    (7 * odd + 9 * even) % 10 == d[9] && d[..10].iter().sum::<u32>() % 10 == d[10]
}

fn tr_tax(digits: &[u32]) -> bool {
    let sum: u32 = (1..10_u32)
        .zip(digits)
        .map(|(place, digit)| {
            let shifted = (digit + 10 - place) % 10;
            let power = shifted * (1 << (10 - place)) % 9;
            if shifted != 0 && power == 0 { 9 } else { power }
        })
        .sum();
    (10 - sum % 10) % 10 == digits[9]
}

fn ir_national(digits: &[u32]) -> bool {
    let rest = weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits[9] == if rest < 2 { rest } else { 11 - rest }
}
