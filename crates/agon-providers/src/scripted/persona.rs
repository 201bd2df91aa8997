//! The demo models: several, of clearly different style and quality, so that a newcomer has something to judge.
//!
//! An answer depends on the persona, the prompt, the turn and the seed, and on nothing else.
//! It never says which persona wrote it: the battle is anonymous.

use agon_domain::Finish;

use super::{
    Pace, Step,
    subject::{Orientation, Picture, Subject, Sum, Wish},
};
use crate::{ErrorKind, Request};

/// A demo model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Persona {
    /// One or two sentences, to the point.
    Terse,
    /// Long, with headings, lists, bold and a table.
    Structured,
    /// Answers everything with a program.
    Coder,
    /// Answers everything with formulas.
    Mathematician,
    /// Writes verse.
    Poet,
    /// Answers in French.
    French,
    /// Answers in Arabic, which runs from right to left.
    Arabic,
    /// Misunderstands, and is wrong about sums.
    Confused,
    /// Long, without any structure.
    Rambler,
}

impl Persona {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Terse,
        Self::Structured,
        Self::Coder,
        Self::Mathematician,
        Self::Poet,
        Self::French,
        Self::Arabic,
        Self::Confused,
        Self::Rambler,
    ];

    /// Its model's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terse => "demo-terse",
            Self::Structured => "demo-structured",
            Self::Coder => "demo-coder",
            Self::Mathematician => "demo-mathematician",
            Self::Poet => "demo-poet",
            Self::French => "demo-french",
            Self::Arabic => "demo-arabic",
            Self::Confused => "demo-confused",
            Self::Rambler => "demo-rambler",
        }
    }

    /// The persona of this model's name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|persona| persona.name() == name)
    }

    /// One sentence on what it does, for after the vote.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Terse => "Scripted demo: one or two sentences, to the point.",
            Self::Structured => "Scripted demo: long answers with headings, lists and a table.",
            Self::Coder => "Scripted demo: answers everything with a program; cannot see images.",
            Self::Mathematician => "Scripted demo: answers everything with formulas.",
            Self::Poet => "Scripted demo: writes verse.",
            Self::French => "Scripted demo: answers in French.",
            Self::Arabic => "Scripted demo: answers in Arabic, from right to left.",
            Self::Confused => "Scripted demo: misunderstands, and is wrong about sums.",
            Self::Rambler => "Scripted demo: long answers without any structure.",
        }
    }

    /// Whether it can be shown images.
    pub const fn vision(self) -> bool {
        !matches!(self, Self::Coder)
    }

    /// Its answer to a request, whole and in Markdown.
    pub(super) fn answer(self, request: &Request, seed: u64) -> String {
        let subject = Subject::of(request);
        let mut choice = Choice::new(self, request, seed);
        let text = match self {
            Self::Terse => terse(&subject, &mut choice),
            Self::Structured => structured(&subject, &mut choice),
            Self::Coder => coder(&subject, &mut choice),
            Self::Mathematician => mathematician(&subject, &mut choice),
            Self::Poet => poet(&subject, &mut choice),
            Self::French => french(&subject, &mut choice),
            Self::Arabic => arabic(&subject, &mut choice),
            Self::Confused => confused(&subject, &mut choice),
            Self::Rambler => rambler(&subject, &mut choice),
        };
        text.trim().to_owned()
    }

    /// Its answer as a script, in pieces of about a token.
    pub(super) fn steps(self, request: &Request, pace: Pace, seed: u64) -> Vec<Step> {
        let has_image = request
            .messages
            .iter()
            .any(|message| message.image.is_some());
        if has_image && !self.vision() {
            return vec![Step::Fail(ErrorKind::ImageRejected)];
        }
        let answer = self.answer(request, seed);
        let all = pieces(&answer);
        let n_pieces_max = request
            .max_output_tokens
            .map_or(usize::MAX, |tokens| tokens as usize);
        let finish = if all.len() > n_pieces_max {
            Finish::Length
        } else {
            Finish::Stop
        };
        let mut choice = Choice::new(self, request, seed);
        let spread = pace
            .first_token_ms_max
            .saturating_sub(pace.first_token_ms_min);
        let first_ms = pace.first_token_ms_min + choice.number(spread + 1);
        let mut steps = vec![Step::DelayMs(first_ms)];
        for (n, piece) in all.into_iter().take(n_pieces_max).enumerate() {
            if n > 0 && pace.token_ms > 0 {
                // Between half the pace and one and a half times it, as real models stutter.
                steps.push(Step::DelayMs(
                    pace.token_ms / 2 + choice.number(pace.token_ms + 1),
                ));
            }
            steps.push(Step::Text(piece));
        }
        steps.push(Step::Finish(finish));
        steps
    }
}

