//! Numbers with the same form everywhere: cards, accounts, devices, vehicles, ages.

use super::Rule;
use crate::{
    Entity as E,
    checksum::{digits, letter_value, letters_and_digits, luhn, mod97, number, repeats_one_digit},
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::CreditCard, CARD_SHAPES)
        .require(card_range)
        .check(|value| luhn(&digits(value)), 10.0)
        .prior(-1.5)
        .words(&[
            "card", "credit", "credit card", "visa", "mastercard", "amex", "cvv", "expires", "tarjeta", "carte", "karte",
            "カード", "银行卡", "карта", "карты", "kreditkarte", "carta", "cartão", "信用卡", "卡号", "카드", "kort", "kortnummer", "kart", "kartı", "kartım", "thẻ",
        ]),
    // The range of air travel cards is one tenth of all numbers of fifteen digits.
    Rule::new(E::CreditCard, &[r"1\d{14}", r"1\d{3}[ -]\d{5}[ -]\d{6}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["uatp", "air travel card", "credit card", "card"]),
    Rule::new(E::EuDebitCard, CARD_SHAPES)
        .require(card_range)
        .check(|value| luhn(&digits(value)), 10.0)
        .prior(-1.0)
        .words(&["debit", "debit card", "valid thru", "debitkarte", "girocard", "carte de débit"])
        .needs_word(),
    Rule::new(E::IbanCode, &[r"[a-z]{2}\d{2}[a-z0-9]{11,30}", r"[a-z]{2}\d{2}(?:[ -][a-z0-9]{4}){2,7}(?:[ -][a-z0-9]{1,4})?"])
        .require(iban_length)
        .check(iban, 97.0)
        .prior(-0.5)
        .words(&["iban", "bank", "transfer", "account", "rekening", "konto", "compte", "cuenta", "conto", "الآيبان", "счет", "überweisen"]),
    Rule::new(E::SwiftCode, &[r"[a-z]{6}[a-z0-9]{2}", r"[a-z]{6}[a-z0-9]{5}"])
        .require(swift)
        .words(&["swift", "bic", "swift code", "swift/bic", "bic code"])
        .needs_word(),
    Rule::new(E::BankAccount, &[r"\d{6,18}", r"\d{2,6}(?:-\d{2,8}){1,3}"])
        .prior(-6.0)
        .words(&["account no", "account number", "kontonummer", "numéro de compte", "número de cuenta", "账号", "口座番号", "계좌번호", "номер счета"])
        .needs_word(),
    Rule::new(E::Imei, &[r"\d{15}", r"\d{2}[ -]\d{6}[ -]\d{6}[ -]\d", r"\d{6}[ -]\d{2}[ -]\d{6}[ -]\d"])
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["imei", "*#06#"]),
    Rule::new(E::Vin, &[r"[a-hj-npr-z0-9]{17}"])
        .require(vin_form)
        .check(vin, 11.0)
        .lowers()
        .words(&["vin", "chassis", "windscreen", "fahrgestellnummer", "vehicle identification", "châssis", "fin"]),
    Rule::new(E::Age, &[
        r"\d{1,3}[ -]?(?:years? old|years? of age|year-old|yrs? old|y/o|anni|ans|años|anos|jahre alt|jaar oud|år gammal|år|lat|let|rok|лет|години|років|yaşında|tahun|tuổi|έτη|ετών)",
        r"\d{1,3} ?(?:岁|歳|才|세|살)",
        r"\d{1,3} (?:سنة|عاما|عامًا|साल|ปี|שנים)",
    ])
        .require(|value| number(&digits(value)) <= 120)
        .prior(-3.0)
        .words(&[
            "aged", "i am", "i'm", "i’m", "my age", "age", "j'ai", "j’ai", "ich bin", "tengo", "ho", "tenho", "我今年", "今年", "私は", "мне", "mam", "ik ben", "jag är", "yaş", "عمري", "मैं",
        ])
        .needs_word(),
];

const CARD_SHAPES: &[&str] = &[
    r"\d{12,19}",
    r"\d{4}[ \n./-]\d{4}[ \n./-]\d{4}[ \n./-]\d{1,7}",
    r"\d{4}[ -]\d{6}[ -]\d{4,5}",
    r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{3}",
];

/// Issuer ranges with the lengths each gives out (ISO/IEC 7812 as published by the schemes).
fn card_range(value: &str) -> bool {
    let d = digits(value);
    let (two, three, four) = (number(&d[..2]), number(&d[..3]), number(&d[..4]));
    let len = d.len();
    if repeats_one_digit(&d) || d.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 10) {
        return false;
    }
    match d[0] {
        2 => {
            (2200..=2204).contains(&four) && (16..=19).contains(&len)
                || (2221..=2720).contains(&four) && len == 16
        }
        3 => match two {
            34 | 37 => len == 15,
            36 | 38 | 30 => (14..=19).contains(&len),
            _ => (3528..=3589).contains(&four) && (16..=19).contains(&len),
        },
        4 => matches!(len, 13 | 16 | 19),
        5 => {
            (51..=55).contains(&two) && len == 16
                || (two == 50 || two >= 56) && (12..=19).contains(&len)
        }
        // Discover, UnionPay, Maestro, RuPay, Elo and Hipercard share the sixes.
        6 => (12..=19).contains(&len) && (len >= 13 || (three != 644 && two != 60)),
        8 => matches!(two, 81 | 82) && len == 16,
        _ => false,
    }
}

