//! Reading by column: every format gives the same rows, and every row its fate.

use std::{fmt::Write as _, io::Cursor, sync::Arc, sync::Mutex};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion},
};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::{intern::hash_128, *};
use crate::{Dedup, Reason, RejectedRow};

/// A row that every format can hold.
#[derive(Clone, Debug)]
struct Row {
    models: [Option<&'static str>; 2],
    winner: Option<&'static str>,
    judge: Option<u8>,
    time: Option<f64>,
    tokens: [Option<i64>; 2],
    /// `None` is a group that is null.
    headers: [Option<[Option<i64>; 6]>; 2],
    lists: [Option<[Option<i64>; 2]>; 2],
    bolds: [Option<[Option<i64>; 2]>; 2],
    /// Whether all of `conv_metadata` is null.
    is_bare: bool,
    language: Option<&'static str>,
    categories: Option<[Option<bool>; 3]>,
    languages: Option<Vec<&'static str>>,
    weight: Option<f64>,
    turns: i64,
}

const MODELS: [&str; 5] = ["delta", "alpha", "echo", "bravo", "charlie"];
const CATEGORIES: [&str; 3] = ["code", "humor", "ocr"];
const HEADERS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];
const LISTS: [&str; 2] = ["ordered", "unordered"];
const BOLDS: [&str; 2] = ["**", "__"];

fn rows(seed: u64, n: usize) -> Vec<Row> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n)
        .map(|_| {
            let mut some = |share: f64| rng.random::<f64>() < share;
            let faults = [some(0.05), some(0.05), some(0.05)];
            let is_bare = some(0.03);
            let mut number =
                |max: i64| (rng.random::<f64>() > 0.02).then(|| rng.random_range(0..max));
            let tokens = [number(8_000), number(8_000)];
            let mut group = |n: i64| [(); 6].map(|()| number(n));
            let headers = [Some(group(3)), None::<[Option<i64>; 6]>];
            let (l, m, k) = (group(20), group(20), group(2));
            let other_headers = group(3);
            let missing = l[2].unwrap_or(0) == 1;
            let pick = |options: &[&'static str], i: Option<i64>| {
                options[i.unwrap_or(0) as usize % options.len()]
            };
            let languages = ["English", "German", "Thai", "Welsh"];
            Row {
                models: [
                    (!faults[0]).then(|| pick(&MODELS, l[3])),
                    Some(pick(&MODELS, m[3])),
                ],
                winner: match (faults[1], faults[2]) {
                    (true, _) => None,
                    (_, true) => Some("nobody"),
                    _ => Some(pick(&["model_a", "model_b", "tie", "tie (bothbad)"], m[4])),
                },
                judge: l[4].map(|judge| judge as u8),
                time: m[5].map(|time| 1.7e9 + time as f64 / 4.0),
                tokens,
                headers: [headers[0], (!missing).then_some(other_headers)],
                lists: [Some([l[0], l[1]]), Some([m[0], m[1]])],
                bolds: [Some([l[5], m[2]]), Some([k[0], k[1]])],
                is_bare,
                language: (k[2] != Some(0) || l[5] == Some(1)).then(|| pick(&languages, l[0])),
                categories: l[1].map(|n| [k[3].map(|bit| bit == 1), Some(n % 2 == 0), Some(n > 9)]),
                languages: m[1].map(|n| languages[..n as usize % 4].to_vec()),
                weight: l[0].map(|n| n as f64 / 8.0),
                turns: 1 + m[0].unwrap_or(0) % 3,
            }
        })
        .collect()
}

fn difference(a: f64, b: f64) -> f64 {
    (a - b) / (a + b + 1.0)
}

fn request(name: &str) -> FeatureRequest {
    FeatureRequest {
        name: name.to_owned(),
        difference: |a, b| Some(difference(a, b)),
    }
}

fn everything() -> Selection<'static> {
    Selection {
        features: ["length", "headers", "lists", "bold"].map(request).into(),
        optional_slices: false,
        slices: ["language", "categories", "languages", "turns"]
            .map(str::to_owned)
            .into(),
        judge: true,
        time: true,
        weight: Some("weight".to_owned()),
        conversation_features: None,
    }
}

/// What the rows should give, computed row by row.
fn expected(rows: &[Row]) -> String {
    let is_kept = |row: &&Row| {
        row.models[0].is_some()
            && row.models[0] != row.models[1]
            && row.winner.is_some_and(|winner| winner != "nobody")
    };
    let kept: Vec<&Row> = rows.iter().filter(is_kept).collect();
    let sum = |group: &Option<[Option<i64>; 2]>| group.and_then(|[x, y]| Some((x? + y?) as f64));
    let pair = |row: &Row, a: Option<f64>, b: Option<f64>| {
        let value = a.zip(b).map(|(a, b)| difference(a, b));
        value.filter(|_| !row.is_bare).unwrap_or(f64::NAN)
    };
    let headers = |group: &Option<[Option<i64>; 6]>| {
        group
            .and_then(|group| group.iter().copied().sum::<Option<i64>>())
            .map(|n| n as f64)
    };
    let features: [Vec<f64>; 4] = [
        kept.iter()
            .map(|row| {
                pair(
                    row,
                    row.tokens[0].map(|n| n as f64),
                    row.tokens[1].map(|n| n as f64),
                )
            })
            .collect(),
        kept.iter()
            .map(|row| pair(row, headers(&row.headers[0]), headers(&row.headers[1])))
            .collect(),
        kept.iter()
            .map(|row| pair(row, sum(&row.lists[0]), sum(&row.lists[1])))
            .collect(),
        kept.iter()
            .map(|row| pair(row, sum(&row.bolds[0]), sum(&row.bolds[1])))
            .collect(),
    ];
    let mut models: Vec<&str> = kept.iter().flat_map(|row| row.models).flatten().collect();
    models.sort_unstable();
    models.dedup();
    let codes = |texts: Vec<Option<String>>| {
        let mut values: Vec<String> = Vec::new();
        let codes: Vec<Option<usize>> = texts
            .into_iter()
            .map(|text| {
                let text = text?;
                Some(
                    values
                        .iter()
                        .position(|known| *known == text)
                        .unwrap_or_else(|| {
                            values.push(text);
                            values.len() - 1
                        }),
                )
            })
            .collect();
        (values, codes)
    };
    let mut out = String::new();
    let names = |side: usize| {
        kept.iter()
            .map(|row| row.models[side].unwrap())
            .collect::<Vec<_>>()
    };
    writeln!(out, "{models:?} {:?} {:?}", names(0), names(1)).unwrap();
    let winners: Vec<Winner> = kept
        .iter()
        .map(|row| Winner::parse(row.winner.unwrap()).unwrap())
        .collect();
    writeln!(out, "{winners:?}").unwrap();
    for values in &features {
        let n_missing = values.iter().filter(|value| value.is_nan()).count();
        writeln!(out, "{values:?} {n_missing}").unwrap();
    }
    let (judges, judge_codes) = codes(
        kept.iter()
            .map(|row| row.judge.map(|judge| judge.to_string()))
            .collect(),
    );
    writeln!(out, "{} {judge_codes:?}", judges.len()).unwrap();
    let times: Vec<f64> = kept
        .iter()
        .map(|row| row.time.unwrap_or(f64::NAN))
        .collect();
    let weights: Vec<f64> = kept
        .iter()
        .map(|row| row.weight.unwrap_or(f64::NAN))
        .collect();
    writeln!(out, "{times:?} {weights:?}").unwrap();
    let text = |text: &str| Some(text.to_owned());
    writeln!(
        out,
        "{:?}",
        codes(kept.iter().map(|row| row.language.and_then(text)).collect())
    )
    .unwrap();
    let labels = |row: &Row| -> Vec<&str> {
        let flags = row.categories.unwrap_or_default();
        CATEGORIES
            .into_iter()
            .zip(flags)
            .filter_map(|(label, flag)| (flag == Some(true)).then_some(label))
            .collect()
    };
    writeln!(
        out,
        "{:?}",
        kept.iter().map(|row| labels(row)).collect::<Vec<_>>()
    )
    .unwrap();
    writeln!(
        out,
        "{:?}",
        kept.iter()
            .map(|row| row.languages.clone().unwrap_or_default())
            .collect::<Vec<_>>()
    )
    .unwrap();
    writeln!(
        out,
        "{:?}",
        codes(kept.iter().map(|row| Some(row.turns.to_string())).collect())
    )
    .unwrap();
    out
}

