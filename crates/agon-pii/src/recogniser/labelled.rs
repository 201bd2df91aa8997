//! Values that only their label makes personal: passwords, user names, numbers of students, employees, patients and bookings.

use std::ops::Range;

use super::{Reading, Recogniser};
use crate::{
    Entity as E,
    finding::Evidence,
    normalise::{ends_word, joins},
    shapes::Candidate,
    work,
};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: ENTITIES,
    words: &[
        (
            E::Password,
            &[
                "password",
                "passwort",
                "contraseña",
                "пароль",
                "密码",
                "mot de passe",
                "パスワード",
                "비밀번호",
                "senha",
                "wachtwoord",
                "passwd",
                "pw",
                "passcode",
                "api key",
                "api_key",
                "apikey",
                "secret key",
                "secret_key",
                "access token",
                "access_token",
                "auth token",
                "auth_token",
                "client secret",
                "client_secret",
                "hasło",
                "lösenord",
                "parola",
                "şifre",
                "كلمة المرور",
                "密碼",
                "pwd",
                "salasana",
                "heslo",
                "jelszó",
                "mật khẩu",
                "kata sandi",
                "סיסמה",
                "पासवर्ड",
            ],
        ),
        (
            E::Username,
            &[
                "username",
                "user name",
                "benutzername",
                "nom d'utilisateur",
                "nombre de usuario",
                "имя пользователя",
                "用户名",
                "ユーザー名",
                "gebruikersnaam",
                "login name",
                "user id",
                "userid",
            ],
        ),
        (
            E::StudentId,
            &[
                "student id",
                "student number",
                "student no",
                "matrikelnummer",
                "numéro d'étudiant",
                "学号",
                "学籍番号",
                "студенческий билет",
                "número de estudiante",
                "matriculation number",
            ],
        ),
        (
            E::EmployeeId,
            &[
                "employee number",
                "employee id",
                "employee no",
                "staff id",
                "personalnummer",
                "staff number",
                "工号",
                "社員番号",
                "número de empleado",
                "matricule salarié",
                "табельный номер",
            ],
        ),
        (
            E::BookingReference,
            &[
                "booking reference",
                "pnr",
                "confirmation code",
                "booking code",
                "record locator",
                "reservation code",
                "booking ref",
                "buchungscode",
                "buchungsnummer",
                "numéro de réservation",
                "localizador",
                "预订号",
                "予約番号",
            ],
        ),
        (
            E::MedicalRecordNumber,
            &[
                "mrn",
                "medical record number",
                "medical record",
                "patient id",
                "patient number",
                "patientennummer",
                "病历号",
                "診察券番号",
                "historia clínica",
            ],
        ),
        (
            E::HealthPlanNumber,
            &[
                "beneficiary number",
                "health plan beneficiary",
                "member id",
                "policy number",
                "insurance number",
                "health plan number",
                "beneficiary",
            ],
        ),
    ],
    find,
};

const ENTITIES: &[E] = &[
    E::Password,
    E::Username,
    E::StudentId,
    E::EmployeeId,
    E::BookingReference,
    E::MedicalRecordNumber,
    E::HealthPlanNumber,
];

/// Labels of keys, which are longer and less like words than passwords.
const KEY_LABELS: &[&str] = &[
    "api key",
    "api_key",
    "apikey",
    "secret key",
    "secret_key",
    "access token",
    "access_token",
    "auth token",
    "auth_token",
    "client secret",
    "client_secret",
];

const VALUE_BYTES_MAX: usize = 64;

/// What may stand between a label and its value without being either.
const FILLERS: &[&str] = &[
    "is",
    "number",
    "no",
    "nr",
    "id",
    "code",
    "ist",
    "est",
    "es",
    "é",
    "是",
    "は",
    "mrn",
    "pnr",
    "was",
    "lautet",
    "reference",
    "num",
    "beneficiary",
    "n°",
];

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    for (label_end, entity, word) in reading.surroundings.announcements(ENTITIES) {
        let Some((range, assigned)) = value(text, label_end) else {
            continue;
        };
        let value = &text[range.clone()];
        let Some(prior) = weight(entity, word, value, assigned) else {
            continue;
        };
        found.push(Candidate {
            entity,
            range,
            log_odds: prior,
            evidence: Evidence::by("label", prior).announced(Some((crate::Strength::Label, word))),
        });
    }
}

