//! Australia and New Zealand.

use crate::{
    Entity as E,
    checksum::{digits, letters_and_digits, m11k, number, to_ten, weighted},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::AuTfn, &[r"\d{9}", r"\d{3}[ -]\d{3}[ -]\d{3}"])
        .check(
            |value| weighted(&digits(value), &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11),
            11.0,
        )
        .words(&["tfn", "tax file number", "tax file"]),
    Rule::new(E::AuAbn, &[r"[1-9]\d{10}", r"[1-9]\d \d{3} \d{3} \d{3}"])
        .check(|value| au_abn(&digits(value)), 89.0)
        .words(&["abn", "australian business number"]),
    Rule::new(E::AuAcn, &[r"\d{9}", r"\d{3} \d{3} \d{3}"])
        .check(
            |value| {
                let d = digits(value);
                to_ten(weighted(&d, &[8, 7, 6, 5, 4, 3, 2, 1])) == d[8]
            },
            10.0,
        )
        .words(&["acn", "australian company number"]),
    Rule::new(
        E::AuMedicare,
        &[
            r"[2-6]\d{9}",
            r"[2-6]\d{10}",
            r"[2-6]\d{3} \d{5} \d",
            r"[2-6]\d{3} \d{5} \d[ -/]\d",
        ],
    )
    .check(
        |value| {
            let d = digits(value);
            weighted(&d, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == d[8]
        },
        10.0,
    )
    .words(&["medicare", "medicare card", "medicare number"]),
    Rule::new(
        E::AuBankAccount,
        &[r"\d{3}-\d{3} \d{6,9}", r"\d{3}-\d{3}, ?\d{6,9}"],
    )
    .words(&["bsb", "bank state branch", "~account"]),
    Rule::new(
        E::AuDriverLicense,
        &[r"\d{6,10}", r"[a-z]\d{5,6}", r"\d{2}[a-z]{2}\d{2}"],
    )
    .words(&[
        "driver licence",
        "driver's licence",
        "drivers licence",
        "nsw driver licence",
        "~licence number",
    ])
    .needs_word(),
    Rule::new(E::AuPassport, &[r"[a-z]{1,2}\d{7}"]).words(&["australian passport", "~passport"]),
    Rule::new(
        E::NzIrd,
        &[r"\d{8,9}", r"\d{2,3}-\d{3}-\d{3}", r"\d{2,3} \d{3} \d{3}"],
    )
    .require(|value| (10_000_000..=150_000_000).contains(&number(&digits(value))))
    .check(|value| nz_ird(&digits(value)), 10.0)
    .words(&["ird", "ird number", "inland revenue"]),
    Rule::new(
        E::NzBankAccount,
        &[r"\d{2}-\d{4}-\d{7}-\d{2,3}", r"\d{2} \d{4} \d{7} \d{2,3}"],
    )
    .check(|value| nz_account(&digits(value)), 11.0)
    .lowers()
    .prior(-1.5)
    .words(&[
        "account",
        "bank account",
        "anz",
        "asb",
        "kiwibank",
        "westpac",
    ]),
    Rule::new(E::NzNhi, &[r"[a-hj-np-z]{3}\d{4}"])
        .check(nz_nhi, 11.0)
        .words(&["nhi", "national health index", "nhi number"]),
    Rule::new(E::NzDriverLicense, &[r"[a-z]{2}\d{6}"]).words(&[
        "new zealand driver licence",
        "driver licence",
        "driver's licence",
        "~licence",
    ]),
    Rule::new(E::NzPassport, &[r"[a-z]{2}\d{6}", r"[a-z]\d{6}"])
        .words(&["new zealand passport", "~passport"]),
    Rule::new(E::NzSwn, &[r"\d{3}-\d{3}-\d{3}", r"\d{9}"])
        .words(&["work and income", "client number", "swn", "msd"])
        .needs_word(),
];

fn au_abn(digits: &[u32]) -> bool {
    // One is taken from the first digit, which is never 0.
    let sum = weighted(digits, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    (sum - 10).is_multiple_of(89)
}

fn nz_ird(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    let mut padded = vec![0; 8 - body.len()];
    padded.extend(body);
    let first = m11k(weighted(&padded, &[3, 2, 7, 6, 5, 4, 3, 2]));
    let last = if first == 10 {
        m11k(weighted(&padded, &[7, 4, 3, 2, 5, 2, 7, 6]))
    } else {
        first
    };
    last == *check
}

/// The rule of most banks; some have their own, so that a failed check only lowers the score.
fn nz_account(digits: &[u32]) -> bool {
    let body = &digits[2..13];
    let branch_counts = number(&digits[6..13]) < 990_000;
    let weights: [u32; 11] = if branch_counts {
        [6, 3, 7, 9, 0, 10, 5, 8, 4, 2, 1]
    } else {
        [0, 0, 0, 0, 0, 10, 5, 8, 4, 2, 1]
    };
    weighted(body, &weights).is_multiple_of(11)
}

fn nz_nhi(value: &str) -> bool {
    let bytes = letters_and_digits(value);
    let values: Vec<u32> = bytes
        .iter()
        .map(|byte| match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            _ => b"ABCDEFGHJKLMNPQRSTUVWXYZ"
                .iter()
                .position(|letter| letter == byte)
                .map_or(0, |place| place as u32 + 1),
        })
        .collect();
    let rest = weighted(&values, &[7, 6, 5, 4, 3, 2]) % 11;
    rest != 0 && (11 - rest) % 10 == values[6]
}