/// A hash of every bit of the columns.
fn fingerprint(battles: &Battles) -> u128 {
    let mut bytes = format!("{:?} {:?}", battles.models, battles.sources).into_bytes();
    let mut codes = |codes: &[u32]| {
        codes
            .iter()
            .for_each(|code| bytes.extend(code.to_le_bytes()));
    };
    codes(&battles.model_a);
    codes(&battles.model_b);
    codes(&battles.judges.as_ref().unwrap().codes);
    let mut numbers: Vec<u64> = battles.winner.iter().map(|&winner| winner as u64).collect();
    let floats = battles.times.iter().chain(&battles.weights);
    for values in floats.chain(battles.features.iter().map(|feature| &feature.values)) {
        numbers.extend(values.iter().map(|value| value.to_bits()));
    }
    for slice in &battles.slices {
        match &slice.values {
            SliceValues::One(labels) => {
                codes(&labels.codes);
                numbers.push(
                    u64::try_from(hash_128(format!("{:?}", labels.values).as_bytes()) >> 64)
                        .unwrap(),
                );
            }
            SliceValues::Many { labels, bits } => {
                numbers
                    .push(u64::try_from(hash_128(format!("{labels:?}").as_bytes()) >> 64).unwrap());
                numbers.extend(bits);
            }
        }
    }
    numbers
        .iter()
        .for_each(|number| bytes.extend(number.to_le_bytes()));
    hash_128(&bytes)
}

/// What was read, in the same words.
fn found(battles: &Battles) -> String {
    let mut out = String::new();
    let names = |codes: &[u32]| {
        codes
            .iter()
            .map(|&code| battles.models[code as usize].as_str())
            .collect::<Vec<_>>()
    };
    writeln!(
        out,
        "{:?} {:?} {:?}",
        battles.models,
        names(&battles.model_a),
        names(&battles.model_b)
    )
    .unwrap();
    writeln!(out, "{:?}", battles.winner).unwrap();
    for feature in &battles.features {
        writeln!(out, "{:?} {}", feature.values, feature.n_missing).unwrap();
    }
    let codes = |codes: &[u32]| {
        codes
            .iter()
            .map(|&code| (code != u32::MAX).then_some(code))
            .collect::<Vec<_>>()
    };
    let judges = battles.judges.as_ref().unwrap();
    writeln!(out, "{} {:?}", judges.n_judges, codes(&judges.codes)).unwrap();
    writeln!(
        out,
        "{:?} {:?}",
        battles.times.as_ref().unwrap(),
        battles.weights.as_ref().unwrap()
    )
    .unwrap();
    for slice in &battles.slices {
        match &slice.values {
            SliceValues::One(labels) => {
                writeln!(out, "{:?}", (&labels.values, codes(&labels.codes))).unwrap();
            }
            SliceValues::Many { labels, bits } => {
                let rows: Vec<Vec<&str>> = bits
                    .iter()
                    .map(|bits| {
                        (0..labels.len())
                            .filter(|i| bits >> i & 1 == 1)
                            .map(|i| labels[i].as_str())
                            .collect()
                    })
                    .collect();
                writeln!(out, "{rows:?}").unwrap();
            }
        }
    }
    out
}

fn group_json(group: Option<[Option<i64>; 6]>, names: &[&str]) -> Value {
    group.map_or(Value::Null, |group| {
        names
            .iter()
            .zip(group)
            .map(|(name, n)| ((*name).to_owned(), json!(n)))
            .collect()
    })
}

fn wide(group: Option<[Option<i64>; 2]>) -> Option<[Option<i64>; 6]> {
    group.map(|[x, y]| [x, y, None, None, None, None])
}

fn metadata_json(row: &Row) -> Value {
    if row.is_bare {
        return Value::Null;
    }
    json!({
        "sum_assistant_a_tokens": row.tokens[0],
        "sum_assistant_b_tokens": row.tokens[1],
        "turns": row.turns,
        "header_count_a": group_json(row.headers[0], &HEADERS),
        "header_count_b": group_json(row.headers[1], &HEADERS),
        "list_count_a": group_json(wide(row.lists[0]), &LISTS),
        "list_count_b": group_json(wide(row.lists[1]), &LISTS),
        "bold_count_a": group_json(wide(row.bolds[0]), &BOLDS),
        "bold_count_b": group_json(wide(row.bolds[1]), &BOLDS),
    })
}