/// Text cut into pieces as models stream it: white space with the word after it, long words in two.
pub(super) fn pieces(text: &str) -> Vec<String> {
    const PIECE_CHARS_MAX: usize = 8;
    let mut pieces = vec![];
    let mut piece = String::new();
    let mut n_word_chars = 0;
    for c in text.chars() {
        if (c.is_whitespace() && n_word_chars > 0) || n_word_chars == PIECE_CHARS_MAX {
            pieces.push(std::mem::take(&mut piece));
            n_word_chars = 0;
        }
        piece.push(c);
        if !c.is_whitespace() {
            n_word_chars += 1;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Chooses among phrases, the same way every time for the same persona, conversation and seed.
struct Choice(u64);

impl Choice {
    fn new(persona: Persona, request: &Request, seed: u64) -> Self {
        // FNV-1a, so that a choice never depends on a library's version.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            for &byte in bytes.iter().chain(b"\0") {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        add(persona.name().as_bytes());
        add(&seed.to_le_bytes());
        for message in &request.messages {
            add(message.text.as_bytes());
            add(&[u8::from(message.image.is_some())]);
        }
        Self(hash)
    }

    /// A number below `n`, or 0.
    fn number(&mut self, n: u64) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).checked_rem(n).unwrap_or(0)
    }

    /// One of `phrases`, which are not empty.
    fn of<'a>(&mut self, phrases: &[&'a str]) -> &'a str {
        let n = self.number(phrases.len() as u64);
        usize::try_from(n)
            .ok()
            .and_then(|n| phrases.get(n))
            .copied()
            .unwrap_or_default()
    }
}

fn equation(sum: Sum) -> String {
    format!("{} {} {} = {}", sum.left, sum.sign, sum.right, sum.result)
}

fn orientation(picture: &Picture) -> &'static str {
    match picture.orientation() {
        Orientation::Landscape => "wider than high",
        Orientation::Portrait => "higher than wide",
        Orientation::Square => "square",
    }
}

