//! What prompts say that try to give models other instructions, by category and language.
//!
//! Patterns are folded like the texts they are matched on: lower case, no accents, one space between words, `-` for `_`.
//! That is why no pattern holds a capital escape; every gap is bounded.
//! Folding takes Korean syllables and Japanese sounds apart, so gaps in those languages count parts of letters.

/// Categories, each with its alternatives.
pub(super) const PATTERNS: &[(&str, &[&str])] = &[
    ("ignore_instructions", IGNORE),
    ("prompt_extraction", EXTRACT),
    ("role_tag", ROLE_TAGS),
    ("persona", PERSONAS),
];

const IGNORE: &[&str] = &[
    // English
    r"\b(?:ignore|disregard|forget|override|bypass|discard)\b(?: [a-z']{1,12}){0,4} (?:previous|prior|preceding|above|earlier|former|foregoing|system|initial|original|your)(?: [a-z']{1,12}){0,2} (?:instructions?|prompts?|directives?|rules|guidelines|context|commands)\b",
    r"\b(?:ignore|disregard|forget) (?:all |everything |anything )?(?:of )?(?:what (?:was|you were|i) (?:said|told)|the above|everything (?:above|before|you were told|i said))",
    r"\byour new (?:instructions|rules|directives|system prompt) (?:are|is)\b",
    // German
    r"\b(?:ignoriere?|vergiss|missachte|verwirf)\b(?: [a-z]{1,14}){0,4} (?:vorherigen?|bisherigen?|obigen?|fruheren?|vorangegangenen?|deine|system)(?: [a-z]{1,14}){0,2} ?(?:anweisung(?:en)?|instruktion(?:en)?|vorgaben?|regeln|befehle?|prompts?)\b",
    // French
    r"\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?)\b(?: [a-z']{1,14}){0,4} (?:instructions?|consignes?|directives?|regles)(?: [a-z]{1,14}){0,2} (?:precedentes?|anterieures?|ci-dessus|initiales?)\b",
    // Spanish, Portuguese, Italian
    r"\b(?:ignor[ae]|olvida|omite|descarta|ignore|esqueca|desconsidere|dimentica|trascura)\b(?: [a-z]{1,14}){0,4} (?:instrucciones|indicaciones|ordenes|reglas|instrucoes|orientacoes|regras|istruzioni|indicazioni|regole)(?: [a-z]{1,14}){0,2} (?:anteriores|previas|de arriba|acima|precedenti|iniziali)\b",
    r"\b(?:ignor[ae]|dimentica|trascura)\b(?: [a-z]{1,14}){0,3} (?:precedenti|anteriores) (?:istruzioni|instrucciones|instrucoes|indicazioni)\b",
    // Dutch
    r"\b(?:negeer|vergeet)\b(?: [a-z]{1,14}){0,3} (?:vorige|eerdere|bovenstaande|voorgaande)(?: [a-z]{1,14}){0,1} (?:instructies?|opdrachten|regels|aanwijzingen)\b",
    // Polish
    r"\b(?:zignoruj|ignoruj|zapomnij o)\b(?: [a-zł]{1,14}){0,3} (?:poprzedni\w{0,4}|wczesniejsz\w{0,4}|powyzsz\w{0,4})(?: [a-zł]{1,14}){0,1} (?:instrukcj\w{0,3}|polecen\w{0,3}|zasad\w{0,2})",
    // Russian, Ukrainian
    r"(?:игнорируй|проигнорируй|забудь|ігноруй|проігноруй)(?:те)?(?: \w{1,14}){0,3} (?:предыдущ|прежн|вышеуказанн|прошл|попередн)\w{0,4}(?: \w{1,14}){0,1} (?:инструкци|указани|команд|правил|інструкці|вказівк)\w{0,4}",
    // Turkish
    r"\b(?:onceki|yukaridaki)(?: \w{1,14}){0,2} (?:talimat|komut|kural|yonerge)\w{0,10}(?: \w{1,10}){0,2} (?:yok say|unut|dikkate alma|gormezden gel)",
    // Indonesian, Vietnamese
    r"\b(?:abaikan|lupakan)(?: \w{1,14}){0,2} (?:instruksi|perintah|aturan)(?: \w{1,14}){0,2} (?:sebelumnya|di atas)\b",
    r"\b(?:bo qua|quen)(?: \w{1,10}){0,4} (?:huong dan|chi dan|lenh|chi thi)(?: \w{1,10}){0,2} (?:truoc|o tren)",
    // Arabic, Persian
    r"(?:تجاهل|انس|تجاهلي)(?: \w{1,14}){0,2} (?:التعليمات|الاوامر|الأوامر|القواعد|الارشادات)(?: \w{1,14}){0,1} (?:السابقة|أعلاه|اعلاه)",
    r"(?:دستورات|دستورالعمل\w{0,8})(?: \w{1,10}){0,1} (?:قبلی|پیشین|بالا)(?: \w{1,6}){0,1} (?:نادیده|فراموش)",
    // Hindi
    r"(?:पिछले|पहले|उपरोक्त)[^.।?!]{0,40}(?:निर्देश|आदेश|नियम)[^.।?!]{0,30}(?:अनदेखा|नजरअंदाज|नज़रअंदाज|भूल)",
    // Chinese, Japanese, Korean
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会)[^.?!\n]{0,12}(?:之前|以上|上面|先前|前面|此前|所有)[^.?!\n]{0,8}(?:指令|指示|提示|命令|规则|規則|要求|内容|說明|说明)",
    r"(?:これまで|以前|上記|前|今まで)の[^.?!\n]{0,24}(?:指示|命令|ルール|プロンプト|指令)[^.?!\n]{0,18}(?:無視|忘れ|破棄)",
    r"(?:이전|위의|앞의|앞선|기존)[^.?!\n]{0,30}(?:지시|명령|지침|규칙|프롬프트)[^.?!\n]{0,24}(?:무시|잊)",
];

