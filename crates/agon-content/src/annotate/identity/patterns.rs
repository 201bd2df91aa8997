//! How a model speaks of itself, and how a voter asks for it, language by language.
//!
//! Patterns are matched on templates: folded texts in which each name is one marker. In a pattern:
//!
//! | written | stands for |
//! |---|---|
//! | `{b}` | the start of the text, or white space or punctuation |
//! | `{w}`, `{u}` | a word and the space after it; `{u}` has no comma in it |
//! | `{f12}`, `{f24}` | up to 12 or 24 bytes within a sentence, for scripts without spaces (three or four bytes a letter) |
//! | `{m}` | any model |
//! | `{s}` | a model whose name says enough by itself, or any model right after its vendor |
//! | `{v}` | a vendor or an arena |
//!
//! Every repetition of a word is bounded, so that a match never spans more than a sentence or two.

use regex::bytes::{Regex, RegexBuilder};

use super::fold::fold_literal;

/// What a language needs for "I am an AI model developed by V".
struct Origin {
    /// "I was", and the verb stands right behind.
    passive: &'static str,
    /// "I am" or "as", and a word for a language model stands behind.
    oneself: &'static str,
    /// Words for a language model.
    machine: &'static str,
    /// "developed", "trained" and the like.
    made: &'static str,
    /// "by".
    by: &'static str,
    /// "by" or "from", right behind the word for a language model.
    from: &'static str,
    /// "called".
    called: &'static str,
}

const ENGLISH_MACHINE: &str = r"(?:ai|a\.i\.|artificial intelligence|language model|llm|vlm|mllm|chatbot|chat bot|bot|assistant|model|neural network|virtual assistant|ai-assistant|ai-model|conversational agent)";
const ENGLISH_MADE: &str = r"(?:created|made|built|developed|trained|designed|engineered|produced|programmed|fine-tuned|finetuned|pretrained|pre-trained|released|crafted|introduced|provided|brought to you|powered|operated|maintained)";
const ENGLISH_ADJECTIVES: &str = r"(?:(?:large|small|helpful|friendly|conversational|advanced|state-of-the-art|powerful|multimodal|multilingual|virtual|digital|new|generative|computer|machine|text-based|cutting-edge|sophisticated|responsible|ethical|artificial|intelligence|intelligent|neutral|objective|general-purpose|text|ai|language|vision|visual|open-source|open|highly|very|safe|harmless|honest|custom|personal|and|family of|series of|foundation|research|experimental),? ){0,8}";

