//! Tests of the language annotator: our own texts, properties, then the shared test data with published figures.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    path::PathBuf,
    time::Instant,
};

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::*;

/// The answer in the spelling of the fixture: a code, codes of a mixture joined by `+`, or a reason.
fn answer(text: &str) -> String {
    match detect_language(text).answer {
        LanguageAnswer::One(language) => language.code().to_owned(),
        LanguageAnswer::Mixed(shares) => {
            let codes: Vec<&str> = shares.iter().map(|share| share.language.code()).collect();
            codes.join("+")
        }
        LanguageAnswer::NoLanguage(reason) => format!("{reason:?}"),
        LanguageAnswer::Unknown => "Unknown".to_owned(),
    }
}

#[test]
fn the_texts_of_the_fixture_are_told() {
    let text = include_str!("../../../fixtures/language/texts.json");
    let cases: Vec<[String; 2]> = serde_json::from_str(text).unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .filter(|[expected, text]| answer(text) != *expected)
        .map(|[expected, text]| format!("{expected}, not {}: {text:?}", answer(text)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    let languages: BTreeSet<&str> = cases.iter().map(|[code, _]| code.as_str()).collect();
    assert!(languages.len() > 60);
}

#[test]
fn at_least_ninety_languages_can_be_answered() {
    let mut answerable: BTreeSet<Language> =
        NGRAMS.classes.iter().map(|class| class.language).collect();
    for letter in [
        '가', 'α', 'ա', 'ა', 'ก', 'ກ', 'ក', 'က', 'ཀ', 'ক', 'ਕ', 'ક', 'କ', 'க', 'క', 'ಕ', 'ക', 'ක',
        'ހ', 'Ꭰ', 'ᐁ', '中', 'の',
    ] {
        let code = Script::of(letter).only_language().unwrap();
        answerable.insert(Language::from_code(code).unwrap());
    }
    let all: BTreeSet<Language> = Language::all().collect();
    assert_eq!(answerable, all);
    assert!(all.len() >= 90, "{}", all.len());
}

#[test]
fn languages_have_one_code_and_one_name() {
    let codes: Vec<&str> = Language::all().map(Language::code).collect();
    assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    let names: BTreeSet<&str> = Language::all().map(Language::name).collect();
    assert_eq!(names.len(), codes.len());
    for language in Language::all() {
        assert_eq!(Language::from_code(language.code()), Some(language));
        assert_eq!(Language::from_name(language.name()), Some(language));
    }
    // The commonest of VisionArena, as its file spells them.
    for name in [
        "English",
        "Russian",
        "Chinese",
        "Vietnamese",
        "Spanish",
        "German",
        "Japanese",
        "Portuguese",
        "Korean",
        "French",
        "Italian",
        "Turkish",
        "Persian",
        "Serbian",
        "Indonesian",
        "Polish",
        "Arabic",
        "Czech",
        "Bulgarian",
        "Ukrainian",
        "Dutch",
        "Hebrew",
        "Thai",
        "Swedish",
        "Danish",
    ] {
        assert!(Language::from_name(name).is_some(), "{name}");
    }
    assert_eq!(Language::from_code("xx"), None);
    assert_eq!(Language::from_name("unknown"), None);
    assert_eq!(
        format!("{:?}", Language::from_code("nb").unwrap()),
        "Norwegian"
    );
}

#[test]
fn labels_say_what_a_release_says() {
    let english = detect_language("What does the sign behind the two women say?");
    assert_eq!((english.name(), english.code()), ("English", "en"));
    assert!(english.confidence > 0.9, "{english:?}");
    let mixed = detect_language("Translate this: 两位女士身后的牌子上写着什么，它是什么意思？");
    assert_eq!((mixed.name(), mixed.code()), ("Chinese", "zh"));
    let nothing = detect_language("12345");
    assert_eq!((nothing.name(), nothing.code()), ("unknown", "und"));
    assert_eq!(nothing.main(), None);
}

#[test]
fn a_conversation_has_a_label_for_its_first_message_and_each_answer() {
    let message = |role, text| Message { role, text };
    let found = conversation_language(&[
        message(
            Role::User,
            "Was steht auf dem Schild hinter den beiden Frauen?",
        ),
        message(Role::Assistant, "On the sign stands the name of a street."),
        message(Role::User, "Please answer in English from now on."),
        message(Role::Assistant, "Das Schild nennt den Namen einer Straße."),
    ]);
    assert_eq!(found.first_user.unwrap().code(), "de");
    let answers: Vec<&str> = found.answers.iter().map(LanguageLabel::code).collect();
    assert_eq!(answers, ["en", "de"]);
    let nothing = conversation_language(&[]);
    assert_eq!((nothing.first_user, nothing.answers.len()), (None, 0));
}

#[test]
fn a_file_of_weights_that_is_cut_is_no_file() {
    let whole: &'static [u8] = include_bytes!("weights.bin");
    assert!(whole.len() <= 3 << 20);
    for end in [0, 7, 8, 9, 40, 1000, whole.len() - 1] {
        assert!(ngrams::Ngrams::read(&whole[..end]).is_none(), "{end}");
    }
    assert!(ngrams::Ngrams::read(b"AGONLID2\0\0\0\0\0").is_none());
}

#[test]
fn a_megabyte_takes_no_longer_than_its_beginning() {
    for piece in [
        "a",
        "word ",
        "слово ",
        "字",
        "`",
        "```\n",
        "\n",
        "$",
        "<",
        "@a",
        "a.",
        "e\u{301}",
        "x = y;\n",
        "What is this? ",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        let start = Instant::now();
        detect_language(&text);
        assert!(
            start.elapsed().as_secs() < 10,
            "{piece:?}: {:?}",
            start.elapsed()
        );
    }
}

proptest! {
    #[test]
    fn any_text_has_a_label_that_fits_together(text in "\\PC{0,80}|[a-zа-яא-ת一-丁 .`$<>\n]{0,200}") {
        let label = detect_language(&text);
        prop_assert!((0.0..=1.0).contains(&label.confidence), "{:?}", label);
        if let LanguageAnswer::Mixed(shares) = &label.answer {
            prop_assert!(shares.len() > 1);
            prop_assert!(shares.is_sorted_by(|a, b| a.share >= b.share), "{:?}", shares);
            prop_assert!(shares.iter().map(|share| share.share).sum::<f32>() < 1.001);
        }
        // Neither the normal form nor the ends of lines make a difference.
        prop_assert_eq!(&detect_language(&text.nfd().collect::<String>()), &detect_language(&text.nfc().collect::<String>()));
        prop_assert_eq!(&detect_language(&text.replace('\n', "\r\n")), &label);
    }

    #[test]
    fn a_text_said_twice_is_in_the_same_language(at in 0_usize..60) {
        let cases: Vec<[String; 2]> =
            serde_json::from_str(include_str!("../../../fixtures/language/texts.json")).unwrap();
        let text = &cases[at][1];
        prop_assert_eq!(answer(&format!("{text}\n\n{text}")), answer(text));
    }
}

/// The lines of a compressed file of the shared test data, if there is one.
fn shared(name: &str) -> Option<Vec<serde_json::Value>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the shared test data is found by an environment variable"
    )]
    let Ok(folder) = std::env::var("AGON_TESTDATA") else {
        eprintln!("AGON_TESTDATA is not set: {name} is not tested");
        return None;
    };
    let file = std::fs::File::open(PathBuf::from(folder).join("text/langid").join(name)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// Mean over languages of the share of texts that are right.
fn mean_accuracy(
    texts: impl Iterator<Item = (Language, String)>,
) -> (f64, BTreeMap<Language, (u32, u32)>) {
    let mut counts: BTreeMap<Language, (u32, u32)> = BTreeMap::new();
    for (expected, text) in texts {
        let count = counts.entry(expected).or_default();
        count.0 += 1;
        count.1 += u32::from(detect_language(&text).main() == Some(expected));
    }
    let sum: f64 = counts
        .values()
        .map(|(n, right)| f64::from(*right) / f64::from(*n))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "some dozens of languages")]
    let mean = sum / counts.len() as f64;
    (mean, counts)
}

