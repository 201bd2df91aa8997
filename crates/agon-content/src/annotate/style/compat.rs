//! Markdown as published counts have it: the patterns of the parent module's table, without a matcher.
//!
//! One pass over ends of lines, asterisks and underscores, found 64 bytes at a time, and one look at each line's beginning.
//! The tests hold it against the patterns themselves.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::LazyLock};

use agon_domain::MarkdownCounts;
use aho_corasick::AhoCorasick;
use memchr::{memchr, memmem};
use regex::Regex;
use wide::u8x16;

use super::marks;

/// Up to so many different blocks, each is looked for in the whole text; more are looked for together.
const FEW_BLOCKS: usize = 16;

/// Markdown elements of all answers of one side. The documentation of [`super`] has the rules.
pub fn markdown_counts(answers: &[&str]) -> MarkdownCounts {
    let text = match answers {
        [answer] => without_code(answer),
        _ => Cow::Owned(without_code(&answers.join("\n")).into_owned()),
    };
    let mut counts = MarkdownCounts::default();
    count_line(&text, 0, &mut counts);
    let mut asterisks = Bold::default();
    let mut underscores = Bold::default();
    for (start, marks) in marks::blocks(text.as_bytes()) {
        let mut line_feeds = marks.line_feeds;
        while line_feeds != 0 {
            let at = start + line_feeds.trailing_zeros() as usize;
            count_line(&text, at + 1, &mut counts);
            line_feeds &= line_feeds - 1;
        }
        counts.bold_asterisks +=
            asterisks.spans_ending_in(start, marks.asterisks, marks.line_feeds);
        counts.bold_underscores +=
            underscores.spans_ending_in(start, marks.underscores, marks.line_feeds);
    }
    counts
}

/// Whether a line can be a header or an item when this byte comes first, or first behind spaces: marks, digits, white space but the line's end, and everything outside ASCII.
const CAN_COUNT: [bool; 256] = {
    let mut can = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        can[byte] = matches!(
            byte as u8,
            b'#' | b'-' | b'*' | b'+' | b'0'..=b'9' | b'\t' | 0x0b..=b'\r' | 0x1c..=0x1f | 128..
        );
        byte += 1;
    }
    can
};

/// Counts the header or item that begins with the line at `at`, if there is one.
fn count_line(text: &str, line: usize, counts: &mut MarkdownCounts) {
    let bytes = text.as_bytes();
    let mut at = line + n_spaces(bytes.get(line..).unwrap_or_default());
    // Most lines are empty, or begin with a letter, and are done with here, without a guess that the processor could get wrong more than once.
    let Some(first) = bytes
        .get(at)
        .filter(|first| CAN_COUNT[usize::from(**first)])
    else {
        return;
    };
    if *first == b'#' {
        let level = bytes[at..]
            .iter()
            .take(7)
            .take_while(|byte| **byte == b'#')
            .count();
        if at == line && level <= 6 && space_at(text, at + level).is_some() {
            counts.headers[level - 1] += 1;
        }
        return;
    }
    // A blank line is left to the line behind it, which has the item.
    while let Some(length) = space_at(text, at) {
        if bytes[at] == b'\n' {
            return;
        }
        at += length;
    }
    match bytes.get(at) {
        Some(b'-' | b'*' | b'+') if space_at(text, at + 1).is_some() => counts.list_unordered += 1,
        Some(b'0'..=b'9') => {
            let n_digits = bytes[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            match bytes.get(at + n_digits) {
                Some(b'.') => {
                    counts.list_ordered += u32::from(space_at(text, at + n_digits + 1).is_some());
                }
                Some(128..) => counts.list_ordered += u32::from(is_foreign_item(&text[at..])),
                _ => {}
            }
        }
        Some(128..) => counts.list_ordered += u32::from(is_foreign_item(&text[at..])),
        _ => {}
    }
}

/// How many spaces stand at the beginning.
fn n_spaces(bytes: &[u8]) -> usize {
    let at_once = match bytes.first_chunk() {
        Some(first) => {
            let is_space = u8x16::new(*first).simd_eq(u8x16::splat(b' '));
            is_space.to_bitmask().trailing_ones() as usize
        }
        None => 0,
    };
    let rest = bytes[at_once..].iter();
    at_once + rest.take_while(|byte| **byte == b' ').count()
}

/// Whether a text begins with a number and a full stop, the number in digits of any script.
fn is_foreign_item(text: &str) -> bool {
    // Digits are Unicode's decimal digits in both; new scripts reach the two at different times.
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        // Expect safety: the pattern is a constant, and the tests of this module compile it.
        Regex::new(r"^\d+\.").expect("a valid pattern")
    });
    text.starts_with(char::is_numeric)
        && NUMBER
            .find(text)
            .is_some_and(|found| space_at(text, found.end()).is_some())
}

