//! What of a text is prose: words in lower case, clause by clause, without code, addresses, markup and formulas.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

use super::script::Script;

/// One word: letters of one script in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) script: Script,
    pub(super) letters: Vec<char>,
}

/// The words of a text, clause by clause.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prose {
    pub(super) clauses: Vec<Vec<Word>>,
}

/// Longest word, in letters. What is longer is not a word of any language, but of base64.
const WORD_LETTERS_MAX: usize = 60;

/// Reads the prose of `text`, at most `letters_max` letters of it.
pub(super) fn read(text: &str, letters_max: usize) -> Prose {
    let mut prose = Prose::default();
    let mut n_letters = 0;
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let opens = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        match (fence, opens) {
            (None, Some(mark)) => {
                // A fence that opens and closes in one line is a span.
                if !trimmed[mark.len()..].contains(mark) {
                    fence = Some(mark);
                }
                continue;
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                continue;
            }
            (Some(_), _) => continue,
            (None, None) => {}
        }
        let line: String = line.nfc().collect();
        let line = PATTERNS.spans.replace_all(&line, "\n");
        if is_code(&line) {
            continue;
        }
        let plain = PATTERNS.not_prose.replace_all(&line, "\n");
        n_letters += read_line(&plain, &mut prose.clauses);
        if n_letters >= letters_max {
            break;
        }
    }
    prose
}

/// Cuts a line into clauses of words; returns the number of letters.
fn read_line(line: &str, clauses: &mut Vec<Vec<Word>>) -> usize {
    let mut n_letters = 0;
    let mut clause = Vec::new();
    let mut letters: Vec<char> = Vec::new();
    let mut script = Script::Other;
    let mut end_word = |letters: &mut Vec<char>, clause: &mut Vec<Word>, script: Script| {
        n_letters += letters.len();
        let word = std::mem::take(letters);
        if !word.is_empty() && word.len() <= WORD_LETTERS_MAX {
            clause.push(Word {
                script,
                letters: word,
            });
        }
    };
    for character in line.chars() {
        if is_letter(character) {
            let found = Script::of(character);
            // The long vowel mark of Japanese and letters that only modify go with the word they are in.
            if found != script && !is_modifier(character) {
                end_word(&mut letters, &mut clause, script);
                script = found;
            }
            letters.extend(character.to_lowercase().filter(|lower| is_letter(*lower)));
        } else {
            end_word(&mut letters, &mut clause, script);
            if ends_clause(character) && !clause.is_empty() {
                clauses.push(std::mem::take(&mut clause));
            }
        }
    }
    end_word(&mut letters, &mut clause, script);
    if !clause.is_empty() {
        clauses.push(clause);
    }
    n_letters
}

/// Whether Unicode says letter: marks are not, as in the counts that the weights come from.
fn is_letter(character: char) -> bool {
    character.is_ascii_alphabetic()
        || (!character.is_ascii() && character.is_alphabetic() && !is_combining_mark(character))
}

const fn is_modifier(character: char) -> bool {
    matches!(character, '\u{2b0}'..='\u{2ff}' | '\u{30fc}')
}

const fn ends_clause(character: char) -> bool {
    matches!(
        character,
        '\n' | '.'
            | '!'
            | '?'
            | ':'
            | ';'
            | '"'
            | '('
            | ')'
            | '['
            | ']'
            | '|'
            | '«'
            | '»'
            | '“'
            | '”'
            | '„'
            | '。'
            | '！'
            | '？'
            | '：'
            | '；'
            | '「'
            | '」'
            | '『'
            | '』'
            | '（'
            | '）'
            | '،'
            | '؟'
            | '।'
            | '—'
    )
}

/// Whether a line that no fence marks looks like a line of a program.
fn is_code(line: &str) -> bool {
    let line = line.trim();
    if line.ends_with(['{', '}'])
        || line.ends_with(';') && line.contains(['(', '='])
        || PATTERNS.statement.is_match(line)
    {
        return true;
    }
    let n_signs = line
        .bytes()
        .filter(|byte| b"{}[]<>;=_+*/\\|&^%$#@".contains(byte))
        .count();
    n_signs >= 3 && {
        let is_letter = |character: &char| character.is_alphabetic();
        n_signs * 4 >= line.chars().filter(is_letter).count()
    }
}

struct Patterns {
    spans: Regex,
    not_prose: Regex,
    statement: Regex,
}

/// Word characters are those of ASCII: names in programs and addresses have no others, and tables of Unicode are slow.
static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    // Expect safety: the patterns are constants, and every test of this module compiles them.
    let compile = |pattern: &str| Regex::new(pattern).expect("a valid pattern");
    Patterns {
        // Code, and formulas.
        spans: compile(r"`[^`]*`|\$\$[^$]*\$\$|\$[^$\s][^$]*\$"),
        // Addresses, mail and handles, markup, commands of formulas, files and identifiers.
        not_prose: compile(concat!(
            r"(?:https?|HTTPS?|ftp)://\S+|www\.\S+|(?-u:[\w.+-]+@[\w-]+\.[\w.-]+|@\w+)",
            r"|<[/!a-zA-Z][^<>]*>|&[a-zA-Z]+;|\\[a-zA-Z]+|(?-u:\b\w+[./\\_]\w[\w./\\]*)",
        )),
        statement: compile(concat!(
            r"^(?:import [a-zA-Z_.]+(?: as [a-z]+)?;?$|from [a-zA-Z_.]+ import |def [a-zA-Z0-9_]+\(|class [a-zA-Z0-9_]+[(:]|#include\s|#!/|",
            r"(?:public|private|static|const|let|var|int|void|return|func|fn|package|using|namespace) [^;{(=]*(?:;$|= ?)|",
            r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE) [^;]* (?:FROM|INTO|SET|TABLE) |",
            r"[a-zA-Z0-9_.\[\]]+ ?[-+*/|&]?= ?[^ =]|[a-zA-Z0-9_.]+\([^()]*\);?$|",
            r"(?:sudo [a-z]|(?:pip|apt|npm|cargo) (?:install|run|build|test)|git (?:add|clone|commit|push|pull)|docker (?:run|build)) ?|",
            r"\$ |>>> |</?[a-z]+[^>]*>$)"
        )),
    }
});