fn row_json(row: &Row) -> Value {
    json!({
        "model_a": row.models[0],
        "model_b": row.models[1],
        "winner": row.winner,
        "judge": row.judge.map(|judge| format!("judge-{judge}")),
        "tstamp": row.time,
        "turn": row.turns,
        "language": row.language,
        "categories": row.categories.map(|flags| CATEGORIES.iter().zip(flags).map(|(name, flag)| ((*name).to_owned(), json!(flag))).collect::<Value>()),
        "languages": row.languages,
        "weight": row.weight,
        "conv_metadata": metadata_json(row),
    })
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn csv(rows: &[Row], is_flat: bool) -> String {
    let mut header =
        "model_a,model_b,winner,judge,tstamp,turn,language,categories,languages,weight".to_owned();
    let mut names = Vec::new();
    for side in ["a", "b"] {
        names.push(format!("sum_assistant_{side}_tokens"));
        for (stem, members) in [("header", &HEADERS[..]), ("list", &LISTS), ("bold", &BOLDS)] {
            names.extend(
                members
                    .iter()
                    .map(|member| format!("{stem}_count_{side}.{member}")),
            );
        }
    }
    if is_flat {
        names
            .iter()
            .for_each(|name| write!(header, ",conv_metadata.{name}").unwrap());
    } else {
        header.push_str(",conv_metadata");
    }
    let mut out = header + "\n";
    for row in rows {
        let value = row_json(row);
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => quoted(&value.to_string()),
        };
        let names_of_cells = [
            "model_a",
            "model_b",
            "winner",
            "judge",
            "tstamp",
            "turn",
            "language",
            "categories",
            "languages",
            "weight",
        ];
        let mut cells: Vec<String> = names_of_cells
            .iter()
            .map(|name| cell(&value[name]))
            .collect();
        if is_flat {
            for name in &names {
                let mut member = &value["conv_metadata"];
                for part in name.split('.') {
                    member = &member[part];
                }
                cells.push(cell(member));
            }
        } else {
            cells.push(cell(&value["conv_metadata"]));
        }
        writeln!(out, "{}", cells.join(",")).unwrap();
    }
    out
}

fn ints(values: impl Iterator<Item = Option<i64>>, kind: usize) -> ArrayRef {
    match kind % 4 {
        0 => Arc::new(values.collect::<Int64Array>()),
        1 => Arc::new(values.map(|n| n.map(|n| n as i32)).collect::<Int32Array>()),
        2 => Arc::new(
            values
                .map(|n| n.map(|n| n as f64))
                .collect::<Float64Array>(),
        ),
        _ => Arc::new(
            values
                .map(|n| n.map(|n| n as f32))
                .collect::<Float32Array>(),
        ),
    }
}

fn structure(members: Vec<(&str, ArrayRef)>, is_valid: Vec<bool>) -> ArrayRef {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = members
        .into_iter()
        .map(|(name, column)| (Field::new(name, column.data_type().clone(), true), column))
        .unzip();
    Arc::new(StructArray::new(
        Fields::from(fields),
        columns,
        Some(NullBuffer::from(is_valid)),
    ))
}

