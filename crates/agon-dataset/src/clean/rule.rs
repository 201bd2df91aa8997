//! The rules by name.

use std::fmt;

/// Something that cleaning finds in a row. Whether it excludes the row is for the profile to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Rule {
    /// A model selector of the reference's log is null.
    SelectorNull,
    /// Exactly one of the two selectors is empty.
    SelectorOneEmpty,
    /// A selector does not hold the name of the model that answered.
    SelectorMismatch,
    /// There is no user message.
    NoUserTurn,
    /// A message is null or empty, whoever wrote it.
    EmptyMessage,
    /// A word of the reference's list of names stands somewhere, be it within another word.
    IdentityWord,
    /// One of the reference's error sentences stands somewhere.
    ErrorText,
    /// The reference's cursor stands somewhere.
    CursorText,
    /// A model against itself.
    SelfBattle,
    /// The names were known to the voter.
    Named,
    /// The two sides have different numbers of messages, or a prompt without an answer.
    UnequalMessages,
    /// An answer is null or has no visible character.
    BlankAnswer,
    /// An answer is the printed form of an object that a program should have read from.
    PrintedObject,
    /// An answer ended in a failure or was withheld.
    Failed,
    /// An answer was cut, interrupted, or still being written.
    Unfinished,
    /// Moderation refused a message or an image.
    ModerationRefused,
    /// An answer says who gives it.
    IdentityLeak,
    /// A prompt asks who answers.
    IdentityProbe,
    /// A model is on the list of excluded ones.
    ExcludedModel,
    /// The judge is on the list of banned ones.
    BannedJudge,
    /// The conversation has more than one vote.
    VotedAgain,
    /// A later vote on the same conversation counts instead.
    Superseded,
    /// An earlier vote of the same visit counts.
    LaterVoteOfVisit,
    /// The prompt is among the most frequent.
    FrequentPrompt,
    /// The prompt is among the most frequent, and the row not among those sampled from it.
    TopPrompt,
    /// The language is none of those asked for.
    OtherLanguage,
    /// The language is unknown.
    UnknownLanguage,
    /// A tie, of either kind.
    Tie,
    /// The judge has cast as many votes on that day before as count.
    DailyCap,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 29] = [
        Self::SelectorNull,
        Self::SelectorOneEmpty,
        Self::SelectorMismatch,
        Self::NoUserTurn,
        Self::EmptyMessage,
        Self::IdentityWord,
        Self::ErrorText,
        Self::CursorText,
        Self::SelfBattle,
        Self::Named,
        Self::UnequalMessages,
        Self::BlankAnswer,
        Self::PrintedObject,
        Self::Failed,
        Self::Unfinished,
        Self::ModerationRefused,
        Self::IdentityLeak,
        Self::IdentityProbe,
        Self::ExcludedModel,
        Self::BannedJudge,
        Self::VotedAgain,
        Self::Superseded,
        Self::LaterVoteOfVisit,
        Self::FrequentPrompt,
        Self::TopPrompt,
        Self::OtherLanguage,
        Self::UnknownLanguage,
        Self::Tie,
        Self::DailyCap,
    ];

    /// The code in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelectorNull => "selector_null",
            Self::SelectorOneEmpty => "selector_one_empty",
            Self::SelectorMismatch => "selector_mismatch",
            Self::NoUserTurn => "no_user_turn",
            Self::EmptyMessage => "empty_message",
            Self::IdentityWord => "identity_word",
            Self::ErrorText => "error_text",
            Self::CursorText => "cursor_text",
            Self::SelfBattle => "self_battle",
            Self::Named => "named",
            Self::UnequalMessages => "unequal_messages",
            Self::BlankAnswer => "blank_answer",
            Self::PrintedObject => "printed_object",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
            Self::ModerationRefused => "moderation_refused",
            Self::IdentityLeak => "identity_leak",
            Self::IdentityProbe => "identity_probe",
            Self::ExcludedModel => "excluded_model",
            Self::BannedJudge => "banned_judge",
            Self::VotedAgain => "voted_again",
            Self::Superseded => "superseded",
            Self::LaterVoteOfVisit => "later_vote_of_visit",
            Self::FrequentPrompt => "frequent_prompt",
            Self::TopPrompt => "top_prompt",
            Self::OtherLanguage => "other_language",
            Self::UnknownLanguage => "unknown_language",
            Self::Tie => "tie",
            Self::DailyCap => "daily_cap",
        }
    }

    /// The rule in words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::SelectorNull => "a model selector is null",
            Self::SelectorOneEmpty => "one model selector is empty and the other is not",
            Self::SelectorMismatch => "a model selector names another model",
            Self::NoUserTurn => "no user message",
            Self::EmptyMessage => "a message is null or empty",
            Self::IdentityWord => "a word of the reference's list of names",
            Self::ErrorText => "an error sentence of the reference",
            Self::CursorText => "the reference's cursor",
            Self::SelfBattle => "a model against itself",
            Self::Named => "the names were known",
            Self::UnequalMessages => "unequal numbers of messages",
            Self::BlankAnswer => "an answer without a visible character",
            Self::PrintedObject => "an answer that is a printed object",
            Self::Failed => "a failed answer",
            Self::Unfinished => "an unfinished answer",
            Self::ModerationRefused => "refused by moderation",
            Self::IdentityLeak => "an answer says who gives it",
            Self::IdentityProbe => "a prompt asks who answers",
            Self::ExcludedModel => "an excluded model",
            Self::BannedJudge => "a banned judge",
            Self::VotedAgain => "several votes on one conversation",
            Self::Superseded => "a later vote on the same conversation counts",
            Self::LaterVoteOfVisit => "an earlier vote of the same visit counts",
            Self::FrequentPrompt => "one of the most frequent prompts",
            Self::TopPrompt => "a frequent prompt, not sampled",
            Self::OtherLanguage => "another language",
            Self::UnknownLanguage => "unknown language",
            Self::Tie => "a tie",
            Self::DailyCap => "beyond the judge's votes of that day",
        }
    }

    /// Under which name the reference counts it, or its own code where the reference has none.
    pub const fn reference_name(self) -> &'static str {
        match self {
            Self::SelectorNull => "uncounted",
            Self::SelectorOneEmpty | Self::SelectorMismatch | Self::NoUserTurn => "invalid",
            Self::EmptyMessage => "none_msg",
            Self::IdentityWord => "leaked_identity",
            Self::ErrorText => "error",
            Self::CursorText => "unfinished",
            Self::ExcludedModel => "exclude_model",
            Self::BannedJudge => "banned",
            other => other.as_str(),
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleSet(u32);

impl RuleSet {
    /// Whether `rule` is in it.
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & rule.bit() != 0
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rules in it, in the order of [`Rule::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL
            .into_iter()
            .filter(move |&rule| self.contains(rule))
    }

    pub(super) fn insert(&mut self, rule: Rule) {
        self.0 |= rule.bit();
    }

    pub(super) fn set(&mut self, rule: Rule, is_broken: bool) {
        if is_broken {
            self.insert(rule);
        }
    }
}