/// The word behind a label, after fillers and signs, and whether a sign or filler assigns it.
fn value(text: &str, label_end: usize) -> Option<(Range<usize>, bool)> {
    let mut place = label_end;
    let mut assigned = false;
    for _ in 0..4 {
        let signs = text[place..]
            .char_indices()
            .take(6)
            .take_while(|(_, sign)| {
                matches!(
                    sign,
                    ' ' | ':' | '=' | '"' | '\'' | '`' | '#' | '*' | '>' | '(' | '-' | '.' | '\t'
                )
            })
            .map(|(_, sign)| sign);
        let (mut len, mut dotted) = (0, false);
        for sign in signs {
            len += sign.len_utf8();
            assigned |= matches!(sign, ':' | '=');
            dotted |= sign == '.';
        }
        place += len;
        // A full stop in between ends the sentence.
        if dotted && !assigned && len > 1 && !text[..place].trim_end().ends_with("no.") {
            return None;
        }
        let filler = FILLERS.iter().find(|filler| {
            text[place..]
                .get(..filler.len())
                .is_some_and(|word| word.eq_ignore_ascii_case(filler))
                && (ends_word(text, place + filler.len()) || !filler.is_ascii())
        });
        match filler {
            Some(filler) => {
                place += filler.len();
                assigned |= matches!(
                    *filler,
                    "is" | "ist" | "est" | "es" | "é" | "是" | "は" | "lautet" | "was"
                );
            }
            None => break,
        }
    }
    let end = text[place..]
        .char_indices()
        .take_while(|(at, character)| {
            *at < VALUE_BYTES_MAX
                && !character.is_whitespace()
                && !matches!(
                    character,
                    '"' | '\''
                        | '`'
                        | ','
                        | ';'
                        | '<'
                        | '>'
                        | ')'
                        | '('
                        | '{'
                        | '}'
                        | '['
                        | ']'
                        | '|'
                        | '，'
                        | '。'
                        | '、'
                )
        })
        .last()
        .map(|(at, character)| place + at + character.len_utf8())?;
    work::count(end - label_end);
    let range = place
        ..place
            + text[place..end]
                .trim_end_matches(['.', ':', '*', '_'])
                .len();
    (!range.is_empty()).then_some((range, assigned))
}

/// Log-odds of a value behind the label of an entity; `None` if it cannot be one.
fn weight(entity: E, label: &str, value: &str, assigned: bool) -> Option<f64> {
    let n_digits = value.bytes().filter(u8::is_ascii_digit).count();
    let identifier = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b'.'));
    match entity {
        E::Password if KEY_LABELS.contains(&label) => {
            // Keys are long and of many characters; names of variables are not.
            let one_word = value.bytes().all(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=')
            });
            (assigned
                && one_word
                && n_digits > 1
                && value.len() >= 16
                && entropy(value) >= 3.0
                && !value.to_ascii_lowercase().contains("your"))
            .then_some(1.5)
        }
        E::Password => {
            let placeholder = value.contains("password")
                || value.contains("your")
                || value.starts_with(['$', '%', '*', '<'])
                || value.contains("::")
                || value.contains('(');
            let kinds = usize::from(n_digits > 0)
                + usize::from(value.chars().any(char::is_uppercase))
                + usize::from(value.chars().any(char::is_lowercase))
                + usize::from(value.chars().any(|character| !joins(character)));
            let long = value.chars().count() >= 6;
            // Bits of variety per character tell a secret from a word.
            (assigned
                && long
                && !placeholder
                && (kinds >= 3 || kinds == 2 && n_digits > 0 && entropy(value) >= 2.5))
                .then_some(1.5)
        }
        E::Username => {
            let plain = value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
            (assigned
                && plain
                && value.len() >= 4
                && value.bytes().any(|byte| byte.is_ascii_alphabetic())
                && !value.contains("name")
                && (n_digits > 0 || value.contains('_')))
            .then_some(1.0)
        }
        E::BookingReference => (matches!(value.len(), 5..=8)
            && n_digits > 0
            && value
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()))
        .then_some(1.5),
        E::StudentId | E::EmployeeId => {
            (identifier && n_digits >= 3 && value.len() <= 20).then_some(1.5)
        }
        E::MedicalRecordNumber | E::HealthPlanNumber => {
            (identifier && n_digits >= 5 && value.len() <= 24).then_some(1.5)
        }
        _ => None,
    }
}

/// Shannon entropy of the characters, in bits each.
fn entropy(value: &str) -> f64 {
    let bytes = value.as_bytes();
    let total = bytes.len() as f64;
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    -counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| share * share.log2())
        .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_follows_its_label() {
        for (text, expected) in [
            ("password: hunter2!Longer", Some("hunter2!Longer")),
            ("username is jane_doe_1970.", Some("jane_doe_1970")),
            ("pnr X4K9QZ, seat", Some("X4K9QZ")),
            ("password. Then", None),
        ] {
            let label = text.find([' ', ':', '.']).unwrap();
            assert_eq!(
                value(text, label).map(|(range, _)| &text[range]),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn placeholders_and_words_are_no_secrets() {
        assert!(weight(E::Password, "password", "hunter2!Longer", true).is_some());
        for value in [
            "<password>",
            "your_password1",
            "required",
            "str",
            "hashlib.sha256(x)",
        ] {
            assert!(
                weight(E::Password, "password", value, true).is_none(),
                "{value}"
            );
        }
    }
}
