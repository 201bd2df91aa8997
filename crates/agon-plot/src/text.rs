//! Text from outside: made harmless, measured with the metrics of the embedded font, cut to a width.

use std::sync::LazyLock;

use skrifa::{
    FontRef, MetadataProvider,
    charmap::Charmap,
    instance::{LocationRef, Size},
    metrics::GlyphMetrics,
};
use unicode_normalization::char::is_combining_mark;

/// How many characters of a text are kept, whatever its width. Longer names are no names.
const MAX_CHARACTERS: usize = 400;

/// How many combining marks may follow one another. Two are common, four occur, more climb into other lines.
const MAX_COMBINING: usize = 4;

/// Advance of a character that the embedded font lacks, in em. Ideographs are exactly this wide, most others narrower.
const UNKNOWN_ADVANCE: f64 = 1.0;

/// Weight of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

struct Face {
    characters: Charmap<'static>,
    metrics: GlyphMetrics<'static>,
}

impl Face {
    fn new(bytes: &'static [u8]) -> Option<Self> {
        let font = FontRef::new(bytes).ok()?;
        Some(Self {
            characters: font.charmap(),
            metrics: font.glyph_metrics(Size::new(1.0), LocationRef::default()),
        })
    }

    fn advance(&self, character: char) -> Option<f64> {
        let glyph = self.characters.map(character)?;
        self.metrics.advance_width(glyph).map(f64::from)
    }
}

static REGULAR: LazyLock<Option<Face>> = LazyLock::new(|| Face::new(notosans::REGULAR_TTF));
static BOLD: LazyLock<Option<Face>> = LazyLock::new(|| Face::new(notosans::BOLD_TTF));

/// Width in the units of `size`, without kerning, which only ever makes Latin text narrower.
pub(crate) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let face = match weight {
        Weight::Regular => &*REGULAR,
        Weight::Bold => &*BOLD,
    };
    let advance = |character: char| {
        face.as_ref()
            .and_then(|face| face.advance(character))
            .unwrap_or(if joins(character) {
                0.0
            } else {
                UNKNOWN_ADVANCE
            })
    };
    size * text.chars().map(advance).sum::<f64>()
}

/// Whether the character belongs to the one before it, so that a cut must not fall between them.
fn joins(character: char) -> bool {
    is_combining_mark(character)
        || matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Whether the character could move, hide or break other text, or is not allowed in XML.
fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            // Direction marks, embeddings, overrides and isolates: a name must not turn its neighbours around.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            // Invisible characters and line separators.
            | '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{feff}'
            | '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        // Noncharacters; XML forbids U+FFFE and U+FFFF.
        || matches!(u32::from(character) & 0xffff, 0xfffe | 0xffff)
        || matches!(character, '\u{fdd0}'..='\u{fdef}')
}

/// The text without what could do harm: no control, direction or invisible characters, no towers of combining marks, single spaces, at most 400 characters.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_CHARACTERS * 4));
    let (mut kept, mut combining, mut space) = (0, 0, false);
    for character in text.chars() {
        if character.is_whitespace() {
            space = true;
            continue;
        }
        if is_dangerous(character) {
            continue;
        }
        if is_combining_mark(character) {
            combining += 1;
            if combining > MAX_COMBINING || kept == 0 {
                continue;
            }
        } else {
            combining = 0;
        }
        if kept >= MAX_CHARACTERS {
            out.push('…');
            break;
        }
        if space && kept > 0 {
            out.push(' ');
        }
        space = false;
        out.push(character);
        kept += 1;
    }
    out
}

/// A cleaned name, or "(no name)" where nothing is left of it.
pub(crate) fn name(text: &str) -> String {
    let cleaned = clean(text);
    if cleaned.is_empty() {
        "(no name)".to_owned()
    } else {
        cleaned
    }
}

