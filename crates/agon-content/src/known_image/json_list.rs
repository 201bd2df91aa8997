//! Lists as JSON: pages of ThreatExchange's `threat_updates`, and content of a Hasher-Matcher-Actioner bank.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{EntryError, KnownHash, ListEntry, ListError, Standing, line_at};
use crate::hexadecimal::shortened;

/// A page of `threat_updates`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page<'a> {
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
    #[serde(rename = "paging")]
    _paging: Option<IgnoredAny>,
}

/// One entry of either form. Fields that start with `_` are known and say nothing about a match.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Option<Id>,
    // ThreatExchange.
    indicator: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<String>,
    should_delete: Option<bool>,
    tags: Option<Tags>,
    descriptors: Option<Descriptors>,
    #[serde(rename = "creation_time")]
    _creation_time: Option<IgnoredAny>,
    #[serde(rename = "last_updated")]
    _last_updated: Option<IgnoredAny>,
    #[serde(rename = "applications_with_opinions")]
    _applications: Option<IgnoredAny>,
    // Hasher-Matcher-Actioner.
    signals: Option<BTreeMap<String, String>>,
    disable_until_ts: Option<i64>,
    #[serde(rename = "collab_metadata")]
    _collab_metadata: Option<IgnoredAny>,
    #[serde(rename = "original_media_uri")]
    _original_media_uri: Option<IgnoredAny>,
    #[serde(rename = "metadata")]
    _metadata: Option<IgnoredAny>,
    #[serde(rename = "bank")]
    _bank: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tags {
    Plain(Vec<String>),
    Nested { data: Vec<Tag> },
}

#[derive(Deserialize)]
struct Tag {
    text: String,
}

#[derive(Deserialize)]
struct Descriptors {
    data: Vec<Descriptor>,
}

/// One member's opinion.
#[derive(Deserialize)]
struct Descriptor {
    status: Option<String>,
    tags: Option<Tags>,
}

impl Tags {
    fn into_labels(self) -> Vec<String> {
        match self {
            Self::Plain(labels) => labels,
            Self::Nested { data } => data.into_iter().map(|tag| tag.text).collect(),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<ListEntry>, ListError> {
    let wrong_json = |source: serde_json::Error| ListError::Json {
        line: source.line().max(1),
        source,
    };
    let items: Vec<&RawValue> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(wrong_json)?
    } else {
        serde_json::from_str::<Page<'_>>(text)
            .map_err(wrong_json)?
            .data
    };
    let mut entries: Vec<ListEntry> = Vec::new();
    // The entries of each id, which a later record may withdraw.
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
    let (mut line, mut counted_to) = (1, 0);
    for item in items {
        // Items are parts of the text, so that their addresses tell their lines.
        let at = item.get().as_ptr().addr() - text.as_ptr().addr();
        line += line_at(&text.as_bytes()[counted_to..], at - counted_to) - 1;
        counted_to = at;
        let raw: Raw = serde_json::from_str(item.get()).map_err(|source| ListError::Json {
            line: line + source.line().max(1) - 1,
            source,
        })?;
        let added = read_entry(raw, line).map_err(|source| ListError::Entry { line, source })?;
        for entry in added {
            if let Some(id) = &entry.id {
                let places = by_id.entry(id.clone()).or_default();
                if entry.standing == Standing::Deleted {
                    for &place in places.iter() {
                        entries[place].standing = Standing::Deleted;
                    }
                }
                places.push(entries.len());
            }
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn read_entry(raw: Raw, line: usize) -> Result<Vec<ListEntry>, EntryError> {
    let standing = standing(&raw)?;
    let id = raw.id.map(|id| match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => text,
    });
    let mut labels = raw.tags.map(Tags::into_labels).unwrap_or_default();
    labels.extend(raw.status);
    for descriptor in raw.descriptors.into_iter().flat_map(|all| all.data) {
        labels.extend(descriptor.tags.into_iter().flat_map(Tags::into_labels));
        labels.extend(descriptor.status);
    }
    let hashes = match (raw.indicator, raw.kind, raw.signals) {
        (Some(text), Some(kind), None) => vec![KnownHash::parse(&kind, &text)?],
        (None, None, Some(signals)) if !signals.is_empty() => signals
            .iter()
            .map(|(kind, text)| KnownHash::parse(kind, text))
            .collect::<Result<_, _>>()?,
        _ => return Err(EntryError::NoHash),
    };
    Ok(hashes
        .into_iter()
        .map(|hash| ListEntry {
            hash,
            line,
            id: id.clone(),
            labels: labels.clone(),
            standing,
        })
        .collect())
}

fn standing(raw: &Raw) -> Result<Standing, EntryError> {
    if raw.should_delete == Some(true) {
        return Ok(Standing::Deleted);
    }
    let opinions = raw.descriptors.iter().flat_map(|all| &all.data);
    let statuses: Vec<&String> = raw
        .status
        .iter()
        .chain(opinions.filter_map(|opinion| opinion.status.as_ref()))
        .collect();
    for status in &statuses {
        if !matches!(
            status.as_str(),
            "MALICIOUS" | "SUSPICIOUS" | "UNKNOWN" | "NON_MALICIOUS"
        ) {
            return Err(EntryError::Value {
                field: "status",
                text: shortened(status),
                accepted: "MALICIOUS, SUSPICIOUS, UNKNOWN or NON_MALICIOUS",
            });
        }
    }
    // One member's opinion that it is harmless does not outweigh another's that it is not.
    if !statuses.is_empty() && statuses.iter().all(|status| *status == "NON_MALICIOUS") {
        return Ok(Standing::Harmless);
    }
    match raw.disable_until_ts {
        None | Some(0) => Ok(Standing::Active),
        // A bank writes 1 for what is switched off for good.
        Some(1) => Ok(Standing::DisabledUntil(i64::MAX)),
        Some(until_s) if until_s > 1 => Ok(Standing::DisabledUntil(until_s)),
        Some(other) => Err(EntryError::Value {
            field: "disable_until_ts",
            text: other.to_string(),
            accepted: "0, 1 or a time in seconds since 1970",
        }),
    }
}
