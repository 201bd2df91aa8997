//! Latin America and the Caribbean.

use crate::{
    Entity as E,
    checksum::{
        digits, is_short_date, letters_and_digits, luhn, m11, m11k, number, pair,
        repeats_one_digit, to_ten, weighted,
    },
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        E::BrCpf,
        &[r"\d{3}\.\d{3}\.\d{3}-\d{2}", r"\d{9}-\d{2}", r"\d{11}"],
    )
    .require(|value| !repeats_one_digit(&digits(value)))
    .check(|value| br_cpf(&digits(value)), 100.0)
    .words(&["cpf", "cadastro de pessoa"]),
    Rule::new(
        E::BrCnpj,
        &[
            r"[0-9a-z]{2}\.[0-9a-z]{3}\.[0-9a-z]{3}/[0-9a-z]{4}-\d{2}",
            r"\d{14}",
            r"[0-9a-z]{8}/[0-9a-z]{4}-\d{2}",
        ],
    )
    .check(br_cnpj, 100.0)
    .words(&["cnpj"]),
    Rule::new(E::BrRg, &[r"\d{1,2}\.\d{3}\.\d{3}-[0-9x]", r"\d{8,9}"])
        .words(&[
            "rg",
            "registro geral",
            "carteira de identidade",
            "identidade",
        ])
        .needs_word(),
    Rule::new(E::ArDni, &[r"\d{1,2}\.\d{3}\.\d{3}", r"\d{7,8}"])
        .words(&["dni", "documento nacional de identidad"])
        .needs_word(),
    Rule::new(
        E::ArCuit,
        &[r"\d{2}-\d{8}-\d", r"(?:20|23|24|27|30|33|34)\d{9}"],
    )
    .check(|value| ar_cuit(&digits(value)), 10.0)
    .words(&["cuit", "cuil", "c.u.i.t"]),
    Rule::new(E::ArCbu, &[r"\d{22}", r"\d{8} \d{14}"])
        .check(|value| ar_cbu(&digits(value)), 100.0)
        .words(&["cbu", "clave bancaria uniforme", "cvu"]),
    Rule::new(
        E::ClRut,
        &[r"\d{1,2}\.\d{3}\.\d{3}-[0-9k]", r"\d{7,8}-[0-9k]"],
    )
    .check(cl_rut, 11.0)
    .words(&["rut", "run", "rol único tributario"]),
    Rule::new(
        E::ClIdCard,
        &[r"\d{1,2}\.\d{3}\.\d{3}-[0-9k]", r"\d{7,8}-[0-9k]"],
    )
    .check(cl_rut, 11.0)
    .words(&[
        "cédula de identidad",
        "cédula",
        "carnet de identidad",
        "cédula de identidad chilena",
    ]),
    Rule::new(E::MxCurp, &[r"[a-z]{4}\d{6}[hmx][a-z]{5}[0-9a-z]\d"])
        .require(mx_curp_place)
        .check(mx_curp, 10.0)
        .prior(-1.0)
        .words(&["curp", "clave única de registro"]),
    Rule::new(
        E::MxRfc,
        &[
            r"[a-z&]{3,4}-?\d{6}-?[0-9a-z]{2}[0-9a]",
            r"(?:[a-z&]|ñ){3,4}\d{6}[0-9a-z]{2}[0-9a]",
        ],
    )
    .require(mx_rfc_date)
    .check(mx_rfc, 11.0)
    .prior(-2.0)
    .words(&["rfc", "registro federal de contribuyentes"]),
    Rule::new(E::MxClabe, &[r"\d{18}", r"\d{3} \d{3} \d{11} \d"])
        .check(|value| mx_clabe(&digits(value)), 10.0)
        .words(&["clabe", "clabe interbancaria", "cuenta clabe"]),
    Rule::new(E::CoNit, &[r"\d{7,15}-\d", r"\d{3}\.\d{3}\.\d{3}-\d"])
        .check(|value| co_nit(&digits(value)), 11.0)
        .words(&["nit", "n.i.t"]),
    Rule::new(E::PeRuc, &[r"(?:10|15|17|20)\d{9}"])
        .check(
            |value| {
                let d = digits(value);
                (11 - weighted(&d, &PE_WEIGHTS) % 11) % 10 == d[10]
            },
            11.0,
        )
        .words(&["ruc"]),
    Rule::new(E::PeDni, &[r"\d{8}-\d"])
        .check(|value| pe_dni(&digits(value)), 11.0)
        .words(PE_DNI_WORDS)
        .needs_word(),
    Rule::new(E::PeDni, &[r"\d{8}"])
        .words(PE_DNI_WORDS)
        .needs_word(),
    Rule::new(E::EcCi, &[r"\d{10}", r"\d{9}-\d"])
        .require(|value| ec_province(&digits(value)))
        .check(|value| luhn(&digits(value)), 10.0)
        .words(&["cédula", "cedula", "cédula de ciudadanía", "c.i"]),
    Rule::new(E::EcRuc, &[r"\d{13}"])
        .require(|value| ec_province(&digits(value)) || digits(value)[2] == 9)
        .check(|value| ec_ruc(&digits(value)), 10.0)
        .words(&["ruc"]),
    Rule::new(E::VeRif, &[r"[vejpg]-?\d{8}-?\d"])
        .check(ve_rif, 10.0)
        .words(&["rif", "r.i.f"]),
    Rule::new(
        E::UyRut,
        &[
            r"(?:0[1-9]|1\d|2[0-2])\d{6}001\d",
            r"(?:0[1-9]|1\d|2[0-2])-\d{6}-001-\d",
        ],
    )
    .check(
        |value| {
            let d = digits(value);
            m11k(weighted(&d, &[4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) == d[11]
        },
        11.0,
    )
    .words(&["rut"]),
    Rule::new(E::PyRuc, &[r"\d{5,8}-\d"])
        .check(|value| py_ruc(&digits(value)), 10.0)
        .words(&["ruc"]),
    Rule::new(E::DoCedula, &[r"\d{3}-\d{7}-\d", r"\d{11}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .lowers()
        .words(&["cédula", "cedula", "cédula dominicana"]),
    Rule::new(E::DoRnc, &[r"\d{9}", r"\d-\d{2}-\d{5}-\d"])
        .check(
            |value| {
                let d = digits(value);
                (10 - weighted(&d, &[7, 9, 8, 6, 5, 4, 3, 2]) % 11 + 9) % 9 + 1 == d[8]
            },
            11.0,
        )
        .words(&["rnc"]),
    Rule::new(E::GtNit, &[r"\d{5,11}-[0-9k]"])
        .check(gt_nit, 11.0)
        .words(&["nit"]),
    Rule::new(E::SvNit, &[r"\d{4}-\d{6}-\d{3}-\d", r"\d{14}"])
        .check(|value| sv_nit(&digits(value)), 11.0)
        .words(&["nit"]),
    Rule::new(E::CrCedula, &[r"0?[1-9]-\d{4}-\d{4}"])
        .words(&["cédula", "cedula", "cédula jurídica"])
        .needs_word(),
    Rule::new(E::CuNi, &[r"\d{11}"])
        .require(|value| {
            let d = digits(value);
            is_short_date(&d, &d[2..], &d[4..])
        })
        .words(&[
            "carné de identidad",
            "carnet de identidad",
            "número de identidad",
        ]),
];

const PE_DNI_WORDS: &[&str] = &["dni", "cui", "documento de identidad"];
const PE_WEIGHTS: [u32; 10] = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2];

fn br_cpf(digits: &[u32]) -> bool {
    m11(weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2])) == digits[9]
        && m11(weighted(digits, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])) == digits[10]
}

