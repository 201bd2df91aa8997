//! Battles as Arrow columns in the schema of a release.

use std::{error::Error, fmt::Write as _, sync::Arc};

use agon_dataset::release_schema;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
    builder::StringBuilder,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use crate::world::{Battle, CATEGORY_TAGS, WINNERS, World};

/// The release's schema reduced to these columns, and `category_tag`, which it does not have.
pub(crate) fn schema(columns: &[&str]) -> SchemaRef {
    let release = release_schema();
    let mut fields: Vec<Arc<Field>> = release
        .fields()
        .iter()
        .filter(|field| columns.contains(&field.name().as_str()))
        .cloned()
        .collect();
    if columns.contains(&"category_tag") {
        let flags: Fields = CATEGORY_TAGS
            .iter()
            .map(|(name, _)| Field::new(*name, DataType::Boolean, true))
            .collect();
        fields.push(Arc::new(Field::new(
            "category_tag",
            DataType::Struct(flags),
            true,
        )));
    }
    Arc::new(Schema::new(fields))
}

/// The leaves of `conv_metadata` that are plain numbers: name, then the value of one battle.
pub(crate) fn metadata_numbers(battle: &Battle) -> [(&'static str, i64); 6] {
    let context = |side: usize| {
        let earlier = battle.answers[side].tokens * (battle.turns - 1) / battle.turns;
        battle.user_tokens + earlier
    };
    [
        ("sum_assistant_a_tokens", battle.answers[0].tokens),
        ("sum_assistant_b_tokens", battle.answers[1].tokens),
        ("context_a_tokens", context(0)),
        ("context_b_tokens", context(1)),
        ("sum_user_tokens", battle.user_tokens),
        ("turns", battle.turns),
    ]
}

/// The members of a group of `conv_metadata`, such as `header_count_a`.
pub(crate) fn metadata_group<'a>(group: &str, battle: &'a Battle) -> &'a [i64] {
    let answer = &battle.answers[usize::from(group.ends_with("_b"))];
    match group.split('_').next() {
        Some("header") => &answer.headers,
        Some("list") => &answer.lists,
        _ => &answer.bolds,
    }
}

fn int64(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn text<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn hexadecimal(values: impl ExactSizeIterator<Item = u128>) -> Result<ArrayRef, std::fmt::Error> {
    let mut array = StringBuilder::with_capacity(values.len(), 32 * values.len());
    for value in values {
        write!(array, "{value:032x}")?;
        array.append_value("");
    }
    Ok(Arc::new(array.finish()))
}

fn metadata(fields: &Fields, battles: &[Battle]) -> ArrayRef {
    let columns = fields
        .iter()
        .map(|field| match field.data_type() {
            DataType::Struct(members) => {
                let columns = (0..members.len())
                    .map(|idx| {
                        int64(
                            battles
                                .iter()
                                .map(|battle| metadata_group(field.name(), battle)[idx]),
                        )
                    })
                    .collect();
                Arc::new(StructArray::new(members.clone(), columns, None)) as ArrayRef
            }
            _ => Arc::new(Int64Array::from_iter(battles.iter().map(|battle| {
                let numbers = metadata_numbers(battle);
                numbers
                    .iter()
                    .find(|(name, _)| name == field.name())
                    .map(|(_, n)| *n)
            }))),
        })
        .collect();
    Arc::new(StructArray::new(fields.clone(), columns, None))
}

fn tags(fields: &Fields, battles: &[Battle]) -> ArrayRef {
    let columns = (0..fields.len())
        .map(|idx| {
            Arc::new(
                battles
                    .iter()
                    .map(|battle| Some(battle.tags >> idx & 1 == 1))
                    .collect::<BooleanArray>(),
            ) as ArrayRef
        })
        .collect();
    Arc::new(StructArray::new(fields.clone(), columns, None))
}

/// One row group.
pub(crate) fn batch(
    columns: &[&str],
    world: &World,
    battles: &[Battle],
) -> Result<RecordBatch, Box<dyn Error>> {
    let schema = schema(columns);
    let model = |side: usize| {
        text(
            battles
                .iter()
                .map(move |battle| world.models[battle.models[side]].name.as_str()),
        )
    };
    let mut arrays = Vec::new();
    for field in schema.fields() {
        arrays.push(match (field.name().as_str(), field.data_type()) {
            ("judge", _) => hexadecimal(battles.iter().map(|battle| battle.judge))?,
            ("question_id", _) => hexadecimal(battles.iter().map(|battle| battle.question_id))?,
            ("winner", _) => text(battles.iter().map(|battle| WINNERS[battle.winner])),
            ("language", _) => text(battles.iter().map(|battle| battle.language)),
            ("num_turns", _) => int64(battles.iter().map(|battle| battle.turns)),
            ("model_a", _) => model(0),
            ("model_b", _) => model(1),
            ("conv_metadata", DataType::Struct(fields)) => metadata(fields, battles),
            ("category_tag", DataType::Struct(fields)) => tags(fields, battles),
            _ => Arc::new(Float64Array::from_iter_values(
                battles.iter().map(|battle| battle.tstamp),
            )),
        });
    }
    Ok(RecordBatch::try_new(schema, arrays)?)
}
