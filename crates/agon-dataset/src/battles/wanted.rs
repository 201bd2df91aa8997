//! Which names of a source are wanted, and what for.
//!
//! Names are dotted paths: `conv_metadata.header_count_a.h1` is the member `h1` of the group `header_count_a` of the group `conv_metadata`, and just as well one column of that name.

use std::collections::HashMap;

use super::Selection;
use crate::Dedup;

/// What the value under a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is added to a number of the row.
    Number(usize),
    /// It is a slice's value; of several names the one of the lowest rank counts.
    Slice { slice: usize, rank: u8 },
    /// It says who voted.
    Judge { rank: u8 },
    /// It says when.
    Time { rank: u8 },
    /// It is a side's conversation.
    Conversation { side: usize, rank: u8 },
    /// It is what the models were asked.
    Prompt,
}

/// Where the numbers of a feature are, the preferred place first.
#[derive(Clone, Debug)]
pub(crate) struct FeaturePlaces {
    /// Pairs of numbers, side A and side B.
    pub(crate) sides: Vec<[usize; 2]>,
    /// The difference itself.
    pub(crate) differences: Vec<usize>,
    /// Whether it can be counted from the conversations.
    pub(crate) counted: Option<Counted>,
}

impl FeaturePlaces {
    /// All numbers of a row that the feature may be made of.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        let sides = self.sides.iter().flatten();
        sides.chain(&self.differences).copied()
    }
}

/// A feature that can be counted in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Tokens,
    Headers,
    Lists,
    Bold,
}

/// All wanted names of a selection.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) selection: &'a Selection<'a>,
    pub(crate) dedup: Option<Dedup>,
    pub(crate) features: Vec<FeaturePlaces>,
    pub(crate) weight: Option<usize>,
    /// How many numbers a row has at most.
    pub(crate) n_numbers: usize,
    uses: HashMap<String, Vec<Use>>,
}

const JUDGES: [&str; 4] = ["judge", "judge_hash", "user_id", "visitor_id"];
const TIMES: [&str; 4] = ["tstamp", "timestamp", "time", "created_at"];
const CONVERSATIONS: [&str; 3] = ["conversation", "messages", "response"];
const PROMPTS: [&str; 1] = ["prompt"];

/// Stems of the built-in features: the number of side `{}`, and the members of its group.
const BUILT_IN: [(&str, &str, &[&str], Counted); 4] = [
    ("length", "sum_assistant_{}_tokens", &[], Counted::Tokens),
    (
        "headers",
        "header_count_{}",
        &["h1", "h2", "h3", "h4", "h5", "h6"],
        Counted::Headers,
    ),
    (
        "lists",
        "list_count_{}",
        &["ordered", "unordered"],
        Counted::Lists,
    ),
    ("bold", "bold_count_{}", &["**", "__"], Counted::Bold),
];

impl<'a> Wanted<'a> {
    pub(crate) fn new(selection: &'a Selection<'a>, dedup: Option<Dedup>) -> Self {
        let mut wanted = Self {
            selection,
            dedup,
            features: Vec::new(),
            weight: None,
            n_numbers: 0,
            uses: HashMap::new(),
        };
        let mut is_any_counted = false;
        for request in &selection.features {
            let places = wanted.feature(&request.name);
            is_any_counted |= places.counted.is_some();
            wanted.features.push(places);
        }
        for (slice, name) in selection.slices.iter().enumerate() {
            for (rank, name) in (0..).zip(spellings(name)) {
                wanted.add(name, Use::Slice { slice, rank });
            }
        }
        let by_content = dedup == Some(Dedup::Content);
        if selection.judge || by_content {
            for (rank, name) in (0..).zip(JUDGES) {
                wanted.add(name, Use::Judge { rank });
            }
        }
        if selection.time || by_content {
            for (rank, name) in (0..).zip(TIMES) {
                wanted.add(name, Use::Time { rank });
            }
        }
        if by_content || is_any_counted && selection.conversation_features.is_some() {
            for (rank, name) in (0..).zip(CONVERSATIONS) {
                for (side, letter) in ["a", "b"].into_iter().enumerate() {
                    let name = format!("{name}_{letter}");
                    wanted.add(&name, Use::Conversation { side, rank });
                }
            }
        }
        if by_content {
            for name in PROMPTS {
                wanted.add(name, Use::Prompt);
            }
        }
        if let Some(name) = &selection.weight {
            wanted.weight = Some(wanted.number(std::slice::from_ref(name)));
        }
        wanted
    }

