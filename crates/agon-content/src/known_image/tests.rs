//! Tests of lists and matching, with made-up lists and drawn pictures only.

use ::image::codecs::jpeg::JpegEncoder;
use ::image::{DynamicImage, ImageFormat, RgbImage, imageops};
use proptest::prelude::*;
use std::io::Cursor;

use super::*;
use crate::image::{ImageLimits, MediaType, normalise};
use crate::perceptual_hash::tests::scene;

const DATASET: &[u8] = include_bytes!("../../fixtures/known_image/dataset.csv");
const UPDATES: &[u8] = include_bytes!("../../fixtures/known_image/threat_updates.json");
const BANK: &[u8] = include_bytes!("../../fixtures/known_image/bank.json");
const README: &[u8] = include_bytes!("../../fixtures/known_image/README.md");

/// The PDQ hash of [`noise`], as the fixtures have it.
const NOISE: &str = "4873d96f776a9cd96c2a958e78393b64b7e7c1154b6653194ce6344029d358c5";

const NOW_S: i64 = 1_790_000_000;

fn noise() -> RgbImage {
    let mut state = 12_345_u32;
    RgbImage::from_fn(300, 200, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ::image::Rgb([(state >> 24) as u8; 3])
    })
}

fn png(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::from(picture.clone())
        .write_to(&mut bytes, ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

fn fingerprints(bytes: &[u8]) -> Fingerprints {
    Fingerprints::from(&normalise(bytes, &ImageLimits::default()).unwrap())
}

#[track_caller]
fn list(bytes: &[u8]) -> HashList {
    HashList::parse("made-up", "2026-12", bytes).unwrap()
}

#[track_caller]
fn check_error(text: &str, line: usize, words: &[&str]) {
    let error = HashList::parse("made-up", "2026-12", text.as_bytes()).unwrap_err();
    let mut message = error.to_string();
    assert!(message.contains(&format!("line {line}")), "{message}");
    if let Some(source) = std::error::Error::source(&error) {
        message += &format!(": {source}");
    }
    for word in words {
        assert!(message.contains(word), "`{word}` in: {message}");
    }
}

#[test]
fn every_form_of_list_is_read_with_nothing_lost() {
    let entries = list(DATASET).entries;
    let seen: Vec<(usize, Standing)> = entries
        .iter()
        .map(|entry| (entry.line, entry.standing))
        .collect();
    assert_eq!(
        seen,
        [
            (2, Standing::Active),
            (3, Standing::Harmless),
            (4, Standing::Active),
            (6, Standing::Active)
        ]
    );
    assert_eq!(entries[0].hash, KnownHash::Pdq(NOISE.parse().unwrap()));
    assert_eq!(
        entries[0].labels,
        ["Made-up", "exchange", "POSITIVE_CLASS", "first", "second"]
    );
    let md5 = hexadecimal::parse("00112233445566778899aabbccddeeff").unwrap();
    assert_eq!(entries[2].hash, KnownHash::Md5(md5));

    let entries = list(UPDATES).entries;
    let seen: Vec<(usize, Option<&str>, Standing)> = entries
        .iter()
        .map(|entry| (entry.line, entry.id.as_deref(), entry.standing))
        .collect();
    assert_eq!(
        seen,
        [
            (3, Some("5474000000000001"), Standing::Active),
            // Withdrawn by the last record.
            (16, Some("5474000000000002"), Standing::Deleted),
            (17, Some("5474000000000003"), Standing::Harmless),
            (18, Some("5474000000000002"), Standing::Deleted),
        ]
    );
    assert_eq!(
        entries[0].labels,
        ["first", "second", "MALICIOUS", "NON_MALICIOUS"]
    );

    let entries = list(BANK).entries;
    let seen: Vec<(usize, Standing)> = entries
        .iter()
        .map(|entry| (entry.line, entry.standing))
        .collect();
    assert_eq!(
        seen,
        [
            (2, Standing::Active),
            (2, Standing::Active),
            (3, Standing::DisabledUntil(i64::MAX)),
            (5, Standing::DisabledUntil(1_800_000_000)),
        ]
    );
    // A byte order mark, as spreadsheets put it, changes nothing.
    let marked = [b"\xef\xbb\xbf", DATASET].concat();
    assert_eq!(list(&marked).entries, list(DATASET).entries);
    assert_eq!(list(b"[]").entries, []);
}

#[test]
fn what_is_wrong_is_named_with_line_and_value() {
    let header = "signal_type,signal_str,category,quality\n";
    let good = format!("pdq,{NOISE},,\n");
    let row = |row: &str| format!("{header}{good}{row}\n");
    check_error(&row("pdq,12ab,,"), 3, &["`12ab`", "64 hexadecimal digits"]);
    check_error(&row("md5,12ab,,"), 3, &["`12ab`", "32 hexadecimal digits"]);
    check_error(
        &row("sha256,zz,,"),
        3,
        &["`zz`", "sha256", "64 hexadecimal digits"],
    );
    check_error(&row("sha1,12ab,,"), 3, &["`sha1`", "pdq, md5"]);
    check_error(&row("PDQ,12ab,,"), 3, &["`PDQ`"]);
    check_error(&row(",,,"), 3, &["``"]);
    check_error(&row(&format!("pdq,{},,", "0".repeat(64))), 3, &["zeros"]);
    check_error(
        &row(&format!("pdq,{NOISE},GOOD,")),
        3,
        &["`GOOD`", "NEGATIVE_CLASS"],
    );
    for quality in ["101", "-1", "high", "49.5"] {
        check_error(
            &row(&format!("pdq,{NOISE},,{quality}")),
            3,
            &[quality, "0 to 100"],
        );
    }
    check_error(&row("pdq"), 3, &["not a line of this CSV"]);
    check_error("signal_type,hash\n", 1, &["`hash`", "`signal_str`"]);
    check_error("signal_type\npdq\n", 1, &["no column `signal_str`"]);
    check_error("signal_str\npdq\n", 1, &["no column `signal_type`"]);
    check_error(
        "signal_type,signal_str,signal_str\n",
        1,
        &["`signal_str`", "twice"],
    );
    check_error("a plain text\n", 1, &["`a plain text`"]);
    let json =
        |entry: &str| format!("[\n  {{\"signals\": {{\"pdq\": \"{NOISE}\"}}}},\n  {entry}\n]");
    check_error(&json("{\"signals\": {\"pdq\": \"12ab\"}}"), 3, &["`12ab`"]);
    check_error(&json("{\"signals\": {\"tmk\": \"12ab\"}}"), 3, &["`tmk`"]);
    check_error(&json("{\"signals\": {}}"), 3, &["`signals`"]);
    check_error(&json("{\"id\": 7}"), 3, &["`indicator`"]);
    check_error(&json("{\"indicator\": \"12ab\"}"), 3, &["`type`"]);
    check_error(&json("{\n\"sgnals\": {}}"), 4, &["`sgnals`"]);
    check_error(&json("7"), 3, &["invalid type"]);
    check_error(&json("{\"signals\": {\"pdq\": 7}}"), 3, &["invalid type"]);
    check_error(
        &json(
            "{\"signals\": {\"md5\": \"00112233445566778899aabbccddeeff\"}, \"disable_until_ts\": -5}",
        ),
        3,
        &["`-5`", "disable_until_ts"],
    );
    check_error(
        &json(
            "{\"indicator\": \"00112233445566778899aabbccddeeff\", \"type\": \"HASH_MD5\", \"status\": \"BAD\"}",
        ),
        3,
        &["`BAD`", "NON_MALICIOUS"],
    );
    check_error(&json("{"), 4, &[]);
    check_error("{\"data\": [],\n \"more\": 1}", 2, &["`more`"]);
    let not_text = [DATASET, b"\xff"].concat();
    let error = HashList::parse("made-up", "2026-12", &not_text).unwrap_err();
    assert_eq!(error.to_string(), "line 7 is not UTF-8");
    for empty in ["", " \n\t", "\u{feff}"] {
        let error = HashList::parse("made-up", "2026-12", empty.as_bytes()).unwrap_err();
        assert!(matches!(error, ListError::Empty), "{error}");
    }
    assert!(HashList::parse("made-up", "2026-12", README).is_err());
}

#[test]
fn a_known_picture_is_found_scaled_recoded_and_turned() {
    let original = scene(640, 480);
    let original = RgbImage::from_raw(640, 480, original.as_rgb().to_vec()).unwrap();
    let of_original = fingerprints(&png(&original)).perceptual_hash.hash();
    let rows = format!("signal_type,signal_str\npdq,{of_original}\nHASH_PDQ,{of_original}\n");
    let known = KnownImages::new(vec![list(DATASET), list(rows.as_bytes()), list(BANK)]);
    let scaled = |picture: &RgbImage| {
        let (width, height) = picture.dimensions();
        imageops::resize(
            picture,
            width / 3,
            height / 3,
            imageops::FilterType::Triangle,
        )
    };
    let turned: [(Turn, RgbImage); 8] = [
        (Turn::Original, original.clone()),
        (Turn::Rotate90, imageops::rotate90(&original)),
        (Turn::Rotate180, imageops::rotate180(&original)),
        (Turn::Rotate270, imageops::rotate270(&original)),
        (Turn::FlipX, imageops::flip_vertical(&original)),
        (Turn::FlipY, imageops::flip_horizontal(&original)),
        (
            Turn::FlipPlus1,
            imageops::rotate90(&imageops::flip_vertical(&original)),
        ),
        (
            Turn::FlipMinus1,
            imageops::rotate90(&imageops::flip_horizontal(&original)),
        ),
    ];
    for (turn, picture) in turned {
        let mut as_jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut as_jpeg, 60)
            .encode_image(&picture)
            .unwrap();
        for (how, file) in [
            ("exact", png(&picture)),
            ("as JPEG", as_jpeg),
            ("scaled", png(&scaled(&picture))),
        ] {
            let finding = known.find(&fingerprints(&file), NOW_S);
            assert_eq!(finding.perceptual, PerceptualCheck::Done);
            let met: Vec<(usize, Option<Turn>)> = finding
                .matches
                .iter()
                .map(|found| match found.kind {
                    MatchKind::Pdq { turn, distance } if distance <= DISTANCE_MAX => {
                        (found.entry.line, Some(turn))
                    }
                    _ => (found.entry.line, None),
                })
                .collect();
            assert_eq!(met, [(2, Some(turn)), (3, Some(turn))], "{turn}, {how}");
            assert_eq!(finding.matches[0].list, "made-up");
            assert_eq!(finding.matches[0].version, "2026-12");
        }
    }
    let noise = known.find(&fingerprints(&png(&noise())), NOW_S);
    assert_eq!(noise.matches.len(), 2, "by the first and the last list");
    let exact = MatchKind::Pdq {
        turn: Turn::Original,
        distance: 0,
    };
    assert!(noise.matches.iter().all(|found| found.kind == exact));
}

#[test]
fn exact_hashes_are_of_the_file_as_uploaded_or_as_normalised() {
    let file = png(&noise());
    let prints = fingerprints(&file);
    let md5 = prints.original_md5;
    let text = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<String>()
    };
    for (line, kind) in [
        (format!("md5,{}", text(&md5)), MatchKind::Md5),
        (
            format!("sha256,{}", text(&prints.original_sha256)),
            MatchKind::Sha256,
        ),
        (
            format!("sha256,{}", text(&prints.normalised_sha256)),
            MatchKind::Sha256,
        ),
    ] {
        let known = KnownImages::new(vec![list(
            format!("signal_type,signal_str\n{line}\n").as_bytes(),
        )]);
        let finding = known.find(&prints, NOW_S);
        assert_eq!(finding.matches.len(), 1, "{line}");
        assert_eq!(finding.matches[0].kind, kind);
        let other = fingerprints(&png(&RgbImage::from_pixel(40, 40, ::image::Rgb([9; 3]))));
        assert!(!known.find(&other, NOW_S).is_known());
    }
    assert_eq!(MediaType::of_normalised(&file), Some(MediaType::Png));
}

