//! Linear models over hashed words and pieces of words: small, quick, the same bits on every machine.
//!
//! A text becomes a set of buckets ([`buckets`]): words, pairs of words, pieces of four letters, and for scripts without spaces one to three characters; none of it depends on a language.
//! A model has one weight of eight bits for each bucket and class.
//! The probability of a class is `σ(bias + scale · Σ weights / √n)`, with `n` the number of buckets of the text.
//! Sums are whole numbers, the rest is a handful of operations that IEEE 754 fixes and `libm`'s exponential, so results do not differ between machines.
//!
//! The module is public because training reads texts in the same way; `examples/train_classifiers.rs` makes the files.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

/// Characters that are read from the beginning of a text.
const HEAD_CHARS: usize = 700;
/// Characters that are read from the end of a longer one: requests stand at either end of what is pasted.
const TAIL_CHARS: usize = 300;
/// Longest word that is hashed as one, in characters.
const WORD_CHARS_MAX: usize = 40;

const MAGIC: [u8; 8] = *b"agonlin1";

/// The buckets of a text in ascending order, each once. `n_buckets` is a power of two.
pub fn buckets(text: &str, n_buckets: u32) -> Vec<u32> {
    let mut reader = Reader {
        mask: n_buckets - 1,
        buckets: Vec::with_capacity(256),
        previous: String::new(),
        counts: Counts::default(),
    };
    for part in read_parts(text) {
        reader.read(part);
    }
    reader.add_shape(text);
    let mut buckets = reader.buckets;
    buckets.sort_unstable();
    buckets.dedup();
    buckets
}

/// The beginning and, if there is more than both, the end of a text.
fn read_parts(text: &str) -> impl Iterator<Item = &str> {
    let head_end = text
        .char_indices()
        .nth(HEAD_CHARS)
        .map_or(text.len(), |(at, _)| at);
    let tail_start = text
        .char_indices()
        .rev()
        .nth(TAIL_CHARS - 1)
        .map_or(0, |(at, _)| at)
        .max(head_end);
    [&text[..head_end], &text[tail_start..]]
        .into_iter()
        .filter(|part| !part.is_empty())
}

#[derive(Default)]
struct Counts {
    chars: u32,
    digits: u32,
    symbols: u32,
    lines: u32,
}

struct Reader {
    mask: u32,
    buckets: Vec<u32>,
    /// The word before, for pairs.
    previous: String,
    counts: Counts,
}

/// How a character takes part in words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Digit,
    /// Letters and marks of scripts with spaces between words.
    Spaced,
    /// Letters of Han, kana, Hangul, Thai, Lao, Khmer, Burmese and Tibetan, which are cut into pieces.
    Unspaced,
    Symbol,
}

fn kind(c: char) -> Kind {
    match c {
        _ if c.is_whitespace() => Kind::Space,
        _ if c.is_numeric() => Kind::Digit,
        '\u{e00}'..='\u{fff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{20000}'..='\u{3ffff}' => Kind::Unspaced,
        // Marks of Indic scripts and Arabic belong to their words.
        '\u{300}'..='\u{36f}' | '\u{610}'..='\u{65f}' | '\u{900}'..='\u{dff}' => Kind::Spaced,
        _ if c.is_alphabetic() => Kind::Spaced,
        _ => Kind::Symbol,
    }
}

impl Reader {
    fn read(&mut self, part: &str) {
        let mut word = String::new();
        let mut word_kind = Kind::Space;
        for c in part.nfkc().flat_map(char::to_lowercase) {
            let kind = kind(c);
            self.counts.chars += 1;
            self.counts.digits += u32::from(kind == Kind::Digit);
            self.counts.symbols += u32::from(kind == Kind::Symbol);
            self.counts.lines += u32::from(c == '\n');
            let goes_on = kind == word_kind && !matches!(kind, Kind::Space | Kind::Symbol);
            if !goes_on {
                self.add_word(&word, word_kind);
                word.clear();
                word_kind = kind;
            }
            if kind != Kind::Space {
                word.push(c);
            }
        }
        self.add_word(&word, word_kind);
    }