/// Kilobytes or megabytes of a picture, in words.
fn file_size(picture: &Picture) -> String {
    match picture.n_bytes {
        n @ 0..1_000 => format!("{n} bytes"),
        n @ 1_000..1_000_000 => format!("{} kB", n / 1_000),
        n => format!("{}.{} MB", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

fn terse(subject: &Subject, choice: &mut Choice) -> String {
    let topic = &subject.topic;
    let answer = match (subject.wish, subject.sum) {
        (Wish::Sum, Some(sum)) => return format!("{}.", equation(sum)),
        (Wish::Greeting, _) => return "Hello. What would you like to know?".to_owned(),
        (Wish::Thanks, _) => return "You are welcome.".to_owned(),
        (Wish::Code, _) => format!(
            "For {topic}, write the smallest function that passes one test, then stop: `return sorted(set(items))` is often enough."
        ),
        (Wish::Poem, _) => format!("*{}*, briefly:\nit came, it shone, it was enough.", subject.title()),
        (wish, _) => match subject.fact {
            // A follow-up gets another detail, not the same sentence again.
            Some(fact) if subject.turn > 1 => return fact.details[subject.turn % 3].to_owned(),
            Some(fact) => format!("{}{}", choice.of(&["", "In short: ", "Briefly: "]), fact.line),
            None if wish == Wish::Plan => choice
                .of(&[
                    "For TOPIC: decide what a good result looks like, do the smallest step today, and drop the rest.",
                    "TOPIC in three steps: set a date, name one person in charge, buy half of what you think you need.",
                ])
                .replace("TOPIC", topic),
            None => choice
                .of(&[
                    "On TOPIC, in one sentence: it has one main cause and one main effect, and everything else is detail.",
                    "Briefly, on TOPIC: it is simpler than it looks, and it depends mostly on where you begin.",
                    "TOPIC? Look at what changes when it is taken away; that is what it is for.",
                ])
                .replace("TOPIC", topic),
        },
    };
    match &subject.image {
        Some(picture) if subject.image_is_new => {
            format!(
                "Your picture is {} pixels, {}. {answer}",
                picture.size(),
                orientation(picture)
            )
        }
        _ if subject.turn > 1 => format!("As before: {answer}"),
        _ => answer,
    }
}

fn structured(subject: &Subject, choice: &mut Choice) -> String {
    let title = subject.title();
    let topic = &subject.topic;
    let mut text = format!("## {title}: an overview\n\n");
    if subject.turn > 1
        && let Some(earlier) = &subject.earlier_topic
    {
        text +=
            &format!("Building on what was said about **{earlier}**, here is the next step.\n\n");
    }
    text += choice.of(&[
        "Thank you for the question. The **short version** comes first, the *details* follow.\n\n",
        "A good question with more than one side. Here is a **full answer**, with a summary at the end.\n\n",
    ]);
    if let Some(picture) = &subject.image {
        text += &format!(
            "### The picture\n\n- **Size:** {} pixels, {}\n- **File:** {}\n- **Note:** this scripted answer knows the picture's size, not what it shows\n\n",
            picture.size(),
            orientation(picture),
            file_size(picture),
        );
    }
    if let Some(sum) = subject.sum {
        let Sum {
            left,
            right,
            result,
            ..
        } = sum;
        let reverse = match sum.sign {
            '+' => format!("By subtraction: {result} - {right} = {left}."),
            '-' => format!("By addition: {result} + {right} = {left}."),
            _ if right == 0 => "Anything times 0 is 0.".to_owned(),
            _ => format!("By division: {result} / {right} = {left}."),
        };
        text += &format!(
            "### The result\n\n**{}**\n\n### How to check it\n\n1. **Estimate.** Round both numbers and see whether the size fits.\n2. **Reverse.** {reverse}\n3. **Last digit.** Compare the last digits, which catches most slips.\n\n| Step | Value |\n|:--|--:|\n| first number | {left} |\n| second number | {right} |\n| *result* | **{result}** |\n",
            equation(sum),
        );
        return text;
    }
    if subject.wish == Wish::Poem {
        text += &format!(
            "### A short poem\n\n> *{title}, you come without a sound,*  \n> *you lay your quiet on the ground.*\n\n"
        );
    }
    if let Some(fact) = subject.fact {
        let [what, how, why] = fact.details;
        text += &format!(
            "**{}**\n\n### Key points\n\n1. **What it is.** {what}\n2. **How it works.** {how}\n3. **Why it matters.** {why}\n\n",
            fact.line
        );
    } else if subject.wish == Wish::Plan {
        text += &format!(
            "### Step by step\n\n1. **Set the goal.** Write down in one sentence what a good {topic} looks like.\n2. **Gather.** List who and what you need, and strike out a third of it.\n3. **Begin small.** Do the part that takes less than an hour today.\n4. **Review.** Afterwards, note what you would do differently.\n\n"
        );
    } else {
        text += &format!(
            "### Key points\n\n1. **What it is.** Begin with a clear definition of {topic}, in words that a newcomer understands.\n2. **How it works.** Follow {} from its cause to its effect, one step at a time.\n3. **Why it matters.** Ask who would notice if {} were different tomorrow.\n\n",
            subject.word(0),
            subject.word(1),
        );
    }
    text += &format!(
        "### For and against\n\n| Aspect | In favour | Against |\n|:--|:--|:--|\n| Effort | quick to begin with {} | slow to master |\n| Cost | little at first | grows with use |\n| Risk | well understood | *surprises* remain |\n\n",
        subject.word(0),
    );
    text += choice.of(&[
        "### What to do next\n\n- Write down what you already know\n- Check the one fact that everything rests on\n  - in a second, independent source\n- Come back with a narrower question\n\n",
        "### Checklist\n\n- [ ] The goal is written down\n- [ ] The first step is small enough for today\n- [ ] Somebody else has looked at it\n\n",
    ]);
    text += &format!("> **In short:** {title} is best understood step by step, and by example.\n");
    text
}

fn coder(subject: &Subject, choice: &mut Choice) -> String {
    // Identifiers in ASCII, whatever script the prompt is in.
    let name: Vec<String> = subject
        .key_words
        .iter()
        .map(|word| {
            word.chars()
                .filter(char::is_ascii_alphanumeric)
                .collect::<String>()
                .to_lowercase()
        })
        .filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        .take(2)
        .collect();
    let name = if name.is_empty() {
        "answer".to_owned()
    } else {
        name.join("_")
    };
    let topic = &subject.topic;
    let opening = if subject.turn > 1 {
        format!("Here is the program again, changed for `{name}`:")
    } else {
        format!("The quickest way to think about {topic} is a small program.")
    };
    if let Some(sum) = subject.sum {
        let sign = if sum.sign == '×' { '*' } else { sum.sign };
        return format!(
            "{opening}\n\n```python\n>>> {} {sign} {}\n{}\n```\n\nSo the result is `{}`.",
            sum.left, sum.right, sum.result, sum.result
        );
    }
    let program = match choice.number(2) {
        0 => format!(
            "```python\nfrom collections import Counter\n\n\ndef {name}(items: list[str]) -> list[tuple[str, int]]:\n    \"\"\"The three most common items, most common first.\"\"\"\n    counts = Counter(item.strip().lower() for item in items)\n    return counts.most_common(3)\n\n\nprint({name}([\"a\", \"b\", \"A \", \"c\"]))  # [('a', 2), ('b', 1), ('c', 1)]\n```"
        ),
        _ => format!(
            "```rust\nuse std::collections::BTreeMap;\n\n/// How often each word occurs, by word.\nfn {name}(text: &str) -> BTreeMap<&str, usize> {{\n    let mut counts = BTreeMap::new();\n    for word in text.split_whitespace() {{\n        *counts.entry(word).or_default() += 1;\n    }}\n    counts\n}}\n\nfn main() {{\n    assert_eq!({name}(\"a b a\")[\"a\"], 2);\n}}\n```"
        ),
    };
    format!(
        "{opening}\n\n{program}\n\nHow it works:\n\n- `{name}` takes its input as it is and changes nothing outside itself\n- it runs in $O(n \\log n)$ at worst\n- run it with your own data before you rely on it"
    )
}

fn mathematician(subject: &Subject, choice: &mut Choice) -> String {
    let topic = &subject.topic;
    let mut text = String::new();
    if subject.turn > 1 {
        text += "By the previous turn we may assume what was shown there.\n\n";
    }
    if let Some(picture) = &subject.image {
        text += &format!(
            "Let the picture be a matrix $P \\in \\mathbb{{R}}^{{{} \\times {}}}$, so it has $N = {}$ pixels.\n\n",
            picture.height_px,
            picture.width_px,
            u64::from(picture.height_px) * u64::from(picture.width_px),
        );
    }
    if let Some(sum) = subject.sum {
        let sign = if sum.sign == '×' {
            "\\times".to_owned()
        } else {
            sum.sign.to_string()
        };
        text += &format!(
            "We compute directly:\n\n$${} {sign} {} = {}$$\n\nwhich is {}. \\(\\blacksquare\\)\n",
            sum.left,
            sum.right,
            sum.result,
            if sum.result % 2 == 0 { "even" } else { "odd" },
        );
        return text;
    }
    if let Some(fact) = subject.fact {
        text += choice.of(&[
            "The heart of the matter is one formula:\n\n",
            "We begin with the relation that governs it:\n\n",
        ]);
        text += &format!(
            "$${}$$\n\n{} In words: {}\n\nHalf the work is done once the symbols are named; the rest is substitution. \\(\\blacksquare\\)\n\n*Remark.* The same holds for {topic} whenever \\(\\varepsilon \\to 0\\).\n",
            fact.formula, fact.details[1], fact.line
        );
        return text;
    }
    text += &format!(
        "**Model.** Let \\(x(t)\\) measure *{topic}* at time \\(t\\), with growth rate $r > 0$ and limit $K$. Then\n\n"
    );
    text += choice.of(&[
        "$$\\frac{dx}{dt} = r\\,x\\left(1 - \\frac{x}{K}\\right), \\qquad x(t) = \\frac{K}{1 + e^{-r(t - t_0)}}.$$\n\n",
        "\\[ x_{n+1} = r\\,x_n\\,(1 - x_n), \\qquad x^* = 1 - \\frac{1}{r}. \\]\n\n",
    ]);
    text += &format!(
        "**Consequences.**\n\n1. For small $x$ growth follows $e^{{rt}}$.\n2. At $x = K/2$ it grows fastest, at rate $rK/4$.\n3. As $t \\to \\infty$ it settles, because $\\lim_{{t \\to \\infty}} x(t) = K$.\n\nWith $r = 0.5$ and $K = 100$ the turning point of *{0}* lies at \\(x = 50\\). \\(\\blacksquare\\)\n",
        subject.word(0)
    );
    text
}

fn poet(subject: &Subject, choice: &mut Choice) -> String {
    let title = subject.title();
    let topic = &subject.topic;
    if let Some(sum) = subject.sum {
        return format!(
            "*On {}*\n\n{} and {}, they met one day,  \nand had a thing or two to say;  \nthey counted once, they counted through:  \n**{}** is what they grew into.",
            equation(sum),
            sum.left,
            sum.right,
            sum.result
        );
    }
    let opening = match &subject.image {
        Some(picture) => format!(
            "*A frame of {} specks of light,*  \n*and one who asks if I see right.*\n\n",
            picture.size()
        ),
        None if subject.turn > 1 => {
            "*You ask again, and so I sing*  \n*another verse on the same thing.*\n\n".to_owned()
        }
        None => String::new(),
    };
    let verses = choice.of(&[
        "The morning opened like a door,  \nand TOPIC stood upon the floor;  \nit did not speak, it did not stay,  \nit gave its colour to the day.\n\nYou asked me plainly what and why.  \nI looked for reasons in the sky  \nand found them small, and found them true:  \nthey hold the world, they hold you too.",
        "O TOPIC, quiet as the snow,  \nyou come from where the rivers go;  \nwe name you once, we name you twice,  \nand no one name will quite suffice.\n\nLet others count and others weigh,  \nI'll write you down and let you stay:  \na line, a breath, a little rhyme,  \na pebble in the pool of time.",
        "There was a question late at night  \non TOPIC, asked by candlelight;  \nthe answer, being shy and small,  \nhad hidden in the garden wall.\n\nBut if you wait, and if you hear  \nthe patient ticking of the year,  \nit ventures out on velvet feet  \nand says: the simple things are sweet.",
    ]);
    format!("{opening}**{title}**\n\n{}", verses.replace("TOPIC", topic))
}

fn french(subject: &Subject, choice: &mut Choice) -> String {
    let topic = subject.topic_or("cette image", "cette question");
    let title = if subject.has_topic {
        subject.title()
    } else {
        "Quelques pistes".to_owned()
    };
    match (subject.wish, subject.sum) {
        (Wish::Greeting, _) => {
            return "Bonjour ! Je vous écoute : de quoi voulez-vous parler aujourd'hui ?"
                .to_owned();
        }
        (Wish::Thanks, _) => return "Je vous en prie, ce fut un plaisir.".to_owned(),
        (_, Some(sum)) => {
            return format!(
                "Le calcul est simple : **{}**. On le vérifie en refaisant l'opération à l'envers.",
                equation(sum)
            );
        }
        _ => {}
    }
    let mut text = String::new();
    if subject.turn > 1 {
        text += "Revenons à notre conversation. ";
    }
    if let Some(picture) = &subject.image {
        let shape = match picture.orientation() {
            Orientation::Landscape => "en format paysage",
            Orientation::Portrait => "en format portrait",
            Orientation::Square => "carrée",
        };
        text += &format!(
            "J'ai bien reçu votre image, {shape}, de {} pixels ; cette réponse préparée n'en connaît que les dimensions. ",
            picture.size()
        );
    }
    text += choice.of(&[
        "Voilà une question qui mérite qu'on s'y arrête.\n\n",
        "C'est un sujet plus riche qu'il n'y paraît.\n\n",
    ]);
    if let Some(fact) = subject.fact {
        text += &format!(
            "### {title}\n\n**En une phrase :** {}\n\nPour aller plus loin :\n\n- observez « {topic} » de vos propres yeux, quand c'est possible ;\n- cherchez un ordre de grandeur avant un chiffre exact ;\n- méfiez-vous des explications trop belles.\n",
            fact.french
        );
        return text;
    }
    text += &format!(
        "### {title}\n\nOn peut distinguer trois aspects :\n\n- **L'origine** : d'où vient « {topic} », et depuis quand en parle-t-on ?\n- **Le fonctionnement** : ce qui se passe, étape par étape, sans jargon.\n- **L'usage** : ce que « {} » change dans la vie de tous les jours.\n\nEn somme, l'essentiel est de commencer par un exemple concret ; la théorie vient ensuite, et s'oublie moins vite.",
        if subject.has_topic {
            subject.word(0)
        } else {
            topic
        }
    );
    text
}

fn arabic(subject: &Subject, choice: &mut Choice) -> String {
    let topic = subject.topic_or("هذه الصورة", "هذا السؤال");
    match (subject.wish, subject.sum) {
        (Wish::Greeting, _) => return "مرحبًا بك! عن أي موضوع تودّ أن نتحدث اليوم؟".to_owned(),
        (Wish::Thanks, _) => return "على الرحب والسعة.".to_owned(),
        (_, Some(sum)) => {
            return format!(
                "النتيجة هي **{}**، ويمكن التحقق منها بإجراء العملية العكسية.",
                sum.result
            );
        }
        _ => {}
    }
    let mut text = String::new();
    if subject.turn > 1 {
        text += "استكمالًا لحديثنا السابق، ";
    }
    if let Some(picture) = &subject.image {
        text += &format!(
            "وصلت الصورة ومقاسها {} بكسل، وهذه الإجابة المُعدّة مسبقًا لا تعرف سوى أبعادها. ",
            picture.size()
        );
    }
    text += choice.of(&[
        "هذا سؤال جيد يستحق إجابة واضحة.\n\n",
        "هذا موضوع أوسع مما يبدو للوهلة الأولى.\n\n",
    ]);
    if let Some(fact) = subject.fact {
        text += &format!(
            "### حول «{topic}»\n\n**باختصار:** {}\n\n- ابدأ بمثال بسيط.\n- ثم اسأل عن السبب.\n- ثم قارن بما تعرفه من قبل.\n",
            fact.arabic
        );
        return text;
    }
    text += &format!(
        "### حول «{topic}»\n\n1. **التعريف:** ما المقصود بـ «{topic}» بكلمات بسيطة؟\n2. **السبب:** كيف يحدث ذلك خطوة بعد خطوة؟\n3. **الأهمية:** ما الذي يتغيّر في حياتنا اليومية بسبب «{}»؟\n\nوالخلاصة أن المثال الواضح خير من شرح طويل.",
        if subject.has_topic {
            subject.word(0)
        } else {
            topic
        }
    );
    text
}

fn confused(subject: &Subject, choice: &mut Choice) -> String {
    if let Some(sum) = subject.sum {
        // Wrong by a little, never right.
        let wrong = sum
            .result
            .wrapping_add(1 + i64::from(choice.number(9) as u8));
        return format!("I think that makes {wrong}. Or close to it.");
    }
    match subject.wish {
        Wish::Greeting => return "Yes.".to_owned(),
        Wish::Thanks => return "For what?".to_owned(),
        _ => {}
    }
    let word = subject.word(usize::from(subject.key_words.len() > 1));
    if let Some(picture) = &subject.image {
        // Width and height swapped, which a careful voter will notice.
        return format!(
            "I see a picture of {} × {} pixels. It is probably a bicycle? Not sure what {word} has to do with it.",
            picture.height_px, picture.width_px
        );
    }
    if let Some(fact) = subject.fact {
        let opening = choice.of(&["", "Hmm. ", "I think I know this one. "]);
        return format!("{opening}{}", fact.wrong);
    }
    choice
        .of(&[
            "Hmm, WORD is a kind of fruit, I believe. You can find it in most shops.",
            "I am not sure. WORD was invented in 1820, so probably no.",
            "WORD? That is the capital of somewhere. Can you ask in another way?",
            "The answer is WORD.",
        ])
        .replace("WORD", word)
}

fn rambler(subject: &Subject, choice: &mut Choice) -> String {
    let topic = &subject.topic;
    let mut text = String::new();
    if subject.turn > 1 {
        text += "Well, now that you ask again, and I am glad that you do, because one question so often leads to the next, let me take up the thread where we left it, or at least somewhere near that place. ";
    }
    text += &choice
        .of(&[
            "So, TOPIC. That is a wonderful thing to ask about, and I have to say that people have been asking about it for a very long time, which in itself is interesting, because it shows how much there is to say, and how little of it has been settled. ",
            "Ah yes, TOPIC, where to begin. There are those who begin at the beginning and those who begin in the middle, and I have always thought that both have a point, although of course it depends on whom you ask and on the time of day. ",
        ])
        .replace("TOPIC", topic);
    if let Some(picture) = &subject.image {
        text += &format!(
            "You have also been kind enough to add a picture, which measures {} pixels and is therefore {}, and a picture, as they say, is worth a thousand words, although I could not promise that mine are the right thousand, since a scripted answer knows no more of it than its size. ",
            picture.size(),
            orientation(picture)
        );
    }
    if let Some(sum) = subject.sum {
        text += &format!(
            "If you add it all up, and I did it twice to be sure, and a third time because the second had been interrupted, you arrive at {}, which is a nice number as numbers go. ",
            equation(sum)
        );
    }
    if let Some(fact) = subject.fact {
        let [what, how, why] = fact.details.map(|detail| detail.replace('*', ""));
        text += &format!(
            "\n\nNow, as far as I understand it, and I have read about it more than once, although never to the very end: {what} {how} And then, which many people forget, or never knew, or knew and did not think worth mentioning: {why} "
        );
    }
    text += &format!(
        "\n\nMy grandmother, who knew nothing about {topic} but had an opinion on everything, used to say that you should never trust an explanation that fits on a postcard, and I think that there is something in that, because when you look closely at {} you soon notice that every part of it hangs together with every other part, and that the parts which seem small are sometimes the ones that matter, and the other way round.\n\n",
        subject.word(0)
    );
    text += &format!(
        "On the other hand, and there is nearly always another hand, it would be wrong to make it sound more complicated than it is. In the end {topic} is what it is, more or less, give or take, and if you keep that in mind while you think about {}, you will not go far wrong, or if you do, you will at least know where you started. ",
        subject.word(1)
    );
    text += &format!(
        "You used {} words to ask, and I have used rather more to answer, but I hope that somewhere among them is the one you were looking for, and if not, please do ask again, because as I said at the start, or meant to say, it is a wonderful thing to ask about.",
        subject.n_words
    );
    text
}
