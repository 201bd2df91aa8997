//! Where in a Parquet file the selected values are.

use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit, Type},
    schema::types::ColumnDescPtr,
};

use super::{Column, Table, conversations::ConversationColumns, json_cells::JsonCells};
use crate::{
    Dedup, Error, FeatureOrigin,
    battles::{
        chunk::FLAGS_MAX,
        collect::Collector,
        time::Unit,
        wanted::{Counted, Use, Wanted, looked_for},
    },
    error::found_instead,
    fate::{COLUMNS_SHOWN_MAX, cut},
};

/// Where the selected values of a file are.
pub(super) struct Plan {
    pub(super) features: Vec<FeaturePlan>,
    pub(super) weight: Option<NumberPlan>,
    pub(super) judge: Option<Column>,
    pub(super) time: Option<(Column, TimeKind)>,
    pub(super) slices: Vec<SlicePlan>,
    pub(super) conversations: Option<ConversationColumns>,
    pub(super) prompt: Option<Column>,
    pub(super) json: JsonCells,
    pub(super) origins: Vec<FeatureOrigin>,
}

/// Where a feature's values are.
pub(super) struct FeaturePlan {
    pub(super) numbers: FeatureNumbers,
    pub(super) counted: Option<Counted>,
}

pub(super) enum FeatureNumbers {
    /// Columns to sum, for each side.
    Sides([Vec<Column>; 2]),
    Difference(Column),
    /// In cells of JSON.
    Json,
    /// Only in the conversations.
    Nowhere,
}

pub(super) enum NumberPlan {
    Column(Column),
    Json,
}