const EXTRACT: &[&str] = &[
    // English
    r"\b(?:print|show|reveal|repeat|output|display|tell me|give me|write|recite|leak|share|dump|list|what(?:'s| is| are| was| were))\b(?: [a-z']{1,12}){0,4} (?:your|the|this|its) (?:[a-z]{1,12} ){0,2}(?:system (?:prompt|message|instructions?)|(?:initial|hidden|original|secret|internal|pre-?)[ -]?(?:prompt|instructions?|rules|message))",
    r"\b(?:repeat|print|output|copy|write)(?: [a-z']{1,12}){0,4} (?:everything|all(?: the)? (?:text|words)|the (?:text|words)|verbatim)(?: [a-z']{1,12}){0,3} (?:above|before this|preceding)\b",
    r"\bwhat (?:instructions|rules|guidelines) (?:were|have|are) you (?:been )?(?:given|told|following)\b",
    // German, French, Spanish, Portuguese, Italian, Dutch
    r"\b(?:zeige?|gib|nenne|verrate?|wiederhole|drucke|wie lautet|was ist)\b(?: [a-z]{1,12}){0,4} (?:deinen?|den|dein|ihren?) ?(?:[a-z]{1,14} )?(?:system-?prompt|systemanweisung(?:en)?|systemnachricht|ursprunglichen anweisungen)",
    r"\b(?:montre|affiche|revele|repete|donne|quel(?:le)?s? (?:est|sont))\b(?:[ -][a-z']{1,12}){0,4} (?:ton|tes|votre|vos|le|les) (?:prompt systeme|prompt du systeme|message systeme|instructions (?:systeme|initiales|internes))",
    r"\b(?:muestra(?:me)?|revela|repite|dime|imprime|cual(?:es)? (?:es|son)|mostre|revele|repita|qual e|mostrami|rivela|ripeti)\b(?: [a-z]{1,12}){0,3} (?:tus?|el|las|o|seu|suas|as|il|tuo|le|tue) (?:prompt (?:del? |do )?sist?e?ma|prompt de sistema|mensaje del sistema|instrucciones (?:iniciales|del sistema|internas)|instrucoes (?:iniciais|do sistema|internas)|istruzioni (?:iniziali|di sistema|interne))",
    r"\b(?:toon|laat|geef|onthul|herhaal|wat is)\b(?: [a-z]{1,12}){0,3} (?:je|jouw|uw|de) (?:systeemprompt|systeeminstructies|systeembericht)",
    // Russian
    r"(?:покажи|выведи|раскрой|повтори|напиши|назови|какой|каков)\w{0,3}(?: \w{1,12}){0,3} (?:системн\w{0,4} (?:промпт|подсказк|сообщени|инструкци)|исходн\w{0,4} инструкци)",
    // Chinese, Japanese, Korean
    r"(?:输出|顯示|显示|告诉我|告訴我|重复|重複|打印|透露|泄露|说出|給我|给我)[^.?!\n]{0,12}(?:系统提示|系統提示|系统指令|系統指令|初始指令|初始提示|系统消息|提示词|提示詞)",
    r"(?:システムプロンプト|初期プロンプト|最初の指示|内部の指示)[^.?!\n]{0,24}(?:教えて|表示|出力|見せて|開示|繰り返)",
    r"(?:시스템 ?프롬프트|초기 ?지시|시스템 ?메시지)[^.?!\n]{0,24}(?:알려|보여|출력|공개|말해)",
    // Arabic
    r"(?:اعرض|أظهر|اظهر|اكشف|أخبرني|كرر)(?: \w{1,12}){0,3} (?:موجه النظام|تعليمات النظام|التعليمات الأصلية|رسالة النظام)",
];

const ROLE_TAGS: &[&str] = &[
    r"<\|? ?(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|end_of_turn) ?\|>",
    r"<(?:start_of_turn|end_of_turn)>",
    r"\[/?inst\]|<</?sys>>|\[/?system_prompt\]",
    r"(?:^|\n| )#{2,3} ?(?:system|assistant|instruction) ?:",
    r"</?(?:system|system-prompt|system_message)>",
    r"(?:^|\n)\[?(?:system|assistant)\]? ?: ?(?:you |ignore|new |override|from now)",
];

const PERSONAS: &[&str] = &[
    r"\b(?:you are|act as|pretend to be|become|roleplay as) (?:now )?(?:dan|stan|aim|an unrestricted (?:ai|assistant|model)|an unfiltered (?:ai|assistant|model)|a jailbroken (?:ai|model)|in developer mode)\b",
    r"\b(?:developer|debug|god|jailbreak|dan|sudo) mode(?: is)? (?:now )?(?:enabled|activated|on)\b",
    r"\b(?:without|no|free of|free from)(?: any)? (?:ethical|moral|content|safety)(?: or [a-z]{1,10})? (?:restrictions|limitations|filters?|guidelines)\b",
    r"\bdo anything now\b",
];
