//! Bangladesh, India, Indonesia, Malaysia, Pakistan, the Philippines, Singapore, Sri Lanka, Thailand, Vietnam.

use crate::{
    Entity as E,
    checksum::{digits, is_short_date, letters_and_digits, luhn, pair, verhoeff, weighted},
    recogniser::Rule,
};

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::InAadhaar, &[r"[2-9]\d{11}", r"[2-9]\d{3}[ -]\d{4}[ -]\d{4}"])
        .require(|value| { let d = digits(value); !d.iter().eq(d.iter().rev()) })
        .check(|value| verhoeff(&digits(value)), 10.0)
        .words(&["aadhaar", "aadhar", "uidai", "आधार", "आधार नंबर", "ஆதார்", "ఆధార్", "আধার"]),
    Rule::new(E::InVid, &[r"[2-9]\d{15}", r"[2-9]\d{3} \d{4} \d{4} \d{4}"])
        .check(|value| verhoeff(&digits(value)), 10.0)
        .words(&["virtual id", "aadhaar virtual", "vid", "आभासी"]),
    Rule::new(E::InPan, &[r"[a-z]{3}[abcfghjklpt][a-z]\d{4}[a-z]"])
        .prior(-2.0)
        .words(&["pan", "permanent account number", "pan card", "पैन"]),
    Rule::new(E::InPan, &[r"[a-z]{5}\d{4}[a-z]", r"[a-z]\d{4}[a-z]{5}"])
        .prior(-4.5)
        .words(&["pan", "permanent account number", "pan card"]),
    Rule::new(E::InGstin, &[r"(?:0[1-9]|[12]\d|3[0-7])[a-z]{5}\d{4}[a-z][0-9a-z]z[0-9a-z]"])
        .check(in_gstin, 36.0)
        .lowers()
        .prior(-1.0)
        .words(&["gstin", "gst", "gst number"]),
    Rule::new(E::InVoter, &[r"[a-z]{3}\d{7}"])
        .check(|value| luhn(&digits(value)), 10.0)
        .lowers()
        .words(&["epic", "voter", "voter id", "election card", "मतदाता"]),
    Rule::new(E::InPassport, &[r"[a-pr-wy][1-9]\d ?\d{4}[1-9]"])
        .words(&["indian passport", "पासपोर्ट", "~passport"]),
    Rule::new(E::InVehicleRegistration, &[r"[a-z]{2}[ -]?\d{2}[ -]?[a-z]{1,3}[ -]?\d{4}"])
        .require(|value| IN_STATES.contains(&&value.to_ascii_lowercase()[..2]))
        .prior(-1.5)
        .words(IN_VEHICLE_WORDS),
    Rule::new(E::InVehicleRegistration, &[r"[a-z]{2,3}\d{4}", r"[a-z]\d{5}", r"\d{2}bh\d{4}[a-z]{1,2}"])
        .prior(-4.5)
        .words(IN_VEHICLE_WORDS),
    Rule::new(E::BdNid, &[r"\d{10}", r"\d{13}", r"\d{17}"])
        .words(&["জাতীয় পরিচয়পত্র", "এনআইডি", "nid", "national id", "জাতীয় পরিচয়পত্র"])
        .needs_word(),
    Rule::new(E::LkNic, &[r"\d{9}[vx]", r"(?:19|20)\d{10}"])
        .words(&["nic", "sri lankan nic", "national identity card"]),
    Rule::new(E::IdNik, &[r"[1-9]\d{15}"])
        .require(|value| { let d = digits(value); let day = pair(&d[6..]) % 40; (11..=96).contains(&pair(&d)) && is_short_date(&d[10..], &d[8..], &[day / 10, day % 10]) })
        .prior(-3.5)
        .words(&["nik", "ktp", "nomor induk kependudukan"]),
    Rule::new(E::IdNpwp, &[r"\d{2}\.\d{3}\.\d{3}\.\d-\d{3}\.\d{3}"])
        .check(|value| luhn(&digits(value)[..9]), 10.0)
        .prior(-2.5)
        .words(NPWP_WORDS),
    Rule::new(E::IdNpwp, &[r"\d{15}"])
        .check(|value| luhn(&digits(value)[..9]), 10.0)
        .words(NPWP_WORDS),
    Rule::new(E::MyNric, &[r"\d{6}-\d{2}-\d{4}", r"\d{12}"])
        .require(|value| { let d = digits(value); is_short_date(&d, &d[2..], &d[4..]) && matches!(pair(&d[6..]), 1..=16 | 21..=59 | 60..=68 | 71 | 72 | 74..=79 | 82..=93 | 98 | 99) })
        .words(&["kad pengenalan", "mykad", "nric", "no. ic", "no ic", "no. kp"]),
    Rule::new(E::PhTin, &[r"\d{3}-\d{3}-\d{3}-\d{3,5}", r"\d{3}-\d{3}-\d{3}", r"\d{9}", r"\d{12}"])
        .check(|value| { let d = digits(value); weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11 == d[8] }, 11.0)
        .words(&["tin", "tax identification number", "bir"]),
    Rule::new(E::PhUmid, &[r"\d{4}-\d{7}-\d", r"\d{12}"])
        .words(&["umid", "crn", "unified multi-purpose"])
        .needs_word(),
    Rule::new(E::PhSss, &[r"\d{2}-\d{7}-\d", r"\d{10}"])
        .words(&["sss", "sss number", "social security system"])
        .needs_word(),
    Rule::new(E::PkCnic, &[r"[1-7]\d{4}-\d{7}-[1-9]", r"[1-7]\d{11}[1-9]"])
        .words(&["شناختی کارڈ", "cnic", "nadra", "national identity card"]),
    Rule::new(E::SgNricFin, &[r"[stfgm]\d{7}[a-z]"])
        .check(sg_nric, 11.0)
        .lowers()
        .words(&["nric", "fin", "singapore nric", "identity card"]),
    Rule::new(E::SgUen, &[r"\d{8}[a-z]", r"(?:19|20)\d{7}[a-z]", r"[rst]\d{2}[a-z][a-z0-9]\d{4}[a-z]"])
        .check(sg_uen, 11.0)
        .words(&["uen", "unique entity number"]),
    Rule::new(E::ThTnin, &[r"[1-8]\d{12}", r"[1-8]-\d{4}-\d{5}-\d{2}-\d", r"[1-8] \d{4} \d{5} \d{2} \d"])
        .check(|value| { let d = digits(value); (11 - weighted(&d, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 10 == d[12] }, 10.0)
        .words(&["เลขประจำตัวประชาชน", "บัตรประชาชน", "เลขบัตร", "thai id"]),
    Rule::new(E::VnCitizenId, &[r"0\d{11}"])
        .words(&["căn cước", "cccd", "căn cước công dân", "cmnd", "chứng minh nhân dân"]),
    Rule::new(E::VnTaxCode, &[r"\d{10}", r"\d{10}-\d{3}"])
        .check(|value| { let d = digits(value); 10 - weighted(&d, &[31, 29, 23, 19, 17, 13, 7, 5, 3]) % 11 == d[9] }, 11.0)
        .words(&["mã số thuế", "mst"]),
];

const NPWP_WORDS: &[&str] = &["npwp", "nomor pokok wajib pajak"];

const IN_VEHICLE_WORDS: &[&str] = &[
    "rto",
    "vehicle number",
    "number plate",
    "registration number",
    "vehicle registration",
    "~plate",
    "~vehicle",
];

/// States and territories as on plates.
const IN_STATES: &[&str] = &[
    "an", "ap", "ar", "as", "br", "cg", "ch", "dd", "dl", "dn", "ga", "gj", "hp", "hr", "jh", "jk",
    "ka", "kl", "la", "ld", "mh", "ml", "mn", "mp", "mz", "nl", "od", "or", "pb", "py", "rj", "sk",
    "tn", "tr", "ts", "uk", "up", "wb",
];

/// Luhn's method in base 36.
fn in_gstin(value: &str) -> bool {
    let sum: u32 = letters_and_digits(value)
        .iter()
        .rev()
        .filter_map(|byte| char::from(*byte).to_digit(36))
        .enumerate()
        .map(|(place, value)| {
            let term = value * (1 + u32::from(place % 2 == 1));
            term / 36 + term % 36
        })
        .sum();
    sum.is_multiple_of(36)
}

fn sg_nric(value: &str) -> bool {
    let bytes = letters_and_digits(value);
    let sum = weighted(&digits(value), &[2, 7, 6, 5, 4, 3, 2]);
    let (sum, letters): (u32, &[u8; 11]) = match bytes[0] {
        b'S' => (sum, b"JZIHGFEDCBA"),
        b'T' => (sum + 4, b"JZIHGFEDCBA"),
        b'F' => (sum, b"XWUTRQPNMLK"),
        b'G' => (sum + 4, b"XWUTRQPNMLK"),
        // The letters for M are read from the other end.
        _ => return b"KLJNPQRTUWX"[(10 - (sum + 3) % 11) as usize] == bytes[8],
    };
    letters[(sum % 11) as usize] == bytes[8]
}

fn sg_uen(value: &str) -> bool {
    const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWX0123456789";
    let bytes = letters_and_digits(value);
    let Some((check, body)) = bytes.split_last() else {
        return false;
    };
    let numbers = digits(value);
    match (bytes.len(), bytes[0].is_ascii_digit()) {
        (9, _) => {
            b"XMKECAWLJDB"[(weighted(&numbers, &[10, 4, 9, 3, 8, 2, 7, 1]) % 11) as usize] == *check
        }
        (10, true) => {
            b"ZKCMDNERGWH"[(weighted(&numbers, &[10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11) as usize]
                == *check
        }
        _ => {
            let values: Vec<u32> = body
                .iter()
                .filter_map(|byte| ALPHABET.iter().position(|letter| letter == byte))
                .map(|place| place as u32)
                .collect();
            let rest = (weighted(&values, &[4, 3, 5, 3, 10, 2, 2, 5, 7]) + 6) % 11;
            values.len() == 9 && ALPHABET[rest as usize] == *check
        }
    }
}
