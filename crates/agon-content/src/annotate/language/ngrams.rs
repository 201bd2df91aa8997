//! Letters after letters: how likely a word is in each language of its script.
//!
//! For every language and script, the probability of a letter after up to four letters before it in its word, the word's edges included.
//! `scripts/train-language.py` learns the weights and says from what.
//!
//! # The file of weights
//!
//! Little-endian: the eight bytes `AGONLID1`; the number of classes (one byte); each class as the length of its language's code (one byte), the code, and four letters for the script; the number of n-grams (four bytes); and each n-gram as its key (four bytes), its number of entries (one byte) and its entries (class and step, one byte each).
//! A step is −16 ln p, 255 for anything less likely.
//! An n-gram that has no entry for a class is as likely as the n-gram without its first character.

use std::{ops::Range, sync::LazyLock};

use super::{Language, script::Script};

/// The edge of a word, in keys.
const EDGE: u32 = 0x20;
/// The step of what is never seen.
const FLOOR: u8 = 255;
/// How many steps a factor of e is.
pub(super) const STEPS_PER_NAT: f32 = 16.0;
/// Longest n-gram, in characters.
const ORDER_MAX: usize = 5;
/// Most classes: their numbers are bytes.
const CLASSES_MAX: usize = 256;

/// One language in one script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) language: Language,
    pub(super) script: Script,
}

/// The weights, ready to be asked.
pub(super) struct Ngrams {
    pub(super) classes: Vec<Class>,
    /// Open addressing: the key, and where its entries begin, or 0.
    slots: Vec<(u32, u32)>,
    bytes: &'static [u8],
}

/// The one that is part of the program, unpacked at its first use (some milliseconds).
pub(super) static NGRAMS: LazyLock<Ngrams> = LazyLock::new(|| {
    // Expect safety: the file is part of the program, and every test of this module reads it.
    Ngrams::read(include_bytes!("weights.bin")).expect("a well-formed file of weights")
});

impl Ngrams {
    /// Reads the file, or `None` if it is not one.
    fn read(bytes: &'static [u8]) -> Option<Self> {
        let mut at = 0_usize;
        let mut take = |n: usize| {
            let taken = bytes.get(at..at.checked_add(n)?)?;
            at += n;
            Some((taken, at))
        };
        if take(8)?.0 != b"AGONLID1" {
            return None;
        }
        let n_classes = take(1)?.0[0];
        let mut classes = Vec::new();
        for _ in 0..n_classes {
            let length = usize::from(take(1)?.0[0]);
            let code = std::str::from_utf8(take(length)?.0).ok()?;
            classes.push(Class {
                language: Language::from_code(code)?,
                script: Script::from_code(take(4)?.0)?,
            });
        }
        let n_grams = u32::from_le_bytes(take(4)?.0.try_into().ok()?) as usize;
        let n_slots = (n_grams * 2).next_power_of_two();
        let mut slots = vec![(0, 0); n_slots];
        for _ in 0..n_grams {
            let key = u32::from_le_bytes(take(4)?.0.try_into().ok()?);
            let (head, entries_at) = take(1)?;
            let mut slot = key as usize & (n_slots - 1);
            while slots[slot].1 != 0 {
                slot = (slot + 1) & (n_slots - 1);
            }
            slots[slot] = (key, u32::try_from(entries_at - 1).ok()?);
            take(2 * usize::from(head[0]))?;
        }
        Some(Self {
            classes,
            slots,
            bytes,
        })
    }

    /// The classes of a script, which stand together.
    pub(super) fn classes_of(&self, script: Script) -> Range<usize> {
        let is_of = |class: &Class| class.script == script;
        let start = self.classes.iter().position(is_of).unwrap_or(0);
        let n = self.classes[start..]
            .iter()
            .take_while(|class| is_of(class));
        start..start + n.count()
    }

    /// Class and step of each entry of an n-gram.
    fn entries(&self, key: u32) -> &[u8] {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let (found, at) = self.slots[slot];
            if at == 0 {
                return &[];
            }
            if found == key {
                let at = at as usize;
                return &self.bytes[at + 1..][..2 * usize::from(self.bytes[at])];
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds the steps of `word`, lower case, to those of `classes` in `totals`, which has a place for every class.
    pub(super) fn add_word(&self, word: &[char], classes: &Range<usize>, totals: &mut [u32]) {
        let mut steps = [FLOOR; CLASSES_MAX];
        let code_at = |place: usize| match place {
            0 => EDGE,
            _ => word
                .get(place - 1)
                .map_or(EDGE, |letter| u32::from(*letter)),
        };
        for last in 1..word.len() + 2 {
            steps[classes.clone()].fill(FLOOR);
            let mut state = 0;
            for order in 0..ORDER_MAX.min(last + 1) {
                state = extended(state, code_at(last - order));
                #[expect(clippy::cast_possible_truncation, reason = "the key is the lower half")]
                for entry in self.entries(state as u32).chunks_exact(2) {
                    steps[usize::from(entry[0])] = entry[1];
                }
            }
            let of_script = &steps[classes.clone()];
            for (total, step) in totals[classes.clone()].iter_mut().zip(of_script) {
                *total = total.saturating_add(u32::from(*step));
            }
        }
    }
}

/// The state of an n-gram with one character more in front.
const fn extended(state: u64, code: u32) -> u64 {
    let mixed = (state ^ code as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}