/// The text, or as much of it as fits into `available` with an ellipsis in the middle.
///
/// Names of models tell versions and sizes at their end, so both ends are worth keeping.
pub(crate) fn fit_name(text: &str, size: f64, available: f64) -> String {
    if width(text, size, Weight::Regular) <= available {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let mut kept = characters.len().saturating_sub(1);
    loop {
        let mut head = (kept * 3).div_ceil(5);
        let mut tail = characters.len() - (kept - head);
        while head > 0 && characters.get(head).is_some_and(|next| joins(*next)) {
            head -= 1;
        }
        while tail < characters.len() && joins(characters[tail]) {
            tail += 1;
        }
        let start: String = characters[..head].iter().collect();
        let end: String = characters[tail..].iter().collect();
        let cut = format!("{}…{}", start.trim_end(), end.trim_start());
        if kept == 0 || width(&cut, size, Weight::Regular) <= available {
            return cut;
        }
        kept -= 1;
    }
}

/// The text cut at its end to fit into `available`.
pub(crate) fn fit_end(text: &str, size: f64, weight: Weight, available: f64) -> String {
    if width(text, size, weight) <= available {
        return text.to_owned();
    }
    let mut characters: Vec<char> = text.chars().collect();
    while let Some(last) = characters.pop() {
        if joins(last) {
            continue;
        }
        let cut: String = characters.iter().collect::<String>().trim_end().to_owned() + "…";
        if width(&cut, size, weight) <= available {
            return cut;
        }
    }
    "…".to_owned()
}

/// Lines of words that each fit into `available`, at most `limit` of them; the last is cut where more would follow.
pub(crate) fn wrap(text: &str, size: f64, available: f64, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if lines.len() == limit || width(&longer, size, Weight::Regular) <= available {
                if let Some(line) = lines.last_mut() {
                    *line = longer;
                }
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    for line in &mut lines {
        *line = fit_end(line, size, Weight::Regular, available);
    }
    lines
}

/// Writes text into XML, both as content and inside double quotes.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_the_font() {
        assert!(REGULAR.is_some() && BOLD.is_some());
        let narrow = width("iiii", 10.0, Weight::Regular);
        let wide = width("MMMM", 10.0, Weight::Regular);
        assert!(narrow * 3.0 < wide, "{narrow} {wide}");
        assert!(width("Model", 10.0, Weight::Bold) > width("Model", 10.0, Weight::Regular));
        assert_eq!(width("模型", 10.0, Weight::Regular), 20.0);
    }

    #[test]
    fn hostile_characters_go() {
        assert_eq!(clean("a\u{202e}b\u{0}c\u{feff}\u{ffff}d"), "abcd");
        assert_eq!(clean("  one\n\ttwo \u{2028} "), "one two");
        assert_eq!(
            clean(&format!("z{}", "\u{301}".repeat(50))).chars().count(),
            1 + MAX_COMBINING
        );
        assert_eq!(name("\u{200b}\n"), "(no name)");
        assert_eq!(
            clean(&"x".repeat(10_000)).chars().count(),
            MAX_CHARACTERS + 1
        );
    }

    #[test]
    fn a_cut_name_keeps_both_ends_and_the_width() {
        let long = "llama-3.1-nemotron-ultra-253b-instruct-2025-04-07";
        let cut = fit_name(long, 12.0, 150.0);
        assert!(
            cut.starts_with("llama-3.1") && cut.ends_with("04-07") && cut.contains('…'),
            "{cut}"
        );
        assert!(width(&cut, 12.0, Weight::Regular) <= 150.0);
        assert_eq!(fit_name("gpt-4o", 12.0, 150.0), "gpt-4o");
        assert_eq!(fit_name(long, 12.0, 0.0), "…");
    }

    #[test]
    fn lines_wrap_at_words() {
        let lines = wrap("one two three four five six seven", 12.0, 80.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'));
        assert!(
            lines
                .iter()
                .all(|line| width(line, 12.0, Weight::Regular) <= 80.0)
        );
    }
}