    fn add_word(&mut self, word: &str, kind: Kind) {
        if word.is_empty() {
            return;
        }
        let chars: Vec<char> = word.chars().collect();
        match kind {
            Kind::Space => {}
            Kind::Unspaced => {
                for n in 1..=3 {
                    for piece in chars.windows(n) {
                        self.add(b'c', piece.iter());
                    }
                }
                self.previous.clear();
            }
            Kind::Digit => {
                // Numbers count by how many digits they have.
                let class = char::from_digit(u32::try_from(chars.len().min(6)).unwrap_or(6), 10)
                    .unwrap_or('6');
                self.add_single_and_pair(&format!("0{class}"));
            }
            Kind::Symbol => self.add_single_and_pair(word),
            Kind::Spaced => {
                let cut: String = chars.iter().take(WORD_CHARS_MAX).collect();
                self.add_single_and_pair(&cut);
                if chars.len() >= 3 {
                    let marked: Vec<char> = std::iter::once('^')
                        .chain(cut.chars())
                        .chain(std::iter::once('$'))
                        .collect();
                    for piece in marked.windows(4) {
                        self.add(b'p', piece.iter());
                    }
                }
            }
        }
    }

    fn add_single_and_pair(&mut self, word: &str) {
        self.add(b'w', word.chars().collect::<Vec<_>>().iter());
        let pair: Vec<char> = self
            .previous
            .chars()
            .chain(std::iter::once(' '))
            .chain(word.chars())
            .collect();
        self.add(b'2', pair.iter());
        self.previous.clear();
        self.previous.push_str(word);
    }

    /// What the text looks like: its length, lines, digits and symbols, each in few steps.
    fn add_shape(&mut self, text: &str) {
        let steps = |n: u32| char::from_digit(n.checked_ilog2().unwrap_or(0).min(15), 16);
        let share = |n: u32| char::from_digit((n * 16 / self.counts.chars.max(1)).min(9), 10);
        let shape = [
            ('l', steps(self.counts.chars)),
            ('n', steps(self.counts.lines + 1)),
            ('d', share(self.counts.digits)),
            ('s', share(self.counts.symbols)),
            ('f', text.contains("```").then_some('1')),
        ];
        for (name, value) in shape {
            if let Some(value) = value {
                self.add(b's', [name, value].iter());
            }
        }
    }

    /// FNV-1a over the kind and the characters, its halves folded together.
    fn add<'c>(&mut self, kind: u8, chars: impl Iterator<Item = &'c char>) {
        const PRIME: u64 = 0x0100_0000_01b3;
        let mut hash = (0xcbf2_9ce4_8422_2325 ^ u64::from(kind)).wrapping_mul(PRIME);
        for &c in chars {
            hash = (hash ^ u64::from(u32::from(c))).wrapping_mul(PRIME);
        }
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bucket = (hash >> 32) as u32 & self.mask;
        self.buckets.push(bucket);
    }
}

/// What a model knows of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// What the sum of weights is multiplied with.
    pub scale: f32,
    /// The score of a text without any known word.
    pub bias: f32,
    /// Probability from which the class is taken to hold.
    pub true_from: f32,
    /// Probability up to which it is taken not to hold.
    pub false_to: f32,
}

/// What a model says of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// The probability of each class, in their order.
    pub probabilities: Vec<f64>,
    /// The share of the text's buckets that have a weight for any class. What chance gives is the share of all buckets that have one.
    pub coverage: f64,
}

/// Several classes over the same buckets.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The classes, in the order of the scores.
    pub classes: Vec<Class>,
    /// How many buckets there are, a power of two.
    pub n_buckets: u32,
    /// For each bucket, one weight for each class.
    pub weights: Vec<i8>,
}