/// The length of the white space that stands at `at`, as Python's `re` has it: Unicode's, and the four separators U+001C to U+001F.
fn space_at(text: &str, at: usize) -> Option<usize> {
    match text.as_bytes().get(at)? {
        b'\t'..=b'\r' | 0x1c..=b' ' => Some(1),
        0..128 => None,
        _ => text[at..]
            .chars()
            .next()
            .filter(|character| character.is_whitespace())
            .map(char::len_utf8),
    }
}

/// One of the two patterns `\*\*[^*\n]+\*\*` and `__[^_\n]+__` on its way through a text, told of each of its marks.
#[derive(Default)]
struct Bold {
    /// The place behind the newest mark that no span has taken, and how many marks stand there in a row.
    run_end: usize,
    run_length: usize,
    /// Whether the run before the one at `run_end` can begin a span: two marks, then something else, all in one line.
    is_open: bool,
}

impl Bold {
    /// Takes the marks and ends of lines of the block at `start`, a bit for each place; how many spans end there.
    fn spans_ending_in(&mut self, start: usize, marks: u64, line_feeds: u64) -> u32 {
        // A mark alone begins nothing; where nothing is begun, only pairs matter, and a mark that the next block may make a pair of.
        if self.run_length < 2 && !self.is_open && marks & (marks << 1 | 1 << 63 | 1) == 0 {
            *self = Self::default();
            return 0;
        }
        let mut n_spans = 0;
        let mut events = marks | line_feeds;
        while events != 0 {
            let bit = events & events.wrapping_neg();
            if marks & bit == 0 {
                // No span goes on in the next line.
                *self = Self::default();
            } else {
                let at = start + events.trailing_zeros() as usize;
                n_spans += u32::from(self.ends_with_mark_at(at));
            }
            events &= events - 1;
        }
        n_spans
    }

    /// Takes the mark at `at`; whether it is the last one of a span.
    fn ends_with_mark_at(&mut self, at: usize) -> bool {
        if at == self.run_end && self.run_length > 0 {
            self.run_length += 1;
        } else {
            // What was between the runs is the inside of a span, and not empty.
            self.is_open = self.run_length >= 2;
            self.run_length = 1;
        }
        self.run_end = at + 1;
        let ends = self.is_open && self.run_length == 2;
        if ends {
            // A span takes its marks with it.
            *self = Self::default();
        }
        ends
    }
}

/// Deletes the inside of each code block wherever that text stands, block after block.
pub(super) fn without_code(text: &str) -> Cow<'_, str> {
    let places = insides(text);
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let is_few = places.len() <= FEW_BLOCKS;
    if is_few && places.iter().all(|place| stands_once(text, place)) {
        // The common case. No deletion makes another one match, since backticks stay between them.
        let mut rest = String::with_capacity(text.len());
        let mut end = 0;
        for place in places {
            rest.push_str(&text[end..place.start]);
            end = place.end;
        }
        rest.push_str(&text[end..]);
        return Cow::Owned(rest);
    }
    let insides: Vec<&str> = places.into_iter().map(|place| &text[place]).collect();
    if is_few {
        let delete = |text, inside: &&str| deleted(text, inside);
        return insides.iter().fold(Cow::Borrowed(text), delete);
    }
    Cow::Owned(without_many(text, &insides))
}

/// Whether what stands at `place` surely stands nowhere else: a quick look for its beginning.
fn stands_once(text: &str, place: &Range<usize>) -> bool {
    const HEAD_BYTES: usize = 16;
    const LOOKS_MAX: usize = 32;
    let (text, inside) = (text.as_bytes(), &text.as_bytes()[place.clone()]);
    let head = memmem::Finder::new(&inside[..inside.len().min(HEAD_BYTES)]);
    let mut from = 0;
    for _ in 0..LOOKS_MAX {
        let Some(offset) = head.find(&text[from..]) else {
            return true;
        };
        let at = from + offset;
        if at != place.start && text[at..].starts_with(inside) {
            return false;
        }
        from = at + 1;
    }
    false
}