/// Letters, issued from July 2026, count as their ASCII code less 48.
fn br_cnpj(value: &str) -> bool {
    const WEIGHTS: [u32; 13] = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let values: Vec<u32> = letters_and_digits(value)
        .iter()
        .map(|byte| u32::from(byte - b'0'))
        .collect();
    m11(weighted(&values, &WEIGHTS[1..])) == values[12]
        && m11(weighted(&values, &WEIGHTS)) == values[13]
        && !repeats_one_digit(&values)
}

fn ar_cuit(digits: &[u32]) -> bool {
    let check = m11k(weighted(digits, &PE_WEIGHTS));
    digits[10] == if check == 10 { 9 } else { check }
}

fn ar_cbu(digits: &[u32]) -> bool {
    let second = [3, 9, 7, 1, 3, 9, 7, 1, 3, 9, 7, 1, 3];
    to_ten(weighted(&digits[..7], &[7, 1, 3, 9, 7, 1, 3])) == digits[7]
        && to_ten(weighted(&digits[8..21], &second)) == digits[21]
}

/// Weights 2, 3, 4 … up to `most` from the right, and again.
fn from_the_right(digits: &[u32], most: u32) -> u32 {
    digits
        .iter()
        .rev()
        .zip((2..=most).cycle())
        .map(|(digit, weight)| digit * weight)
        .sum()
}

/// A check character that is a digit or K for ten, after digits weighted from the right.
fn digit_or_k(value: &str, most: u32) -> bool {
    let value = letters_and_digits(value);
    let Some((check, body)) = value.split_last() else {
        return false;
    };
    let body: Vec<u32> = body.iter().map(|byte| u32::from(byte - b'0')).collect();
    match m11k(from_the_right(&body, most)) {
        10 => *check == b'K',
        digit => u32::from(*check) == u32::from(b'0') + digit,
    }
}

