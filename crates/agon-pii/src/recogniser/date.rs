//! Dates and dates of birth in the notations of many languages.

use super::Rule;
use crate::{
    Entity as E,
    checksum::{digits, is_date, number},
};

/// Beginnings of the names of months in over forty languages, as alternatives of a regular expression.
macro_rules! month_stems {
    () => {
        concat!(
            "abril|agost|agustus|aout|août|apr|ara|aug|avril|ağu|bal|birž|břez|czerw|dec|desember|desembre|dets",
            "|dezember|dezembro|dicembre|diciembre|dub|décembre|eki|elo|enero|eyl|feb|fevereiro|fevrier|février",
            "|geg|gener|gennaio|giugno|grud|gruod|haz|heinä|helmi|huhti|ianuarie|iulie|iunie|jaan|jan|joulu",
            "|juillet|juin|jul|jun|juuli|juuni|júl|jún|kas|kesä|kolov|kov|květ|kwie|lapkr|led|liep|lip|listopad",
            "|loka|luglio|lut|maalis|maart|maggio|mai|maj|mar|may|mei|máj|märts|märz|nis|noiembrie|nov|oca|oct",
            "|oktober|ottobre|outubro|ožuj|paźdz|prosin|rugp|rugs|ruj|saus|sep|setembre|setembro|setiembre",
            "|settembre|sierp|siječ|spal|srp|stud|stycz|svib|syys|tammi|tem|tháng|touko|trav|vas|veebr|velja|wrze",
            "|září|únor|červ|říj|şub|απρ|αυγ|δεκ|ιαν|ιουλ|ιουν|μαΐ|μαρ|μαϊ|νοε|οκτ|σεπ|φεβ|авг|апр|бер|верес|груд",
            "|дек|жовт|июл|июн|квіт|лип|листопад|лют|май|мар|мая|ноя|окт|сен|серп|січ|трав|фев|черв|юли|юни|янв",
            "|яну|אוגוסט|אוקטובר|אפריל|דצמבר|יולי|יוני|ינואר|מאי|מרץ|נובמבר|ספטמבר|פברואר|آبان|آذر|أبريل|أغسطس",
            "|أكتوبر|ابريل|اردیبهشت|اسفند|بهمن|تیر|خرداد|ديسمبر|دی|سبتمبر|شهریور|فبراير|فروردین|مارس|مايو|مرداد",
            "|مهر|نوفمبر|يناير|يوليو|يونيو|अक्टूबर|अगस्त|अप्रैल|जनवरी|जुलाई|जून|दिसंबर|नवंबर|फरवरी|मई|मार्च",
            "|सितंबर|অক্টোবর|আগস্ট|এপ্রিল|জানুয়ারি|জুন|জুলাই|ডিসেম্বর|নভেম্বর|ফেব্রুয়ারি|মার্চ|মে|সেপ্টেম্বর",
            "|กรกฎาคม|กันยายน|กุมภาพันธ์|ตุลาคม|ธันวาคม|พฤศจิกายน|พฤษภาคม|มกราคม|มิถุนายน|มีนาคม|สิงหาคม|เมษายน",
        )
    };
}

