//! China, Hong Kong, Japan, Korea, Taiwan.

use crate::{
    Entity as E,
    checksum::{
        digits, is_date, is_short_date, letter_value, letters_and_digits, m11, pair, to_ten,
        weighted, weighted_digit_sums,
    },
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::CnResidentId, &[r"[1-9]\d{16}[0-9x]"])
        .require(|value| {
            let d = digits(&value[..17]);
            is_cn_region(pair(&d))
                && is_date(
                    pair(&d[6..]) * 100 + pair(&d[8..]),
                    pair(&d[10..]),
                    pair(&d[12..]),
                )
                && matches!(pair(&d[6..]), 18..=20)
        })
        .check(cn_resident, 11.0)
        .prior(-1.0)
        .words(&["身份证", "身份證", "身份证号", "公民身份号码", "身分证"]),
    Rule::new(
        E::CnUscc,
        &[r"[0-9a-hj-npqrtuwxy]{2}\d{6}[0-9a-hj-npqrtuwxy]{10}"],
    )
    .check(cn_uscc, 31.0)
    .prior(-2.5)
    .words(&["信用代码", "统一社会信用代码", "社会信用代码"]),
    Rule::new(E::CnPassport, &[r"[eg]\d{8}", r"e[a-z]\d{7}"]).words(&[
        "护照",
        "护照号",
        "护照号码",
        "~passport",
    ]),
    Rule::new(
        E::HkHkid,
        &[r"[a-z]{1,2}\d{6}\([0-9a]\)", r"[a-z]{1,2}\d{6}[0-9a]"],
    )
    .check(hk_id, 11.0)
    .words(&[
        "身份證",
        "hkid",
        "香港身份證",
        "身份證號碼",
        "hong kong id",
        "~identity card",
    ]),
    Rule::new(E::TwNationalId, &[r"[a-z][12]\d{8}"])
        .check(tw_id, 10.0)
        .words(&["身分證", "身分證字號", "身份證字號", "國民身分證"]),
    Rule::new(E::TwResidentCert, &[r"[a-z][89a-d]\d{8}"])
        .check(tw_id, 10.0)
        .words(&["居留證", "統一證號", "居留證統一證號"]),
    Rule::new(E::TwUbn, &[r"\d{8}"])
        .check(|value| tw_ubn(&digits(value)), 4.5)
        .words(&["統一編號", "統編", "公司統編"]),
    Rule::new(E::TwPassport, &[r"\d{9}"])
        .words(&["護照", "護照號碼", "~passport"])
        .needs_word(),
    Rule::new(E::JpMyNumber, &[r"\d{12}", r"\d{4}[- ]\d{4}[- ]\d{4}"])
        .check(
            |value| {
                let d = digits(value);
                m11(weighted(&d, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) == d[11]
            },
            11.0,
        )
        .words(&["マイナンバー", "個人番号", "my number"]),
    Rule::new(E::JpCorporateNumber, &[r"[1-9]\d{12}"])
        .check(|value| jp_corporate(&digits(value)), 9.0)
        .words(&["法人番号"]),
    Rule::new(E::JpDriverLicense, &[r"\d{12}"])
        .words(&["免許", "運転免許", "運転免許証", "免許証番号"])
        .needs_word(),
    Rule::new(E::JpPassport, &[r"[a-z]{2}\d{7}"]).words(&[
        "旅券",
        "旅券番号",
        "パスポート",
        "~passport",
    ]),
    Rule::new(E::JpResidenceCard, &[r"[a-z]{2}\d{8}[a-z]{2}"])
        .prior(-2.0)
        .words(&["在留カード", "在留カード番号", "residence card"]),
    Rule::new(E::JpSocialInsurance, &[r"\d{4}-\d{6}", r"\d{10}"])
        .words(&["基礎年金", "年金番号", "基礎年金番号", "年金手帳"])
        .needs_word(),
    Rule::new(E::JpBankAccount, &[r"\d{7}"])
        .words(&["口座", "口座番号", "普通預金"])
        .needs_word(),
    Rule::new(E::JpResidentRegistration, &[r"\d{11}"])
        .words(&["住民票コード"])
        .needs_word(),
    Rule::new(E::KrRrn, &[r"\d{6}-?[1-4]\d{6}"])
        .require(|value| {
            let d = digits(value);
            is_short_date(&d, &d[2..], &d[4..])
        })
        .check(
            |value| {
                let d = digits(value);
                (11 - weighted(&d, &KR_WEIGHTS) % 11) % 10 == d[12]
            },
            10.0,
        )
        .lowers()
        .words(&["주민등록번호", "주민번호", "resident registration", "rrn"]),
    Rule::new(E::KrFrn, &[r"\d{6}-?[5-8]\d{6}"])
        .require(|value| {
            let d = digits(value);
            is_short_date(&d, &d[2..], &d[4..])
        })
        .check(
            |value| {
                let d = digits(value);
                (13 - weighted(&d, &KR_WEIGHTS) % 11) % 10 == d[12]
            },
            10.0,
        )
        .lowers()
        .words(&[
            "외국인등록번호",
            "외국인 등록번호",
            "foreign registration",
            "frn",
        ]),
    Rule::new(E::KrBrn, &[r"\d{3}-\d{2}-\d{5}", r"\d{10}"])
        .check(|value| kr_brn(&digits(value)), 10.0)
        .words(&["사업자", "사업자등록번호", "사업자번호"]),
    Rule::new(
        E::KrDriverLicense,
        &[
            r"(?:1[1-9]|2[0-68])-\d{2}-\d{6}-\d{2}",
            r"(?:1[1-9]|2[0-68]) \d{2} \d{6} \d{2}",
            r"(?:1[1-9]|2[0-68])\d{10}",
        ],
    )
    .words(&["운전면허", "운전면허번호", "면허번호", "면허"]),
    Rule::new(
        E::KrPassport,
        &[r"[msrodg]\d{3}[a-z]\d{4}", r"[msrodg]\d{8}"],
    )
    .words(&["여권", "여권번호", "~passport"]),
];