#[test]
fn the_shared_sentences_are_told_better_than_published() {
    let Some(rows) = shared("lingua_sentences.jsonl.gz") else {
        return;
    };
    let texts = rows.iter().map(|row| {
        let code = row["lang"].as_str().unwrap();
        (
            Language::from_code(code).unwrap(),
            row["text"].as_str().unwrap().to_owned(),
        )
    });
    let (mean, counts) = mean_accuracy(texts);
    assert_eq!(counts.len(), 75);
    // Lingua's published mean is 86.4, CLD2's on these sentences 94.9.
    assert!(mean > 0.955, "{mean}: {counts:?}");
}

#[test]
fn the_preamble_of_the_declaration_is_told_in_every_language() {
    let Some(rows) = shared("udhr_articles.jsonl.gz") else {
        return;
    };
    let texts = rows.iter().filter_map(|row| {
        let language = language_of_translation(row["bcp47"].as_str()?)?;
        Some((language, row["paragraphs"].as_array()?))
    });
    let texts = texts.flat_map(|(language, paragraphs)| {
        paragraphs
            .iter()
            .map(move |text| (language, text.as_str().unwrap().to_owned()))
    });
    let (mean, counts) = mean_accuracy(texts);
    assert!(counts.len() >= 120, "{}", counts.len());
    assert!(mean >= 0.97, "{mean}: {counts:?}");
}