fn text(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

#[derive(Clone, Copy, PartialEq)]
enum Metadata {
    Groups,
    Flat,
    Json,
}

fn parquet(
    rows: &[Row],
    metadata: Metadata,
    kind: usize,
    properties: WriterPropertiesBuilder,
) -> Vec<u8> {
    let own = |text: Option<&'static str>| text.map(str::to_owned);
    let group = |pick: &dyn Fn(&Row) -> Option<[Option<i64>; 6]>, names: &[&'static str]| {
        let members = names.iter().enumerate().map(|(idx, name)| {
            (
                *name,
                ints(
                    rows.iter().map(|row| {
                        pick(row)
                            .and_then(|group| group[idx])
                            .filter(|_| !row.is_bare)
                    }),
                    kind,
                ),
            )
        });
        (
            members.collect::<Vec<_>>(),
            rows.iter()
                .map(|row| pick(row).is_some() && !row.is_bare)
                .collect::<Vec<_>>(),
        )
    };
    let mut columns: Vec<(String, ArrayRef)> = vec![
        (
            "model_a".into(),
            text(rows.iter().map(|row| own(row.models[0]))),
        ),
        (
            "model_b".into(),
            text(rows.iter().map(|row| own(row.models[1]))),
        ),
        (
            "winner".into(),
            text(rows.iter().map(|row| own(row.winner))),
        ),
        (
            "judge".into(),
            text(
                rows.iter()
                    .map(|row| row.judge.map(|judge| format!("judge-{judge}"))),
            ),
        ),
        (
            "turn".into(),
            ints(rows.iter().map(|row| Some(row.turns)), 0),
        ),
        (
            "language".into(),
            text(rows.iter().map(|row| own(row.language))),
        ),
        (
            "weight".into(),
            Arc::new(rows.iter().map(|row| row.weight).collect::<Float64Array>()),
        ),
    ];
    columns.push((
        "tstamp".into(),
        match kind % 5 {
            0 => Arc::new(rows.iter().map(|row| row.time).collect::<Float64Array>()),
            1 => Arc::new(
                rows.iter()
                    .map(|row| row.time.map(|t| (t * 1e3) as i64))
                    .collect::<TimestampMillisecondArray>(),
            ),
            2 => Arc::new(
                rows.iter()
                    .map(|row| row.time.map(|t| (t * 1e6) as i64))
                    .collect::<TimestampMicrosecondArray>(),
            ),
            3 => Arc::new(
                rows.iter()
                    .map(|row| row.time.map(|t| (t * 1e3) as i64 * 1_000_000))
                    .collect::<TimestampNanosecondArray>(),
            ),
            _ => Arc::new(
                rows.iter()
                    .map(|row| row.time.map(|t| (t * 1e3) as i64))
                    .collect::<Int64Array>(),
            ),
        },
    ));
    let flags = CATEGORIES.iter().enumerate().map(|(idx, name)| {
        let values = rows
            .iter()
            .map(|row| row.categories.and_then(|flags| flags[idx]));
        (
            *name,
            Arc::new(values.collect::<BooleanArray>()) as ArrayRef,
        )
    });
    columns.push((
        "categories".into(),
        structure(
            flags.collect(),
            rows.iter().map(|row| row.categories.is_some()).collect(),
        ),
    ));
    let lengths = rows
        .iter()
        .map(|row| row.languages.as_ref().map_or(0, Vec::len));
    let elements: StringArray = rows
        .iter()
        .flat_map(|row| row.languages.clone().unwrap_or_default())
        .map(Some)
        .collect();
    let field = Arc::new(Field::new("item", DataType::Utf8, true));
    let valid = NullBuffer::from(
        rows.iter()
            .map(|row| row.languages.is_some())
            .collect::<Vec<_>>(),
    );
    columns.push((
        "languages".into(),
        Arc::new(ListArray::new(
            field,
            OffsetBuffer::from_lengths(lengths),
            Arc::new(elements),
            Some(valid),
        )),
    ));
    let mut leaves: Vec<(String, ArrayRef)> = Vec::new();
    let mut groups: Vec<(String, ArrayRef)> = Vec::new();
    for (side, letter) in ["a", "b"].into_iter().enumerate() {
        let tokens = ints(
            rows.iter()
                .map(|row| row.tokens[side].filter(|_| !row.is_bare)),
            kind,
        );
        let name = format!("sum_assistant_{letter}_tokens");
        leaves.push((name.clone(), Arc::clone(&tokens)));
        groups.push((name, tokens));
        for (stem, (members, valid)) in [
            ("header", group(&|row| row.headers[side], &HEADERS)),
            ("list", group(&|row| wide(row.lists[side]), &LISTS)),
            ("bold", group(&|row| wide(row.bolds[side]), &BOLDS)),
        ] {
            let name = format!("{stem}_count_{letter}");
            leaves.extend(
                members
                    .iter()
                    .map(|(member, column)| (format!("{name}.{member}"), Arc::clone(column))),
            );
            groups.push((name, structure(members, valid)));
        }
    }
    match metadata {
        Metadata::Groups => {
            let members = groups
                .iter()
                .map(|(name, column)| (name.as_str(), Arc::clone(column)))
                .collect();
            columns.push((
                "conv_metadata".into(),
                structure(members, rows.iter().map(|row| !row.is_bare).collect()),
            ));
        }
        Metadata::Flat => columns.extend(
            leaves
                .into_iter()
                .map(|(name, column)| (format!("conv_metadata.{name}"), column)),
        ),
        Metadata::Json => columns.push((
            "conv_metadata".into(),
            text(rows.iter().map(|row| Some(metadata_json(row).to_string()))),
        )),
    }
    write(columns, properties)
}

fn write(columns: Vec<(String, ArrayRef)>, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn read_with(
    sources: &[&[u8]],
    options: &ReadOptions<'_>,
    selection: &Selection<'_>,
) -> Result<(Battles, InputReport), Error> {
    let inputs = sources
        .iter()
        .map(|bytes| Input::Reader {
            name: "votes".to_owned(),
            reader: Box::new(Cursor::new(bytes.to_vec())),
        })
        .collect();
    let (battles, report) = read_battles(inputs, options, selection, &mut |_| {})?;
    let n = battles.winner.len();
    assert_eq!(
        report.rows,
        report.kept + report.n_rejected(),
        "every row has a fate"
    );
    assert_eq!(report.kept, n as u64);
    assert_eq!(battles.sources.len(), report.sources.len());
    assert_eq!(battles.sources.last().map_or(0, |rows| rows.end), n);
    let mut lengths = vec![battles.model_a.len(), battles.model_b.len()];
    lengths.extend(battles.features.iter().map(|feature| feature.values.len()));
    lengths.extend(battles.judges.iter().map(|judges| judges.codes.len()));
    lengths.extend(battles.times.iter().chain(&battles.weights).map(Vec::len));
    lengths.extend(battles.slices.iter().map(|slice| match &slice.values {
        SliceValues::One(labels) => labels.codes.len(),
        SliceValues::Many { bits, .. } => bits.len(),
    }));
    assert!(lengths.iter().all(|&length| length == n), "{lengths:?} {n}");
    Ok((battles, report))
}

fn read(bytes: impl AsRef<[u8]>, selection: &Selection<'_>) -> Battles {
    read_with(&[bytes.as_ref()], &ReadOptions::default(), selection)
        .unwrap()
        .0
}

fn refuse(bytes: impl AsRef<[u8]>, selection: &Selection<'_>) -> String {
    read_with(&[bytes.as_ref()], &ReadOptions::default(), selection)
        .unwrap_err()
        .to_string()
}

fn fates(report: &InputReport) -> Vec<(Reason, u64, u64)> {
    report
        .rejected
        .iter()
        .map(|(reason, rows)| (*reason, rows.count, rows.first.row))
        .collect()
}

/// Both sinks give every row the same fate.
fn check_fates(bytes: &[u8], report: &InputReport) {
    let input = Input::Reader {
        name: "votes".to_owned(),
        reader: Box::new(Cursor::new(bytes.to_vec())),
    };
    let votes = crate::read_votes(vec![input], &ReadOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(votes.report.rejected, report.rejected);
    assert_eq!(votes.report.kept, report.kept);
}

#[test]
fn every_format_gives_the_same_rows() {
    for seed in 0..2 {
        let rows = rows(seed, 300);
        let expected = expected(&rows);
        let values: Vec<Value> = rows.iter().map(row_json).collect();
        let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
        let new = WriterProperties::builder;
        let mut files: Vec<(String, Vec<u8>)> = vec![
            ("JSON lines".into(), lines.into()),
            ("JSON".into(), Value::from(values).to_string().into()),
            ("flat CSV".into(), csv(&rows, true).into()),
            ("CSV with JSON".into(), csv(&rows, false).into()),
        ];
        for kind in 0..5 {
            for (name, metadata) in [
                ("groups", Metadata::Groups),
                ("flat", Metadata::Flat),
                ("JSON", Metadata::Json),
            ] {
                for (how, properties) in [
                    ("dictionary", new()),
                    ("plain", new().set_dictionary_enabled(false)),
                    (
                        "small row groups",
                        new().set_max_row_group_row_count(Some(47)),
                    ),
                    (
                        "small pages",
                        new()
                            .set_data_page_row_count_limit(7)
                            .set_write_batch_size(3),
                    ),
                    (
                        "overflow",
                        new()
                            .set_dictionary_page_size_limit(64)
                            .set_write_batch_size(16),
                    ),
                    (
                        "version 2",
                        new()
                            .set_writer_version(WriterVersion::PARQUET_2_0)
                            .set_compression(Compression::SNAPPY),
                    ),
                    (
                        "delta",
                        new()
                            .set_writer_version(WriterVersion::PARQUET_2_0)
                            .set_dictionary_enabled(false),
                    ),
                ] {
                    files.push((
                        format!("Parquet {kind} {name} {how}"),
                        parquet(&rows, metadata, kind, properties),
                    ));
                }
            }
        }
        for (name, bytes) in files {
            let (battles, report) =
                read_with(&[&bytes], &ReadOptions::default(), &everything()).unwrap();
            let found = found(&battles);
            for (found, expected) in found.lines().zip(expected.lines()) {
                assert_eq!(found, expected, "{name}");
            }
            assert_eq!(report.rows, 300);
            check_fates(&bytes, &report);
        }
    }
}

#[test]
fn threads_and_row_groups_make_no_difference() {
    let rows: Vec<Row> = rows(7, 3_001).into_iter().cycle().take(110_001).collect();
    let options = |n_threads_max, dedup| ReadOptions {
        n_threads_max,
        dedup,
        repeated_ids: true,
        ..ReadOptions::default()
    };
    let mut first: Option<[String; 2]> = None;
    for n_row_group in [911, 1 << 20] {
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(n_row_group));
        let bytes = parquet(&rows, Metadata::Groups, 0, properties);
        for n_threads in [1, 3] {
            let by = |dedup| {
                let (battles, mut report) =
                    read_with(&[&bytes, &bytes], &options(n_threads, dedup), &everything())
                        .unwrap();
                report.sources.clear();
                format!("{:x} {report:?}", fingerprint(&battles))
            };
            let both = [by(None), by(Some(Dedup::Content))];
            match &first {
                None => first = Some(both),
                Some(first) => assert!(*first == both, "{n_row_group} {n_threads}"),
            }
        }
    }
}

#[test]
fn damaged_files_give_an_error_or_a_full_account() {
    let rows = rows(3, 40);
    for (metadata, properties) in [
        (
            Metadata::Groups,
            WriterProperties::builder().set_max_row_group_row_count(Some(20)),
        ),
        (
            Metadata::Json,
            WriterProperties::builder().set_dictionary_enabled(false),
        ),
        (
            Metadata::Flat,
            WriterProperties::builder().set_encoding(Encoding::PLAIN),
        ),
    ] {
        let whole = parquet(&rows, metadata, 0, properties);
        for end in (4..whole.len()).step_by(whole.len() / 60) {
            assert!(read_with(&[&whole[..end]], &ReadOptions::default(), &everything()).is_err());
        }
        let mut n_refused = 0;
        for idx in (4..whole.len()).step_by(whole.len() / 300) {
            let mut bytes = whole.clone();
            bytes[idx] ^= [0x01, 0x80, 0xff, 0x10][idx % 4];
            // The sums of a report are checked inside.
            n_refused +=
                u32::from(read_with(&[&bytes], &ReadOptions::default(), &everything()).is_err());
        }
        assert!(n_refused > 20, "{n_refused}");
    }
    for whole in [
        csv(&rows, true),
        csv(&rows, false),
        Value::from(rows.iter().map(row_json).collect::<Vec<_>>()).to_string(),
    ] {
        for end in (0..whole.len())
            .step_by(whole.len() / 60)
            .filter(|&end| whole.is_char_boundary(end))
        {
            let _ = read_with(
                &[&whole.as_bytes()[..end]],
                &ReadOptions::default(),
                &everything(),
            );
        }
    }
}

const PLAIN: &str = "model_a,model_b,winner";

#[test]
fn numbers_that_are_none_are_missing_in_their_row() {
    let csv = format!(
        "{PLAIN},length_a,length_b,cost_model_a,cost_model_b,gap\nx,y,tie,3,1,2,1,0.5\nx,y,tie,NaN,1,inf,1,-1e999\nx,y,tie,,1,many,1,\nx,y,tie, 5 ,1,2,1, 7 \n"
    );
    let selection = Selection {
        features: ["length", "cost", "gap"].map(request).into(),
        ..Selection::default()
    };
    let battles = read(csv, &selection);
    let values: Vec<String> = battles
        .features
        .iter()
        .map(|feature| {
            format!(
                "{:?} {} {:?}",
                feature.values, feature.n_missing, feature.origins
            )
        })
        .collect();
    assert_eq!(
        values,
        [
            "[0.4, NaN, NaN, 0.5714285714285714] 2 [Sides]",
            "[0.25, NaN, NaN, 0.25] 2 [Sides]",
            "[0.5, NaN, NaN, 7.0] 2 [Difference]",
        ]
    );
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let feature = Selection {
        features: vec![request("cost")],
        ..Selection::default()
    };
    let slice = Selection {
        slices: vec!["language".to_owned()],
        ..Selection::default()
    };
    let weight = Selection {
        weight: Some("p".to_owned()),
        ..Selection::default()
    };
    let csv = format!("{PLAIN},price,note\nx,y,tie,3,z\n");
    let lines = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"price\":3,\"deep\":{\"n\":1,\"t\":\"\"}}\n";
    let row = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let columns = vec![
        ("model_a".into(), row("x")),
        ("model_b".into(), row("y")),
        ("winner".into(), row("tie")),
        (
            "price".into(),
            Arc::new(Int64Array::from(vec![3])) as ArrayRef,
        ),
        (
            "cents".into(),
            Arc::new(Decimal128Array::from(vec![3])) as ArrayRef,
        ),
    ];
    let parquet = write(columns, WriterProperties::builder());
    let cost =
        "looked for `cost_a` and `cost_b`, `cost_model_a` and `cost_model_b`, or a number `cost`";
    assert_eq!(
        refuse(&csv, &feature),
        format!(
            "`votes` has nothing for the feature `cost`: {cost}; columns of numbers are `price`"
        )
    );
    assert_eq!(
        refuse(lines, &feature),
        format!(
            "`votes` has nothing for the feature `cost`: {cost}; columns of numbers are `price`, `deep.n`"
        )
    );
    assert_eq!(
        refuse(&parquet, &feature),
        format!(
            "`votes` has nothing for the feature `cost`: {cost}; columns of numbers are `price`"
        )
    );
    assert_eq!(
        refuse(&csv, &slice),
        "`votes` has nothing for the slice `language`: looked for `language`; columns are `model_a`, `model_b`, `winner`, `price`, `note`"
    );
    assert!(
        refuse(&parquet, &slice)
            .ends_with("columns are `model_a`, `model_b`, `winner`, `price`, `cents`")
    );
    for bytes in [csv.as_bytes(), lines.as_bytes(), &parquet] {
        assert!(refuse(bytes, &weight).contains("has nothing for the weight `p`"));
    }
    let cents = Selection {
        features: vec![request("cents")],
        ..Selection::default()
    };
    assert_eq!(
        refuse(&parquet, &cents),
        "column `cents` of `votes` holds decimal fractions: expected numbers"
    );
    let length = Selection {
        features: vec![request("length")],
        ..Selection::default()
    };
    assert!(
        refuse(&csv, &length).contains("looked for `conv_metadata.sum_assistant_a_tokens` and")
    );
}

#[test]
fn times_are_seconds_whatever_their_unit_and_mixtures_are_refused() {
    let time = Selection {
        time: true,
        ..Selection::default()
    };
    for cell in [
        "1690000000",
        "1690000000000",
        "1690000000000000",
        "2023-07-22T04:26:40Z",
        "2023-07-22 04:26:40",
    ] {
        let csv = format!("{PLAIN},created_at\nx,y,tie,\nx,y,tie,{cell}\n");
        let times = read(csv, &time).times.unwrap();
        assert!(times[0].is_nan());
        assert_eq!(times[1], 1.69e9, "{cell}");
    }
    let mixed = format!("{PLAIN},tstamp\nx,y,tie,1690000000\nx,y,won,5\nx,y,tie,1690000000456\n");
    assert_eq!(
        refuse(&mixed, &time),
        "the times of `votes` are seconds in row 1 and milliseconds in row 3: one unit is expected"
    );
    let texts = |n| -> ArrayRef { Arc::new(StringArray::from(vec![n; 5_000])) };
    let mut values = vec![1.69e9; 5_000];
    values[4_998] = 1.69e12;
    for n_row_group in [100, 10_000] {
        let columns = vec![
            ("model_a".into(), texts("x")),
            ("model_b".into(), texts("y")),
            ("winner".into(), texts("tie")),
            (
                "tstamp".into(),
                Arc::new(Float64Array::from(values.clone())) as ArrayRef,
            ),
        ];
        let bytes = write(
            columns,
            WriterProperties::builder().set_max_row_group_row_count(Some(n_row_group)),
        );
        assert!(refuse(bytes, &time).contains("in row 1 and milliseconds in row 4999"));
    }
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1_690_000_000; 5_000]));
    let columns = vec![
        ("model_a".into(), texts("x")),
        ("model_b".into(), texts("y")),
        ("winner".into(), texts("tie")),
        ("timestamp".into(), seconds),
    ];
    assert_eq!(
        read(write(columns, WriterProperties::builder()), &time)
            .times
            .unwrap()[77],
        1.69e9
    );
}