const IBAN_LENGTHS: &[(usize, &str)] = &[
    (15, "NO"),
    (16, "BE"),
    (18, "DK FI FK FO GL NL SD"),
    (19, "MK SI"),
    (20, "AT BA EE KZ LT LU MN XK"),
    (21, "CH HR LI LV"),
    (22, "BG BH CR DE GB GE IE ME RS VA"),
    (23, "AE GI IL IQ OM SO TL"),
    (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
    (25, "LY PT ST"),
    (26, "IS TR"),
    (27, "BI DJ FR GR IT MC MR SM"),
    (28, "AL AZ BY CY DO GT HN HU LB NI PL SV"),
    (29, "BR EG PS QA UA"),
    (30, "JO KW MU YE"),
    (31, "MT SC"),
    (32, "LC"),
    (33, "RU"),
];

/// The length that the country of the first two letters prescribes, in capitals or in small letters, not in both.
fn iban_length(value: &str) -> bool {
    let mixed = value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().any(|byte| byte.is_ascii_uppercase());
    let bytes = letters_and_digits(value);
    !mixed
        && IBAN_LENGTHS.iter().any(|(length, countries)| {
            *length == bytes.len()
                && countries
                    .split(' ')
                    .any(|code| code.as_bytes() == &bytes[..2])
        })
}

/// MOD 97-10 after the first four characters have moved to the end (ISO 13616).
pub(super) fn iban(value: &str) -> bool {
    let mut bytes = letters_and_digits(value);
    bytes.rotate_left(4);
    mod97(&bytes)
}

/// Two letters of ISO 3166-1 stand in the fifth and sixth place, and banks print capitals.
fn swift(value: &str) -> bool {
    const COUNTRIES: &str = "AD AE AF AG AI AL AM AO AR AT AU AW AZ BA BB BD BE BF BG BH BI BJ BM BN BO BR BS BT BW BY \
        BZ CA CD CF CG CH CI CL CM CN CO CR CU CV CW CY CZ DE DJ DK DM DO DZ EC EE EG ER ES ET FI FJ FK FM FO FR GA GB \
        GD GE GG GH GI GL GM GN GQ GR GT GW GY HK HN HR HT HU ID IE IL IM IN IQ IR IS IT JE JM JO JP KE KG KH KI KM KN \
        KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MG MK ML MM MN MO MR MT MU MV MW MX MY MZ NA NC NE NG \
        NI NL NO NP NR NZ OM PA PE PF PG PH PK PL PS PT PY QA RO RS RU RW SA SB SC SD SE SG SI SK SL SM SN SO SR SS ST \
        SV SY SZ TC TD TG TH TJ TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VN VU WS XK YE ZA ZM ZW";
    !value.bytes().any(|byte| byte.is_ascii_lowercase())
        && COUNTRIES
            .split_whitespace()
            .any(|code| value[4..6] == *code)
}

fn vin_form(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    (3..=14).contains(&letters) && !repeats_one_digit(&digits(value))
}

/// ISO 3779 as required in North America (49 CFR 565.15): the ninth character checks the rest.
fn vin(value: &str) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    let bytes = letters_and_digits(value);
    let transliterated = |byte: u8| match byte {
        b'A'..=b'H' => u32::from(byte - b'A') + 1,
        b'J'..=b'R' => u32::from(byte - b'J') + 1,
        b'S'..=b'Z' => u32::from(byte - b'S') + 2,
        _ => letter_value(byte).unwrap_or(0),
    };
    let sum: u32 = bytes
        .iter()
        .zip(WEIGHTS)
        .map(|(byte, weight)| transliterated(*byte) * weight)
        .sum();
    match sum % 11 {
        10 => bytes[8] == b'X',
        rest => u32::from(bytes[8]) == u32::from(b'0') + rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_lengths() {
        for card in [
            "4222222222222",
            "2221000000000009",
            "6205500000000000004",
            "2200123456789019",
            "378282246310005",
        ] {
            assert!(card_range(card), "{card}");
        }
        for number in [
            "1748503543012",
            "1234567890123456",
            "4444444444444444",
            "9111111111111111",
        ] {
            assert!(!card_range(number), "{number}");
        }
    }

    #[test]
    fn an_iban_has_the_length_of_its_country() {
        assert!(iban_length("DE89 3704 0044 0532 0130 00") && iban("DE89 3704 0044 0532 0130 00"));
        assert!(!iban_length("DE89 3704 0044 0532 0130 0"));
        assert!(iban_length("MN12 1234 1234 5678 9123"));
    }
}