    fn add(&mut self, name: &str, new: Use) {
        self.uses.entry(name.to_owned()).or_default().push(new);
    }

    /// A number of the row to which all these names add.
    fn number(&mut self, names: &[String]) -> usize {
        let number = self.n_numbers;
        self.n_numbers += 1;
        for name in names {
            self.add(name, Use::Number(number));
        }
        number
    }

    fn feature(&mut self, name: &str) -> FeaturePlaces {
        let built_in = BUILT_IN.iter().find(|(known, ..)| *known == name);
        let mut sides = Vec::new();
        for prefix in ["conv_metadata.", ""] {
            if let Some((_, stem, members, _)) = built_in {
                let stem = |side: &str| format!("{prefix}{}", stem.replace("{}", side));
                let separators: &[&str] = if members.is_empty() {
                    &["."]
                } else {
                    &[".", "_"]
                };
                for separator in separators {
                    sides.push(["a", "b"].map(|side| {
                        let stem = stem(side);
                        let mut names: Vec<String> = members
                            .iter()
                            .map(|member| format!("{stem}{separator}{member}"))
                            .collect();
                        if *separator == "." {
                            names.push(stem);
                        }
                        self.number(&names)
                    }));
                }
            }
        }
        for prefix in ["", "conv_metadata."] {
            for infix in ["_", "_model_"] {
                sides.push(
                    ["a", "b"].map(|side| self.number(&[format!("{prefix}{name}{infix}{side}")])),
                );
            }
        }
        let mut differences = Vec::new();
        if built_in.is_none() {
            for name in [name.to_owned(), format!("conv_metadata.{name}")] {
                differences.push(self.number(&[name]));
            }
        }
        FeaturePlaces {
            sides,
            differences,
            counted: built_in.map(|(.., counted)| *counted),
        }
    }

    /// What the value under a dotted name is for.
    pub(crate) fn uses(&self, name: &str) -> &[Use] {
        self.uses.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of a number.
    pub(crate) fn names_of_number(&self, number: usize) -> impl Iterator<Item = &str> {
        let has = move |uses: &Vec<Use>| uses.contains(&Use::Number(number));
        self.uses
            .iter()
            .filter(move |(_, uses)| has(uses))
            .map(|(name, _)| name.as_str())
    }

    /// The names under which a slice is looked for, the preferred one first.
    pub(crate) fn slice_names(&self, slice: usize) -> Vec<&'a str> {
        spellings(&self.selection.slices[slice])
    }

    /// Whether something below a dotted name is wanted.
    pub(crate) fn is_prefix(&self, name: &str) -> bool {
        self.uses.keys().any(|wanted| {
            wanted
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('.'))
        })
    }
}

/// The names under which a slice is looked for, the preferred one first.
fn spellings(name: &str) -> Vec<&str> {
    let mut names = vec![name];
    match name {
        "turns" => names.extend(["turn", "num_turns", "conv_metadata.turns"]),
        "language" => names.push("languages"),
        "category" => names.push("categories"),
        _ => {}
    }
    names
}

/// What was looked for, for a message that it is not there.
pub(crate) fn looked_for(name: &str) -> String {
    match BUILT_IN.iter().find(|(known, ..)| *known == name) {
        Some((_, stem, members, _)) => {
            let [a, b] = ["a", "b"].map(|side| stem.replace("{}", side));
            let members = if members.is_empty() {
                String::new()
            } else {
                format!(" with {}", members.join(", "))
            };
            format!("`conv_metadata.{a}` and `conv_metadata.{b}`{members}")
        }
        None => format!(
            "`{name}_a` and `{name}_b`, `{name}_model_a` and `{name}_model_b`, or a number `{name}`"
        ),
    }
}
