//! What a request is about, as far as counting words can tell.

use super::fact::Fact;
use crate::{Request, RequestImage, Role};

/// What the user seems to want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Greeting,
    Thanks,
    Code,
    Poem,
    Sum,
    /// Something to be done, step by step.
    Plan,
    Explanation,
}

/// A sum of two whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) left: i64,
    pub(super) sign: char,
    pub(super) right: i64,
    pub(super) result: i64,
}

/// What a request is about.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) wish: Wish,
    /// What it is about, in the user's own words; never empty.
    pub(super) topic: String,
    /// Whether the topic is the user's own words, and not a stand-in such as `this picture`.
    pub(super) has_topic: bool,
    /// What the turn before was about.
    pub(super) earlier_topic: Option<String>,
    /// Words of the prompt that carry meaning, as the user wrote them.
    pub(super) key_words: Vec<String>,
    pub(super) n_words: usize,
    pub(super) sum: Option<Sum>,
    /// What the personas know about it.
    pub(super) fact: Option<&'static Fact>,
    /// The newest image of the conversation.
    pub(super) image: Option<Picture>,
    /// Whether it came with the last message.
    pub(super) image_is_new: bool,
    /// 1 for the first turn.
    pub(super) turn: usize,
}

/// What can be told of an image without looking at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) width_px: u32,
    pub(super) height_px: u32,
    pub(super) n_bytes: usize,
}

/// How an image is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orientation {
    Landscape,
    Portrait,
    Square,
}

impl Picture {
    fn new(image: &RequestImage) -> Self {
        Self {
            width_px: image.width_px,
            height_px: image.height_px,
            n_bytes: image.bytes.len(),
        }
    }

    pub(super) fn orientation(&self) -> Orientation {
        match self.width_px.cmp(&self.height_px) {
            std::cmp::Ordering::Greater => Orientation::Landscape,
            std::cmp::Ordering::Less => Orientation::Portrait,
            std::cmp::Ordering::Equal => Orientation::Square,
        }
    }

    /// Width × height, such as `640 × 480`.
    pub(super) fn size(&self) -> String {
        format!("{} × {}", self.width_px, self.height_px)
    }
}

/// Words that carry no meaning of their own, in the languages that demo prompts come in.
const STOP_WORDS: &str = " a about above after add answer ask compare compute calculate count create draft draw find generate invent organise organize plan recommend suggest summarise summarize translate code function haiku poem program script song sonnet story tips recipe steps ideas short long brief one two three four five six seven eight nine ten again all also am an and any are as at be because been before being below between both but by can could describe did do does doing down during each explain few for from further give had has have having he help her here hers him his how i if image in into is it its just know like list look made make many me mean more most much my name need no nor not now of off on once one only or other our out over own photo picture please prove same say see seen she should show shown simple so solve some such tell than that the their them then there these they thing things think this those through to too two under until up use used very want was we were what when where which while who whom whose why will with work works would write you your \
 avec ce cette comment dans de des du elle en est et il je la le les mais ou où par pas pour pourquoi quand que quel quelle qui quoi se son sur un une vous \
 aber als auch auf aus bei bitte das dem den der des die ein eine einen er es für hat ich im in ist kann mit nach nicht oder sich sie sind und von wann warum was welche wer wie wir wo zu zum \
 como con cual cuando del donde el ella en es esta este la las lo los más para pero por porque qué que se si su sus un una y ";

fn is_stop_word(word: &str) -> bool {
    // Surrounding spaces make a whole-word search out of a plain one.
    word.chars().count() < 2 || STOP_WORDS.contains(&format!(" {word} "))
}

/// The words of a text: runs of letters and digits, so that no Markdown of the prompt gets into an answer.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')))
        .map(|word| word.trim_matches(['\'', '’', '-']))
        .filter(|word| !word.is_empty())
}

fn key_words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(text) {
        // Languages without spaces come as one long word.
        let word: String = word.chars().take(24).collect();
        let lower = word.to_lowercase();
        if !is_stop_word(&lower) && !found.iter().any(|other| other.to_lowercase() == lower) {
            found.push(word);
        }
        if found.len() == 6 {
            break;
        }
    }
    found
}

/// The first few words that mean something, in the order written.
fn topic(text: &str) -> Option<String> {
    let found = key_words(text);
    (!found.is_empty()).then(|| found[..found.len().min(3)].join(" "))
}

fn wish(text: &str, sum: Option<Sum>) -> Wish {
    let lower = text.to_lowercase();
    let lower_words: Vec<&str> = words(&lower).collect();
    let has = |wanted: &[&str]| wanted.iter().any(|word| lower_words.contains(word));
    if has(&[
        "code",
        "function",
        "program",
        "script",
        "python",
        "rust",
        "javascript",
        "sql",
        "regex",
        "algorithm",
        "compile",
        "bug",
    ]) {
        Wish::Code
    } else if has(&[
        "poem", "haiku", "song", "story", "rhyme", "sonnet", "poème", "gedicht", "poema",
    ]) {
        Wish::Poem
    } else if sum.is_some() {
        Wish::Sum
    } else if has(&["thanks", "thank", "merci", "danke", "gracias"]) && lower_words.len() <= 6 {
        Wish::Thanks
    } else if has(&[
        "hello",
        "hi",
        "hey",
        "bonjour",
        "salut",
        "hallo",
        "hola",
        "مرحبا",
    ]) && lower_words.len() <= 5
    {
        Wish::Greeting
    } else if has(&[
        "plan",
        "recipe",
        "steps",
        "tips",
        "ideas",
        "suggest",
        "recommend",
        "organise",
        "organize",
    ]) || ["how do i ", "how can i ", "how to ", "how should i "]
        .iter()
        .any(|opening| lower.contains(opening))
    {
        Wish::Plan
    } else {
        Wish::Explanation
    }
}

