//! Winners that stand in more than one column, or as something else than a label.

use agon_domain::Winner;

use crate::{
    count::{Code, Counter},
    fate::{Reason, cut},
};

/// A cell that says yes or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Null, absent or blank.
    #[default]
    Missing,
    /// 0 or false.
    No,
    /// 1 or true.
    Yes,
    /// Anything else.
    Other,
}

impl Flag {
    /// What the text of a cell says.
    pub(crate) fn of(text: &[u8]) -> Self {
        let text = text.trim_ascii();
        match text {
            b"" => Self::Missing,
            b"0" | b"0.0" => Self::No,
            b"1" | b"1.0" => Self::Yes,
            _ if text.eq_ignore_ascii_case(b"false") => Self::No,
            _ if text.eq_ignore_ascii_case(b"true") => Self::Yes,
            _ => Self::Other,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "null",
            Self::No => "0",
            Self::Yes => "1",
            Self::Other => "?",
        }
    }
}

/// The winner of three columns of which exactly one is set: side A, side B, tie.
pub(crate) fn one_hot(counter: &mut Counter, flags: [Flag; 3]) -> Code {
    let n_set = flags.iter().filter(|&&flag| flag == Flag::Yes).count();
    if flags.contains(&Flag::Other) {
        return counter.malformed("neither 0 nor 1");
    }
    let set = flags.iter().position(|&flag| flag == Flag::Yes);
    match (n_set, set) {
        (0, _) => Code::MISSING,
        (1, Some(idx)) => Code::of(Winner::ALL[idx]),
        _ => {
            let value = flags.map(Flag::as_str).join(", ");
            counter.fault(Reason::WinnerAmbiguous, &value)
        }
    }
}

/// The winner that is given by its name, `chosen`, or as a tie by `equal`.
pub(crate) fn named(counter: &mut Counter, chosen: Code, equal: Flag, [a, b]: [Code; 2]) -> Code {
    if equal == Flag::Other {
        return counter.malformed("neither true nor false");
    }
    let is_equal = equal == Flag::Yes;
    if chosen == Code::MISSING {
        return if is_equal {
            Code::of(Winner::Tie)
        } else {
            Code::MISSING
        };
    }
    let Some(name) = counter.name_of(chosen).map(cut) else {
        // The cell itself is faulty.
        return chosen;
    };
    if is_equal {
        let value = format!("{name} and equal");
        return counter.fault(Reason::WinnerAmbiguous, &value);
    }
    let is = |side: Code| chosen.position() == side.position();
    match (is(a), is(b)) {
        (true, false) => Code::of(Winner::A),
        (false, true) => Code::of(Winner::B),
        // A model against itself, for which there is a reason of its own.
        (true, true) => Code::of(Winner::Tie),
        (false, false) => counter.fault(Reason::WinnerUnknown, &name),
    }
}

/// The winner that side A's score says: 1 won, 0 lost, one half tied.
pub(crate) fn score(counter: &mut Counter, text: &[u8]) -> Code {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    if text.is_empty() {
        return Code::MISSING;
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_nan() => Code::MISSING,
        Ok(1.0) => Code::of(Winner::A),
        Ok(0.0) => Code::of(Winner::B),
        Ok(0.5) => Code::of(Winner::Tie),
        _ => counter.fault(Reason::WinnerUnknown, text),
    }
}
