//! Battles as lines of text: CSV, and one JSON object a line.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::{
    columns::{metadata_group, metadata_numbers},
    world::{Battle, CATEGORY_TAGS, WINNERS, World},
};

const GROUPS: [(&str, &[&str]); 3] = [
    ("header_count", &["h1", "h2", "h3", "h4", "h5", "h6"]),
    ("list_count", &["ordered", "unordered"]),
    ("bold_count", &["**", "__"]),
];

fn value(column: &str, world: &World, battle: &Battle) -> Value {
    match column {
        "judge" => format!("{:032x}", battle.judge).into(),
        "question_id" => format!("{:032x}", battle.question_id).into(),
        "winner" => WINNERS[battle.winner].into(),
        "language" => battle.language.into(),
        "num_turns" => battle.turns.into(),
        "model_a" => world.models[battle.models[0]].name.as_str().into(),
        "model_b" => world.models[battle.models[1]].name.as_str().into(),
        "conv_metadata" => metadata(battle),
        "category_tag" => CATEGORY_TAGS
            .iter()
            .enumerate()
            .map(|(idx, (name, _))| ((*name).to_owned(), (battle.tags >> idx & 1 == 1).into()))
            .collect::<Map<String, Value>>()
            .into(),
        _ => battle.tstamp.into(),
    }
}

fn metadata(battle: &Battle) -> Value {
    let mut object = Map::new();
    for (name, number) in metadata_numbers(battle) {
        object.insert(name.to_owned(), number.into());
    }
    for (group, members) in GROUPS {
        for side in ["a", "b"] {
            let name = format!("{group}_{side}");
            let counts = members.iter().zip(metadata_group(&name, battle));
            let counts: Map<String, Value> = counts
                .map(|(member, n)| ((*member).to_owned(), json!(n)))
                .collect();
            object.insert(name, counts.into());
        }
    }
    object.into()
}

pub(crate) fn csv_header(columns: &[&str], file: &mut impl Write) -> io::Result<()> {
    writeln!(file, "{}", columns.join(","))
}

/// Structs become JSON in a cell, as data frames write them.
pub(crate) fn csv_row(
    columns: &[&str],
    world: &World,
    battle: &Battle,
    file: &mut impl Write,
) -> io::Result<()> {
    for (idx, column) in columns.iter().enumerate() {
        if idx > 0 {
            file.write_all(b",")?;
        }
        match value(column, world, battle) {
            Value::String(text) => file.write_all(text.as_bytes())?,
            object @ Value::Object(_) => {
                write!(file, "\"{}\"", object.to_string().replace('"', "\"\""))?;
            }
            other => write!(file, "{other}")?,
        }
    }
    writeln!(file)
}

pub(crate) fn json_row(
    columns: &[&str],
    world: &World,
    battle: &Battle,
    file: &mut impl Write,
) -> io::Result<()> {
    let row: Map<String, Value> = columns
        .iter()
        .map(|column| ((*column).to_owned(), value(column, world, battle)))
        .collect();
    serde_json::to_writer(&mut *file, &row)?;
    writeln!(file)
}