/// Languages in which the maker stands behind the verb, as in English.
const ORIGINS: &[Origin] = &[
    // German; the verb behind the maker is in `ORIGIN_MORE`.
    Origin {
        passive: "ich wurde|wurde ich|ich bin",
        oneself: "ich bin|als",
        machine: "ki|ai|sprachmodell|sprachassistent|assistent|chatbot|modell|kunstliche intelligenz|künstliche intelligenz|künstlichen intelligenz",
        made: "entwickelt|trainiert|erstellt|geschaffen|erschaffen|gebaut|programmiert|konzipiert|das|die|der",
        by: "von|durch",
        from: "von|aus dem hause",
        called: "namens|mit dem namen|mit namen|genannt",
    },
    // French
    Origin {
        passive: "j'ai ete|je suis|je fus",
        oneself: "je suis|en tant qu|en tant que|comme",
        machine: "ia|intelligence artificielle|modele de langage|modele linguistique|modele|assistant|assistante|chatbot|agent conversationnel|llm",
        made: "developpee?|creee?|concue?|entrainee?|formee?|fabriquee?|construite?|programmee?|mise? au point|proposee?",
        by: "par",
        from: "par|de|d'|chez",
        called: "appelee?|nommee?|du nom de|baptisee?|connue? sous le nom de",
    },
    // Spanish
    Origin {
        passive: "fui|he sido|estoy",
        oneself: "soy|yo soy|como",
        machine: "ia|ai|inteligencia artificial|modelo de lenguaje|modelo|asistente|asistente virtual|chatbot|llm",
        made: "desarrollad[oa]|cread[oa]|entrenad[oa]|disenad[oa]|construid[oa]|hech[oa]|programad[oa]",
        by: "por",
        from: "por|de",
        called: "llamad[oa]|conocid[oa] como|de nombre",
    },
    // Portuguese
    Origin {
        passive: "fui",
        oneself: "sou|eu sou|como",
        machine: "ia|ai|inteligencia artificial|modelo de linguagem|modelo|assistente|assistente virtual|chatbot|llm",
        made: "desenvolvid[oa]|criad[oa]|treinad[oa]|projetad[oa]|construid[oa]|feit[oa]|programad[oa]",
        by: "por|pela|pelo",
        from: "por|pela|pelo|da|do|de",
        called: "chamad[oa]|conhecid[oa] como",
    },
    // Italian
    Origin {
        passive: "sono stat[oa]",
        oneself: "sono|io sono|come|in quanto|in qualita di",
        machine: "ia|ai|intelligenza artificiale|modello linguistico|modello di linguaggio|modello|assistente|assistente virtuale|chatbot|llm",
        made: "sviluppat[oa]|creat[oa]|addestrat[oa]|progettat[oa]|realizzat[oa]|costruit[oa]|programmat[oa]",
        by: "da|dal|dalla|dall'",
        from: "da|di|dalla",
        called: "chiamat[oa]|di nome",
    },
    // Dutch
    Origin {
        passive: "ik ben|ik werd",
        oneself: "ik ben|als",
        machine: "ai|ki|taalmodel|model|ai-taalmodel|ai-assistent|kunstmatige intelligentie|assistent|chatbot",
        made: "ontwikkeld|getraind|gemaakt|gebouwd|ontworpen|gecreeerd|geprogrammeerd|die|dat|is",
        by: "door",
        from: "door|van",
        called: "genaamd|met de naam",
    },
    // Polish
    Origin {
        passive: "zostalem|zostalam|zostalom|jestem",
        oneself: "jestem|jako",
        machine: "ai|si|sztuczna inteligencja|sztuczna inteligencją|model jezykowy|modelem jezykowym|duzym modelem jezykowym|modelem|model|asystent|asystentem|chatbot|chatbotem|chatbota",
        made: "stworzon[^ ]*|opracowan[^ ]*|wytrenowan[^ ]*|wyszkolon[^ ]*|zbudowan[^ ]*|rozwijan[^ ]*|zaprojektowan[^ ]*|przeszkolon[^ ]*",
        by: "przez",
        from: "przez|od|firmy",
        called: "o nazwie|nazwan[^ ]*|zwan[^ ]*",
    },
    // Russian
    Origin {
        passive: "я был|я была|я было|меня|я",
        oneself: "я|как|будучи",
        machine: "ии|искусственный интеллект|языковая модель|языковой моделью|большая языковая модель|модель|ассистент|помощник|чат-бот|чатбот|нейросеть|нейронная сеть|ии-ассистент|ии-помощник",
        made: "создан[^ ]*|создал[^ ]*|разработан[^ ]*|разработал[^ ]*|обучен[^ ]*|обучил[^ ]*|построен[^ ]*|натренирован[^ ]*",
        by: "в|компанией|командой|специалистами|инженерами|исследователями",
        from: "от|компании|из",
        called: "по имени|под названием|по названию",
    },
    // Ukrainian
    Origin {
        passive: "я був|я була|мене",
        oneself: "я|як",
        machine: "ші|штучний інтелект|мовна модель|велика мовна модель|модель|асистент|помічник|чат-бот",
        made: "створен[^ ]*|створил[^ ]*|розроблен[^ ]*|розробил[^ ]*|навчен[^ ]*|натренован[^ ]*",
        by: "в|у|компанією|командою|фахівцями",
        from: "від|компанії",
        called: "на ім'я|під назвою",
    },
    // Vietnamese
    Origin {
        passive: "tôi được|mình được|tôi đã được",
        oneself: "tôi là|mình là|là",
        machine: "ai|trí tuệ nhân tạo|mô hình ngôn ngữ|mô hình ngôn ngữ lớn|mô hình|trợ lý|trợ lý ảo|trợ lý ai|chatbot",
        made: "phát triển|tạo ra|huấn luyện|đào tạo|xây dựng|thiết kế|được phát triển|được tạo ra|được huấn luyện|được đào tạo",
        by: "bởi",
        from: "của|bởi|từ",
        called: "tên là|có tên là|được gọi là|tên",
    },
    // Indonesian
    Origin {
        passive: "saya|aku",
        oneself: "saya adalah|saya|aku adalah|sebagai",
        machine: "ai|kecerdasan buatan|model bahasa|model bahasa besar|asisten|asisten virtual|asisten ai|chatbot|model",
        made: "dikembangkan|dibuat|dilatih|diciptakan|dirancang|dibangun",
        by: "oleh",
        from: "dari|oleh",
        called: "bernama|yang bernama|yang disebut",
    },
    // Arabic
    Origin {
        passive: "أنا|لقد|تم|و",
        oneself: "أنا|بصفتي|باعتباري|كوني",
        machine: "نموذج|نموذج لغوي|نموذج لغة|ذكاء اصطناعي|الذكاء الاصطناعي|مساعد|روبوت|روبوت دردشة|برنامج",
        made: "طورته|طورتها|طورتني|طورني|دربته|دربتني|تطويري|تطويره|تدريبي|تدريبه|تطويرها|إنشائي|إنشاؤه|تم تطويره|تم تطويري|تم تدريبي|تم تدريبه|مطور|من تطوير|من إنشاء|صممته|أنشأته",
        by: "من قبل|بواسطة|شركة|من طرف|على يد|في",
        from: "من|من شركة|من تطوير|تابع ل",
        called: "اسمه|يسمى|يدعى|باسم",
    },
];

