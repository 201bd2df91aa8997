//! All shapes of all rules as one automaton, run from the start of every word.
//!
//! The automaton is a lazy DFA that reports every shape that matches, so that the work at a place does not depend on how many rules there are.
//! A shape is at most [`SHAPE_BYTES_MAX`] long, which bounds the work per place: time is linear in the text whatever it holds.

use std::{
    collections::BTreeMap,
    fmt,
    ops::Range,
    panic::{RefUnwindSafe, UnwindSafe},
};

use regex_automata::{
    Anchored, Input,
    hybrid::{
        BuildError,
        dfa::{Cache, DFA, OverlappingState},
    },
    nfa::thompson,
    util::{pool::Pool, syntax},
};

use crate::{
    Entity,
    context::{Nearby, speaks},
    finding::{Evidence, Verdict},
    normalise::{ends_word, joins, starts_word},
    recogniser::{OnFailure, Reading, Rule},
    score, work,
};

/// No shape matches more than this.
const SHAPE_BYTES_MAX: usize = 96;
/// Memory for states of the automaton; one cache for each thread that searches at the same time.
const CACHE_BYTES: usize = 8 << 20;

/// What may be personal data, in places of the normalised text.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// What it would be.
    pub(crate) entity: Entity,
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// The sum of the evidence.
    pub(crate) log_odds: f64,
    /// Why.
    pub(crate) evidence: Evidence,
}

type CacheSource = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// The automaton with the rules behind each shape.
pub(crate) struct Shapes {
    automaton: DFA,
    caches: Pool<Cache, CacheSource>,
    /// Rules by number of the shape.
    rules: Vec<Vec<&'static Rule>>,
    /// Whether a shape can begin with this byte.
    begins: [bool; 256],
}

impl fmt::Debug for Shapes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Shapes({})", self.rules.len())
    }
}

