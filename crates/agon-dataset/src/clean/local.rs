//! Rules about one row.

use std::collections::HashSet;

use agon_domain::{Finish, Sides, Winner};

use super::{Facts, MessageFacts, Profile, Rule, RuleSet, Status, fastchat};
use crate::Role;

/// The rules of `agon-1` about one row, in its order. Those about several rows follow.
pub(super) const RULES: &[Rule] = &[
    Rule::SelfBattle,
    Rule::Named,
    Rule::NoUserTurn,
    Rule::UnequalMessages,
    Rule::BlankAnswer,
    Rule::PrintedObject,
    Rule::Failed,
    Rule::Unfinished,
    Rule::ModerationRefused,
    Rule::IdentityLeak,
    Rule::ExcludedModel,
    Rule::BannedJudge,
];

/// Beginnings of objects that programs print when they should read from them.
const PRINTED_OBJECTS: &[&str] = &[
    "<generator object",
    "<async_generator object",
    "<coroutine object",
    "<openai.Stream",
    "<openai.AsyncStream",
    "<Stream",
    "<Response [",
    "<Future",
    "ChatCompletion(id=",
    "ChatCompletionChunk(id=",
    "ModelResponse(id=",
    "ModelResponseStream(",
    "StreamingChatCompletionChunk(",
    "GenerateContentResponse(",
    "[object Object]",
    "[object ReadableStream]",
    "[object AsyncGenerator]",
    "[object Promise]",
];

/// How far into an answer the address of a printed object may stand.
const PRINTED_PREFIX_BYTES: usize = 256;

/// What is made once for all rows.
#[derive(Clone, Debug)]
pub(super) struct LocalRules {
    excluded_models: HashSet<String>,
    banned_judges: HashSet<String>,
    languages: Option<HashSet<String>>,
    markers: fastchat::Markers,
}

impl LocalRules {
    pub(super) fn new(profile: &Profile) -> Self {
        let (excluded_models, banned_judges, languages) = match profile {
            Profile::FastChat202504(options) => (
                &options.excluded_models,
                &options.banned_judges,
                options.languages.as_ref(),
            ),
            Profile::Agon1(options) => (&options.excluded_models, &options.banned_judges, None),
        };
        Self {
            excluded_models: excluded_models.iter().cloned().collect(),
            banned_judges: banned_judges.iter().cloned().collect(),
            languages: languages.map(|languages| languages.iter().cloned().collect()),
            markers: fastchat::Markers::new(),
        }
    }

    /// All that is found in a row, whatever excludes it. `time_s` is its time in seconds since 1970.
    pub(super) fn flags(
        &self,
        profile: &Profile,
        facts: &Facts<'_>,
        time_s: Option<f64>,
    ) -> RuleSet {
        let mut flags = RuleSet::default();
        flags.set(
            Rule::BannedJudge,
            facts
                .judge
                .is_some_and(|judge| self.banned_judges.contains(judge)),
        );
        flags.set(
            Rule::ModerationRefused,
            facts.is_refused.unwrap_or_default(),
        );
        flags.set(Rule::SelfBattle, facts.models.a == facts.models.b);
        if let Some(sides) = facts.messages {
            message_flags(&mut flags, sides);
        }
        match profile {
            Profile::FastChat202504(_) => self.reference_flags(&mut flags, facts, time_s),
            Profile::Agon1(_) => {
                let is_named = match (facts.is_anonymous, facts.selectors) {
                    (Some(is_anonymous), _) => !is_anonymous,
                    (None, Some(selectors)) => {
                        selectors.iter().any(|(_, selector)| !is_blind(*selector))
                    }
                    (None, None) => false,
                };
                flags.set(Rule::Named, is_named);
                let is_excluded = facts
                    .models
                    .iter()
                    .any(|(_, model)| self.excluded_models.contains(*model));
                flags.set(Rule::ExcludedModel, is_excluded);
            }
        }
        flags
    }