#[test]
fn judges_fall_back_and_count_the_same_in_every_type() {
    let judge = Selection {
        judge: true,
        ..Selection::default()
    };
    let csv = format!("{PLAIN},user_id\nx,y,tie,12\nx,y,tie,\nx,y,tie, 7\nx,y,tie,12\n");
    let lines = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"user_id\":12}\n"
        .to_owned()
        + "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"judge\":\"7\"}\n";
    let inputs = [csv.as_bytes(), lines.as_bytes()];
    let (battles, _) = read_with(&inputs, &ReadOptions::default(), &judge).unwrap();
    let judges = battles.judges.unwrap();
    assert_eq!(
        (judges.n_judges, judges.codes),
        (2, vec![0, u32::MAX, 1, 0, 0, 1])
    );
    assert_eq!(battles.sources, [0..4, 4..6]);
}

fn count_words(answers: &[&str]) -> AnswerStyle {
    let text = answers.join("\n");
    let mut style = AnswerStyle {
        tokens: text.split_whitespace().count() as u32,
        ..AnswerStyle::default()
    };
    style.markdown.headers[0] = text.lines().filter(|line| line.starts_with("# ")).count() as u32;
    style
}

#[test]
fn features_come_from_the_conversations_where_nothing_else_is() {
    let selection = Selection {
        features: vec![request("length"), request("headers")],
        conversation_features: Some(&count_words),
        ..Selection::default()
    };
    let bare = Selection {
        conversation_features: None,
        ..selection.clone()
    };
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let a = [
        message("user", "do it"),
        message("assistant", "# one\ntwo three"),
    ];
    let b = [message("user", "do it"), message("assistant", "four")];
    // (5 - 2) / ... : "# one two three" has four words.
    let expected = [difference(4.0, 1.0), difference(1.0, 0.0)];
    let nestings: Vec<[Value; 2]> = vec![
        [json!(a), json!(b)],
        [json!([a]), json!([b])],
        [json!(json!(a).to_string()), json!(json!([b]).to_string())],
        [
            json!([{"role": "assistant", "content": [{"type": "text", "text": "# one\ntwo three"}, {"type": "image", "image": "xx"}]}]),
            json!(b),
        ],
    ];
    let mut files: Vec<Vec<u8>> = Vec::new();
    for [a, b] in &nestings {
        let line = json!({"model_a": "x", "model_b": "y", "winner": "tie", "conversation_a": a, "conversation_b": b});
        files.push(format!("{line}\n").into());
        let cell = |value: &Value| {
            quoted(
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
                    .as_str(),
            )
        };
        files.push(
            format!(
                "{PLAIN},conversation_a,conversation_b\nx,y,tie,{},{}\n",
                cell(a),
                cell(b)
            )
            .into(),
        );
    }
    let row = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let plain = || {
        vec![
            ("model_a".to_owned(), row("x")),
            ("model_b".to_owned(), row("y")),
            ("winner".to_owned(), row("tie")),
        ]
    };
    let list = |values: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("element", values.data_type().clone(), true));
        let length = values.len();
        Arc::new(ListArray::new(
            field,
            OffsetBuffer::from_lengths([length]),
            values,
            None,
        ))
    };
    let messages = |answer: &str| -> ArrayRef {
        let texts = |texts: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
        structure(
            vec![
                ("role", texts(vec!["user", "assistant"])),
                ("content", texts(vec!["do it", answer])),
            ],
            vec![true; 2],
        )
    };
    let parts = |answer: &str| -> ArrayRef {
        let part = structure(
            vec![
                ("type", row("text")),
                ("text", row(answer)),
                ("image", row("xx")),
            ],
            vec![true],
        );
        structure(
            vec![("role", row("assistant")), ("content", list(part))],
            vec![true],
        )
    };
    let text = |answer: &str| json!([[message("assistant", answer)]]).to_string();
    let shapes: [&dyn Fn(&str) -> ArrayRef; 4] = [
        &|answer| list(messages(answer)),
        &|answer| list(list(messages(answer))),
        &|answer| list(parts(answer)),
        &|answer| row(&text(answer)),
    ];
    for shape in shapes {
        let mut columns = plain();
        columns.push(("conversation_a".into(), shape("# one\ntwo three")));
        columns.push(("conversation_b".into(), shape("four")));
        // Metadata that are null do not stand in the way.
        files.push(write(columns.clone(), WriterProperties::builder()));
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        columns.push((
            "conv_metadata".into(),
            structure(
                vec![
                    ("sum_assistant_a_tokens", Arc::clone(&nulls)),
                    ("sum_assistant_b_tokens", nulls),
                ],
                vec![true],
            ),
        ));
        files.push(write(columns, WriterProperties::builder()));
    }
    for (idx, bytes) in files.iter().enumerate() {
        let battles = read(bytes, &selection);
        let values: Vec<f64> = battles
            .features
            .iter()
            .map(|feature| feature.values[0])
            .collect();
        assert_eq!(values, expected, "{idx}");
        assert_eq!(battles.features[1].n_from_conversations, 1);
        assert_eq!(battles.features[1].origins, [FeatureOrigin::Conversations]);
        assert!(
            refuse(bytes, &bare).contains("nothing for the feature"),
            "{idx}"
        );
    }
}

