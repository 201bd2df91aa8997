//! The columns of a release: the public contract, those of VisionArena-Battle.
//!
//! Thirteen columns in that dataset's order, with its names and types, so that whatever reads it reads a release.
//!
//! A conversation is a list of turns, each a list of messages `{role, content}`: the first user text is `conversation_a[0][0].content`.
//! Published arena data nests conversations in two ways, and readers of the picture sets (the Chat and bench sets, and the serving benchmarks that take `[0][0].content`) expect this one.
//! A turn holds the user's message and the model's answer.
//!
//! Every column may be null as far as Parquet is concerned, as in the original; which ones are null in practice is said at [`crate::Record`].

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use serde_json::Value;

/// The version of this contract, raised with every change that a reader could notice.
pub const SCHEMA_VERSION: &str = "1";

/// The ten flags of the column `categories`, in order.
pub const CATEGORIES: [&str; 10] = [
    "captioning",
    "code",
    "creative_writing",
    "diagram",
    "entity_recognition",
    "homework",
    "humor",
    "is_code",
    "ocr",
    "refusal",
];

/// The six leaves of `conv_metadata` that are plain numbers, in order.
pub(crate) const METADATA_NUMBERS: [&str; 6] = [
    "sum_assistant_a_tokens",
    "sum_assistant_b_tokens",
    "context_a_tokens",
    "context_b_tokens",
    "sum_user_tokens",
    "turns",
];

/// The six leaves of `conv_metadata` that are groups of numbers, in order, with their members.
pub(crate) const METADATA_GROUPS: [(&str, &[&str]); 6] = [
    ("header_count_a", HEADERS),
    ("header_count_b", HEADERS),
    ("list_count_a", LISTS),
    ("list_count_b", LISTS),
    ("bold_count_a", BOLDS),
    ("bold_count_b", BOLDS),
];

const HEADERS: &[&str] = &["h1", "h2", "h3", "h4", "h5", "h6"];
const LISTS: &[&str] = &["ordered", "unordered"];
const BOLDS: &[&str] = &["**", "__"];

/// The Arrow schema of a release, with what the Python library `datasets` needs to know to show images as images.
pub fn release_schema() -> SchemaRef {
    let text = |name: &str| nullable(name, DataType::Utf8);
    let fields = vec![
        text("judge"),
        text("winner"),
        nullable("num_turns", DataType::Int64),
        text("language"),
        nullable("categories", DataType::Struct(category_fields())),
        nullable("images", list(DataType::Struct(image_fields()))),
        text("question_id"),
        text("model_a"),
        text("model_b"),
        nullable("conversation_a", conversation_type()),
        nullable("conversation_b", conversation_type()),
        nullable("tstamp", DataType::Float64),
        nullable("conv_metadata", DataType::Struct(metadata_fields())),
    ];
    let metadata = [("huggingface".to_owned(), hugging_face_info(&fields))];
    Arc::new(Schema::new_with_metadata(
        fields,
        metadata.into_iter().collect(),
    ))
}

fn nullable(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn list(element: DataType) -> DataType {
    DataType::List(Arc::new(nullable("element", element)))
}

fn int_fields(names: &[&str]) -> Fields {
    names
        .iter()
        .map(|name| nullable(name, DataType::Int64))
        .collect()
}

pub(crate) fn category_fields() -> Fields {
    CATEGORIES
        .iter()
        .map(|name| nullable(name, DataType::Boolean))
        .collect()
}

pub(crate) fn image_fields() -> Fields {
    Fields::from(vec![
        nullable("bytes", DataType::Binary),
        nullable("path", DataType::Utf8),
    ])
}

pub(crate) fn message_fields() -> Fields {
    Fields::from(vec![
        nullable("role", DataType::Utf8),
        nullable("content", DataType::Utf8),
    ])
}

fn conversation_type() -> DataType {
    list(list(DataType::Struct(message_fields())))
}

pub(crate) fn metadata_fields() -> Fields {
    let numbers = METADATA_NUMBERS
        .iter()
        .map(|name| nullable(name, DataType::Int64));
    let groups = METADATA_GROUPS
        .iter()
        .map(|(name, members)| nullable(name, DataType::Struct(int_fields(members))));
    numbers.chain(groups).collect()
}

/// The features as the Python library `datasets` writes them into a Parquet file's metadata.
///
/// Lists are written in the bare form `[feature]`, which that library has read since its first versions; the named form that it writes itself since version 4 is unknown to older ones.
pub(crate) fn hugging_face_info(fields: &[Field]) -> String {
    format!(
        "{{\"info\": {{\"features\": {}}}}}",
        features(fields.iter())
    )
}

/// The features of some fields as a JSON object that keeps their order.
fn features<'a>(fields: impl Iterator<Item = &'a Field>) -> String {
    let members: Vec<String> = fields
        .map(|field| format!("{}: {}", Value::from(field.name().as_str()), feature(field)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

fn feature(field: &Field) -> String {
    let value = |dtype: &str| format!("{{\"dtype\": \"{dtype}\", \"_type\": \"Value\"}}");
    match field.data_type() {
        DataType::List(_) if field.name() == "images" => "[{\"_type\": \"Image\"}]".to_owned(),
        DataType::List(element) => format!("[{}]", feature(element)),
        DataType::Struct(members) => features(members.iter().map(AsRef::as_ref)),
        DataType::Boolean => value("bool"),
        DataType::Int64 => value("int64"),
        DataType::Float64 => value("float64"),
        _ => value("string"),
    }
}

/// The features as a dataset card's front matter lists them, one entry to a line, indented by `indent` blanks.
pub(crate) fn card_features(indent: usize) -> String {
    let mut text = String::new();
    for field in release_schema().fields() {
        card_feature(field, indent, &mut text);
    }
    text
}

fn card_feature(field: &Field, indent: usize, text: &mut String) {
    use std::fmt::Write as _;
    let blank = " ".repeat(indent);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{blank}- name: {}", yaml_key(field.name()));
    card_type(field.name(), field.data_type(), indent + 2, text);
}

fn card_type(name: &str, data_type: &DataType, indent: usize, text: &mut String) {
    use std::fmt::Write as _;
    let blank = " ".repeat(indent);
    let _ = match data_type {
        DataType::List(_) if name == "images" => writeln!(text, "{blank}list: image"),
        DataType::List(element) => match element.data_type() {
            DataType::List(inner) => {
                let _ = writeln!(text, "{blank}list:");
                card_type("", &DataType::List(Arc::clone(inner)), indent + 2, text);
                Ok(())
            }
            DataType::Struct(members) => {
                let _ = writeln!(text, "{blank}list:");
                for member in members {
                    card_feature(member, indent, text);
                }
                Ok(())
            }
            _ => Ok(()),
        },
        DataType::Struct(members) => {
            let _ = writeln!(text, "{blank}struct:");
            for member in members {
                card_feature(member, indent, text);
            }
            Ok(())
        }
        DataType::Boolean => writeln!(text, "{blank}dtype: bool"),
        DataType::Int64 => writeln!(text, "{blank}dtype: int64"),
        DataType::Float64 => writeln!(text, "{blank}dtype: float64"),
        _ => writeln!(text, "{blank}dtype: string"),
    };
}

/// A name as YAML takes it: `**` would be an alias without its quotes.
fn yaml_key(name: &str) -> String {
    if name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name != "__"
    {
        name.to_owned()
    } else {
        format!("'{name}'")
    }
}