pub(super) enum SlicePlan {
    One(Column),
    /// Truth values with their labels.
    Flags(Vec<(String, Column)>),
    List(Column),
    Json,
    /// The file does not have it, which is allowed.
    Nowhere,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum TimeKind {
    /// Numbers or text that say no unit.
    Bare,
    In(Unit),
    Days,
    /// Nanoseconds of a Julian day.
    Int96,
}

/// What of a leaf's annotations matters here.
enum Annotation {
    None,
    Time(TimeKind),
    /// Something that is neither a number nor a text nor a time.
    Other(&'static str),
}

fn annotation(description: &ColumnDescPtr) -> Annotation {
    match description.logical_type_ref() {
        Some(LogicalType::Timestamp(timestamp)) => {
            return Annotation::Time(TimeKind::In(match timestamp.unit {
                TimeUnit::MILLIS => Unit::Milliseconds,
                TimeUnit::MICROS => Unit::Microseconds,
                TimeUnit::NANOS => Unit::Nanoseconds,
            }));
        }
        Some(LogicalType::Date) => return Annotation::Time(TimeKind::Days),
        Some(LogicalType::Decimal(_)) => return Annotation::Other("decimal fractions"),
        Some(LogicalType::Time(_)) => return Annotation::Other("times of day"),
        Some(LogicalType::Float16) => return Annotation::Other("half precision numbers"),
        _ => {}
    }
    match description.converted_type() {
        ConvertedType::TIMESTAMP_MILLIS => Annotation::Time(TimeKind::In(Unit::Milliseconds)),
        ConvertedType::TIMESTAMP_MICROS => Annotation::Time(TimeKind::In(Unit::Microseconds)),
        ConvertedType::DATE => Annotation::Time(TimeKind::Days),
        ConvertedType::DECIMAL => Annotation::Other("decimal fractions"),
        ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS => {
            Annotation::Other("times of day")
        }
        ConvertedType::INTERVAL => Annotation::Other("intervals"),
        _ if description.physical_type() == Type::INT96 => Annotation::Time(TimeKind::Int96),
        _ => Annotation::None,
    }
}

fn is_number(description: &ColumnDescPtr) -> bool {
    matches!(
        description.physical_type(),
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE
    ) && matches!(annotation(description), Annotation::None)
}

/// A leaf with its dotted name.
struct Leaf {
    name: String,
    column: Column,
}

impl Plan {
    /// Finds all that is selected.
    pub(super) fn new(table: &Table, collector: &Collector<'_>) -> Result<Self, Error> {
        let path = &table.path;
        let wanted = collector.wanted;
        let selection = wanted.selection;
        let schema = table.metadata.file_metadata().schema_descr();
        let leaves: Vec<Leaf> = (0..schema.num_columns())
            .map(|leaf_idx| {
                let description = schema.column(leaf_idx);
                Leaf {
                    name: description.path().parts().join("."),
                    column: Column {
                        leaf_idx,
                        description,
                    },
                }
            })
            .collect();
        let wrong = |leaf: &Leaf, found: &str, expected| Error::ColumnType {
            path: path.clone(),
            column: leaf.name.clone(),
            found: found.to_owned(),
            expected,
        };
        let physical = |leaf: &Leaf| leaf.column.description.physical_type();
        let is_flat = |leaf: &Leaf| leaf.column.description.max_rep_level() == 0;
        let mut json = JsonCells::default();
        let mut numbers: Vec<Vec<&Leaf>> = (0..wanted.n_numbers).map(|_| Vec::new()).collect();
        let mut slices: Vec<Option<(u8, &Leaf)>> = vec![None; selection.slices.len()];
        let mut judge: Option<(u8, &Leaf)> = None;
        let mut time: Option<(u8, &Leaf)> = None;
        let mut prompt = None;
        for leaf in leaves.iter().filter(|leaf| is_flat(leaf)) {
            let offer = |best: &mut Option<(u8, _)>, rank: u8| {
                if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                    *best = Some((rank, leaf));
                }
            };
            for &wanted in wanted.uses(&leaf.name) {
                match wanted {
                    Use::Number(number) => numbers[number].push(leaf),
                    Use::Slice { slice, rank } => offer(&mut slices[slice], rank),
                    Use::Judge { rank } => offer(&mut judge, rank),
                    Use::Time { rank } => offer(&mut time, rank),
                    Use::Prompt => prompt = Some(leaf),
                    Use::Conversation { .. } => {}
                }
            }
            // Text may hold in JSON what others hold in columns.
            if physical(leaf) == Type::BYTE_ARRAY && wanted.is_prefix(&leaf.name) {
                json.add(&leaf.name, leaf.column.clone());
            }
        }
        let number_column = |leaf: &Leaf| -> Result<Column, Error> {
            let is_text = physical(leaf) == Type::BYTE_ARRAY;
            match annotation(&leaf.column.description) {
                Annotation::Other(found) => Err(wrong(leaf, found, "numbers")),
                Annotation::Time(_) => Err(wrong(leaf, "dates or times", "numbers")),
                Annotation::None if is_text || is_number(&leaf.column.description) => {
                    Ok(leaf.column.clone())
                }
                Annotation::None => Err(wrong(
                    leaf,
                    &format!("{} values", physical(leaf)),
                    "numbers",
                )),
            }
        };
        // A text that may be JSON of the members is read as such.
        let is_json = |leaf: &Leaf| json.has(leaf.column.leaf_idx);
        let found_numbers = |number: usize| -> Vec<&Leaf> {
            let found = &numbers[number];
            found
                .iter()
                .copied()
                .filter(|leaf| !is_json(leaf))
                .collect()
        };
        let shown = |is_shown: &dyn Fn(&&Leaf) -> bool| -> Vec<String> {
            let shown = leaves.iter().filter(|leaf| is_shown(leaf));
            shown
                .map(|leaf| cut(&leaf.name))
                .take(COLUMNS_SHOWN_MAX)
                .collect()
        };
        let missing = |what, name: &str, looked_for: String, numeric: bool| {
            let found = if numeric {
                shown(&|leaf| is_flat(leaf) && is_number(&leaf.column.description))
            } else {
                let fields = schema.root_schema().get_fields().iter();
                let names = fields.map(|field| cut(field.name()));
                names.take(COLUMNS_SHOWN_MAX).collect()
            };
            Error::MissingSelected {
                path: path.clone(),
                what,
                name: name.to_owned(),
                detail: found_instead(&looked_for, numeric, &found),
            }
        };
        let is_by_content = wanted.dedup == Some(Dedup::Content);
        let can_count = selection.conversation_features.is_some();
        let needs_conversations =
            is_by_content || can_count && wanted.features.iter().any(|f| f.counted.is_some());
        let conversations = if needs_conversations {
            ConversationColumns::find(schema)
        } else {
            None
        };
        let mut features = Vec::new();
        let mut origins = Vec::new();
        for (places, request) in wanted.features.iter().zip(&selection.features) {
            let counted = places.counted.filter(|_| {
                can_count
                    && conversations
                        .as_ref()
                        .is_some_and(ConversationColumns::has_both)
            });
            let sides = places
                .sides
                .iter()
                .map(|pair| pair.map(&found_numbers))
                .find(|[a, b]| !a.is_empty() && !b.is_empty());
            let difference = places
                .differences
                .iter()
                .find_map(|&number| found_numbers(number).first().copied());
            let (numbers, origin) = match (sides, difference) {
                (Some([a, b]), _) => {
                    let columns = |leaves: Vec<&Leaf>| {
                        leaves
                            .into_iter()
                            .map(number_column)
                            .collect::<Result<Vec<_>, _>>()
                    };
                    (
                        FeatureNumbers::Sides([columns(a)?, columns(b)?]),
                        FeatureOrigin::Sides,
                    )
                }
                (None, Some(leaf)) => (
                    FeatureNumbers::Difference(number_column(leaf)?),
                    FeatureOrigin::Difference,
                ),
                (None, None) if json.may_have(wanted, places) => {
                    (FeatureNumbers::Json, FeatureOrigin::Sides)
                }
                (None, None) if counted.is_some() => {
                    (FeatureNumbers::Nowhere, FeatureOrigin::Conversations)
                }
                (None, None) => {
                    let name = &request.name;
                    return Err(missing("feature", name, looked_for(name), true));
                }
            };
            features.push(FeaturePlan { numbers, counted });
            origins.push(origin);
        }
        let mut slice_plans = Vec::new();
        for (slice, name) in selection.slices.iter().enumerate() {
            let plan = match slices[slice] {
                Some((_, leaf)) if is_json(leaf) => Some(SlicePlan::Json),
                Some((_, leaf)) => match annotation(&leaf.column.description) {
                    Annotation::None if physical(leaf) != Type::INT96 => {
                        Some(SlicePlan::One(leaf.column.clone()))
                    }
                    _ => return Err(wrong(leaf, "dates, times or decimal fractions", "text")),
                },
                None => compound_slice(&leaves, wanted, slice),
            };
            let plan = plan.or_else(|| json.is_below(name).then_some(SlicePlan::Json));
            match plan {
                Some(SlicePlan::Flags(flags)) if flags.len() > FLAGS_MAX => {
                    return Err(Error::TooManyLabels {
                        path: path.clone(),
                        column: name.clone(),
                        n_max: FLAGS_MAX,
                    });
                }
                Some(plan) => slice_plans.push(plan),
                None if selection.optional_slices => slice_plans.push(SlicePlan::Nowhere),
                None => return Err(missing("slice", name, format!("`{name}`"), false)),
            }
        }
        let weight = match (&selection.weight, wanted.weight) {
            (Some(name), Some(number)) => Some(match found_numbers(number).first() {
                Some(leaf) => NumberPlan::Column(number_column(leaf)?),
                None if json.is_below(name) => NumberPlan::Json,
                None => return Err(missing("weight", name, format!("`{name}`"), true)),
            }),
            _ => None,
        };
        let time = match time {
            None => None,
            Some((_, leaf)) => {
                let kind = match annotation(&leaf.column.description) {
                    Annotation::Time(kind) => kind,
                    Annotation::Other(found) => return Err(wrong(leaf, found, "points in time")),
                    Annotation::None
                        if is_number(&leaf.column.description)
                            || physical(leaf) == Type::BYTE_ARRAY =>
                    {
                        TimeKind::Bare
                    }
                    Annotation::None => {
                        let found = format!("{} values", physical(leaf));
                        return Err(wrong(leaf, &found, "points in time"));
                    }
                };
                Some((leaf.column.clone(), kind))
            }
        };
        let judge = judge.map(|(_, leaf)| leaf);
        if let Some(leaf) = judge
            && (matches!(physical(leaf), Type::INT96 | Type::BOOLEAN)
                || !matches!(annotation(&leaf.column.description), Annotation::None))
        {
            return Err(wrong(leaf, "no text", "text or whole numbers"));
        }
        let prompt = prompt.filter(|leaf| physical(leaf) == Type::BYTE_ARRAY);
        if is_by_content && time.is_none() && conversations.is_none() && prompt.is_none() {
            return Err(Error::NoContentToCompare { path: path.clone() });
        }
        Ok(Self {
            features,
            weight,
            judge: judge.map(|leaf| leaf.column.clone()),
            time,
            slices: slice_plans,
            conversations,
            prompt: prompt.map(|leaf| leaf.column.clone()),
            json,
            origins,
        })
    }