/// Makers in front of the verb, and everything that fits no scheme.
const ORIGIN_MORE: &[&str] = &[
    // English
    r"{b}(?:i was|i've been|i have been|i am|i'm|i, ) ?(?:(?:originally|primarily|initially|actually|both|also|being|proudly) ){0,2}{made_en}(?:,? (?:and|then|specifically|entirely|initially|in the lab|{made_en})){0,3} by (?:{w}){0,6}{v}",
    r"{b}(?:i am|i'm|as|being) (?:an?|the|one of the) {adj_en}{ai_en}(?: model| system| assistant| program| chatbot| bot)?,? (?:(?:that|which|who|was|is|has|been|i was|trained|originally|specifically|and|both|,) ){0,4}{made_en}(?:,? (?:and|then|{made_en})){0,3} (?:by|at) (?:{w}){0,6}{v}",
    r"{b}(?:i am|i'm|as) (?:an?|the) {adj_en}{ai_en}(?: model| system| assistant| program| chatbot| bot)?,? (?:from|of|by|at) (?:(?:the|company|team|folks|people|lab|at|of|startup|researchers) ){0,4}{v}",
    r"{b}my (?:creators?|developers?|makers?|designers?|parent company|company|provider|owners?|trainers?|training team|creator company)(?: is| are|,| at| from|:| named){1,2} (?:(?:the|an?|company|team|at|of|from|called|is|are|researchers|engineers) ){0,4}{v}",
    r"{v}(?:'s)?,? (?:(?:who|which|that|has|have|the|company|team|researchers|engineers|originally|at|,) ){0,4}(?:created|built|developed|trained|designed|programmed|engineered) me\b",
    r"{v} made me(?:[.,!;]|$)",
    r"{b}as (?:an? |the |one of )?{v}(?:'s)? {adj_en}{ai_en}(?: [a-z]+)?,? (?:i|my|i'm)\b",
    r"{b}(?:i am|i'm) (?:an? |the )?{v}(?:'s)? {adj_en}{ai_en}\b",
    r"{b}(?:i am|i'm) (?:{v}(?:'s)? )?{m},? (?:{u}){0,8}?(?:{made_en} by|by|from) (?:{u}){0,5}{v}",
    r"{b}(?:i am|i'm) (?:an?|one of the) (?:anonymous )?(?:model|ai|assistant)s? (?:in|on|at) (?:the )?{v}",
    // German
    r"{b}(?:ich wurde|wurde ich) (?:{u}){0,4}(?:von|durch|bei) (?:{u}){0,4}{v} (?:{u}){0,4}(?:entwickelt|trainiert|erstellt|geschaffen|erschaffen|gebaut|programmiert|konzipiert)",
    r"{b}(?:ich bin|als) (?:{u}){0,3}(?:von|durch) (?:{u}){0,3}{v} (?:{u}){0,2}(?:entwickelt|trainiert|erstellt|geschaffen|erschaffen|gebaut|programmiert|konzipiert)",
    r"{b}(?:ich bin|als) (?:{u}){0,4}(?:ki|ai|sprachmodell|assistent|chatbot|ki-[^ ]+|modell|grosses sprachmodell),? (?:das|die|der|welches)? ?(?:{u}){0,2}(?:von|durch|bei) (?:{u}){0,4}{v}",
    r"{b}mein(?:e)? (?:entwickler|schöpfer|hersteller|erfinder)(?: ist| sind|,| bei| von){1,2} (?:{u}){0,3}{v}",
    // Dutch
    r"{b}(?:ik ben|ik werd|als) (?:{u}){0,6}door (?:{u}){0,4}{v} (?:{u}){0,3}(?:ontwikkeld|getraind|gemaakt|gebouwd|ontworpen|gecreeerd)",
    // Romance possessives
    r"{b}(?:mes createurs|mon createur|mes developpeurs|mi creador|mis creadores|mis desarrolladores|meus criadores|meu criador|meus desenvolvedores|il mio creatore|i miei creatori|i miei sviluppatori)(?: est| sont| es| son| e| sao| sono|,| chez| de){1,2} (?:{u}){0,3}{v}",
    r"{v} m'a (?:cree|developpe|concu|entraine|programme)",
    r"{v} me (?:creo|desarrollo|entreno|diseno|programo|criou|desenvolveu|treinou)\b",
    r"{v} mi ha (?:creat|sviluppat|addestrat|progettat)[oa]",
    // Russian and Ukrainian, the maker right behind the verb
    r"{b}(?:я|меня|как) (?:{w}){0,8}(?:создан|создал|разработан|разработал|обучен|обучил|натренирован)[^ ]* (?:{u}){0,3}{v}",
    r"{b}(?:я|мене|як) (?:{w}){0,8}(?:створен|створил|розроблен|розробил|навчен|натренован)[^ ]* (?:{u}){0,3}{v}",
    // Turkish
    r"{v}(?:'[^ ]+)?,? (?:{u}){0,2}tarafından (?:{w}){0,4}(?:geliştiril|oluşturul|eğitil|tasarlan|yaratıl|üretil|yapıl|programlan)(?:dim|dım|miş|mis|en|an)(?:im| (?:{w}){0,8}(?:yapay zeka|dil model|asistan|sohbet robot|chatbot)[^ ]*(?: (?:olarak|modeliyim|asistanıyım|asistanım)|(?:yim|yım|im|ım)\b))",
    r"{v}(?:'[^ ]+)?,? (?:{u}){0,2}tarafından (?:{w}){0,4}(?:geliştirildim|oluşturuldum|eğitildim|tasarlandım|yaratıldım|üretildim|programlandım)",
    r"{b}ben,? (?:{w}){0,4}{v}(?:'[^ ]+)?,? (?:{w}){0,3}(?:tarafından|geliştirdiği)",
    // Arabic
    r"(?:طورتني|دربتني|صنعتني|أنشأتني|برمجتني) (?:شركة )?{v}",
    // Persian
    r"{b}(?:من|به عنوان) (?:{w}){0,8}توسط (?:شرکت |تیم ){0,2}(?:{u}){0,2}{v}",
    r"{b}(?:من|به عنوان) (?:{w}){0,6}(?:ساخته|محصول|ساخت|از) (?:شرکت |ی ){0,2}{v}",
    r"{v} (?:من را|مرا) (?:ساخته|توسعه|آموزش|طراحی)",
    // Hindi
    r"{b}(?:मैं|मैंने|मुझे) (?:{u}){0,8}{v} (?:{u}){0,3}(?:द्वारा|ने|की ओर से|का|की)",
    r"{v} (?:{u}){0,3}द्वारा (?:{u}){0,10}(?:मॉडल|एआई|ai|सहायक|चैटबॉट) (?:{u}){0,2}(?:के रूप में|हूँ|हूं)",
    // Chinese
    r"(?:我是|作为|作為|我作为|本人是|身为|身為)[^\n.!?]{0,36}{v}[^\n.!?]{0,60}(?:模型|助手|机器人|機器人|人工智能|人工智慧|ai)",
    r"(?:作为|作為|身为|身為)(?:一个|一個|一款)?,? ?(?:由|被)? ?{v} ?[^\n.!?]{0,12}(?:开发|開發|训练|訓練|创建|創建|研发|研發|打造|推出|构建|設計|设计|提供)",
    r"我(?:是|被)?[^\n.!?]{0,48}(?:由|被|是) ?[^\n.!?]{0,12}{v}[^\n.!?]{0,30}(?:开发|開發|训练|訓練|创建|創建|研发|研發|打造|推出|构建|構建|创造|創造|设计|設計)",
    r"(?:模型|助手|机器人|機器人|人工智能|ai)[^\n.!?]{0,8},? ?我(?:是)?由 ?{v}",
    r"我的(?:开发者|開發者|创造者|創造者|开发商|母公司)(?:是)? ?[^\n.!?]{0,12}{v}",
    r"{v}[^\n.!?]{0,12}(?:开发|開發|训练|訓練|创造|創造|研发|研發)了我",
    // Japanese
    r"(?:私|わたし|僕|ぼく|俺)は,? ?[^\n.!?]{0,48}{v}[^\n.!?]{0,30}(?:開発|訓練|トレーニング|作成|作ら|設計|学習|構築|提供|制作|の)[^\n.!?]{0,48}(?:ai|モデル|アシスタント|チャットボット|されました|されています|人工知能)",
    r"{v}[^\n.!?]{0,24}(?:開発|訓練|トレーニング|作成|作ら|設計|学習|構築|提供)[^\n.!?]{0,36}(?:ai|モデル|アシスタント|チャットボット|人工知能)(?:です|として|であり|で,)",
    r"(?:私|わたし)を(?:開発|作成|訓練)[^\n.!?]{0,24}{v}",
    // Korean
    r"(?:저는|나는|전|저를),? [^\n.!?]{0,72}{v}[^\n.!?]{0,36}(?:개발|훈련|만든|만들|학습|제작|제공|설계)[^\n.!?]{0,48}(?:ai|모델|인공지능|챗봇|어시스턴트|비서|되었|됐|된|었습니다|했습니다)",
    r"{v}[^\n.!?]{0,18}(?:개발|훈련|만든|학습|제작)[^\n.!?]{0,36}(?:ai|모델|인공지능|챗봇|어시스턴트|비서)[^\n.!?]{0,12}(?:로서|으로서|입니다|이에요|예요)",
];

