//! Belarus, Bulgaria, Croatia, Czechia, Hungary, Kazakhstan, Moldova, Poland, Romania, Russia, Serbia, Slovakia, Slovenia, Ukraine.

use crate::{
    Entity as E,
    checksum::{
        digits, is_date, is_short_date, letter_value, letter_values, letters_and_digits, m11k,
        mod11_10, number, number_mod, pair, weighted,
    },
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::BgEgn, &[r"\d{10}"])
        .require(|value| {
            let d = digits(value);
            let month = pair(&d[2..]) % 20;
            is_short_date(&d, &[month / 10, month % 10], &d[4..])
        })
        .check(
            |value| {
                let d = digits(value);
                weighted(&d, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10 == d[9]
            },
            10.0,
        )
        .words(&["егн", "единен граждански номер", "egn"]),
    Rule::new(E::BgPnf, &[r"\d{10}"])
        .check(
            |value| {
                let d = digits(value);
                weighted(&d, &[21, 19, 17, 13, 11, 9, 7, 3, 1]) % 10 == d[9]
            },
            10.0,
        )
        .words(&["лнч", "личен номер на чужденец"]),
    Rule::new(E::BgPassport, &[r"\d{9}"])
        .words(&["паспорт", "паспорт номер", "~passport"])
        .needs_word(),
    Rule::new(E::HrOib, &[r"\d{11}", r"hr ?\d{11}"])
        .check(|value| mod11_10(&digits(value)), 10.0)
        .words(&["oib", "osobni identifikacijski broj"]),
    Rule::new(E::HrIdCard, &[r"\d{9}"])
        .words(&["osobna iskaznica", "osobne iskaznice", "osobnu iskaznicu"])
        .needs_word(),
    Rule::new(E::HrJmbg, &[r"\d{13}"])
        .require(|value| jmbg_date(&digits(value)))
        .check(|value| jmbg(&digits(value)), 11.0)
        .words(&["jmbg", "matični broj"]),
    Rule::new(E::CzBirthNumber, &[r"\d{6}/?\d{3,4}", r"\d{6} \d{3,4}"])
        .require(|value| birth_number_date(&digits(value)))
        .check(|value| birth_number(&digits(value)), 10.0)
        .words(&["rodné číslo", "rodného čísla", "r.č", "rč", "rodne cislo"]),
    Rule::new(E::SkBirthNumber, &[r"\d{6}/?\d{3,4}", r"\d{6} \d{3,4}"])
        .require(|value| birth_number_date(&digits(value)))
        .check(|value| birth_number(&digits(value)), 10.0)
        .words(&["rodné číslo", "rodného čísla", "r.č", "rč"]),
    Rule::new(
        E::CzBankAccount,
        &[r"\d{2,10}/\d{4}", r"\d{1,6}-\d{2,10}/\d{4}"],
    )
    .require(|value| CZ_BANKS.contains(&value.rsplit('/').next().unwrap_or_default()))
    .check(cz_account, 11.0)
    .words(&["číslo účtu", "účet", "na účet", "bankovní účet", "č. ú"]),
    Rule::new(E::CzPassport, &[r"\d{8}"])
        .words(&["pas", "číslo pasu", "cestovní pas", "pasu", "~passport"])
        .needs_word(),
    Rule::new(E::SkPassport, &[r"[a-z]{1,2}\d{7}"]).words(&[
        "pas",
        "číslo pasu",
        "cestovný pas",
        "pasu",
        "~passport",
    ]),
    Rule::new(
        E::HuPersonalId,
        &[r"[1-8]\d{10}", r"[1-8]-\d{6}-\d{4}", r"[1-8] \d{6} \d{4}"],
    )
    .require(|value| {
        let d = digits(value);
        is_short_date(&d[1..], &d[3..], &d[5..])
    })
    .check(|value| hu_personal(&digits(value)), 11.0)
    .words(&["személyi azonosító", "személyi szám", "személyi számom"]),
    Rule::new(E::HuPersonalTaxId, &[r"8\d{9}"])
        .check(
            |value| {
                let d = digits(value);
                weighted(&d, &[1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 == d[9]
            },
            11.0,
        )
        .words(&["adóazonosító", "adóazonosító jel", "adóazonosítóm"]),
    Rule::new(E::HuTaxNumber, &[r"\d{8}-\d-\d{2}", r"\d{11}"])
        .check(
            |value| weighted(&digits(value), &[9, 7, 3, 1, 9, 7, 3, 1]).is_multiple_of(10),
            10.0,
        )
        .words(&["adószám", "közösségi adószám"]),
    Rule::new(
        E::HuTaj,
        &[r"\d{9}", r"\d{3} \d{3} \d{3}", r"\d{3}-\d{3}-\d{3}"],
    )
    .check(
        |value| {
            let d = digits(value);
            weighted(&d, &[3, 7, 3, 7, 3, 7, 3, 7]) % 10 == d[8]
        },
        10.0,
    )
    .words(&[
        "taj",
        "taj-szám",
        "taj szám",
        "társadalombiztosítási azonosító",
    ]),
    Rule::new(E::HuIdCard, &[r"\d{6} ?[a-z]{2}"]).words(&[
        "személyi igazolvány",
        "személyazonosító igazolvány",
        "igazolványszám",
        "igazolvány",
    ]),
    Rule::new(E::ByUnp, &[r"\d{9}", r"[abcehkmop]{2}\d{7}"])
        .check(by_unp, 10.0)
        .words(&["унп", "учетный номер плательщика", "unp"]),
    Rule::new(E::KzIin, &[r"\d{12}"])
        .require(|value| {
            let d = digits(value);
            is_short_date(&d, &d[2..], &d[4..])
        })
        .check(|value| kz_iin(&digits(value)), 10.0)
        .words(&["иин", "жсн", "бин", "iin"]),
    Rule::new(E::MdIdno, &[r"[12]\d{12}", r"0\d{12}"])
        .check(
            |value| {
                let d = digits(value);
                weighted(&d, &[7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 == d[12]
            },
            10.0,
        )
        .words(&["idno", "idnp", "cod fiscal"]),
    Rule::new(E::PlPesel, &[r"\d{11}"])
        .require(|value| {
            let d = digits(value);
            let month = pair(&d[2..]) % 20;
            is_short_date(&d, &[month / 10, month % 10], &d[4..])
        })
        .check(
            |value| weighted(&digits(value), &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10),
            10.0,
        )
        .words(&["pesel"]),
    Rule::new(E::PlIdCard, &[r"[a-z]{3} ?\d{6}"])
        .check(
            |value| {
                weighted(&letter_values(value), &[7, 3, 1, 9, 7, 3, 1, 7, 3]).is_multiple_of(10)
            },
            10.0,
        )
        .words(&[
            "dowód",
            "dowód osobisty",
            "dowodu osobistego",
            "dowodu",
            "numer dowodu",
        ]),
    Rule::new(E::PlPassport, &[r"[a-z]{2} ?\d{7}"])
        .check(
            |value| {
                weighted(&letter_values(value), &[7, 3, 9, 1, 7, 3, 1, 7, 3]).is_multiple_of(10)
            },
            10.0,
        )
        .words(&["paszport", "paszportu", "numer paszportu", "~passport"]),
    Rule::new(
        E::PlNip,
        &[
            r"\d{10}",
            r"\d{3}-\d{3}-\d{2}-\d{2}",
            r"\d{3}-\d{2}-\d{2}-\d{3}",
            r"pl ?\d{10}",
        ],
    )
    .check(
        |value| {
            let d = digits(value);
            weighted(&d, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == d[9]
        },
        11.0,
    )
    .words(&["nip", "numer identyfikacji podatkowej"]),
    Rule::new(E::PlRegon, &[r"\d{9}", r"\d{14}"])
        .check(|value| pl_regon(&digits(value)), 10.0)
        .words(&["regon"]),
    Rule::new(E::RoCnp, &[r"[1-9]\d{12}"])
        .require(|value| {
            let d = digits(value);
            is_short_date(&d[1..], &d[3..], &d[5..]) && matches!(pair(&d[7..]), 1..=52 | 70 | 80)
        })
        .check(|value| ro_cnp(&digits(value)), 11.0)
        .words(&["cnp", "cnp-ul", "cod numeric personal"]),
    Rule::new(E::RoCif, &[r"ro ?\d{2,10}", r"\d{6,10}"])
        .check(|value| ro_cif(&digits(value)), 10.0)
        .words(&["cif", "cui", "cod fiscal", "cod unic de înregistrare"])
        .needs_word(),
    Rule::new(E::RoPassport, &[r"\d{8,9}"])
        .words(&["pașaport", "paşaport", "pasaport", "~passport"])
        .needs_word(),
    Rule::new(E::RsJmbg, &[r"\d{13}"])
        .require(|value| jmbg_date(&digits(value)))
        .check(|value| jmbg(&digits(value)), 11.0)
        .words(&["јмбг", "jmbg", "матични број"]),
    Rule::new(E::RsPib, &[r"\d{9}"])
        .check(|value| mod11_10(&digits(value)), 10.0)
        .words(&["пиб", "pib", "порески идентификациони број"]),
    Rule::new(
        E::RuPassport,
        &[r"\d{2} ?\d{2} ?\d{6}", r"\d{2} \d{2} №? ?\d{6}"],
    )
    .words(&[
        "паспорт",
        "паспорта",
        "серия и номер",
        "паспортные данные",
        "серия",
    ]),
    Rule::new(E::RuPassportIntl, &[r"\d{2} ?\d{7}", r"\d{2} ?№ ?\d{7}"]).words(&[
        "загранпаспорт",
        "заграничный паспорт",
        "загранпаспорта",
    ]),
    Rule::new(E::RuInn, &[r"\d{10}", r"\d{12}"])
        .check(|value| ru_inn(&digits(value)), 11.0)
        .words(&["инн", "inn"]),
    Rule::new(
        E::RuSnils,
        &[
            r"\d{3}-\d{3}-\d{3}[ -]\d{2}",
            r"\d{11}",
            r"\d{3} \d{3} \d{3} \d{2}",
        ],
    )
    .check(
        |value| {
            let d = digits(value);
            weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100 == pair(&d[9..])
        },
        100.0,
    )
    .words(&["снилс", "snils", "страховой номер"]),
    Rule::new(E::RuOgrn, &[r"[1-9]\d{12}", r"3\d{14}"])
        .check(|value| ru_ogrn(&digits(value)), 10.0)
        .words(&["огрн", "огрнип", "ogrn"]),
    Rule::new(E::SiEmso, &[r"\d{13}"])
        .require(|value| jmbg_date(&digits(value)))
        .check(|value| jmbg(&digits(value)), 11.0)
        .words(&["emšo", "emso", "enotna matična številka"]),
    Rule::new(E::SiTaxId, &[r"[1-9]\d{7}", r"si ?[1-9]\d{7}"])
        .check(
            |value| {
                let d = digits(value);
                let c = 11 - weighted(&d, &[8, 7, 6, 5, 4, 3, 2]) % 11;
                c != 11 && c % 10 == d[7]
            },
            11.0,
        )
        .words(&["davčna", "davčna številka", "davčno"]),
    Rule::new(E::SiPassport, &[r"[a-z]{2}\d{7}"]).words(&[
        "potni list",
        "potnega lista",
        "~passport",
    ]),
    Rule::new(
        E::UaPassport,
        &[
            r"(?:а|б|в|г|е|ж|з|и|і|к|л|м|н|о|п|р|с|т|у|х|ю|я){2} ?\d{6}",
            r"\d{9}",
        ],
    )
    .words(&["паспорт", "паспорта", "паспорт громадянина"]),
    Rule::new(E::UaPassportIntl, &[r"[a-z]{2} ?\d{6}"]).words(&[
        "закордонний паспорт",
        "закордонного паспорта",
        "закордонний",
        "~passport",
    ]),
    Rule::new(E::UaRntrc, &[r"\d{10}"])
        .check(|value| ua_rntrc(&digits(value)), 10.0)
        .words(&[
            "рнокпп",
            "іпн",
            "ідентифікаційний код",
            "ідентифікаційний номер",
        ]),
    Rule::new(E::UaEdrpou, &[r"\d{8}"])
        .check(|value| ua_edrpou(&digits(value)), 10.0)
        .words(&["єдрпоу", "код єдрпоу"]),
];

/// Codes of Czech banks, as published by the Czech National Bank.
const CZ_BANKS: &[&str] = &[
    "0100", "0300", "0600", "0710", "0800", "2010", "2020", "2030", "2060", "2070", "2100", "2200",
    "2220", "2240", "2250", "2260", "2275", "2600", "2700", "3030", "3050", "3060", "3500", "4000",
    "4300", "5500", "5800", "6000", "6100", "6200", "6210", "6300", "6700", "6800", "7910", "7950",
    "7960", "7970", "7990", "8030", "8040", "8060", "8090", "8150", "8190", "8198", "8199", "8200",
    "8220", "8230", "8240", "8250", "8255", "8265", "8270", "8280", "8293", "8299", "8500",
];

/// `ddmmyyy`, the year without its thousand.
fn jmbg_date(digits: &[u32]) -> bool {
    let year = digits[4] * 100 + pair(&digits[5..]);
    let year = if year > 800 { 1000 + year } else { 2000 + year };
    is_date(year, pair(&digits[2..]), pair(digits))
}

fn jmbg(digits: &[u32]) -> bool {
    let check = m11k(weighted(digits, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]));
    check < 10 && check == digits[12]
}

/// Women have 50 added to the month, overflowing serials 20 more.
fn birth_number_date(digits: &[u32]) -> bool {
    let month = pair(&digits[2..]) % 50;
    let month = if month > 20 { month - 20 } else { month };
    is_short_date(digits, &[month / 10, month % 10], &digits[4..])
}

/// Before 1954 there were nine digits and no check digit.
fn birth_number(digits: &[u32]) -> bool {
    match digits.len() {
        9 => pair(digits) < 54,
        _ => number_mod(&digits[..9], 11) % 10 == digits[9],
    }
}

fn cz_account(value: &str) -> bool {
    let account = value.split('/').next().unwrap_or_default();
    let (prefix, number) = account.rsplit_once('-').unwrap_or(("", account));
    let divisible = |part: &str, weights: &[u32]| {
        let part = digits(part);
        weighted(&part, &weights[weights.len() - part.len()..]).is_multiple_of(11)
    };
    divisible(prefix, &[10, 5, 8, 4, 2, 1]) && divisible(number, &[6, 3, 7, 9, 10, 5, 8, 4, 2, 1])
}

/// People born from 1997 have the weights the other way round.
fn hu_personal(digits: &[u32]) -> bool {
    weighted(digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) % 11 == digits[10]
        || (matches!(digits[0], 1..=4)
            && weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 == digits[10]
            && (pair(&digits[1..]) >= 97 || digits[0] >= 3))
}

fn by_unp(value: &str) -> bool {
    let value = letters_and_digits(value);
    let mut values: Vec<u32> = value
        .iter()
        .filter_map(|byte| letter_value(*byte))
        .collect();
    if value[1].is_ascii_alphabetic() {
        values[1] = b"ABCEHKMOPT"
            .iter()
            .position(|letter| *letter == value[1])
            .map_or(0, |place| place as u32);
    }
    let check = weighted(&values, &[29, 23, 19, 17, 13, 7, 5, 3]) % 11;
    check < 10 && check == values[8]
}

fn kz_iin(digits: &[u32]) -> bool {
    let first = weighted(digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
    let second = weighted(digits, &[3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11;
    digits[11] == if first == 10 { second } else { first }
}

fn pl_regon(digits: &[u32]) -> bool {
    let nine = weighted(digits, &[8, 9, 2, 3, 4, 5, 6, 7]) % 11 % 10 == digits[8];
    match digits.len() {
        9 => nine,
        _ => {
            nine && weighted(digits, &[2, 4, 8, 5, 0, 9, 7, 3, 6, 1, 2, 4, 8]) % 11 % 10
                == digits[13]
        }
    }
}

fn ro_cnp(digits: &[u32]) -> bool {
    let check = weighted(digits, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    digits[12] == if check == 10 { 1 } else { check }
}

fn ro_cif(digits: &[u32]) -> bool {
    const WEIGHTS: [u32; 9] = [7, 5, 3, 2, 1, 7, 5, 3, 2];
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    weighted(body, &WEIGHTS[9 - body.len()..]) * 10 % 11 % 10 == *check
}

fn ru_inn(digits: &[u32]) -> bool {
    const WEIGHTS: [u32; 11] = [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8];
    match digits.len() {
        10 => weighted(digits, &WEIGHTS[2..]) % 11 % 10 == digits[9],
        _ => {
            weighted(digits, &WEIGHTS[1..]) % 11 % 10 == digits[10]
                && weighted(digits, &WEIGHTS) % 11 % 10 == digits[11]
        }
    }
}

fn ru_ogrn(digits: &[u32]) -> bool {
    let modulus = if digits.len() == 13 { 11 } else { 13 };
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    number(body) % modulus % 10 == u64::from(*check)
}

fn ua_rntrc(digits: &[u32]) -> bool {
    // The first weight is −1, which is 10 modulo 11.
    weighted(digits, &[10, 5, 7, 9, 4, 6, 10, 5, 7]) % 11 % 10 == digits[9]
}

fn ua_edrpou(digits: &[u32]) -> bool {
    let weights: [u32; 7] = if (3..=5).contains(&digits[0]) {
        [7, 1, 2, 3, 4, 5, 6]
    } else {
        [1, 2, 3, 4, 5, 6, 7]
    };
    let first = weighted(digits, &weights) % 11;
    let second = weighted(digits, &weights.map(|weight| weight + 2)) % 11 % 10;
    digits[7] == if first == 10 { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polish_documents_carry_their_check_digit_inside() {
        assert!(
            weighted(&letter_values("ABA300000"), &[7, 3, 1, 9, 7, 3, 1, 7, 3]).is_multiple_of(10)
        );
    }
}