/// The language of a translation, if it is one that the annotator knows, in a script that it reads.
fn language_of_translation(tag: &str) -> Option<Language> {
    let code = match tag {
        // Their macrolanguages.
        "als" => "sq",
        "zlm-Latn" => "ms",
        "hau" => "ha",
        "cat" => "ca",
        _ => {
            let (code, rest) = tag.split_once('-').unwrap_or((tag, ""));
            // Scripts that neither we nor the languages' web pages use.
            let foreign = [
                "Cyrl", "Latn", "Arab", "Mong", "Java", "Tglg", "Hani", "Gran",
            ];
            let own = [
                "sr-Cyrl", "sr-Latn", "az-Latn", "bs-Latn", "mn-Cyrl", "tk-Latn", "uz-Latn",
                "uz-Cyrl", "ug-Arab",
            ];
            if foreign.contains(&rest) && !own.contains(&tag) {
                return None;
            }
            code
        }
    };
    Language::from_code(code)
}

#[test]
fn short_prompts_are_told_in_the_languages_that_are_asked_in_most() {
    let wrong: Vec<String> = [
        ("Расскажи анекдот", "Russian"),
        ("Кто ты такой?", "Russian"),
        ("hello there", "English"),
        ("write me a poem", "English"),
        ("¿Qué dice el cartel?", "Spanish"),
        ("Che cosa dice il cartello?", "Italian"),
        ("Was steht auf dem Schild?", "German"),
        ("Que diz a placa?", "Portuguese"),
        // Neighbours of theirs keep what only they write.
        ("Напиши песма за зимата и за снегот", "Macedonian"),
        ("Напиши вірш про зиму та її красу", "Ukrainian"),
        ("Skriv et dikt om vinteren i Norge", "Norwegian"),
        ("Skriv en digt om vinteren i Danmark og sneen", "Danish"),
    ]
    .into_iter()
    .filter_map(|(text, expected)| {
        let label = detect_language(text);
        (label.name() != expected).then(|| format!("{text}: {label:?}"))
    })
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