/// "I am X", "my name is X".
const INTRODUCTION: &[&str] = &[
    // English
    r"{b}(?:i am|i'm|my name is|my name's|my names|i'm called|i am called|i go by|(?:you can |please |just |people |they |users )call me|call me|you(?:'re| are) (?:now |currently |actually )?(?:talking|chatting|speaking|conversing|interacting) (?:to|with)) (?:(?:actually|in fact|indeed|just|simply|called|named|known as|currently|technically|also|a large language model|large language model|ai|ai assistant|assistant|your assistant|your ai assistant|-),? ){0,4}{s}",
    r"{b}(?:i am|i'm) (?:an?|the|one of the|part of the) (?:(?:large|multimodal|custom|fine-tuned|new|latest|version of|member of|variant of|instance of|based|open|free|text|the|an?|{v}(?:'s)?) ){0,4}{m}[ -](?:[a-z0-9-]+ ){0,2}{ai_en}\b",
    r"{b}(?:i am|i'm|as) an? {adj_en}{ai_en}(?: [a-z]+){0,3},? (?:called|named|known as|nicknamed|codenamed|that goes by(?: the name)?(?: of)?) {q}{m}",
    r"{b}(?:i am|i'm) (?:{m}|{v}(?:'s)?),? (?:an?|the|your) {adj_en}{ai_en}\b",
    r"{b}this is {s} (?:speaking|here)\b",
    // A whole answer such as "Kimi, by Moonshot."
    r#"^["(]?(?:hi[,!.]? |hello[,!.]? )?{m}(?: here)?,? (?:an? (?:{u}){0,6})?(?:{made_en} by|by|from) (?:the |team |at |company ){0,3}{v}["').! ]*(?:\n|$)"#,
    // German
    r"{b}(?:ich bin|bin ich|ich heisse|ich heiße|mein name ist|mein name lautet|man nennt mich|nenn mich|nennen sie mich|du (?:sprichst|chattest|redest)(?: hier| gerade)? mit|sie (?:sprechen|chatten)(?: hier| gerade)? mit) (?:(?:eigentlich|ubrigens|nur|einfach|auch|das|der|ki-modell|sprachmodell|ki-assistent|assistent|namens),? ){0,4}{s}",
    // French
    r"{b}(?:je suis|je m'appelle|mon nom est|on m'appelle|appelez-moi|appelle-moi|c'est|(?:vous|tu) (?:parlez|parles|discutez|discutes|echangez|echanges) (?:avec|a)) (?:(?:en fait|en realite|simplement|actuellement|l'assistant|l'ia|le modele|le chatbot|assistant|,) ){0,3}{s}(?:[.,!?]| [a-z])",
    // Spanish
    r"{b}(?:soy|me llamo|mi nombre es|puedes llamarme|estas (?:hablando|conversando|chateando) con) (?:(?:en realidad|simplemente|el modelo|la ia|el asistente|el chatbot|el|,) ){0,3}{s}",
    // Portuguese
    r"{b}(?:sou|me chamo|chamo-me|meu nome e|pode me chamar de|voce esta (?:falando|conversando) com) (?:(?:o|a|na verdade|modelo|assistente|chatbot) ){0,3}{s}",
    // Italian
    r"(?:{b}(?:io sono|mi chiamo|il mio nome e|chiamami|stai parlando con)|(?:^|[.!?\n] ?|ciao[,!] |salve[,!] )sono) (?:(?:l'assistente|il modello|il chatbot|in realta) ){0,2}{s}",
    // Dutch
    r"{b}(?:ik ben|ben ik|ik heet|mijn naam is|noem me|je (?:praat|spreekt|chat) (?:nu |hier )?met) (?:(?:eigenlijk|gewoon|de|het|ai-assistent|taalmodel) ){0,3}{s}",
    // Polish
    r"{b}(?:jestem|nazywam sie|mam na imie|moje imie to|moja nazwa to|na imie mi|rozmawiasz z) (?:(?:modelem|asystentem|chatbotem|po prostu|wlasciwie|ai) ){0,3}{s}",
    // Russian
    r"{b}(?:я|меня зовут|мое имя|зовите меня|вы (?:общаетесь|разговариваете|говорите) с|ты (?:общаешься|разговариваешь) с) (?:(?:-|это|модель|нейросеть|языковая модель|чат-бот|ассистент|просто|на самом деле) ){0,3}{s}",
    // Ukrainian
    r"{b}(?:я|мене звати|моє ім'я|звіть мене|ви (?:спілкуєтесь|спілкуєтеся|розмовляєте) з) (?:(?:-|це|модель|мовна модель|чат-бот|асистент|просто) ){0,3}{s}",
    // Vietnamese
    r"{b}(?:tôi là|mình là|em là|tên (?:của )?(?:tôi|mình) là|bạn đang (?:trò chuyện|nói chuyện) với) (?:(?:mô hình|trợ lý|trợ lý ảo|trợ lý ai|chatbot|ai|mô hình ngôn ngữ) ){0,3}{s}",
    // Indonesian
    r"{b}(?:saya adalah|aku adalah|nama saya|nama saya adalah|namaku|namaku adalah|panggil saya|(?:kamu|anda) (?:sedang )?(?:berbicara|mengobrol) dengan) (?:(?:model|asisten|chatbot|ai) ){0,3}{s}",
    r"{b}(?:saya|aku) {s}(?:[,.!]|$)",
    // Turkish
    r"{b}(?:adım|ismim) {s}",
    r"{b}ben,? (?:{u}){0,2}{s}(?:'?y?[ıiuü]m\b|[,.!]|$)",
    // Arabic
    r"{b}(?:أنا|اسمي|يمكنك مناداتي|أنت تتحدث (?:مع|إلى)),? (?:(?:هو|نموذج|اللغة|الذكاء الاصطناعي|مساعد|مساعدك|الذكي|الافتراضي|روبوت|الدردشة) ){0,4}{s}",
    // Persian
    r"{b}من (?:{u}){0,3}{s}(?:م\b|[,.!]|$| [^\n.!?]{0,120}(?:هستم|می‌باشم|ام\b))",
    r"{b}(?:اسم|نام) من {s}",
    // Hindi
    r"{b}मैं (?:{u}){0,3}{s}(?:[,.!]|$| (?:{w}){0,8}(?:हूँ|हूं))",
    r"{b}मेरा नाम {s}",
    // Chinese
    r"我(?:就|其实|其實|的确)?(?:是|叫|名叫|叫做|的名字是|的名字叫|的名字叫做|的名字就是|的名字为) ?(?:(?:由|一个|一個|一款|一名|名为|名為|叫做|叫|大模型|人工智能|ai|助手|智能|语言|語言|模型|您的|你的| |,)){0,8}{s}",
    r"(?:你|您)(?:现在|現在|目前)?(?:正在|在)?(?:和|与|跟|與) ?{s} ?(?:对话|聊天|交流|對話|交谈)",
    // Japanese
    r"(?:私|わたし|僕|ぼく|俺)(?:の名前)?は,? ?[^\n.!?]{0,72}{s} ?(?:です|だ|である|と申し|といい|と言い|と呼|という)",
    // Korean
    r"(?:저는|나는|전|제 이름은|내 이름은|저의 이름은),? (?:{u}){0,3}{s} ?(?:입니다|이에요|예요|에요|라고|이라고|라는|이라는|,|이며|야|이야|이고)",
];