#[test]
fn entries_that_do_not_count_match_nothing_until_they_do() {
    let prints = fingerprints(&png(&noise()));
    let bank = |until: i64| {
        KnownImages::new(vec![list(
            format!("[{{\"id\": 1, \"signals\": {{\"pdq\": \"{NOISE}\"}}, \"disable_until_ts\": {until}}}]")
                .as_bytes(),
        )])
    };
    assert!(bank(0).find(&prints, NOW_S).is_known());
    assert!(!bank(1).find(&prints, i64::MAX).is_known());
    assert!(!bank(NOW_S + 1).find(&prints, NOW_S).is_known());
    assert!(bank(NOW_S + 1).find(&prints, NOW_S + 1).is_known());
    for (row, is_known) in [
        (format!("pdq,{NOISE},POSITIVE_CLASS,50"), true),
        (format!("pdq,{NOISE},POSITIVE_CLASS,49"), false),
        (format!("pdq,{NOISE},NEGATIVE_CLASS,100"), false),
    ] {
        let known = KnownImages::new(vec![list(
            format!("signal_type,signal_str,category,quality\n{row}\n").as_bytes(),
        )]);
        assert_eq!(known.find(&prints, NOW_S).is_known(), is_known, "{row}");
        assert_eq!(known.lists()[0].entries.len(), 1);
    }
    let deleted = KnownImages::new(vec![list(UPDATES)]);
    let finding = deleted.find(&prints, NOW_S);
    assert_eq!(finding.matches.len(), 1);
    assert_eq!(
        finding.matches[0].entry.id.as_deref(),
        Some("5474000000000001")
    );
}

