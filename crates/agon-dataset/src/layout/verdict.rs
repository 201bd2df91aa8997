//! Verdicts in five steps, as model judges give them: `A>>B`, `A>B`, `A=B`, `B>A`, `B>>A`.

use agon_domain::Winner;

/// A verdict in five steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Who is better.
    pub(crate) winner: Winner,
    /// Whether much better.
    pub(crate) is_strong: bool,
}

/// Reads a verdict, in double square brackets or without, ignoring case and white space.
pub(crate) fn parse(text: &str) -> Option<Verdict> {
    let text = text.trim();
    let text = text
        .strip_prefix("[[")
        .and_then(|text| text.strip_suffix("]]"))
        .unwrap_or(text);
    if text.len() > 16 {
        return None;
    }
    let text: String = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .flat_map(char::to_uppercase)
        .collect();
    let (winner, is_strong) = match text.as_str() {
        "A>>B" | "B<<A" => (Winner::A, true),
        "A>B" | "B<A" => (Winner::A, false),
        "A=B" | "B=A" => (Winner::Tie, false),
        "B>A" | "A<B" => (Winner::B, false),
        "B>>A" | "A<<B" => (Winner::B, true),
        _ => return None,
    };
    Some(Verdict { winner, is_strong })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_steps_are_read_and_nothing_else() {
        let read = |text| parse(text).map(|verdict| (verdict.winner, verdict.is_strong));
        assert_eq!(read("A>>B"), Some((Winner::A, true)));
        assert_eq!(read(" [[b > a]] "), Some((Winner::B, false)));
        assert_eq!(read("B>>A"), Some((Winner::B, true)));
        assert_eq!(read("A=B"), Some((Winner::Tie, false)));
        for text in ["", "A", "A>>>B", "A>C", "[[A>B]", "A==B", "[[C]]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