#[test]
fn repeated_rows_are_rejected_and_the_first_is_kept() {
    let csv = format!(
        "{PLAIN},id,judge,tstamp\nx,y,won,1,j,5\nx,y,tie,1,j,5\nx,y,model_a,1,j,5\nx,y,tie,2,j,5\nx,y,tie,,j,6\nx,y,tie,,j,6\n"
    );
    let lines: String = csv
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{}\n", json!({"model_a": cells[0], "model_b": cells[1], "winner": cells[2], "id": cells[3], "judge": cells[4], "tstamp": cells[5].parse::<f64>().unwrap()}))
        })
        .collect();
    let column = |idx: usize| -> ArrayRef {
        Arc::new(
            csv.lines()
                .skip(1)
                .map(|line| line.split(',').nth(idx).filter(|cell| !cell.is_empty()))
                .collect::<StringArray>(),
        )
    };
    let names = ["model_a", "model_b", "winner", "id", "judge", "tstamp"];
    let columns = names
        .iter()
        .enumerate()
        .map(|(idx, name)| ((*name).to_owned(), column(idx)))
        .collect();
    let parquet = write(
        columns,
        WriterProperties::builder().set_max_row_group_row_count(Some(2)),
    );
    for bytes in [csv.as_bytes(), lines.as_bytes(), &parquet] {
        for (dedup, kept, rejected) in [
            (Dedup::Id, 4, (Reason::RepeatedId, 1, 3)),
            (Dedup::Content, 3, (Reason::RepeatedContent, 2, 4)),
        ] {
            let seen = Mutex::new(Vec::new());
            let note = |row: &RejectedRow| seen.lock().unwrap().push((row.reason, row.place.row));
            let options = ReadOptions {
                dedup: Some(dedup),
                rejects: Some(&note),
                repeated_ids: true,
                ..ReadOptions::default()
            };
            let (battles, report) = read_with(&[bytes], &options, &Selection::default()).unwrap();
            assert_eq!(report.kept, kept);
            assert_eq!(fates(&report), [(Reason::WinnerUnknown, 1, 1), rejected]);
            let rows: Vec<u64> = seen.lock().unwrap().iter().map(|(_, row)| *row).collect();
            assert!(rows.is_sorted());
            assert_eq!(rows.len() as u64, report.n_rejected());
            let input = Input::Reader {
                name: "votes".to_owned(),
                reader: Box::new(Cursor::new(bytes.to_vec())),
            };
            let votes = crate::read_votes(vec![input], &options, &mut |_| {}).unwrap();
            assert_eq!(votes.report, report);
            assert_eq!(votes.tally.total(), kept);
            assert_eq!(votes.tally.models(), battles.models);
            // The same file twice adds nothing to what has an id or a content.
            let options = ReadOptions {
                rejects: None,
                ..options
            };
            let (_, twice) = read_with(&[bytes, bytes], &options, &Selection::default()).unwrap();
            assert_eq!(twice.kept, if dedup == Dedup::Id { kept + 2 } else { kept });
            let strict = ReadOptions {
                strict: true,
                ..options
            };
            let valid: Vec<u8> = csv.replace("x,y,won,1,j,5\n", "").into();
            let error = read_with(&[&valid], &strict, &Selection::default()).unwrap_err();
            assert!(matches!(
                error,
                Error::RowRejected {
                    reason: Reason::RepeatedId | Reason::RepeatedContent,
                    ..
                }
            ));
        }
    }
    let bare = ReadOptions {
        dedup: Some(Dedup::Content),
        ..ReadOptions::default()
    };
    let error = read_with(
        &[format!("{PLAIN}\nx,y,tie\n").as_bytes()],
        &bare,
        &Selection::default(),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has no times, messages or prompts")
    );
}

