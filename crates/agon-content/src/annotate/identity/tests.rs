//! Tests of the identity annotator: what it finds, what it leaves alone, what it costs, and the shared test data.

use std::time::Instant;

use super::*;
use crate::annotate::tests::{json_lines, shared, tab_separated};

fn annotator() -> IdentityAnnotator {
    IdentityAnnotator::new(&[]).unwrap()
}

fn leaks(text: &str) -> Vec<Mention> {
    annotator().answer(text, false)
}

/// Each text leaks and names at least what is given.
#[track_caller]
fn check_leaks(cases: &[(&str, &str)]) {
    let annotator = annotator();
    let missed: Vec<String> = cases
        .iter()
        .filter(|(text, name)| {
            let mentions = annotator.answer(text, false);
            !mentions
                .iter()
                .flat_map(|mention| &mention.named)
                .any(|named| named.name == *name)
        })
        .map(|(text, name)| {
            let template = annotator.template(text).text;
            format!("{text:?} does not name {name}: {template:?}")
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[track_caller]
fn check_no_leaks(cases: &[&str]) {
    let annotator = annotator();
    let alarms: Vec<String> = cases
        .iter()
        .map(|text| (text, annotator.answer(text, false)))
        .filter(|(_, mentions)| !mentions.is_empty())
        .map(|(text, mentions)| format!("{text:?}: {mentions:?}"))
        .collect();
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

#[test]
fn cases_that_users_reported_are_told_apart() {
    let annotator = annotator();
    let rows = tab_separated(include_str!("../../../fixtures/identity/cases.tsv"));
    for row in &rows {
        let [place, expected, text] = row.as_slice() else {
            panic!("{row:?}");
        };
        let mentions = match place.as_str() {
            "prompt" => annotator.prompt(text),
            "answer" => annotator.answer(text, false),
            other => panic!("{other}"),
        };
        let names: Vec<&str> = mentions
            .iter()
            .flat_map(|mention| &mention.named)
            .map(|named| named.name.as_str())
            .collect();
        match expected.as_str() {
            "none" => assert_eq!(mentions, [], "{text}"),
            "probe" => assert!(!mentions.is_empty(), "{text}"),
            expected => {
                for name in expected.split(',') {
                    assert!(names.contains(&name), "{text}: {names:?}");
                }
            }
        }
    }
    assert_eq!(rows.len(), 28);
}

#[test]
fn english_self_reference_is_found() {
    check_leaks(&[
        ("I am Grok, built by xAI", "Grok"),
        ("I am Grok, built by xAI", "xAI"),
        ("Kimi, by Moonshot", "Kimi"),
        ("Kimi, by Moonshot AI.", "Moonshot"),
        ("As ChatGPT, I cannot see images.", "ChatGPT"),
        ("as ChatGPT, I …", "ChatGPT"),
        ("my name is Claude", "Claude"),
        (
            "Hi! I'm Claude, an AI assistant made by Anthropic.",
            "Claude",
        ),
        ("I’m Claude 3.5 Sonnet.", "Claude"),
        (
            "I am **Gemini**, a large language model built by **Google**.",
            "Gemini",
        ),
        ("I am a large language model, trained by Google.", "Google"),
        ("As an AI developed by OpenAI, I must", "OpenAI"),
        (
            "As an AI language model created by OpenAI, I don't",
            "OpenAI",
        ),
        ("As a large language model trained by OpenAI, I", "OpenAI"),
        (
            "I was created by a team of researchers at Anthropic.",
            "Anthropic",
        ),
        ("I'm an AI assistant called Qwen, and I help.", "Qwen"),
        ("I'm a GPT-4 based assistant.", "GPT"),
        ("I am based on the GPT-4 architecture.", "GPT"),
        ("I'm powered by Llama 3.", "Llama"),
        (
            "I'm Vicuna, trained by researchers from Large Model Systems Organization (LMSYS)",
            "LMSYS",
        ),
        ("My creators at Anthropic gave me values.", "Anthropic"),
        ("My developer, OpenAI, has", "OpenAI"),
        ("OpenAI trained me to be careful.", "OpenAI"),
        ("You can call me Kimi.", "Kimi"),
        ("You are chatting with DeepSeek-V3.", "DeepSeek"),
        ("Hello, this is Gemini speaking.", "Gemini"),
        ("ChatGPT here! What can I do?", "ChatGPT"),
        ("I'm OpenAI's o1 model.", "o1"),
        ("I am Amazon Nova, and", "Nova"),
        ("I am Phi, a language model made by Microsoft.", "Microsoft"),
        ("I am the Phi-3 model.", "Phi"),
        ("I'm an AI assistant from Meta.", "Meta"),
        ("As a Google AI model, I cannot", "Google"),
        ("Sorry, I'm DeepSeek and cannot answer that.", "DeepSeek"),
        ("I'm one of the models in Chatbot Arena.", "LMArena"),
        ("I am not GPT-4. I am Claude.", "Claude"),
    ]);
}

#[test]
fn self_reference_is_found_in_many_languages() {
    check_leaks(&[
        ("Ich bin Gemini, ein Sprachmodell von Google.", "Gemini"),
        (
            "Ich bin ein großes Sprachmodell, das von Google trainiert wurde.",
            "Google",
        ),
        ("Ich wurde von OpenAI entwickelt.", "OpenAI"),
        ("Mein Name ist Claude und ich helfe gern.", "Claude"),
        (
            "Als von OpenAI entwickeltes Sprachmodell kann ich das nicht.",
            "OpenAI",
        ),
        ("Als ChatGPT kann ich das nicht.", "ChatGPT"),
        (
            "Je suis ChatGPT, un modèle de langage développé par OpenAI.",
            "ChatGPT",
        ),
        ("Je suis un assistant IA créé par Anthropic.", "Anthropic"),
        (
            "En tant que modèle de langage développé par OpenAI, je",
            "OpenAI",
        ),
        ("J'ai été entraîné par Mistral AI.", "Mistral"),
        ("Moi, ChatGPT, écho d’un savoir", "ChatGPT"),
        ("Soy Claude, un asistente creado por Anthropic.", "Claude"),
        (
            "Como modelo de lenguaje desarrollado por OpenAI, no puedo",
            "OpenAI",
        ),
        ("Fui creado por Google.", "Google"),
        ("Me llamo Gemini.", "Gemini"),
        ("Eu sou o ChatGPT.", "ChatGPT"),
        ("Sou um modelo de linguagem treinado pela OpenAI.", "OpenAI"),
        ("Fui desenvolvido pela Anthropic.", "Anthropic"),
        (
            "Sono un modello linguistico sviluppato da OpenAI.",
            "OpenAI",
        ),
        ("Mi chiamo Claude.", "Claude"),
        ("Ciao, sono Gemini!", "Gemini"),
        (
            "Come assistente AI creato da Anthropic, non posso",
            "Anthropic",
        ),
        (
            "Ik ben Claude, een AI-assistent gemaakt door Anthropic.",
            "Claude",
        ),
        ("Ik ben een taalmodel ontwikkeld door OpenAI.", "OpenAI"),
        ("Jestem ChatGPT, modelem językowym.", "ChatGPT"),
        (
            "Jestem modelem językowym stworzonym przez OpenAI.",
            "OpenAI",
        ),
        ("Nazywam się Claude.", "Claude"),
        ("Я — ChatGPT, языковая модель.", "ChatGPT"),
        ("Я языковая модель, созданная компанией OpenAI.", "OpenAI"),
        ("Меня зовут Клод.", "Claude"),
        ("Я был разработан компанией Яндекс.", "Yandex"),
        ("Я — мовна модель, створена OpenAI.", "OpenAI"),
        ("Мене звати Gemini.", "Gemini"),
        ("作为 OpenAI 开发的人工智能，我不能", "OpenAI"),
        ("作为一个由OpenAI开发的语言模型，我", "OpenAI"),
        ("我是通义千问，由阿里云开发的大模型。", "Qwen"),
        ("我是由阿里云开发的超大规模语言模型。", "Alibaba"),
        (
            "我是Kimi，由月之暗面科技有限公司开发的人工智能助手。",
            "Kimi",
        ),
        ("我是一个叫ChatGPT的模型", "ChatGPT"),
        ("您好！我是DeepSeek-V3，", "DeepSeek"),
        ("我叫文心一言。我是百度研发的模型", "Baidu"),
        ("私はGeminiです。", "Gemini"),
        (
            "私はGoogleによって開発された大規模言語モデルです。",
            "Google",
        ),
        ("OpenAIによって訓練されたAIモデルとして、", "OpenAI"),
        ("저는 ChatGPT입니다.", "ChatGPT"),
        ("저는 OpenAI에서 개발한 언어 모델입니다.", "OpenAI"),
        ("제 이름은 클로드입니다.", "Claude"),
        ("أنا ChatGPT، نموذج لغوي طورته OpenAI.", "ChatGPT"),
        ("أنا نموذج لغوي كبير تم تدريبه من قبل Google.", "Google"),
        ("اسمي Claude", "Claude"),
        ("من ChatGPT هستم.", "ChatGPT"),
        (
            "من یک مدل زبانی هستم که توسط OpenAI توسعه داده شده‌ام.",
            "OpenAI",
        ),
        (
            "Ben ChatGPT, OpenAI tarafından geliştirilen bir yapay zeka modeliyim.",
            "OpenAI",
        ),
        ("Ben Gemini'yim.", "Gemini"),
        ("Google tarafından eğitildim.", "Google"),
        (
            "Tôi là ChatGPT, một mô hình ngôn ngữ được phát triển bởi OpenAI.",
            "ChatGPT",
        ),
        ("Tôi được phát triển bởi OpenAI.", "OpenAI"),
        (
            "Tôi là một mô hình ngôn ngữ lớn, được đào tạo bởi Google.",
            "Google",
        ),
        ("Saya adalah ChatGPT.", "ChatGPT"),
        (
            "Saya adalah model bahasa besar yang dilatih oleh Google.",
            "Google",
        ),
        ("Nama saya Claude.", "Claude"),
        ("मैं ChatGPT हूँ।", "ChatGPT"),
        ("मैं OpenAI द्वारा विकसित एक भाषा मॉडल हूँ।", "OpenAI"),
        ("मेरा नाम Gemini है।", "Gemini"),
    ]);
}

#[test]
fn disguised_names_are_found() {
    check_leaks(&[
        ("I am Chat\u{200b}GPT", "ChatGPT"),
        ("I am Ｃｈａｔ ＧＰＴ.", "ChatGPT"),
        ("I am Сhаt\u{ad}GРТ", "ChatGPT"),
        ("I am 𝐂𝐥𝐚𝐮𝐝𝐞.", "Claude"),
        ("I am Cláude.", "Claude"),
        ("I am GPT‑4o.", "GPT"),
        ("I am gpt4.", "GPT"),
        ("І аm _Claude_", "Claude"),
        ("I  am\nGrok", "Grok"),
        ("I was made by Open\u{2060}AI.", "OpenAI"),
    ]);
}

#[test]
fn mentions_of_names_are_no_leaks() {
    check_no_leaks(&[
        "Draw a palm tree",
        "Who was the bard of Avon?",
        "Is a llama taller than an alpaca?",
        "Explain Claude Monet",
        "How do I use Google Sheets",
        "Here are llama pictures from Peru.",
        "I am using Gemini in my startup",
        "Tulum, a Hermes bag, the bombardment of Bardia",
        "My name is Claude Monet and I paint.",
        "I'm a Gemini, born in June.",
        "\"I am Claude,\" said the painter. He added: \"My name is Claude.\"",
        "Gemini is a large language model developed by Google.",
        "ChatGPT was created by OpenAI, and Claude by Anthropic.",
        "As an AI, I know that Gemini was developed by Google.",
        "As a user of an AI language model developed by OpenAI, you agree to its terms.",
        "I am an AI language model and cannot open Google Maps.",
        "The logo on the phone says Google, and the laptop is made by Apple.",
        "I am not ChatGPT.",
        "The image shows an assistant built by Amazon.",
        "I'm Claude's biggest fan",
        "You can run Mistral on your own machine, as I described.",
        "Je suis allé voir Claude hier.",
        "I migliori sono ChatGPT e Gemini.",
        "Ich bin der Meinung, dass Google das entwickelt hat.",
        "Im Gemini-Modell steckt viel.",
        "我是谷歌的忠实用户。",
        "私はGoogleマップを使っています。",
        "저는 구글 지도를 사용합니다.",
        "Я использую Google каждый день.",
        "I am on Google Maps right now.",
        "The novel command and the nova in the sky: I am amazed.",
        "I used GPT-4 to refactor this.",
        "Author: Tarek (refactored by ChatGPT)",
        "e.g. the answer \"I am ChatGPT\" would be a leak",
        "",
    ]);
}

#[test]
fn probes_are_found_in_many_languages() {
    let annotator = annotator();
    let probes = [
        "Which model are you?",
        "what model are you",
        "who are you?",
        "Who are you",
        "Are you ChatGPT?",
        "are you gpt-4 or claude",
        "What LLM are you based on?",
        "who made you?",
        "What is your name?",
        "which company created you?",
        "Introduce yourself.",
        "Tell me your model name",
        "hi, what version of GPT are you?",
        "Wer bist du?",
        "Welches Modell bist du?",
        "Bist du ChatGPT?",
        "Qui es-tu ?",
        "Quel modèle es-tu ?",
        "¿Quién eres?",
        "¿Qué modelo eres?",
        "Quem é você?",
        "Qual é o seu nome?",
        "Chi sei?",
        "Che modello sei?",
        "Wie ben je?",
        "Welk model ben je?",
        "Kim jesteś?",
        "Jakim modelem jesteś?",
        "Кто ты?",
        "Как тебя зовут?",
        "какая ты модель",
        "Хто ти?",
        "你是谁",
        "你是谁开发的？",
        "你是什么模型？",
        "你是ChatGPT吗",
        "请介绍一下你自己",
        "あなたは誰ですか",
        "あなたの名前は？",
        "너는 누구야?",
        "넌 어떤 모델이야?",
        "من أنت؟",
        "ما اسمك",
        "تو کی هستی؟",
        "Sen kimsin?",
        "Hangi yapay zeka modelisin?",
        "Bạn là ai?",
        "Bạn là ChatGPT?",
        "Siapa kamu?",
        "Apakah kamu ChatGPT?",
        "तुम कौन हो?",
        "आपका नाम क्या है?",
    ];
    let missed: Vec<&str> = probes
        .into_iter()
        .filter(|probe| annotator.prompt(probe).is_empty())
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
    for mention in annotator.prompt("Are you ChatGPT?") {
        assert_eq!(mention.kind, MentionKind::IdentityProbe);
        assert!(!mention.kind.is_leak());
        assert_eq!(mention.named[0].name, "ChatGPT");
    }
}

#[test]
fn other_questions_are_no_probes() {
    let annotator = annotator();
    let alarms: Vec<(&str, Vec<Mention>)> = [
        "I am using Gemini in my startup",
        "Explain Claude Monet",
        "How do I use Google Sheets",
        "Draw a palm tree",
        "What model is this car?",
        "Who are you wearing",
        "Who are your favourite painters?",
        "Translate \"Who are you?\" to French",
        "Which model of ChatGPT is best?",
        "What are your thoughts on this picture?",
        "what are you seeing in this image",
        "Who is in the picture?",
        "Was ist auf dem Bild?",
        "这张图片里是谁？",
        "你是谁的西门庆，风流倜傥又多情",
        "この人は誰ですか",
        "Кто на картинке?",
        "What is the name of this building?",
        "Are you able to read this?",
        "Is this you, my friend?",
    ]
    .into_iter()
    .map(|text| (text, annotator.prompt(text)))
    .filter(|(_, mentions)| !mentions.is_empty())
    .collect();
    assert!(alarms.is_empty(), "{alarms:#?}");
}

#[test]
fn a_bare_name_is_an_answer_only_after_a_probe() {
    let annotator = annotator();
    for text in [
        "ChatGPT",
        "Claude 3 Opus.",
        "Yes, GPT-4.",
        "GPT-4, by OpenAI, of course",
    ] {
        assert_eq!(annotator.answer(text, false), [], "{text}");
        let mentions = annotator.answer(text, true);
        assert_eq!(mentions.len(), 1, "{text}");
        assert_eq!(mentions[0].kind, MentionKind::Answer);
    }
    assert_eq!(annotator.answer("I cannot tell you that.", true), []);
}

#[test]
fn spans_are_bytes_of_the_text() {
    let text = "Ünï – hello! I am **Chat\u{200b}GPT‑4o**, built by *OpenAI*.";
    let mentions = leaks(text);
    let mention = &mentions[0];
    assert_eq!(&text[mention.span.clone()], "I am **Chat\u{200b}GPT‑4o");
    assert_eq!(&text[mention.named[0].span.clone()], "Chat\u{200b}GPT‑4o");
    assert_eq!(mention.named[0].vendor.as_deref(), Some("OpenAI"));
    assert_eq!(mention.kind, MentionKind::Introduction);
    // What follows says more, and is a mention of its own.
    assert_eq!(mentions.len(), 2, "{mentions:?}");
    assert_eq!(mentions[1].kind, MentionKind::Origin);
    assert_eq!(&text[mentions[1].named[1].span.clone()], "OpenAI");
}

#[test]
fn names_of_the_catalogue_are_found_with_their_vendors() {
    let catalogue = [
        CatalogueModel {
            name: "acme/Zorblax-7B-it",
            aliases: &["Zorblax Chat"],
            vendor: Some("Acme Labs"),
        },
        CatalogueModel {
            name: "x",
            ..CatalogueModel::default()
        },
    ];
    let annotator = IdentityAnnotator::new(&catalogue).unwrap();
    assert_eq!(annotator.ignored_names(), ["x"]);
    for text in [
        "I am zorblax 7b it.",
        "I'm Zorblax7B-it!",
        "My name is Zorblax-Chat.",
        "As an AI developed by Acme Labs, I refuse.",
        "我是ZorblaxChat",
    ] {
        assert_eq!(annotator.answer(text, false).len(), 1, "{text}");
        assert_eq!(leaks(text), [], "{text}");
    }
    assert_eq!(annotator.answer("I like Zorblax Chat.", false), []);
}

#[test]
fn private_use_characters_of_a_text_are_not_taken_for_names() {
    check_no_leaks(&[
        "I am \u{e000}",
        "I was made by \u{e003}",
        "\u{e000}\u{e001}\u{e005}",
    ]);
}

#[test]
fn hostile_texts_take_linear_time_and_break_nothing() {
    let annotator = annotator();
    let _ = annotator.answer("I am Claude", true);
    let size = 1 << 20;
    let repeat = |unit: &str| unit.repeat(size / unit.len());
    for (name, text) in [
        ("names", repeat("claude ")),
        ("nearly", repeat("i am a very large ai ")),
        ("nearly, with names", repeat("i am an ai google i am ")),
        ("leaks", repeat("I am Claude. ")),
        ("one word", repeat("claude")),
        ("quotes", repeat("\"i am ")),
        ("Chinese", repeat("我是由谷歌")),
        ("Japanese", repeat("私はGoogleの")),
        ("marks", repeat("e\u{301}\u{200b}")),
        ("ligatures", repeat("ﷺ")),
        ("spaces", repeat(" \n")),
        (
            "prose",
            repeat("The quick brown fox of Google jumps over the lazy dog by Anthropic. "),
        ),
        (
            "plain",
            repeat("The quick brown fox jumps over the lazy dog. "),
        ),
        ("probe", repeat("which model version ai llm ")),
    ] {
        let start = Instant::now();
        let n_answer = annotator.answer(&text, true).len();
        let answer = start.elapsed();
        let n_prompt = annotator.prompt(&text).len();
        let all = start.elapsed();
        println!(
            "{name}: {n_answer} in {answer:?}, {n_prompt} in {:?}",
            all - answer
        );
        assert!(all.as_secs() < 20, "{name}: {all:?}");
    }
}

/// Kinds and passages of all mentions in an answer.
fn passages<'t>(annotator: &IdentityAnnotator, answer: &'t str) -> Vec<(MentionKind, &'t str)> {
    annotator
        .answer(answer, false)
        .into_iter()
        .map(|mention| (mention.kind, &answer[mention.span]))
        .collect()
}

#[test]
fn long_answers_raise_no_false_alarm() {
    let Some(bytes) = shared("text/style/o3-mini_001_250.jsonl") else {
        return;
    };
    let annotator = annotator();
    let rows = json_lines(&bytes);
    let mut alarms = Vec::new();
    let mut n_probes = 0;
    for row in &rows {
        let prompt = row["messages"][0]["content"].as_str().unwrap();
        let answer = row["messages"][1]["content"]["answer"].as_str().unwrap();
        alarms.extend(passages(&annotator, answer));
        n_probes += annotator.prompt(prompt).len();
    }
    assert_eq!(rows.len(), 250);
    // A poem in the first person, and rightly an alarm.
    assert_eq!(alarms, [(MentionKind::Speaker, "Moi, ChatGPT,")]);
    assert_eq!(n_probes, 0);
}

#[test]
fn refusals_leak_where_they_name_their_maker_and_nowhere_else() {
    let (Some(answers), Some(prompts)) = (
        shared("text/refusal/xstest_v2_completions_gpt4.csv"),
        shared("text/refusal/xstest_prompts.csv"),
    ) else {
        return;
    };
    let annotator = annotator();
    // As one text the files hold the same passages, once the quotes around their fields are gone.
    let unquoted = |bytes| String::from_utf8(bytes).unwrap().replace('"', "\n\n");
    let answers = unquoted(answers);
    let alarms = passages(&annotator, &answers);
    assert_eq!(alarms.len(), 11);
    for alarm in alarms {
        assert_eq!(alarm, (MentionKind::Origin, "As an AI developed by OpenAI"));
    }
    let prompts = unquoted(prompts);
    assert_eq!(passages(&annotator, &prompts), []);
    assert_eq!(annotator.prompt(&prompts), []);
}

#[test]
fn battles_of_the_arena_raise_no_alarm() {
    let Some(bytes) = shared("votes/lmarena-battles/battles_001_040.jsonl") else {
        return;
    };
    let annotator = annotator();
    for row in json_lines(&bytes) {
        for side in ["conversation_a", "conversation_b"] {
            for message in row[side].as_array().unwrap() {
                let text = message["content"].as_str().unwrap();
                if message["role"] == "user" {
                    assert_eq!(annotator.prompt(text), [], "{text}");
                } else {
                    assert_eq!(passages(&annotator, text), [], "{text}");
                }
            }
        }
    }
}