const KR_WEIGHTS: [u32; 12] = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];

/// The first two digits of GB/T 2260: the provinces.
fn is_cn_region(province: u32) -> bool {
    matches!(province, 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83 | 91)
}

fn cn_resident(value: &str) -> bool {
    let body = digits(&value[..17]);
    let sum = weighted(
        &body,
        &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2],
    );
    b"10X98765432"[(sum % 11) as usize] == value.as_bytes()[17].to_ascii_uppercase()
}

fn cn_uscc(value: &str) -> bool {
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHJKLMNPQRTUWXY";
    let values: Vec<u32> = letters_and_digits(value)
        .iter()
        .filter_map(|byte| ALPHABET.iter().position(|letter| letter == byte))
        .map(|place| place as u32)
        .collect();
    let mut weight = 1;
    let mut sum = 0;
    for value in values.iter().take(17) {
        sum += value * weight;
        weight = weight * 3 % 31;
    }
    values.len() == 18 && (31 - sum % 31) % 31 == values[17]
}

/// A missing first letter counts as 36.
fn hk_id(value: &str) -> bool {
    let mut values: Vec<u32> = letters_and_digits(value)
        .iter()
        .filter_map(|byte| letter_value(*byte))
        .collect();
    if values.len() == 8 {
        values.insert(0, 36);
    }
    weighted(&values, &[9, 8, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

fn tw_letter(byte: u8) -> Option<u32> {
    b"ABCDEFGHJKLMNPQRSTUVXYWZIO"
        .iter()
        .position(|letter| *letter == byte)
        .map(|place| place as u32 + 10)
}

/// In the older form the second character is a letter, of which the units count.
fn tw_id(value: &str) -> bool {
    let bytes = letters_and_digits(value);
    let Some(first) = tw_letter(bytes[0]) else {
        return false;
    };
    let mut rest: Vec<u32> = bytes[1..]
        .iter()
        .filter_map(|byte| {
            if byte.is_ascii_digit() {
                letter_value(*byte)
            } else {
                tw_letter(*byte)
            }
        })
        .collect();
    rest[0] %= 10;
    (first / 10 + first % 10 * 9 + weighted(&rest, &[8, 7, 6, 5, 4, 3, 2, 1, 1])).is_multiple_of(10)
}

/// Divisible by five since 2023; with a 7 in the seventh place one more is right too.
fn tw_ubn(digits: &[u32]) -> bool {
    let sum = weighted_digit_sums(digits, &[1, 2, 1, 2, 1, 2, 4, 1]);
    sum.is_multiple_of(5) || (digits[6] == 7 && (sum + 1).is_multiple_of(5))
}

fn jp_corporate(digits: &[u32]) -> bool {
    let sum: u32 = digits[1..]
        .iter()
        .rev()
        .zip([1, 2].into_iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    9 - sum % 9 == digits[0]
}

fn kr_brn(digits: &[u32]) -> bool {
    let sum = weighted(&digits[..9], &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + digits[8] * 5 / 10;
    to_ten(sum) == digits[9]
}