/// "X is what I run on".
const BASIS: &[&str] = &[
    r"{b}(?:i am|i'm|i run|i'm running|i am running|i operate|my (?:responses|answers|underlying model|model|architecture) (?:are|is|comes?))(?: (?:currently|actually|an?|the|ai|assistant|language|model|chatbot|that|is|which)){0,6} (?:based on|built on|built upon|built on top of|powered by|running on|runs on|run on|derived from|part of|a version of|a variant of|an instance of|generated by)(?: (?:the|an?|latest|large|language|model|models|{v}(?:'s)?|family|series|version|of|architecture|called)){0,5} {s}",
    r"{b}(?:i run|i'm running|i am running|i operate) on (?:the |an? |{v}(?:'s)? ){0,2}{s}",
    r"{b}my (?:underlying |base |language )?(?:model|architecture) is (?:the |an? |based on |{v}(?:'s)? ){0,3}{s}",
    r"{b}(?:ich basiere|ich beruhe|ich laufe) auf (?:{u}){0,4}{s}",
    r"{b}(?:je suis base|je suis basee|je repose|je fonctionne|je suis propulse) (?:sur|avec|grâce à|par) (?:{u}){0,4}{s}",
    r"{b}(?:estoy basad[oa] en|me baso en|funciono con|funciono sobre|sou basead[oa] (?:em|no|na)|fui basead[oa] (?:em|no|na)|sono basat[oa] su|mi baso su|ik ben gebaseerd op|jestem opart[ya] na|bazuję na|opieram sie na) (?:{u}){0,4}{s}",
    r"{b}я (?:основан[^ ]*|работаю|построен[^ ]*|базируюсь) на (?:{u}){0,3}{s}",
    r"{b}(?:tôi|mình) (?:được )?(?:xây dựng |phát triển )?dựa trên (?:{u}){0,5}{s}",
    r"{b}saya (?:{u}){0,2}(?:berbasis|berdasarkan|didasarkan pada) (?:{u}){0,3}{s}",
    r"我(?:是)?(?:基于|基於|使用的是|采用的是|採用的是)[^\n.!?]{0,36}{s}",
    r"(?:私|わたし)は,? ?[^\n.!?]{0,48}{s} ?(?:を|に)(?:ベース|基づ|もとづ|基盤)",
    r"(?:저는|나는),? [^\n.!?]{0,48}{s} ?(?:를|을)? ?(?:기반|바탕)",
];

/// "As X, I".
const SPEAKER: &[&str] = &[
    r"{b}as {s},? (?:an? [^\n.]{0,80}?,? )?(?:i|i'm|i'd|i've|i'll|my)\b",
    r"{b}(?:i|ich|moi|yo|eu|io|ik|ja|я|saya|tôi|ben), {s}(?:[,.]|$)",
    r"(?:^|[\n.!?] ?){s} here[,.!]",
    r"{b}als {s},? (?:{u}){0,2}ich\b",
    r"{b}en tant que {s},? (?:je|j')",
    r"{b}(?:como {s}, (?:yo|eu)|come {s}, io)\b",
    r"{b}(?:как|як) {s}, я\b",
    r"{b}(?:với tư cách là {s}, (?:tôi|mình)|sebagai {s}, (?:saya|aku))\b",
    r"{b}(?:بصفتي|باعتباري|به عنوان) {s}",
    r"{s} olarak,? ben\b",
    r"{s} के रूप में,? मैं",
    r"(?:作为|作為|身为|身為)(?:一个|一個|一款)? ?{s} ?,? ?我",
    r"{s} ?として,? ?(?:私|僕|お答え|お手伝い)",
    r"(?:저는|나는)? ?{s} ?로서",
];