fn cl_rut(value: &str) -> bool {
    digit_or_k(value, 7)
}

fn gt_nit(value: &str) -> bool {
    digit_or_k(value, 12)
}

const MX_STATES: &[&[u8; 2]] = &[
    b"AS", b"BC", b"BS", b"CC", b"CL", b"CM", b"CS", b"CH", b"DF", b"DG", b"GT", b"GR", b"HG",
    b"JC", b"MC", b"MN", b"MS", b"NT", b"NL", b"OC", b"PL", b"QT", b"QR", b"SP", b"SL", b"SR",
    b"TC", b"TS", b"TL", b"VZ", b"YN", b"ZS", b"NE",
];

fn mx_curp_place(value: &str) -> bool {
    let bytes = letters_and_digits(value);
    let d = digits(&value[4..10]);
    is_short_date(&d, &d[2..], &d[4..]) && MX_STATES.iter().any(|state| state[..] == bytes[11..13])
}

/// A = 10 … N = 23, then Ñ, which the code never holds, then O = 25 … Z = 36.
fn mx_value(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte.saturating_sub(b'A')) + 11,
    }
}

fn mx_curp(value: &str) -> bool {
    let values: Vec<u32> = letters_and_digits(value)
        .iter()
        .map(|byte| mx_value(*byte))
        .collect();
    let sum: u32 = values[..17]
        .iter()
        .zip((2..=18).rev())
        .map(|(value, weight)| value * weight)
        .sum();
    to_ten(sum) == values[17]
}

fn mx_rfc_date(value: &str) -> bool {
    let d = digits(value);
    d.len() >= 6 && is_short_date(&d, &d[2..], &d[4..])
}

fn mx_rfc(value: &str) -> bool {
    let values: Vec<u32> = value
        .to_uppercase()
        .chars()
        .filter_map(|character| match character {
            '0'..='9' | 'A'..='N' => character.to_digit(36),
            '&' => Some(24),
            'O'..='Z' => character.to_digit(36).map(|value| value + 1),
            'Ñ' => Some(38),
            _ => None,
        })
        .collect();
    let Some((check, body)) = values.split_last() else {
        return false;
    };
    // Firms have three letters, which count as if a space stood in front.
    let pad = if body.len() == 11 { 37 * 13 } else { 0 };
    let sum: u32 = pad
        + body
            .iter()
            .rev()
            .zip(2..)
            .map(|(value, weight)| value * weight)
            .sum::<u32>();
    m11k(sum) == *check
}

fn mx_clabe(digits: &[u32]) -> bool {
    let sum: u32 = digits[..17]
        .iter()
        .zip([3, 7, 1].into_iter().cycle())
        .map(|(digit, weight)| digit * weight % 10)
        .sum();
    to_ten(sum) == digits[17]
}

fn co_nit(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    let weights = [3, 7, 13, 17, 19, 23, 29, 37, 41, 43, 47, 53, 59, 67, 71];
    let rest = body
        .iter()
        .rev()
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .sum::<u32>()
        % 11;
    *check == if rest < 2 { rest } else { 11 - rest }
}

fn pe_dni(digits: &[u32]) -> bool {
    let mut body = vec![1, 0];
    body.extend(&digits[..8]);
    (11 - weighted(&body, &PE_WEIGHTS) % 11) % 10 == digits[8]
}

fn ec_province(digits: &[u32]) -> bool {
    matches!(pair(digits), 1..=24 | 30 | 50) && digits[2] <= 6
}

fn ec_ruc(digits: &[u32]) -> bool {
    match digits[2] {
        6 => weighted(digits, &[3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
        9 => weighted(digits, &[4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11),
        _ => luhn(&digits[..10]) && number(&digits[10..]) > 0,
    }
}

fn ve_rif(value: &str) -> bool {
    let bytes = letters_and_digits(value);
    let digits: Vec<u32> = bytes[1..]
        .iter()
        .map(|byte| u32::from(byte - b'0'))
        .collect();
    let letter = match bytes[0] {
        b'V' => 4,
        b'E' => 8,
        b'J' => 12,
        b'P' => 16,
        _ => 20,
    };
    m11(letter + weighted(&digits, &[3, 2, 7, 6, 5, 4, 3, 2])) == digits[8]
}

fn py_ruc(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else {
        return false;
    };
    m11k(from_the_right(body, 12)) % 10 == *check
}

fn sv_nit(digits: &[u32]) -> bool {
    let serial = number(&digits[10..13]);
    let check = if serial <= 100 {
        weighted(digits, &[14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11 % 10
    } else {
        m11k(weighted(digits, &[2, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) % 10
    };
    check == digits[13]
}
