//! Canada and the United States.

use crate::{
    Entity as E,
    checksum::{digits, letters_and_digits, luhn, number, pair, repeats_one_digit, weighted},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::UsSsn, &[r"\d{3}-\d{2}-\d{4}", r"\d{3}\.\d{2}\.\d{4}", r"\d{3} \d{2} \d{4}"])
        .require(|value| us_ssn(&digits(value)))
        .prior(0.2)
        .words(SSN_WORDS),
    Rule::new(E::UsSsn, &[r"\d{9}", r"\d{3}-\d{6}", r"\d{5}-\d{4}", r"\d{3} \d{6}", r"\d{5} \d{4}"])
        .require(|value| us_ssn(&digits(value)))
        .words(SSN_WORDS),
    Rule::new(E::UsItin, &[r"9\d{2}-\d{2}-\d{4}", r"9\d{2} \d{2} \d{4}"])
        .require(|value| itin(&digits(value)))
        .prior(-0.2)
        .words(ITIN_WORDS),
    Rule::new(E::UsItin, &[r"9\d{8}", r"9\d{2}-\d{6}", r"9\d{4}-\d{4}"])
        .require(|value| itin(&digits(value)))
        .words(ITIN_WORDS),
    Rule::new(E::UsAtin, &[r"9\d{2}-93-\d{4}", r"9\d{2}93\d{4}"])
        .words(&["atin", "adoption taxpayer", "~taxpayer"])
        .needs_word(),
    Rule::new(E::UsPassport, &[r"\d{9}", r"[a-z]\d{8}"])
        .words(&["us passport", "u.s. passport", "american passport", "~passport", "~travel document"]),
    Rule::new(E::UsDriverLicense, &[r"[a-z]\d{3,8}", r"[a-z]\d{12}", r"[a-z]{1,2}\d{5,7}", r"\d{7,12}", r"[a-z]\d{3}-\d{3}-\d{2}-\d{3}-\d", r"[a-z]{3}\*\*[a-z]{2}\d{3}[a-z]\d", r"\d{2}[a-z]{3}\d{5}", r"[a-z]\d{2}-\d{2}-\d{4}", r"[a-z]\d{4}-\d{5}-\d{5}"])
        .prior(-5.0)
        .words(&["driver's license", "driver license", "drivers license", "driver’s license", "driving license", "dl number", "dl#", "dl no", "~license number"]),
    Rule::new(E::UsBankNumber, &[r"\d{8,17}"])
        .words(&["bank account", "account number", "checking account", "savings account", "account #", "acct", "~account"]),
    Rule::new(E::AbaRoutingNumber, &[r"[0-36-8]\d{8}", r"[0-36-8]\d{3}-\d{4}-\d"])
        .check(|value| weighted(&digits(value), &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10), 10.0)
        .words(&["routing", "aba", "routing number", "rtn", "bank routing"]),
    Rule::new(E::UsNpi, &[r"[12]\d{9}", r"[12]\d{3}[ -]\d{3}[ -]\d{3}"])
        .check(|value| { let mut all = vec![8, 0, 8, 4, 0]; all.extend(digits(value)); luhn(&all) }, 10.0)
        .words(&["npi", "national provider", "provider id", "~provider"]),
    Rule::new(E::UsMbi, &[r"[1-9][ac-hj-km-np-rt-y][0-9ac-hj-km-np-rt-y]\d-?[ac-hj-km-np-rt-y][0-9ac-hj-km-np-rt-y]\d-?[ac-hj-km-np-rt-y]{2}\d{2}"])
        .prior(-0.2)
        .words(&["medicare", "mbi", "medicare beneficiary"]),
    Rule::new(E::MedicalLicense, &[r"[abcdefghjklmprstux][a-z9]\d{7}"])
        .check(|value| { let d = letters_and_digits(value); dea(&d[2..]) }, 10.0)
        .words(&["dea", "prescriber", "dea number", "medical license"]),
    Rule::new(E::UsEin, &[r"\d{2}-\d{7}"])
        .words(&["ein", "employer identification", "federal tax id", "~tax id"])
        .needs_word(),
    Rule::new(E::CaSin, &[r"[1-79]\d{8}", r"[1-79]\d{2}[ -]\d{3}[ -]\d{3}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["sin", "social insurance", "nas", "assurance sociale"]),
    Rule::new(E::CaBn, &[r"\d{9}", r"\d{9} ?r[cmpt] ?\d{4}"])
        .check(|value| luhn(&digits(value)[..9]), 10.0)
        .words(&["business number", "bn", "numéro d'entreprise", "gst number", "hst number"]),
    Rule::new(E::CaBcPhn, &[r"9\d{9}", r"9\d{3} \d{3} \d{3}"])
        .check(|value| { let d = digits(value); (11 - weighted(&d[1..], &[2, 4, 8, 5, 10, 9, 7, 3]) % 11) % 11 == d[9] }, 11.0)
        .words(&["personal health", "phn", "personal health number", "bc services card"]),
    Rule::new(E::CaHealthNumber, &[r"\d{4}[ -]\d{3}[ -]\d{3}", r"\d{10}", r"\d{4}[ -]\d{3}[ -]\d{3}[ -]?[a-z]{2}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["health card", "ohip", "carte santé", "health card number"]),
    Rule::new(E::CaBankAccount, &[r"\d{5}-\d{3} \d{7,12}", r"\d{5}-\d{3}-\d{7,12}"])
        .words(&["transit", "transit number", "institution number", "~account"]),
    Rule::new(E::CaDriverLicense, &[r"[a-z]\d{4}-\d{5}-\d{5}", r"[a-z]\d{4}-\d{6}-\d{2}", r"[a-z]\d{14}", r"[a-z]\d{12}", r"\d{6}-\d{3}"])
        .words(&["driver's licence", "driver licence", "drivers licence", "permis de conduire", "driver’s licence", "~licence"]),
    Rule::new(E::CaPassport, &[r"[a-z]{2}\d{6}", r"[a-z]\d{6}[a-z]{2}"])
        .words(&["canadian passport", "~passport", "~passeport"]),
];

const SSN_WORDS: &[&str] = &[
    "ssn",
    "social security",
    "social security number",
    "soc sec",
    "seguro social",
    "ss#",
    "ssns",
];
const ITIN_WORDS: &[&str] = &["itin", "individual taxpayer", "~taxpayer", "~tax id"];

/// Areas 000, 666 and 9xx, group 00 and serial 0000 were never issued; some numbers are known from advertisements.
fn us_ssn(digits: &[u32]) -> bool {
    let all = number(digits);
    let area = number(&digits[..3]);
    area != 0
        && area != 666
        && area < 900
        && pair(&digits[3..]) != 0
        && number(&digits[5..]) != 0
        && !repeats_one_digit(digits)
        && all != 78_051_120
        && all != 123_456_789
        && !(987_654_320..987_654_330).contains(&all)
}

fn itin(digits: &[u32]) -> bool {
    matches!(pair(&digits[3..]), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

fn dea(serial: &[u8]) -> bool {
    let d: Vec<u32> = serial.iter().map(|byte| u32::from(byte - b'0')).collect();
    (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_were_never_issued_are_refused() {
        for value in [
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "536-00-4399",
            "536-90-0000",
            "111-11-1111",
            "078-05-1120",
        ] {
            assert!(!us_ssn(&digits(value)), "{value}");
        }
        assert!(us_ssn(&digits("536-90-4399")));
    }
}