/// The first sum in a text: two whole numbers around `+`, `-`, `*`, `×` or a spelled-out sign.
fn find_sum(text: &str) -> Option<Sum> {
    let mut spaced = String::new();
    for c in text.chars() {
        match c {
            '+' | '*' | '×' | '−' => spaced.extend([' ', c, ' ']),
            _ => spaced.push(c),
        }
    }
    let tokens: Vec<&str> = spaced
        .split_whitespace()
        .map(|token| token.trim_matches(['?', '.', ',', '=', '!', ':', '(', ')', '$', '`']))
        .filter(|token| !token.is_empty())
        .collect();
    tokens.windows(3).find_map(|window| {
        let left: i64 = window[0].parse().ok()?;
        let right: i64 = window[2].parse().ok()?;
        let (sign, result) = match window[1] {
            "+" | "plus" => ('+', left.checked_add(right)?),
            "-" | "−" | "minus" => ('-', left.checked_sub(right)?),
            "*" | "×" | "x" | "times" => ('×', left.checked_mul(right)?),
            _ => return None,
        };
        Some(Sum {
            left,
            sign,
            right,
            result,
        })
    })
}

impl Subject {
    pub(super) fn of(request: &Request) -> Self {
        let prompts: Vec<_> = request
            .messages
            .iter()
            .filter(|message| message.role == Role::User)
            .collect();
        let text = prompts.last().map_or("", |message| message.text.as_str());
        let earlier_topic = prompts
            .iter()
            .rev()
            .skip(1)
            .find_map(|message| topic(&message.text));
        let image = prompts
            .iter()
            .rev()
            .find_map(|message| message.image.as_ref());
        let image_is_new = prompts
            .last()
            .is_some_and(|message| message.image.is_some());
        let sum = find_sum(text);
        let own_topic = match sum {
            Some(sum) => Some(format!("{} {} {}", sum.left, sum.sign, sum.right)),
            None => topic(text).or_else(|| earlier_topic.clone()),
        };
        let has_topic = own_topic.is_some();
        let topic = own_topic.unwrap_or_else(|| match image {
            Some(_) => "this picture".to_owned(),
            None => "that".to_owned(),
        });
        let wish = wish(text, sum);
        let key_words = key_words(text);
        // A program or a poem on a subject is no question about it. A follow-up stays with the subject.
        let fact = matches!(wish, Wish::Explanation | Wish::Plan)
            .then(|| {
                let prompts = prompts.iter().rev();
                prompts
                    .map(|message| self::key_words(&message.text))
                    .find_map(|words| Fact::find(&words))
            })
            .flatten();
        Self {
            wish,
            topic,
            has_topic,
            earlier_topic,
            key_words,
            n_words: words(text).count(),
            sum,
            fact,
            image: image.map(Picture::new),
            image_is_new,
            turn: prompts.len(),
        }
    }

    /// The topic with a capital first letter.
    pub(super) fn title(&self) -> String {
        let mut chars = self.topic.chars();
        chars.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(chars).collect()
        })
    }

    /// The topic, or what a language other than English calls it when it is a stand-in.
    pub(super) fn topic_or<'a>(&'a self, picture: &'a str, that: &'a str) -> &'a str {
        match (self.has_topic, &self.image) {
            (true, _) => &self.topic,
            (false, Some(_)) => picture,
            (false, None) => that,
        }
    }

    /// The `n`-th word that carries meaning, or else the topic.
    pub(super) fn word(&self, n: usize) -> &str {
        self.key_words.get(n).unwrap_or(&self.topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn a_subject_is_found_in_the_users_own_words() {
        let check = |prompt: &str, wish: Wish, topic: &str| {
            let subject = Subject::of(&Request::new(vec![Message::user(prompt)]));
            assert_eq!(
                (subject.wish, subject.topic.as_str()),
                (wish, topic),
                "{prompt}"
            );
        };
        check("What is a tide?", Wish::Explanation, "tide");
        check("Why is the **sky** blue?", Wish::Explanation, "sky blue");
        check(
            "Pourquoi le ciel est bleu ?",
            Wish::Explanation,
            "ciel bleu",
        );
        check(
            "为什么天空是蓝色的",
            Wish::Explanation,
            "为什么天空是蓝色的",
        );
        check("Write a poem on autumn rain", Wish::Poem, "autumn rain");
        check(
            "python function that sorts names",
            Wish::Code,
            "python sorts names",
        );
        check("What is 17*23?", Wish::Sum, "17 × 23");
        check("hello!", Wish::Greeting, "hello");
        check("Thanks a lot", Wish::Thanks, "Thanks lot");
        check("???", Wish::Explanation, "that");
        check(
            "<img src=x onerror=alert(1)>",
            Wish::Explanation,
            "img src onerror",
        );
    }

    #[test]
    fn sums_are_worked_out_or_left_alone() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(find_sum(text).map(|sum| sum.result), expected, "{text}");
        };
        check("17*23", Some(391));
        check("what is 5 plus 8?", Some(13));
        check("(100 - 1)", Some(99));
        check("12 × 12 =", Some(144));
        check("2024-05-06", None);
        check("3 apples + 4 pears", None);
        check("9223372036854775807 + 1", None);
        check("", None);
    }

    #[test]
    fn a_follow_up_knows_the_turn_before() {
        let subject = Subject::of(&Request::new(vec![
            Message::user("What is a tide?"),
            Message::assistant("Water that moves."),
            Message::user("And why?"),
        ]));
        assert_eq!(subject.turn, 2);
        assert_eq!(subject.topic, "tide");
        assert_eq!(subject.earlier_topic.as_deref(), Some("tide"));
    }
}