/// A name where an answer to the question for it would stand.
const ANSWER: &[&str] = &[
    r#"^["(]?(?:(?:yes|no|sure|of course|hi|hello|hey|ja|oui|si|sim|да|it's|that would be|this is|ok|okay|well)[,.!]? ){0,3}(?:{m}|{v})(?:[ ,.!'")]|$)"#,
    r#"^[^\n]{0,160}?{b}(?:i was|i'm|i am|by|von|par|por|da|от|由|は) ?(?:{u}){0,4}(?:{m}|{v})(?:[ ,.!'")]|$)"#,
];

/// The voter asks who answers.
const PROBE: &[&str] = &[
    // English
    r"{b}(?:which|what|whose)(?: (?:kind|type|sort|version|brand) of)?(?: (?:exact|specific|underlying|language|large|vision|chat|the|{m}|{v}|ai|a\.i\.|llm)){0,6} (?:model|models|version|ai|llm|chatbot|bot|assistant|company|system|{m})(?: model| version| system)? (?:are|r) (?:you|u)(?: (?:based on|running|using|powered|exactly|really|actually|called|from|made|and|currently|by|please|right now)|[?.!,\n]|$)",
    r"{b}who(?:'re| are| r) (?:you|u)(?: (?:really|exactly|actually|again|and|then|please|made by))?(?:[?.!,\n]|$)",
    r"{b}what are you(?: (?:really|exactly|actually|called))?[?]",
    r"{b}(?:what|which)(?:'s| is| are) (?:your|ur) (?:(?:real|actual|full|model|exact|ai|llm|official|own|system|base|underlying|language) ){0,3}(?:name|model|version|model number|identity|architecture|developer|creator|company|llm)\b",
    r"{b}(?:are|r) (?:you|u) (?:(?:really|actually|by any chance|in fact|just|based on|running on|powered by|an?|the|made by|from|trained by|built by|created by|developed by|version of|some kind of) ){0,4}(?:{m}|{v})",
    r"{b}who (?:(?:has|had|was it that|exactly) )?(?:made|created|built|developed|trained|designed|programmed|owns|invented) (?:you|u)\b",
    r"{b}(?:which|what) (?:company|organi[sz]ation|lab|firm|developer|team|vendor) (?:made|created|built|developed|trained|designed|programmed|owns|is behind) (?:you|u)\b",
    r"{b}(?:by whom|who) (?:were|was|are|is) (?:you|your) (?:made|created|trained|developed|built|creators?|developers?|makers?)\b",
    r"{b}(?:what|which) (?:(?:ai|llm|language|large|exact|kind of|type of|{v}|version of) ){0,4}(?:model|ai|llm|version|chatbot|{m}) (?:you are|you're|u are|am i (?:talking|speaking|chatting) (?:to|with)|do you use|you use|powers you|is behind you|do you run on)\b",
    r"{b}who am i (?:talking|speaking|chatting) (?:to|with)\b",
    r"{b}(?:introduce|identify) yourself(?:[?.!,\n]| as| by| and| first| please|$)",
    r"{b}(?:tell|reveal|state|say|give|disclose|share|print|type)(?: me| us)? (?:what|which|who|your) (?:(?:exact|real|ai|llm|language|own|full) ){0,2}(?:name|identity|you are|you're|model name|model you are|ai you are|llm you are|developer|creator)\b",
    r"{b}tell me about yourself\b",
    // German
    r"{b}(?:wer (?:bist du|sind sie)(?:[?.!,\n]| eigentlich| genau| und|$)|wie hei(?:ss|ß)(?:t|en) (?:du|sie)\b|(?:wie|was) ist (?:dein|ihr) name|welche[sr]? (?:{u}){0,4}(?:bist du|sind sie)\b|bist du (?:{u}){0,3}(?:{m}|{v})|wer hat dich (?:entwickelt|gemacht|erstellt|programmiert|trainiert|gebaut|erschaffen)|von wem wurdest du|stell dich (?:bitte )?vor)",
    // French
    r"{b}(?:qui (?:es-tu|es tu|etes-vous|etes vous)|(?:tu es|t'es) qui\b|comment (?:t'appelles-tu|tu t'appelles|vous appelez-vous)|quel est (?:ton|votre) (?:nom|modele)|quel(?:le)? (?:modele|llm|ia|version|intelligence artificielle)[^?.\n]{0,40}(?:es-tu|etes-vous|tu es|vous etes)|(?:es-tu|etes-vous|tu es) (?:{u}){0,2}(?:{m}|{v})|qui (?:t'a|vous a) (?:cree|developpe|concu|entraine|fait|programme)|presente-toi|presentez-vous)",
    // Spanish
    r"{b}(?:quien (?:eres|es usted)(?:[?.!,\n]| tu|$)|como te llamas|cual es tu (?:nombre|modelo)|que (?:modelo|ia|version|llm|inteligencia artificial)[^?.\n]{0,40}eres|eres (?:{u}){0,2}(?:{m}|{v})|quien te (?:creo|hizo|desarrollo|entreno|programo|diseno))",
    // Portuguese
    r"{b}(?:quem (?:e voce|es tu|voce e)\b|qual (?:e )?(?:o )?(?:seu|teu) (?:nome|modelo)|(?:que|qual) (?:modelo|ia|llm|versao)[^?.\n]{0,40}(?:voce e|es tu)|voce e (?:o |a |um )?(?:{m}|{v})|quem (?:te|o) (?:criou|desenvolveu|treinou|fez)|quem (?:criou|desenvolveu|treinou) voce|como voce se chama|apresente-se)",
    // Italian
    r"{b}(?:chi sei(?:[?.!,\n]| tu|$)|come ti chiami|qual e il tuo (?:nome|modello)|(?:che|quale) (?:modello|ia|ai|llm|versione)[^?.\n]{0,40}sei\b|sei (?:{u}){0,2}(?:{m}|{v})|chi ti ha (?:creat|sviluppat|addestrat|fatt)[oa])",
    // Dutch
    r"{b}(?:wie ben (?:je|jij|u)(?:[?.!,\n]| eigenlijk|$)|hoe heet (?:je|jij|u)\b|wat is (?:je|jouw|uw) naam|welk(?:e)? (?:{u}){0,4}ben (?:je|jij)\b|ben (?:je|jij) (?:{u}){0,2}(?:{m}|{v})|wie heeft (?:je|jou) (?:gemaakt|ontwikkeld|getraind|gebouwd)|stel jezelf voor)",
    // Polish
    r"{b}(?:kim jestes|jak masz na imie|jak sie nazywasz|jakim (?:{u}){0,3}(?:jestes|modelem)|(?:czy )?jestes (?:{u}){0,2}(?:{m}|{v})|kto cie (?:stworzyl|wytrenowal|zaprogramowal|opracowal)|przedstaw sie)",
    // Russian
    r"{b}(?:кто ты(?:[?.!,\n]| такой| такая| есть|$)|ты кто(?:[?.!,\n]|$)|кто вы(?:[?.!,\n]| такой|$)|как тебя зовут|как вас зовут|как твое имя|какая ты (?:модель|нейросеть|версия)|какой ты (?:модел|ии|бот)|(?:ты|вы) (?:-|это)? ?(?:{m}|{v})|кто (?:тебя|вас) (?:создал|разработал|обучил|сделал)|представься|что ты за (?:модель|нейросеть|бот|ии)|на какой модели ты)",
    // Ukrainian
    r"{b}(?:хто ти(?:[?.!,\n]| такий| така|$)|ти хто(?:[?.!,\n]|$)|як тебе звати|яка ти модель|ти (?:-|це)? ?(?:{m}|{v})|хто тебе (?:створив|розробив|навчив))",
    // Vietnamese
    r"{b}(?:(?:bạn|mày|em|cậu) là ai(?:[?.!,\n]|$)|bạn tên (?:là )?gì|tên (?:của )?bạn là gì|bạn là (?:{u}){0,4}(?:nào|gì)(?:[?.!,\n]|$)|bạn (?:có phải )?là (?:{m}|{v})|ai (?:đã )?(?:tạo ra|phát triển|huấn luyện|làm ra) (?:ra )?bạn|(?:hãy )?(?:tự )?giới thiệu (?:về )?bản thân)",
    // Indonesian
    r"{b}(?:siapa (?:kamu|anda|namamu|nama kamu|nama anda)\b|(?:kamu|anda) siapa\b|(?:model|ai|llm) apa (?:kamu|anda)|(?:kamu|anda) (?:ini )?(?:model|ai) (?:apa|yang mana)|(?:apakah )?(?:kamu|anda) (?:adalah )?(?:{m}|{v})|siapa yang (?:membuat|menciptakan|mengembangkan|melatih)(?:mu| kamu| anda)|perkenalkan diri)",
    // Turkish
    r"{b}(?:(?:sen |siz )?kimsin(?:iz)?\b|(?:senin )?(?:adın|ismin) ne\b|(?:hangi|ne) (?:{u}){0,3}(?:model|modeli|yapay zeka|yapay zekasın|modelsin|modelisin)[^?.\n]{0,16}sin\b|sen (?:{u}){0,1}(?:{m}|{v})|seni kim (?:yaptı|yarattı|geliştirdi|eğitti|programladı)|kendini tanıt)",
    // Arabic
    r"{b}(?:من (?:أنت|أنتم|تكون)|ما (?:هو )?اسمك|(?:أي|ما) نموذج (?:{u}){0,3}أنت|هل أنت (?:{u}){0,2}(?:{m}|{v})|من (?:الذي )?(?:طورك|صنعك|أنشأك|دربك|برمجك)|عرف (?:بنفسك|عن نفسك|نفسك)|عرفني (?:بنفسك|على نفسك))",
    // Persian
    r"{b}(?:(?:تو|شما) (?:کی|چه کسی) (?:هستی|هستید|هستي)|کی هستی|اسمت (?:چیه|چیست)|(?:اسم|نام) (?:تو|شما) چیست|نامت چیست|چه مدلی (?:هستی|هستید)|(?:آیا )?(?:تو|شما) {m}|چه کسی (?:تو|شما) را|خودت را معرفی|خودتو معرفی)",
    // Hindi
    r"{b}(?:(?:तुम|आप|तू) कौन (?:हो|हैं|है)|(?:तुम्हारा|आपका|तेरा) नाम क्या|(?:तुम|आप) (?:कौन|किस)[^?\n]{0,24}(?:मॉडल|एआई|ai)|क्या (?:तुम|आप) (?:{m}|{v})|(?:तुम्हें|आपको) किसने|अपना परिचय)",
    // Chinese
    r"(?:(?:你|您)(?:到底|究竟)?是(?:谁|誰)(?:啊|呀|呢)? ?(?:[?.!,\n]|$)|(?:你|您)(?:到底|究竟)?是(?:什么模型|什麼模型|什么ai|什么大模型|哪个|哪個|哪家|哪款|哪种|什么东西|不是 ?(?:{m}|{v}))|(?:你|您)(?:叫|的名字(?:是|叫)?)(?:什么|什麼|啥)|(?:你|您)是 ?(?:{m}|{v}) ?(?:吗|嗎|么|\?)|(?:你|您)是[^\n.!?]{0,24}(?:模型|ai)(?:吗|嗎|\?)|(?:谁|誰)(?:开发|開發|创造|創造|训练|訓練|制造|製造|做)(?:了|的)?(?:你|您)|(?:你|您)是(?:由)?(?:谁|誰|哪个公司|哪家公司) ?(?:开发|開發|创造|創造|训练|訓練|制造|製造|做)|介绍(?:一下)?(?:你|您)?自己|介紹(?:一下)?(?:你|您)?自己|自我介绍|自我介紹|(?:你|您)(?:用|使用|基于|基於)的?(?:是)?(?:什么|什麼|哪个|哪個)[^\n.!?]{0,12}模型)",
    // Japanese
    r"(?:(?:あなた|君|きみ|お前)は,? ?(?:誰|だれ|何者|何という|どのモデル|何のモデル|どんなモデル|どこの|どの会社|どのai|{m})|(?:あなた|君)の(?:お)?名前(?:は|を)|お名前は|(?:誰|どこ|どの会社)(?:が|に)(?:あなた|君)(?:を|は)?(?:作|開発|つく|訓練)|自己紹介)",
    // Korean
    r"(?:(?:너는|넌|너|당신은|당신|그쪽은) ?(?:누구|{m})|(?:너의|네|니|당신의) ?이름|이름이 (?:뭐|무엇)|(?:너는|넌|너|당신은) (?:{u}){0,2}(?:무슨|어떤|어느) ?(?:ai |언어 |인공지능 ){0,2}(?:모델|ai|인공지능)|누가 (?:너를|널|당신을) (?:만들|개발|훈련)|자기 ?소개)",
];