#[test]
fn every_rejected_row_is_told_with_its_place() {
    let csv = format!("{PLAIN}\n,y,tie\nx,y\nx,x,tie\nx,y,won\n") + &"x,y,won\n".repeat(20_000);
    let seen = Mutex::new(Vec::new());
    let note = |row: &RejectedRow| seen.lock().unwrap().push(row.clone());
    let options = ReadOptions {
        rejects: Some(&note),
        ..ReadOptions::default()
    };
    let (_, report) = read_with(&[csv.as_bytes()], &options, &Selection::default()).unwrap();
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), 20_004);
    assert_eq!(report.rejected[&Reason::WinnerUnknown].count, 20_001);
    assert_eq!(
        (seen[1].reason, seen[1].place.line),
        (Reason::RowMalformed, Some(3))
    );
    let last = &seen[20_003].place;
    assert_eq!(
        (last.row, last.line, last.value.as_deref()),
        (20_004, Some(20_005), Some("won"))
    );
    assert_eq!(last.column.as_deref(), Some("winner"));
}

#[test]
fn labels_beyond_the_limit_are_refused() {
    let slice = |name: &str| Selection {
        slices: vec![name.to_owned()],
        ..Selection::default()
    };
    let many: Vec<String> = (0..65).map(|i| format!("\"l{i}\"")).collect();
    let line = format!(
        "{{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"tags\":[{}]}}\n",
        many.join(",")
    );
    assert_eq!(
        refuse(line, &slice("tags")),
        "column `tags` of `votes` has more than 64 different labels"
    );
    let mixed = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"tags\":\"one\"}\n{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"tags\":[\"one\"]}\n";
    assert!(refuse(mixed, &slice("tags")).contains("one value in some rows and many in others"));
    let dotted = "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"tie\",\"category_tag\":{\"math_v0.1\":{\"math\":true}}}\n";
    let battles = read(dotted, &slice("category_tag.math_v0.1.math"));
    assert_eq!(
        battles.slices[0].values,
        SliceValues::One(Labels {
            values: vec!["true".to_owned()],
            codes: vec![0]
        })
    );
}

fn test_data(path: &str) -> Option<Vec<u8>> {
    #[expect(clippy::disallowed_methods, reason = "tests find their data by it")]
    let Ok(folder) = std::env::var("AGON_TESTDATA") else {
        println!("skipped: AGON_TESTDATA is not set");
        return None;
    };
    Some(std::fs::read(format!("{folder}/votes/{path}")).unwrap())
}

#[test]
fn thirty_thousand_battles_have_their_style() {
    let Some(bytes) = test_data("ranking-fixtures/battles-30k.parquet") else {
        return;
    };
    let selection = Selection {
        weight: None,
        slices: vec!["language".to_owned()],
        ..everything()
    };
    let battles = read(bytes, &selection);
    assert_eq!(battles.winner.len(), 30_000);
    assert_eq!(battles.models.len(), 19);
    for feature in &battles.features {
        assert_eq!(feature.n_missing, 0);
        assert!(
            feature.values.iter().any(|&value| value != 0.0),
            "{}",
            feature.name
        );
    }
}

#[test]
fn lmarena_battles_are_sliced_and_counted_from_their_conversations() {
    let Some(bytes) = test_data("lmarena-battles/battles_001_040.jsonl") else {
        return;
    };
    let selection = Selection {
        features: vec![request("length")],
        slices: [
            "language",
            "is_code",
            "turns",
            "category_tag.refusal_v0.2.refusal",
        ]
        .map(str::to_owned)
        .into(),
        conversation_features: Some(&count_words),
        time: true,
        ..Selection::default()
    };
    let battles = read(
        &bytes,
        &Selection {
            slices: selection.slices[..3].to_vec(),
            ..selection
        },
    );
    assert_eq!(battles.features[0].n_from_conversations, 39);
    let SliceValues::One(languages) = &battles.slices[0].values else {
        panic!()
    };
    let english = languages
        .values
        .iter()
        .position(|label| label == "English")
        .unwrap();
    assert_eq!(
        languages
            .codes
            .iter()
            .filter(|&&code| code as usize == english)
            .count(),
        25
    );
    let SliceValues::One(turns) = &battles.slices[2].values else {
        panic!()
    };
    assert_eq!(turns.values, ["1"]);
    assert!(
        battles
            .times
            .unwrap()
            .iter()
            .all(|time| (1.7e9..1.8e9).contains(time))
    );
}