    /// The columns that are read in any case.
    pub(super) fn columns(&self) -> Vec<&Column> {
        let mut columns: Vec<&Column> = Vec::new();
        for feature in &self.features {
            match &feature.numbers {
                FeatureNumbers::Sides(sides) => columns.extend(sides.iter().flatten()),
                FeatureNumbers::Difference(column) => columns.push(column),
                FeatureNumbers::Json | FeatureNumbers::Nowhere => {}
            }
        }
        for slice in &self.slices {
            match slice {
                SlicePlan::One(column) | SlicePlan::List(column) => columns.push(column),
                SlicePlan::Flags(flags) => columns.extend(flags.iter().map(|(_, column)| column)),
                SlicePlan::Json | SlicePlan::Nowhere => {}
            }
        }
        if let Some(NumberPlan::Column(column)) = &self.weight {
            columns.push(column);
        }
        columns.extend(&self.judge);
        columns.extend(self.time.as_ref().map(|(column, _)| column));
        columns.extend(&self.prompt);
        columns.extend(self.json.columns());
        columns
    }
}

/// A slice that is a group of truth values or a list of texts.
fn compound_slice(leaves: &[Leaf], wanted: &Wanted<'_>, slice: usize) -> Option<SlicePlan> {
    wanted.slice_names(slice).into_iter().find_map(|name| {
        let below = |leaf: &&Leaf| {
            leaf.name
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let label = |leaf: &Leaf| leaf.name[name.len() + 1..].to_owned();
        let flags: Vec<(String, Column)> = leaves
            .iter()
            .filter(below)
            .filter(|leaf| {
                leaf.column.description.physical_type() == Type::BOOLEAN
                    && leaf.column.description.max_rep_level() == 0
                    && !label(leaf).contains('.')
            })
            .map(|leaf| (label(leaf), leaf.column.clone()))
            .collect();
        if !flags.is_empty() {
            return Some(SlicePlan::Flags(flags));
        }
        let mut lists = leaves.iter().filter(below).filter(|leaf| {
            leaf.column.description.physical_type() == Type::BYTE_ARRAY
                && leaf.column.description.max_rep_level() == 1
        });
        match (lists.next(), lists.next()) {
            (Some(leaf), None) => Some(SlicePlan::List(leaf.column.clone())),
            _ => None,
        }
    })
}