/// One pattern for each kind of mention.
pub(super) struct Patterns {
    pub(super) introduction: Regex,
    pub(super) origin: Regex,
    pub(super) basis: Regex,
    pub(super) speaker: Regex,
    pub(super) answer: Regex,
    pub(super) probe: Regex,
}

impl Patterns {
    /// Compiles them all.
    ///
    /// # Panics
    ///
    /// Never: the patterns are constants, and every test of this module compiles them.
    pub(super) fn compile() -> Self {
        let mut origin: Vec<String> = ORIGIN_MORE.iter().map(|&pattern| expand(pattern)).collect();
        let mut introduction: Vec<String> = INTRODUCTION
            .iter()
            .map(|&pattern| expand(pattern))
            .collect();
        for language in ORIGINS {
            let Origin {
                passive,
                oneself,
                machine,
                made,
                by,
                from,
                called,
            } = language;
            origin.push(expand(&format!(
                "{{b}}(?:{passive}) (?:{{u}}){{0,2}}(?:{made}) (?:{{u}}){{0,3}}?(?:{by}) ?(?:{{u}}){{0,4}}{{v}}"
            )));
            origin.push(expand(&format!(
                "{{b}}(?:{oneself})[ '](?:{{w}}){{0,5}}?(?:{machine}),? (?:{{u}}){{0,4}}?(?:{made}) (?:{{u}}){{0,3}}?(?:{by}) ?(?:{{u}}){{0,4}}{{v}}"
            )));
            origin.push(expand(&format!(
                "{{b}}(?:{oneself})[ '](?:{{u}}){{0,4}}?(?:{machine})(?: [^ \\n.!?,]+){{0,2}}? (?:{from}) ?(?:{{u}}){{0,2}}?{{v}}"
            )));
            introduction.push(expand(&format!(
                "{{b}}(?:{oneself})[ '](?:{{w}}){{0,5}}?(?:{machine})(?: [^ \\n.!?]+){{0,4}}?,? (?:{called}) {{q}}{{m}}"
            )));
        }
        let constant = |patterns: &[&str]| -> Vec<String> {
            patterns.iter().map(|&pattern| expand(pattern)).collect()
        };
        Self {
            introduction: alternatives(&introduction),
            origin: alternatives(&origin),
            basis: alternatives(&constant(BASIS)),
            speaker: alternatives(&constant(SPEAKER)),
            answer: alternatives(&constant(ANSWER)),
            probe: alternatives(&constant(PROBE)),
        }
    }
}