#[test]
fn a_picture_without_structure_is_said_to_be_uncompared() {
    let flat = fingerprints(&png(&RgbImage::from_pixel(
        100,
        100,
        ::image::Rgb([128; 3]),
    )));
    let of_flat = format!(
        "signal_type,signal_str\npdq,{}\n",
        flat.perceptual_hash.hash()
    );
    let known = KnownImages::new(vec![list(of_flat.as_bytes())]);
    let finding = known.find(&flat, NOW_S);
    assert!(!finding.is_known());
    assert_eq!(
        finding.perceptual,
        PerceptualCheck::QualityTooLow { quality: 0 }
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(HashList::parse("made-up", "1", &bytes));
    }

    #[test]
    fn no_change_of_a_good_list_makes_the_parser_panic_or_lose_an_entry(
        form in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = [DATASET, UPDATES, BANK][form].to_vec();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(list) = HashList::parse("made-up", "1", &bytes) {
            let n_lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
            prop_assert!(list.entries.iter().all(|entry| (1..=n_lines).contains(&entry.line)));
            // JSON that still reads holds all that it held: a cut one does not read.
            prop_assert!(form == 0 || !changes.is_empty() || list.entries.len() == 4);
        }
    }

    #[test]
    fn what_is_written_is_read_back(
        hashes in prop::collection::vec((0..3_u8, any::<[u8; 32]>()), 0..40),
    ) {
        let mut text = "signal_type,signal_str\r\n".to_owned();
        let mut expected = Vec::new();
        for (kind, bytes) in hashes {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            match kind {
                0 => {
                    text += &format!("pdq,{digits}\r\n");
                    expected.push(KnownHash::Pdq(PdqHash::from_bytes(bytes)));
                }
                1 => {
                    text += &format!("HASH_SHA256,{digits}\r\n");
                    expected.push(KnownHash::Sha256(bytes));
                }
                _ => {
                    text += &format!("md5,{}\r\n", &digits[..32]);
                    expected.push(KnownHash::Md5(*bytes.first_chunk().unwrap()));
                }
            }
        }
        let zero = KnownHash::Pdq(PdqHash::ZERO);
        prop_assume!(!expected.contains(&zero));
        let read: Vec<KnownHash> = HashList::parse("made-up", "1", text.as_bytes())
            .unwrap()
            .entries
            .into_iter()
            .map(|entry| entry.hash)
            .collect();
        prop_assert_eq!(read, expected);
    }
}