/// Bytes that are not a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model is unreadable at byte `{at}`: {what}")]
pub struct UnreadableModel {
    /// Where.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl Model {
    /// Reads what [`Model::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// [`UnreadableModel`] with the place.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, UnreadableModel> {
        let mut input = Input { bytes, at: 0 };
        if input.take(8)? != MAGIC {
            return Err(input.error("it does not begin with `agonlin1`"));
        }
        let n_buckets = input.number()?;
        let n_classes = input.number()?;
        if !n_buckets.is_power_of_two() || n_buckets > 1 << 22 {
            return Err(input.error("the number of buckets is no power of two up to 2^22"));
        }
        if n_classes == 0 || n_classes > 256 {
            return Err(input.error("there are not 1 to 256 classes"));
        }
        let mut classes = Vec::new();
        for _ in 0..n_classes {
            let n_name = usize::from(input.take(1)?[0]);
            let name = std::str::from_utf8(input.take(n_name)?)
                .map_err(|_| input.error("a name is not UTF-8"))?
                .to_owned();
            let mut numbers = [0.0; 4];
            for number in &mut numbers {
                *number = f32::from_bits(input.number()?);
                if !number.is_finite() {
                    return Err(input.error("a number is not finite"));
                }
            }
            let [scale, bias, true_from, false_to] = numbers;
            classes.push(Class {
                name,
                scale,
                bias,
                true_from,
                false_to,
            });
        }
        let weights = &bytes[input.at..];
        if u64::try_from(weights.len()) != Ok(u64::from(n_buckets) * u64::from(n_classes)) {
            return Err(input.error("the weights are too few or too many"));
        }
        Ok(Self {
            classes,
            n_buckets,
            weights: weights.iter().map(|byte| byte.cast_signed()).collect(),
        })
    }

    /// The model as a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.n_buckets.to_le_bytes());
        bytes.extend(u32::try_from(self.classes.len()).unwrap_or(0).to_le_bytes());
        for class in &self.classes {
            bytes.push(u8::try_from(class.name.len()).unwrap_or(0));
            bytes.extend(class.name.as_bytes());
            for number in [class.scale, class.bias, class.true_from, class.false_to] {
                bytes.extend(number.to_bits().to_le_bytes());
            }
        }
        bytes.extend(self.weights.iter().map(|weight| weight.cast_unsigned()));
        bytes
    }

    /// The probability of each class, in their order.
    pub fn probabilities(&self, text: &str) -> Vec<f64> {
        self.scores(text).probabilities
    }

    /// The probabilities, and how much of the text they rest on.
    pub fn scores(&self, text: &str) -> Scores {
        let n_classes = self.classes.len();
        let buckets = buckets(text, self.n_buckets);
        let mut sums = vec![0_i32; n_classes];
        let mut n_known = 0_u32;
        for &bucket in &buckets {
            let row = &self.weights[self.row(bucket, n_classes)];
            n_known += u32::from(row.iter().any(|weight| *weight != 0));
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += i32::from(*weight);
            }
        }
        // A text has fewer than 2^32 buckets.
        let n_found = f64::from(u32::try_from(buckets.len().max(1)).unwrap_or(u32::MAX));
        let norm = n_found.sqrt();
        Scores {
            probabilities: self
                .classes
                .iter()
                .zip(sums)
                .map(|(class, sum)| {
                    sigmoid(f64::from(class.bias) + f64::from(class.scale) * f64::from(sum) / norm)
                })
                .collect(),
            coverage: f64::from(n_known) / n_found,
        }
    }

    fn row(&self, bucket: u32, n_classes: usize) -> Range<usize> {
        // A bucket is less than 2^22.
        let start = usize::try_from(bucket).unwrap_or(0) * n_classes;
        start..start + n_classes
    }
}

/// The logistic function.
pub fn sigmoid(score: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-score))
}

struct Input<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Input<'b> {
    const fn error(&self, what: &'static str) -> UnreadableModel {
        UnreadableModel { at: self.at, what }
    }

    fn take(&mut self, n_bytes: usize) -> Result<&'b [u8], UnreadableModel> {
        let taken = self
            .bytes
            .get(self.at..self.at + n_bytes)
            .ok_or_else(|| self.error("it ends too early"))?;
        self.at += n_bytes;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, UnreadableModel> {
        let taken = self.take(4)?;
        Ok(u32::from_le_bytes([taken[0], taken[1], taken[2], taken[3]]))
    }
}

#[cfg(test)]
mod tests;