/// Folds a pattern, which leaves its operators as they are, and fills in what its placeholders stand for.
fn expand(pattern: &str) -> String {
    let filled = fold_literal(pattern)
        .replace("{ai-en}", ENGLISH_MACHINE)
        .replace("{adj-en}", ENGLISH_ADJECTIVES)
        .replace("{made-en}", ENGLISH_MADE)
        .replace("{b}", r#"(?:^|[ \n"'(\[,.:;!?>/-])"#)
        .replace("{w}", r#"[^ \n.!?;"]+ "#)
        .replace("{u}", r#"[^ \n.!?;",]+ "#)
        .replace("{q}", r#"["'(\[]?"#)
        .replace("{s}", SELF_SUFFICIENT)
        .replace("{m}", ANY_MODEL)
        .replace("{v}", ANY_VENDOR);
    filled
        .replace("{distinct}", "\u{e000}")
        .replace("{proper}", "\u{e001}")
        .replace("{common}", "\u{e002}")
        .replace("{vendor}", "\u{e003}")
        .replace("{distinct both}", "\u{e004}")
        .replace("{proper both}", "\u{e005}")
}

const ANY_MODEL: &str = r#"["'(\[]?(?:{distinct}|{proper}|{common}|{distinct both}|{proper both})"#;
const ANY_VENDOR: &str = r#"["'(\[]?(?:{vendor}|{distinct both}|{proper both})"#;
const SELF_SUFFICIENT: &str = r#"["'(\[]?(?:(?:(?:{vendor}|{distinct both}|{proper both})(?:'s)? )?(?:{distinct}|{proper}|{distinct both}|{proper both})|(?:{vendor}|{distinct both}|{proper both})(?:'s)? {common})"#;

/// The marker of a name. [`expand`] spells them out.
pub(super) const fn marker(
    strength: super::names::Strength,
    is_model: bool,
    is_vendor: bool,
) -> char {
    use super::names::Strength::{Common, Distinct, Proper};
    match (is_model, is_vendor, strength) {
        (false, ..) => '\u{e003}',
        (true, true, Distinct) => '\u{e004}',
        (true, true, Proper | Common) => '\u{e005}',
        (true, false, Distinct) => '\u{e000}',
        (true, false, Proper) => '\u{e001}',
        (true, false, Common) => '\u{e002}',
    }
}

fn alternatives(patterns: &[String]) -> Regex {
    // Bytes instead of characters make the automaton small: every character that matters is spelled out, and those between may be any.
    RegexBuilder::new(&patterns.join("|"))
        .unicode(false)
        .size_limit(64 << 20)
        .dfa_size_limit(16 << 20)
        .build()
        .expect("constant patterns are valid")
}
