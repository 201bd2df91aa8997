//! Templates: lines with alternatives and slots, from which texts are made.
//!
//! `models/templates/README.md` describes the format.

use std::collections::HashMap;

/// A generator of numbers that are the same everywhere: `SplitMix64`.
#[derive(Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).unwrap();
        usize::try_from(self.next() % n).unwrap()
    }
}

/// One line of a file of templates.
#[derive(Debug)]
pub(crate) struct Template {
    /// Labels that hold.
    pub(crate) labels: Vec<String>,
    /// Labels that may hold or not.
    pub(crate) unsure: Vec<String>,
    /// Number of the family: the same number after the same first label is the same intention in every language.
    pub(crate) family: u32,
    text: String,
}

/// A file: the templates of one language.
#[derive(Debug)]
pub(crate) struct Templates {
    slots: HashMap<String, Vec<String>>,
    pub(crate) templates: Vec<Template>,
}

impl Templates {
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut slots = HashMap::new();
        let mut templates = Vec::new();
        for (idx, line) in text.lines().enumerate() {
            let place = || format!("{name}:{}", idx + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (head, rest) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("{}: no `: `", place()));
            if let Some(slot) = head.strip_prefix('@') {
                let values = rest
                    .split(" | ")
                    .map(|value| value.trim().replace("\\n", "\n"));
                slots.insert(slot.to_owned(), values.collect());
                continue;
            }
            let (labels, family) = head
                .split_once('/')
                .unwrap_or_else(|| panic!("{}: no family", place()));
            let (unsure, labels): (Vec<&str>, Vec<&str>) =
                labels.split(',').partition(|label| label.starts_with('?'));
            templates.push(Template {
                labels: labels
                    .into_iter()
                    .filter(|label| *label != "none")
                    .map(str::to_owned)
                    .collect(),
                unsure: unsure.iter().map(|label| label[1..].to_owned()).collect(),
                family: family
                    .parse()
                    .unwrap_or_else(|_| panic!("{}: family `{family}`", place())),
                text: rest.replace("\\n", "\n"),
            });
        }
        Self { slots, templates }
    }

    /// One text of a template.
    pub(crate) fn fill(&self, template: &Template, numbers: &mut Numbers) -> String {
        let text = self.expand(&template.text, numbers);
        // People write without capitals and full stops, too.
        match numbers.below(8) {
            0 => text.to_lowercase(),
            1 => text
                .trim_end_matches(['.', '?', '!', '。', '？'])
                .to_owned(),
            _ => text,
        }
    }

    fn expand(&self, text: &str, numbers: &mut Numbers) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            out.push_str(&rest[..start]);
            let inside = &rest[start + 1..];
            let Some(end) = closing(inside) else {
                out.push_str(&rest[start..]);
                return out;
            };
            let group = &inside[..end];
            rest = &inside[end + 1..];
            let options = split_top(group);
            if options.len() > 1 {
                let option = options[numbers.below(options.len())];
                out.push_str(&self.expand(option, numbers));
            } else if let Some(values) = self.slots.get(group) {
                out.push_str(&values[numbers.below(values.len())]);
            } else {
                // Braces of code or mathematics.
                out.push('{');
                out.push_str(&self.expand(group, numbers));
                out.push('}');
            }
        }
        out.push_str(rest);
        out
    }
}

/// Where the brace closes that opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The alternatives of a group, cut at bars outside inner braces.
fn split_top(group: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_u32;
    let mut from = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                parts.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[from..]);
    parts
}