    fn reference_flags(&self, flags: &mut RuleSet, facts: &Facts<'_>, time_s: Option<f64>) {
        let mut is_anonymous = facts.is_anonymous.unwrap_or(true);
        if let Some(selectors) = facts.selectors {
            match (selectors.a, selectors.b) {
                (Some(a), Some(b)) => {
                    flags.set(Rule::SelectorOneEmpty, a.is_empty() != b.is_empty());
                    is_anonymous = a.is_empty() || a == "Model A";
                    let holds_names = a.contains(facts.models.a) && b.contains(facts.models.b);
                    let is_mismatch = !(is_anonymous || holds_names);
                    flags.set(Rule::SelectorMismatch, is_mismatch);
                }
                _ => flags.insert(Rule::SelectorNull),
            }
        }
        flags.set(Rule::Named, !is_anonymous);
        if let Some(sides) = facts.messages {
            for (_, messages) in sides.iter() {
                for message in *messages {
                    let Some(text) = message.text.filter(|text| !text.is_empty()) else {
                        flags.insert(Rule::EmptyMessage);
                        continue;
                    };
                    let lower = text.to_lowercase();
                    flags.set(Rule::IdentityWord, self.markers.has_identity_word(&lower));
                    flags.set(Rule::ErrorText, self.markers.has_error(&lower));
                    flags.set(Rule::CursorText, self.markers.is_unfinished(&lower));
                }
            }
        }
        let is_excluded = facts.models.iter().any(|(_, model)| {
            self.excluded_models
                .contains(fastchat::canonical_name(model, time_s))
        });
        flags.set(Rule::ExcludedModel, is_excluded);
        flags.set(
            Rule::Tie,
            matches!(facts.winner, Winner::Tie | Winner::BothBad),
        );
        let language = facts.language.unwrap_or("unknown");
        flags.set(Rule::UnknownLanguage, language.contains("unknown"));
        let is_other = self
            .languages
            .as_ref()
            .is_some_and(|languages| !languages.contains(language));
        flags.set(Rule::OtherLanguage, is_other);
    }
}

/// Whether a selector of the reference's log hides the name. After a vote it holds `### Model A: name`.
fn is_blind(selector: Option<&str>) -> bool {
    matches!(selector, None | Some("" | "Model A" | "Model B"))
}

fn message_flags(flags: &mut RuleSet, sides: Sides<&[MessageFacts<'_>]>) {
    let n_of = |messages: &[MessageFacts<'_>], role: Role| {
        messages
            .iter()
            .filter(|message| message.role == role)
            .count()
    };
    let prompts = sides.map(|messages| n_of(messages, Role::User));
    let answers = sides.map(|messages| n_of(messages, Role::Assistant));
    flags.set(Rule::NoUserTurn, prompts.a == 0 || prompts.b == 0);
    flags.set(
        Rule::UnequalMessages,
        prompts.a != prompts.b || prompts != answers,
    );
    for (_, messages) in sides.iter() {
        for message in *messages {
            match message.role {
                Role::User => flags.set(Rule::IdentityProbe, message.identity == Some(true)),
                Role::Assistant => answer_flags(flags, message),
            }
        }
    }
}

fn answer_flags(flags: &mut RuleSet, answer: &MessageFacts<'_>) {
    let text = answer.text.unwrap_or_default();
    let is_empty = matches!(answer.status, Status::Ended(Finish::Empty));
    flags.set(Rule::BlankAnswer, is_empty || !text.chars().any(is_visible));
    flags.set(Rule::PrintedObject, is_printed_object(text));
    match answer.status {
        Status::Unknown | Status::Ended(Finish::Stop | Finish::Length | Finish::Empty) => {}
        Status::Ended(Finish::Failed | Finish::Filtered) => flags.insert(Rule::Failed),
        Status::Running | Status::Ended(Finish::Cut | Finish::Interrupted) => {
            flags.insert(Rule::Unfinished);
        }
    }
    flags.set(Rule::IdentityLeak, answer.identity == Some(true));
}

/// Whether a character can be seen: no white space, no control character, nothing of no width.
fn is_visible(character: char) -> bool {
    !(character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
        ))
}

/// Whether a text is, or begins with, an object as a program prints it.
fn is_printed_object(text: &str) -> bool {
    let text = text.trim_start();
    if PRINTED_OBJECTS
        .iter()
        .any(|beginning| text.starts_with(beginning))
    {
        return true;
    }
    // `<package.Class object at 0x7f00>`, as Python prints whatever has no words of its own.
    let prefix = &text.as_bytes()[..text.len().min(PRINTED_PREFIX_BYTES)];
    text.starts_with('<')
        && memchr::memmem::find(prefix, b" object at 0x").is_some_and(|at| {
            !prefix[1..at]
                .iter()
                .any(|byte| byte.is_ascii_whitespace() || *byte == b'>')
        })
}