#[test]
fn numbers_that_a_feature_does_not_take_are_counted_with_their_places() {
    let text = "model_a,model_b,winner,id,mood_a,mood_b\n\
        x,y,a,1,2,1\nx,y,a,2,-3,1\nx,y,nobody,3,-4,1\nx,y,b,2,-5,1\ny,x,b,4,,-1\ny,x,b,5,1,-6\n";
    let selection = Selection {
        features: vec![FeatureRequest {
            name: "mood".to_owned(),
            difference: |a, b| (a >= 0.0 && b >= 0.0).then_some(a - b),
        }],
        ..Selection::default()
    };
    let refused = |dedup| {
        let options = ReadOptions {
            dedup,
            ..ReadOptions::default()
        };
        let (battles, _) = read_with(&[text.as_bytes()], &options, &selection).unwrap();
        let feature = &battles.features[0];
        assert_eq!(feature.n_refused, feature.refused.len() as u64);
        for refused in &feature.refused {
            assert!(feature.values[refused.battle].is_nan());
        }
        feature
            .refused
            .iter()
            .map(|refused| (refused.battle, refused.row, refused.line, refused.numbers))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        refused(None),
        [
            (1, 2, Some(3), [-3.0, 1.0]),
            (2, 4, Some(5), [-5.0, 1.0]),
            (4, 6, Some(7), [1.0, -6.0]),
        ]
    );
    // A repeated row is not kept, and so not counted.
    assert_eq!(
        refused(Some(Dedup::Id)),
        [(1, 2, Some(3), [-3.0, 1.0]), (3, 6, Some(7), [1.0, -6.0])]
    );
}

#[test]
fn the_first_text_in_place_of_a_number_is_told_with_its_place() {
    let csv =
        "model_a,model_b,winner,sure,mood\nx,x,a,no,no\nx,y,a,,1\nx,y,a,very,true\nx,y,b,much,2\n";
    let lines = [
        json!({"model_a": "x", "model_b": "x", "winner": "a", "sure": "no", "mood": "no"}),
        json!({"model_a": "x", "model_b": "y", "winner": "a", "sure": null, "mood": 1}),
        json!({"model_a": "x", "model_b": "y", "winner": "a", "sure": "very", "mood": true}),
        json!({"model_a": "x", "model_b": "y", "winner": "b", "sure": "much", "mood": 2}),
    ];
    let jsonl: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let selection = Selection {
        features: vec![request("mood")],
        weight: Some("sure".to_owned()),
        ..Selection::default()
    };
    for text in [csv, &jsonl] {
        let battles = read(text, &selection);
        let told = |place: &Option<Place>| {
            let place = place.as_ref().unwrap();
            (place.row, place.column.clone(), place.value.clone())
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            told(&battles.first_text_weight),
            (3, some("sure"), some("very"))
        );
        assert_eq!(
            told(&battles.features[0].first_text),
            (3, some("mood"), some("true"))
        );
    }
}

#[test]
fn the_first_value_of_parquet_that_is_no_number_is_told_with_its_place() {
    // More rows than fit a block, the first of which is rejected; a gap and a blank are missing, and nothing to tell of.
    let n_rows = 6_000;
    let texts = |row: usize| match row {
        0 => Some("rejected".to_owned()),
        3 => None,
        4 => Some("  ".to_owned()),
        5_003 => Some("very sure".to_owned()),
        5_004 => Some("NaN".to_owned()),
        _ => Some(format!("{}", 1 + row % 3)),
    };
    let numbers = |row: usize, found: f64, at: usize| match row {
        0 => Some(f64::NEG_INFINITY),
        3 => None,
        row if row == at => Some(found),
        _ => Some((row % 7) as f64),
    };
    let fractions = |found: f64, at: usize| -> ArrayRef {
        Arc::new(
            (0..n_rows)
                .map(|row| numbers(row, found, at))
                .collect::<Float64Array>(),
        )
    };
    let models = |row: usize| MODELS[usize::from(row > 0) * (row % 5)].to_owned();
    let columns = || {
        [
            ("model_a", text((0..n_rows).map(|row| Some(models(row))))),
            (
                "model_b",
                text((0..n_rows).map(|row| Some(models(usize::from(row > 0) * (row + 1))))),
            ),
            ("winner", text((0..n_rows).map(|_| Some("tie".to_owned())))),
            ("sure", text((0..n_rows).map(texts))),
            ("mood", fractions(f64::NAN, 4_500)),
            ("wit_a", fractions(f64::INFINITY, 5_100)),
            ("wit_b", fractions(f64::NAN, 5_099)),
            ("calm_a", fractions(1.0, 0)),
            ("calm_b", fractions(2.0, 0)),
        ]
        .map(|(name, column)| (name.to_owned(), column))
        .into()
    };
    let selection = Selection {
        features: ["mood", "wit", "calm"].map(request).into(),
        weight: Some("sure".to_owned()),
        ..Selection::default()
    };
    for is_dictionary in [true, false] {
        let properties = WriterProperties::builder().set_dictionary_enabled(is_dictionary);
        let bytes = write(columns(), properties);
        for n_threads_max in [1, 2] {
            let options = ReadOptions {
                n_threads_max,
                ..ReadOptions::default()
            };
            let (battles, _) = read_with(&[&bytes], &options, &selection).unwrap();
            let told = |place: &Option<Place>| {
                let place = place.clone()?;
                assert_eq!((&*place.source, place.line), ("votes", None));
                Some((place.row, place.column?, place.value?))
            };
            let is =
                |row, column: &str, value: &str| Some((row, column.to_owned(), value.to_owned()));
            assert_eq!(
                told(&battles.first_text_weight),
                is(5_004, "sure", "very sure")
            );
            assert_eq!(
                told(&battles.features[0].first_text),
                is(4_501, "mood", "NaN")
            );
            assert_eq!(
                told(&battles.features[1].first_text),
                is(5_100, "wit_b", "NaN")
            );
            assert_eq!(told(&battles.features[2].first_text), None);
            assert_eq!(battles.features[2].n_missing, 1);
            // The bits of what is missing are the same everywhere.
            let columns = battles.features.iter().map(|feature| &feature.values);
            let missing = columns.flatten().filter(|value| value.is_nan());
            assert!(
                missing
                    .into_iter()
                    .all(|value| value.to_bits() == f64::NAN.to_bits())
            );
        }
    }
}