/// `text` without `inside`, which is not empty.
fn deleted<'a>(text: Cow<'a, str>, inside: &str) -> Cow<'a, str> {
    let finder = memmem::Finder::new(inside);
    if finder.find(text.as_bytes()).is_none() {
        return text;
    }
    let mut rest = String::with_capacity(text.len() - inside.len());
    let mut end = 0;
    for at in finder.find_iter(text.as_bytes()) {
        rest.push_str(&text[end..at]);
        end = at + inside.len();
    }
    rest.push_str(&text[end..]);
    Cow::Owned(rest)
}

/// The insides of all code blocks that are not empty: what matches between "```" and "```" without a backtick.
fn insides(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = memchr(b'`', &bytes[at..]) {
        at += offset;
        if !bytes[at..].starts_with(b"```") {
            at += 1;
            continue;
        }
        let inside = at + 3;
        let Some(length) = memchr(b'`', &bytes[inside..]) else {
            break;
        };
        let end = inside + length;
        if bytes[end..].starts_with(b"```") {
            if length > 0 {
                found.push(inside..end);
            }
            at = end + 3;
        } else {
            // With a fourth backtick, the fence may begin one later.
            at = if length == 0 { at + 1 } else { end };
        }
    }
    found
}

/// As [`without_code`], for many blocks.
///
/// No inside holds a backtick, so each run of text between two backticks keeps to itself, and most of them are an inside or hold none.
fn without_many(text: &str, insides: &[&str]) -> String {
    let Some(blocks) = Blocks::new(insides) else {
        // More patterns than the automaton has numbers for: the plain way.
        let delete = |text, inside: &&str| deleted(text, inside);
        return insides
            .iter()
            .fold(Cow::Borrowed(text), delete)
            .into_owned();
    };
    let mut out = String::with_capacity(text.len());
    for (run_idx, run) in text.split('`').enumerate() {
        if run_idx > 0 {
            out.push('`');
        }
        out.push_str(&blocks.delete_from(run));
    }
    out
}

/// The insides of many blocks, to be looked for together.
struct Blocks<'a> {
    insides: &'a [&'a str],
    automaton: AhoCorasick,
    /// For each pattern of the automaton, the blocks that have it as their inside, in order.
    places: Vec<Vec<usize>>,
}

impl<'a> Blocks<'a> {
    fn new(insides: &'a [&'a str]) -> Option<Self> {
        let mut patterns: HashMap<&str, usize> = HashMap::new();
        let mut distinct = Vec::new();
        let mut places: Vec<Vec<usize>> = Vec::new();
        for (place, inside) in insides.iter().enumerate() {
            let pattern = *patterns.entry(inside).or_insert(distinct.len());
            if pattern == distinct.len() {
                distinct.push(*inside);
                places.push(Vec::new());
            }
            places[pattern].push(place);
        }
        Some(Self {
            insides,
            automaton: AhoCorasick::new(distinct).ok()?,
            places,
        })
    }

    /// The first block, counted from `from`, whose inside stands in `run`.
    fn first_in(&self, run: &str, from: usize) -> Option<usize> {
        self.automaton
            .find_overlapping_iter(run)
            .filter_map(|found| {
                let places = &self.places[found.pattern().as_usize()];
                places
                    .get(places.partition_point(|place| *place < from))
                    .copied()
            })
            .min()
    }

    /// Deletes each inside in turn from a run without backticks.
    ///
    /// Deleting a text once more can delete more: a deletion brings together what was apart.
    fn delete_from<'b>(&self, run: &'b str) -> Cow<'b, str> {
        let mut run = Cow::Borrowed(run);
        let mut from = 0;
        while let Some(first) = self.first_in(&run, from) {
            run = deleted(run, self.insides[first]);
            from = first + 1;
            let rest = &self.insides[from..];
            if run.len().saturating_pow(2) > 16 * rest.len() {
                // A long run: looking for each of the rest is quicker than for all of them after every deletion.
                return rest.iter().fold(run, |run, inside| deleted(run, inside));
            }
        }
        run
    }
}
