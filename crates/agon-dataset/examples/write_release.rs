//! Writes a small synthetic release, to be read back by other programs: every third battle has the given picture.
//!
//! ```text
//! cargo run -p agon-dataset --example write_release -- FOLDER BATTLES PICTURE.png
//! ```

use std::{error::Error, fs, path::Path};

use agon_dataset::{
    Message, Record, ReleaseImage, ReleaseOptions, ReleaseWriter, Role, schema::CATEGORIES,
};
use agon_domain::{MarkdownCounts, Sides, StyleFeatures, Winner};
use jiff::{SignedDuration, Timestamp};

const MODELS: [&str; 4] = [
    "alpha-vision",
    "beta-vision",
    "gamma-vision",
    "delta-vision",
];

fn turn(text: String) -> Vec<Message> {
    vec![
        Message {
            role: Role::User,
            content: "What is this?".to_owned(),
        },
        Message {
            role: Role::Assistant,
            content: text,
        },
    ]
}

fn record(n: usize, picture: &ReleaseImage, start: Timestamp) -> Result<Record, Box<dyn Error>> {
    let a = n % MODELS.len();
    let b = (a + 1 + n / MODELS.len() % (MODELS.len() - 1)) % MODELS.len();
    let n_turns = 1 + n % 2;
    let conversation = |name: &str| {
        (0..n_turns)
            .map(|idx| turn(format!("**{name}** {n}.{idx}")))
            .collect()
    };
    let markdown = MarkdownCounts {
        bold_asterisks: 1,
        ..MarkdownCounts::default()
    };
    Ok(Record {
        judge: format!("{:032x}", n / 3),
        winner: Winner::ALL[n % 4],
        language: None,
        categories: [None; CATEGORIES.len()],
        images: if n.is_multiple_of(3) {
            vec![picture.clone()]
        } else {
            Vec::new()
        },
        question_id: format!("{n:032x}"),
        models: Sides {
            a: MODELS[a].to_owned(),
            b: MODELS[b].to_owned(),
        },
        conversations: Sides {
            a: conversation("a"),
            b: conversation("b"),
        },
        cast_at: start + SignedDuration::from_secs(i64::try_from(n)? * 60),
        style: n.is_multiple_of(2).then_some(StyleFeatures {
            assistant_tokens: Sides { a: 5, b: 6 },
            n_turns: u32::try_from(n_turns)?,
            markdown: Sides {
                a: markdown,
                b: markdown,
            },
            ..StyleFeatures::default()
        }),
        consent_version: Some("2026-01".to_owned()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, n_battles, picture] = arguments.as_slice() else {
        return Err("give a folder, a number of battles and a picture".into());
    };
    let extension = Path::new(picture)
        .extension()
        .and_then(|text| text.to_str());
    let picture = ReleaseImage::new(fs::read(picture)?, extension.unwrap_or_default());
    let start: Timestamp = "2026-01-01T00:00:00Z".parse()?;
    let mut writer = ReleaseWriter::create(
        Path::new(folder),
        ReleaseOptions::new(start, env!("CARGO_PKG_VERSION")),
    )?;
    for n in 0..n_battles.parse()? {
        writer.push(&record(n, &picture, start)?)?;
    }
    writer.finish()?;
    Ok(())
}
