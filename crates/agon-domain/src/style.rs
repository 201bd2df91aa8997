//! Style features: how long and how formatted an answer is. The labels, not the counting.

/// Markdown elements of all answers of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkdownCounts {
    /// Headers of level 1 to 6.
    pub headers: [u32; 6],
    /// Items of ordered lists.
    pub list_ordered: u32,
    /// Items of unordered lists.
    pub list_unordered: u32,
    /// Spans in double asterisks.
    pub bold_asterisks: u32,
    /// Spans in double underscores.
    pub bold_underscores: u32,
}

/// What `conv_metadata` says of one battle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StyleFeatures {
    /// Tokens of all answers, by side.
    pub assistant_tokens: crate::Sides<u32>,
    /// Tokens of all that was in front of the last answer, by side: user messages and earlier answers.
    pub context_tokens: crate::Sides<u32>,
    /// Tokens of all user messages.
    pub user_tokens: u32,
    /// Number of turns.
    pub n_turns: u32,
    /// Markdown elements, by side.
    pub markdown: crate::Sides<MarkdownCounts>,
}