impl Shapes {
    /// Compiles the shapes of these rules.
    pub(crate) fn new(rules: &[&'static Rule]) -> Result<Self, Box<BuildError>> {
        let mut by_shape: BTreeMap<&'static str, Vec<&'static Rule>> = BTreeMap::new();
        for rule in rules {
            for shape in rule.shapes {
                by_shape.entry(shape).or_default().push(rule);
            }
        }
        let (shapes, rules): (Vec<_>, Vec<_>) = by_shape.into_iter().unzip();
        let automaton = DFA::builder()
            .configure(
                DFA::config()
                    .match_kind(regex_automata::MatchKind::All)
                    .cache_capacity(CACHE_BYTES)
                    .skip_cache_capacity_check(true),
            )
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false))
            .build_many(&shapes)?;
        let mut cache = automaton.create_cache();
        let mut begins = [false; 256];
        for byte in 0..=u8::MAX {
            let text = [byte];
            let input = Input::new(&text).anchored(Anchored::Yes);
            // A cache that cannot hold the first states is treated as if anything could begin here.
            begins[usize::from(byte)] = automaton
                .start_state_forward(&mut cache, &input)
                .ok()
                .and_then(|start| automaton.next_state(&mut cache, start, byte).ok())
                .is_none_or(|state| !state.is_dead());
        }
        let source = automaton.clone();
        let caches = Pool::new(Box::new(move || source.create_cache()) as CacheSource);
        Ok(Self {
            automaton,
            caches,
            rules,
            begins,
        })
    }

    /// Finds what matches a shape and scores it; what stays below `log_odds_min` is left out.
    pub(crate) fn find(
        &self,
        reading: &Reading<'_>,
        log_odds_min: f64,
        found: &mut Vec<Candidate>,
    ) {
        let text = reading.text();
        let bytes = reading.lower.as_bytes();
        let mut cache = self.caches.get();
        let mut matches: Vec<(usize, usize)> = Vec::new();
        let mut last = None;
        for (place, byte) in bytes.iter().enumerate() {
            work::count(1);
            let before = last.replace(*byte);
            if !self.begins[usize::from(*byte)]
                || before.is_some_and(|before| before.is_ascii_alphanumeric())
                || !text.is_char_boundary(place)
                || !starts_word(text, place)
            {
                continue;
            }
            matches.clear();
            work::count(self.matches_at(&mut cache, bytes, place, &mut matches));
            if matches.is_empty() {
                continue;
            }
            let mut nearby: Option<(usize, Nearby<'_>)> = None;
            for (end, shape) in &matches {
                if !text.is_char_boundary(*end) || !ends_word(text, *end) {
                    continue;
                }
                let value = place..*end;
                let Some(edges) = edges(text, &value) else {
                    continue;
                };
                // Most words of eight letters have the form of a bank's code; what they are not is told before looking around.
                let possible = |rule: &&&'static Rule| {
                    !rule.needs_word
                        || rule
                            .require
                            .is_none_or(|require| require(&text[value.clone()]))
                };
                if !self.rules[*shape].iter().any(|rule| possible(&rule)) {
                    continue;
                }
                if nearby.as_ref().is_none_or(|(known, _)| known != end) {
                    nearby = Some((*end, reading.surroundings.around(place, *end)));
                }
                let Some((_, nearby)) = &nearby else { continue };
                for rule in &self.rules[*shape] {
                    work::count(1);
                    found.extend(judge(
                        reading,
                        rule,
                        value.clone(),
                        edges,
                        nearby,
                        log_odds_min,
                    ));
                }
            }
        }
    }

    /// Ends and shapes of everything that matches at a place; returns the bytes read.
    fn matches_at(
        &self,
        cache: &mut Cache,
        bytes: &[u8],
        place: usize,
        matches: &mut Vec<(usize, usize)>,
    ) -> usize {
        let limit = bytes.len().min(place + SHAPE_BYTES_MAX);
        let input = Input::new(bytes)
            .range(place..limit)
            .anchored(Anchored::Yes);
        let mut state = OverlappingState::start();
        // The search cannot fail: no quit bytes are set and the cache may be cleared as often as needed.
        while self
            .automaton
            .try_search_overlapping_fwd(cache, &input, &mut state)
            .is_ok()
        {
            let Some(hit) = state.get_match() else { break };
            matches.push((hit.offset(), hit.pattern().as_usize()));
        }
        matches.last().map_or(1, |(end, _)| end - place)
    }
}

/// What stands right beside a value, as log-odds; `None` if the value is a part of something longer.
fn edges(text: &str, value: &Range<usize>) -> Option<f64> {
    let bytes = text.as_bytes();
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let back = |steps: usize| {
        value
            .start
            .checked_sub(steps)
            .and_then(|place| bytes.get(place))
    };
    let ahead = |steps: usize| bytes.get(value.end + steps);
    let starts_with_digit = bytes[value.start].is_ascii_digit();
    let ends_with_digit = bytes[value.end - 1].is_ascii_digit();
    let mut log_odds = 0.0;
    match back(1) {
        Some(b'.' | b',' | b'-' | b'/' | b':' | b'_') if is_digit(back(2)) => return None,
        Some(b'-' | b'/') if starts_with_digit && back(2).is_some_and(u8::is_ascii_alphabetic) => {
            log_odds += score::JOINED_TO_WORD;
        }
        Some(b'.') if starts_with_digit && back(2).is_none_or(|byte| *byte == b' ') => return None,
        Some(b' ') if starts_with_digit && is_digit(back(2)) => log_odds += score::MORE_GROUPS,
        _ => {}
    }
    match ahead(0) {
        Some(b'.' | b',' | b'-' | b'/' | b':') if is_digit(ahead(1)) && ends_with_digit => {
            return None;
        }
        Some(b'-' | b'_' | b'@')
            if ahead(1).is_some_and(u8::is_ascii_alphabetic) && ends_with_digit =>
        {
            log_odds += score::JOINED_TO_WORD;
        }
        Some(b'%') => log_odds += score::ARITHMETIC,
        Some(b' ') if ends_with_digit && is_digit(ahead(1)) => log_odds += score::MORE_GROUPS,
        _ => {}
    }
    let before = text[..value.start]
        .trim_end_matches(' ')
        .bytes()
        .next_back();
    let after = text[value.end..].trim_start_matches(' ').bytes().next();
    let operator_before = before
        .is_some_and(|byte| matches!(byte, b'+' | b'*' | b'^' | b'<' | b'$'))
        || text[..value.start]
            .trim_end_matches(' ')
            .ends_with(['€', '£', '¥', '₹', '×', '÷']);
    let operator_after = after.is_some_and(|byte| matches!(byte, b'+' | b'*' | b'^' | b'=' | b'$'))
        || text[value.end..]
            .trim_start_matches(' ')
            .starts_with(['€', '£', '¥', '₹', '×', '÷', '元']);
    if operator_before || operator_after {
        log_odds += score::ARITHMETIC;
    }
    Some(log_odds)
}

