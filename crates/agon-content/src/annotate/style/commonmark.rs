//! Markdown as a parser of CommonMark has it: what a reader sees as a header, an item, a table.
//!
//! With GitHub's tables and strikethrough and dollar formulas, as the pages of the arena show answers.
//! Code is no Markdown here, and neither is what a backslash escapes.

use std::sync::LazyLock;

use agon_domain::MarkdownCounts;
use comrak::{
    Arena, Options,
    nodes::{ListType, NodeValue, Sourcepos},
    parse_document,
};
use regex::Regex;

use crate::annotate::Annotator;

/// The annotator of [`commonmark_counts`].
pub const STYLE_COMMONMARK_ANNOTATOR: Annotator = Annotator {
    name: "style-commonmark",
    version: 1,
};

/// Elements of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommonmarkCounts {
    /// Headers of both kinds, items, and strong emphasis by its marks.
    pub markdown: MarkdownCounts,
    /// Paragraphs, those in items and quotes included.
    pub n_paragraphs: u32,
    /// Tables.
    pub n_tables: u32,
    /// Blocks of code, fenced and indented.
    pub n_code_blocks: u32,
    /// Spans of code.
    pub n_code_spans: u32,
    /// Links, those that are bare addresses included.
    pub n_links: u32,
    /// Pictures that the text embeds.
    pub n_images: u32,
    /// Formulas: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`.
    pub n_latex: u32,
}

impl std::ops::AddAssign for CommonmarkCounts {
    fn add_assign(&mut self, other: Self) {
        let markdown = &mut self.markdown;
        for (sum, n) in markdown.headers.iter_mut().zip(other.markdown.headers) {
            *sum = sum.saturating_add(n);
        }
        for (sum, n) in [
            (&mut markdown.list_ordered, other.markdown.list_ordered),
            (&mut markdown.list_unordered, other.markdown.list_unordered),
            (&mut markdown.bold_asterisks, other.markdown.bold_asterisks),
            (
                &mut markdown.bold_underscores,
                other.markdown.bold_underscores,
            ),
            (&mut self.n_paragraphs, other.n_paragraphs),
            (&mut self.n_tables, other.n_tables),
            (&mut self.n_code_blocks, other.n_code_blocks),
            (&mut self.n_code_spans, other.n_code_spans),
            (&mut self.n_links, other.n_links),
            (&mut self.n_images, other.n_images),
            (&mut self.n_latex, other.n_latex),
        ] {
            *sum = sum.saturating_add(n);
        }
    }
}

/// Elements of one text.
pub fn commonmark_counts(text: &str) -> CommonmarkCounts {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.math_dollars = true;
    let root = parse_document(&arena, text, &options);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut counts = CommonmarkCounts::default();
    // Lines that are code, where a backslash and a bracket are no formula.
    let mut is_code = vec![false; lines.len()];
    for node in root.descendants() {
        let node = node.data();
        match &node.value {
            NodeValue::Heading(heading) => {
                let level = usize::from(heading.level.clamp(1, 6));
                counts.markdown.headers[level - 1] += 1;
            }
            NodeValue::Item(list) => match list.list_type {
                ListType::Ordered => counts.markdown.list_ordered += 1,
                ListType::Bullet => counts.markdown.list_unordered += 1,
            },
            NodeValue::Strong => {
                if is_underscore(&lines, node.sourcepos) {
                    counts.markdown.bold_underscores += 1;
                } else {
                    counts.markdown.bold_asterisks += 1;
                }
            }
            NodeValue::Paragraph => counts.n_paragraphs += 1,
            NodeValue::Table(_) => counts.n_tables += 1,
            NodeValue::CodeBlock(_) => {
                counts.n_code_blocks += 1;
                let end = node.sourcepos.end.line.min(lines.len());
                let start = node.sourcepos.start.line.saturating_sub(1).min(end);
                is_code[start..end].fill(true);
            }
            NodeValue::Code(_) => counts.n_code_spans += 1,
            NodeValue::Link(_) => counts.n_links += 1,
            NodeValue::Image(_) => counts.n_images += 1,
            NodeValue::Math(_) => counts.n_latex += 1,
            _ => {}
        }
    }
    counts.n_latex += bracketed_formulas(&lines, &is_code);
    counts
}

/// Whether strong emphasis is marked by underscores.
fn is_underscore(lines: &[&str], place: Sourcepos) -> bool {
    lines
        .get(place.start.line.saturating_sub(1))
        .and_then(|line| line.as_bytes().get(place.start.column.saturating_sub(1)))
        == Some(&b'_')
}

/// Formulas in `\(…\)` and `\[…\]` outside code, which CommonMark takes for escaped brackets.
fn bracketed_formulas(lines: &[&str], is_code: &[bool]) -> u32 {
    static FORMULA: LazyLock<Regex> = LazyLock::new(|| {
        // Expect safety: the pattern is a constant, and the tests of this module compile it.
        Regex::new(r"`[^`\n]*`|\\\\|(?P<open>\\[(\[])|(?P<close>\\[)\]])").expect("a valid pattern")
    });
    let mut n_formulas = 0;
    let mut open = None;
    for (line, _) in lines.iter().zip(is_code).filter(|(_, is_code)| !**is_code) {
        for found in FORMULA.captures_iter(line) {
            if let Some(mark) = found.name("open") {
                open = Some(if mark.as_str() == "\\(" { "\\)" } else { "\\]" });
            } else if let Some(mark) = found.name("close")
                && open == Some(mark.as_str())
            {
                n_formulas += 1;
                open = None;
            }
        }
    }
    n_formulas
}