pub(super) const RULES: &[Rule] = &[
    Rule::new(E::DateTime, NUMERIC)
        .require(numeric)
        .prior(-1.2)
        .words(DATE_WORDS),
    Rule::new(E::DateTime, MONTHS).prior(-1.2).words(DATE_WORDS),
    Rule::new(
        E::DateTime,
        &[r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-\d{2}"],
    )
    .prior(-1.2)
    .words(DATE_WORDS),
    Rule::new(E::DateOfBirth, NUMERIC)
        .require(numeric_of_life)
        .prior(-0.9)
        .words(BIRTH_WORDS)
        .needs_word(),
    Rule::new(E::DateOfBirth, MONTHS)
        .require(year_of_life)
        .prior(-0.9)
        .words(BIRTH_WORDS)
        .needs_word(),
];

const DATE_WORDS: &[&str] = &[
    "date",
    "datum",
    "fecha",
    "data",
    "дата",
    "日期",
    "日付",
    "تاريخ",
];

const BIRTH_WORDS: &[&str] = &[
    "born",
    "dob",
    "d.o.b",
    "date of birth",
    "birth date",
    "birthdate",
    "birthday",
    "birth",
    "né",
    "née",
    "naissance",
    "geboren",
    "geb.",
    "geburtsdatum",
    "geburtstag",
    "fecha de nacimiento",
    "nacimiento",
    "nací",
    "nacido",
    "nacida",
    "nascido",
    "nascida",
    "data de nascimento",
    "nascimento",
    "nato",
    "nata",
    "data di nascita",
    "nascita",
    "дата рождения",
    "родился",
    "родилась",
    "рождения",
    "дата народження",
    "народився",
    "народилася",
    "生年月日",
    "生まれ",
    "出生",
    "出生日期",
    "生日",
    "생년월일",
    "출생",
    "जन्म",
    "जन्मतिथि",
    "geboortedatum",
    "född",
    "født",
    "fødselsdato",
    "födelsedatum",
    "urodzony",
    "urodzona",
    "data urodzenia",
    "narozen",
    "datum narození",
    "született",
    "születési",
    "doğum",
    "doğum tarihi",
    "تاريخ الميلاد",
    "ولدت",
    "מולד",
    "תאריך לידה",
    "נולד",
    "ngày sinh",
    "sinh ngày",
    "tanggal lahir",
    "lahir",
    "วันเกิด",
    "γεννήθηκα",
    "γέννησης",
    "născut",
    "data nașterii",
    "роден",
    "рожден",
    "rođen",
    "rojen",
    "syntynyt",
    "syntymäaika",
    "syndud",
    "sündinud",
    "sünniaeg",
    "dzimis",
    "gimęs",
    "fæddur",
    "জন্ম",
    "پیدائش",
    "متولد",
    "تاریخ تولد",
    "zaliwa",
];

const NUMERIC: &[&str] = &[
    r"(?:1[89]|20|21)\d{2}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.](?:1[89]|20|2[1-5])\d{2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}",
    r"\d{1,2}\. \d{1,2}\. (?:1[89]|20)\d{2}",
    r"(?:1[89]|20)\d{2} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日",
    r"(?:1[89]|20)\d{2} ?년 ?\d{1,2} ?월 ?\d{1,2} ?일",
    r"(?:13|14)\d{2}[-/]\d{1,2}[-/]\d{1,2}",
];

/// A day with the name of its month. The names are stems, so that inflected forms match as well.
const MONTHS: &[&str] = &[
    concat!(
        r"\d{1,2}(?:st|nd|rd|th|\.|º|er)?(?: of| de| d'|-|/)? ?(?:",
        month_stems!(),
        r")[^\x00-\x40\[-`{-\x7f]{0,12}\.?,?(?: de| del|-|/)? ?(?:1[89]|20|25)\d{2}"
    ),
    concat!(
        r"\d{1,2}(?:st|nd|rd|th|\.|º|er)?(?: of| de| d'|-|/)? ?(?:",
        month_stems!(),
        r")[a-z]{0,9}\.?,?(?: de| del|-|/)? ?(?:1[89]|20|25)\d{2}"
    ),
    concat!(
        r"(?:",
        month_stems!(),
        r")[a-z]{0,9}\.? \d{1,2}(?:st|nd|rd|th)?,? (?:1[89]|20)\d{2}"
    ),
];

/// Year, month and day in one of the usual orders are a real day.
fn numeric(value: &str) -> bool {
    let parts: Vec<&str> = value
        .split(|character: char| !character.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .collect();
    let [a, b, c] = parts[..] else { return false };
    let [first, second, third] = [a, b, c].map(|part| number(&digits(part)) as u32);
    let signs: Vec<char> = value
        .chars()
        .filter(|character| matches!(character, '-' | '/' | '.'))
        .collect();
    let same_signs = signs.windows(2).all(|two| two[0] == two[1]);
    let year = |year: u32| if year < 100 { 2000 + year } else { year };
    same_signs
        && if a.len() == 4 {
            // Persian and Islamic years have months of at most 31 days too.
            is_date(first, second, third)
                || (first < 1500 && (1..=12).contains(&second) && (1..=31).contains(&third))
        } else {
            is_date(year(third), second, first) || is_date(year(third), first, second)
        }
}

/// A real day in a year that a living person may be born in; years below 1500 are Persian or Islamic.
fn numeric_of_life(value: &str) -> bool {
    numeric(value)
        && value
            .split(|character: char| !character.is_ascii_digit())
            .filter(|part| part.len() == 4)
            .all(|part| !part.starts_with("18"))
}

/// The year, which is the last or first number of four digits, is one a living person may be born in.
fn year_of_life(value: &str) -> bool {
    value
        .split(|character: char| !character.is_ascii_digit())
        .filter(|part| part.len() == 4)
        .all(|part| (1900..=2099).contains(&number(&digits(part))) || part.starts_with("25"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_days_count() {
        for date in [
            "1970-01-31",
            "31/01/1970",
            "5/20/2021",
            "21.5.21",
            "1970年1月31日",
            "1970년 1월 31일",
        ] {
            assert!(numeric(date), "{date}");
        }
        for other in ["31/02/1970", "13/13/2021", "1970-01/31", "1.2"] {
            assert!(!numeric(other), "{other}");
        }
    }
}