/// Adds up the evidence for one rule and one value.
fn judge(
    reading: &Reading<'_>,
    rule: &'static Rule,
    range: Range<usize>,
    edges: f64,
    nearby: &Nearby<'_>,
    log_odds_min: f64,
) -> Option<Candidate> {
    let word = nearby.word(rule.entity);
    if rule.needs_word && word.is_none() {
        return None;
    }
    let value = &reading.text()[range.clone()];
    let chance = rule.check.map_or(0.0, |(_, chance)| -chance.ln());
    let form = prior(rule, value);
    let mut base = form + edges;
    if let Some((strength, _)) = word {
        base += score::of_word(strength);
    }
    if nearby.is_reference() && word.is_none() {
        base += score::REFERENCE;
    }
    if let Some(country) = rule.entity.country() {
        base += match nearby.names(country.code()) {
            Some(true) => score::COUNTRY_NAMED,
            Some(false) => score::OTHER_COUNTRY_NAMED,
            None => 0.0,
        };
        base += match reading.language {
            Some(language) if speaks(country.code(), language) => score::LANGUAGE_MATCHES,
            Some(_) => score::LANGUAGE_DIFFERS,
            None => 0.0,
        };
    }
    if base + chance < log_odds_min || rule.require.is_some_and(|require| !require(value)) {
        return None;
    }
    let mut verdict = Verdict::None;
    let mut log_odds = base;
    if let Some((check, chance_of_accident)) = rule.check {
        if check(value) {
            verdict = Verdict::Passed;
            log_odds += chance;
            let bare = value.bytes().all(|byte| byte.is_ascii_digit());
            if bare && word.is_none() && rule.prior.is_none() && chance_of_accident >= 1.0 / 23.0 {
                log_odds = log_odds.min(score::CHECK_ALONE_MAX);
            }
        } else if rule.on_failure == OnFailure::Reject {
            return None;
        } else {
            verdict = Verdict::Failed;
            let most = if word.is_some() {
                score::FAILED_CHECK_MAX
            } else {
                score::FAILED_CHECK_ALONE_MAX
            };
            log_odds = (log_odds + score::FAILED_CHECK).min(most);
        }
    }
    (log_odds >= log_odds_min).then(|| Candidate {
        entity: rule.entity,
        range,
        log_odds,
        evidence: Evidence {
            pattern: "shape",
            check: verdict,
            word: word.map(|(strength, word)| (word, strength)),
            prior: form,
            around: edges,
        },
    })
}

/// Log-odds of a value by its characters alone.
fn prior(rule: &Rule, value: &str) -> f64 {
    let has_letter = value.chars().any(char::is_alphabetic);
    let has_lower = value.chars().any(char::is_lowercase);
    let lower = if has_lower && value.is_ascii() {
        score::LOWER_CASE
    } else {
        0.0
    };
    let form = if has_letter {
        score::PRIOR_LETTERS
    } else if value.chars().all(joins) {
        score::PRIOR_BARE_DIGITS
    } else {
        score::PRIOR_GROUPED_DIGITS
    };
    rule.prior.unwrap_or(form) + lower
}
