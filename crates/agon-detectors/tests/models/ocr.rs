//! Text is read as it stands, whichever way the picture is turned.

use agon_detectors::Ocr;

use super::{json, models, pictures, read, runtime};

/// Edits between two texts, in characters (Levenshtein's distance).
fn n_edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (idx, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = idx + 1;
        for (at, to) in right.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

fn text_of(ocr: &Ocr, picture: &agon_content::image::Pixels) -> String {
    let lines = ocr.read_text(picture).unwrap();
    lines
        .iter()
        .map(|line| line.text.trim())
        .collect::<Vec<_>>()
        .join(" ")
}

fn accuracy(text: &str, expected: &str) -> f64 {
    let n_chars = expected.chars().count();
    if n_chars == 0 {
        return if text.is_empty() { 1.0 } else { 0.0 };
    }
    1.0 - (n_edits(text, expected) as f64 / n_chars as f64).min(1.0)
}

#[test]
fn the_shared_pictures_are_read() {
    let (Some(models), Some(pictures)) = (models(), pictures()) else {
        return;
    };
    let ocr = Ocr::load(&models, &runtime()).unwrap();
    let expected = json(&pictures.join("ocr/expected_text.json"));
    let mut bad = Vec::new();
    for (name, expected) in expected["files"].as_object().unwrap() {
        let picture = read(&pictures.join("ocr").join(name));
        let expected = expected["text"].as_str().unwrap();
        for n_quarters in 0..4 {
            let text = text_of(&ocr, &picture.turned(n_quarters));
            let accuracy = accuracy(&text, expected);
            println!(
                "{name} turned {n_quarters}: {:.1} % {text:?}",
                accuracy * 100.0
            );
            let is_covered =
                !["arabic.png", "te.png", "cyrillic.png", "el_rec.jpg"].contains(&name.as_str());
            let n_unread = ocr.read(&picture.turned(n_quarters)).unwrap().unread.len();
            println!("    {n_unread} unread");
            if is_covered {
                assert_eq!(n_unread, 0, "{name} turned {n_quarters}");
            }
            // Scripts whose letters the network's alphabet does not have, or has in part only.
            let least = if is_covered { 0.95 } else { 0.0 };
            if accuracy < least {
                bad.push(format!("{name} turned {n_quarters}: {accuracy}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}
