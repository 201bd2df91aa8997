//! Names and places of people, but only where a text introduces them: “my name is …”, “I live in …”.
//!
//! Without a model this finds who presents themselves and nobody else; `docs/safety.md` says how much that is.

use std::ops::Range;

use super::{Reading, Recogniser};
use crate::{Entity as E, Strength, finding::Evidence, normalise::joins, shapes::Candidate};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::Person, E::Location],
    words: &[
        (
            E::Person,
            &[
                "my name is",
                "my name's",
                "i am called",
                "ich heiße",
                "ich heisse",
                "mein name ist",
                "je m'appelle",
                "je m’appelle",
                "mon nom est",
                "me llamo",
                "mi nombre es",
                "mi chiamo",
                "il mio nome è",
                "meu nome é",
                "chamo-me",
                "меня зовут",
                "мене звати",
                "我叫",
                "我的名字是",
                "私の名前は",
                "اسمي",
                "ik heet",
                "mijn naam is",
                "jag heter",
                "jeg heter",
                "jeg hedder",
                "nimeni on",
                "nazywam się",
                "mam na imię",
                "jmenuji se",
                "volám sa",
                "zovem se",
                "numele meu este",
                "benim adım",
                "제 이름은",
                "저는",
                "मेरा नाम",
                "tên tôi là",
                "nama saya",
                "με λένε",
                "казвам се",
            ],
        ),
        (
            E::Location,
            &[
                "i live in",
                "ich wohne in",
                "ich komme aus",
                "j'habite à",
                "j’habite à",
                "vivo en",
                "abito a",
                "moro em",
                "я живу в",
                "ik woon in",
                "jag bor i",
                "mieszkam w",
            ],
        ),
    ],
    find,
};

/// A name has at most this many words and bytes.
const NAME_WORDS_MAX: usize = 3;
const NAME_BYTES_MAX: usize = 60;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    for (end, entity, word) in reading
        .surroundings
        .announcements(&[E::Person, E::Location])
    {
        let Some(range) = name(text, end) else {
            continue;
        };
        let after = range.end;
        let evidence = Evidence::by("introduction", 0.8).announced(Some((Strength::Label, word)));
        found.push(Candidate {
            entity,
            range,
            log_odds: 0.8,
            evidence,
        });
        if entity == E::Person
            && let Some(place) = origin(text, after)
        {
            found.push(Candidate {
                entity: E::Location,
                range: place,
                log_odds: 0.4,
                evidence,
            });
        }
    }
}

/// Up to three capitalised words, or in scripts without capitals what stands before the next sign.
fn name(text: &str, phrase_end: usize) -> Option<Range<usize>> {
    let rest = &text[phrase_end..];
    let start = phrase_end + rest.len() - rest.trim_start_matches([' ', ':', '"', '*']).len();
    let first = text[start..].chars().next()?;
    if !first.is_alphabetic() || start - phrase_end > 4 {
        return None;
    }
    let has_capitals = first.is_uppercase() || first.is_lowercase();
    if has_capitals {
        return capitalised(text, start, NAME_WORDS_MAX);
    }
    if joins(first) {
        // Arabic, Hebrew, Hindi: two words, the given name and another one.
        let words: Vec<&str> = text[start..].split(' ').take(2).collect();
        let len = match words[..] {
            [one, two] if one.chars().all(char::is_alphabetic) => one.len() + 1 + two.len(),
            [one, ..] => one.len(),
            [] => return None,
        };
        let trimmed = text
            .get(start..start + len)?
            .trim_end_matches(|edge: char| !edge.is_alphanumeric());
        return (trimmed.len() <= NAME_BYTES_MAX && !trimmed.is_empty())
            .then_some(start..start + trimmed.len());
    }
    let len: usize = text[start..]
        .chars()
        .take_while(|character| character.is_alphabetic())
        .take(5)
        .map(char::len_utf8)
        .sum();
    let count = text[start..start + len].chars().count();
    (2..=4).contains(&count).then_some(start..start + len)
}

/// A place after a name: “… aus Köln”, “… من القاهرة”.
fn origin(text: &str, name_end: usize) -> Option<Range<usize>> {
    const FROM: &[&str] = &[
        " from ", " aus ", " de ", " من ", " из ", " z ", " från ", " fra ", " uit ",
    ];
    let from = FROM
        .iter()
        .find(|from| text[name_end..].starts_with(**from))?;
    let start = name_end + from.len();
    let first = text[start..].chars().next()?;
    if first.is_uppercase() {
        return capitalised(text, start, 2);
    }
    let len: usize = text[start..]
        .chars()
        .take_while(|character| character.is_alphabetic())
        .map(char::len_utf8)
        .take(20)
        .sum();
    (joins(first) && !first.is_lowercase() && len > 2).then_some(start..start + len)
}

fn capitalised(text: &str, start: usize, words_max: usize) -> Option<Range<usize>> {
    let mut end = start;
    for word in text[start..].split_inclusive(' ').take(words_max) {
        let core = word.trim_end_matches(|edge: char| !edge.is_alphabetic());
        let is_name = core.chars().next().is_some_and(char::is_uppercase)
            && core.chars().skip(1).any(char::is_lowercase)
            && core.chars().all(|character| {
                character.is_alphabetic() || matches!(character, '-' | '\'' | '’')
            });
        let len = end - start + core.len();
        if !is_name || len > NAME_BYTES_MAX {
            break;
        }
        end += core.len();
        if core.len() + 1 != word.len() || !word.ends_with(' ') {
            break;
        }
        // The blank belongs to the name when another word of it follows.
        end += 1;
    }
    let trimmed = text[start..end].trim_end();
    (!trimmed.is_empty()).then_some(start..start + trimmed.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_capitalised_words() {
        for (text, expected) in [
            (" Jane Doe and I", Some("Jane Doe")),
            (" Max Mustermann aus Köln.", Some("Max Mustermann")),
            (" Marie Dupont, 12 rue", Some("Marie Dupont")),
            ("王小明，住在", Some("王小明")),
            (" أحمد علي من القاهرة.", Some("أحمد علي")),
            (" not important", None),
            (": ", None),
        ] {
            assert_eq!(name(text, 0).map(|range| &text[range]), expected, "{text}");
        }
        assert_eq!(
            origin(" aus Köln.", 0).map(|range| &" aus Köln."[range]),
            Some("Köln")
        );
    }
}
