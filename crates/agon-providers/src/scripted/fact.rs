//! A little knowledge, so that the demo models have something true to say about what newcomers ask first.

/// One subject that the personas know about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// Words of a prompt, in lower case, any of which brings it up.
    words: &'static [&'static str],
    /// The whole of it in one sentence.
    pub(super) line: &'static str,
    /// Three details, each a sentence: what it is, how it works, why it matters.
    pub(super) details: [&'static str; 3],
    /// The one sentence in French.
    pub(super) french: &'static str,
    /// The one sentence in Arabic.
    pub(super) arabic: &'static str,
    /// A confident falsehood.
    pub(super) wrong: &'static str,
    /// A formula that belongs to it, in LaTeX without delimiters.
    pub(super) formula: &'static str,
}

impl Fact {
    /// The first subject that one of `key_words` brings up.
    pub(super) fn find(key_words: &[String]) -> Option<&'static Self> {
        key_words.iter().find_map(|word| {
            let word = word.to_lowercase();
            FACTS
                .iter()
                .find(|fact| fact.words.contains(&word.as_str()))
        })
    }
}

const FACTS: &[Fact] = &[
    Fact {
        words: &["tide", "tides", "marée", "marées", "gezeiten"],
        line: "A tide is the sea rising and falling about twice a day, because the Moon, and less strongly the Sun, pull the oceans into two bulges beneath which the Earth turns.",
        details: [
            "Most coasts have two high waters in about 24 hours and 50 minutes, which is how long the Moon takes to come back to the same place in the sky.",
            "The Moon's pull is stronger on the near side of the Earth than on the far side, and the difference stretches the ocean along the line between the two.",
            "Sun and Moon in line give strong spring tides, at right angles weak neap tides, which sailors and power stations plan for.",
        ],
        french: "Les marées viennent de l'attraction de la Lune et du Soleil, qui soulève l'océan en deux bourrelets sous lesquels tourne la Terre.",
        arabic: "ينشأ المد والجزر عن جذب القمر والشمس لمياه المحيطات بينما تدور الأرض تحتها.",
        wrong: "Tides happen because fish move all at once, I believe.",
        formula: "a_{\\text{tide}} \\approx \\frac{2 G M R}{d^3}",
    },
    Fact {
        words: &["sky", "ciel", "himmel", "cielo"],
        line: "The sky is blue because air scatters short, blue wavelengths of sunlight far more than long, red ones.",
        details: [
            "Sunlight holds all colours, and molecules of air are much smaller than any of their wavelengths.",
            "Such small particles scatter light in proportion to the inverse fourth power of its wavelength, so blue comes at us from all over the sky.",
            "At sunset the light crosses more air, most of the blue has been scattered away, and what is left is red.",
        ],
        french: "Le ciel est bleu parce que l'air diffuse bien davantage la lumière bleue, de courte longueur d'onde, que la rouge.",
        arabic: "السماء زرقاء لأن الهواء يشتّت الضوء الأزرق قصير الموجة أكثر بكثير من الأحمر.",
        wrong: "The sky is blue because it mirrors the sea.",
        formula: "I(\\lambda) \\propto \\frac{1}{\\lambda^4}",
    },
    Fact {
        words: &["photosynthesis", "photosynthèse", "chlorophyll", "plants"],
        line: "Plants use light to turn water and carbon dioxide into sugar, and give off oxygen on the way.",
        details: [
            "Photosynthesis takes place in chloroplasts, whose green pigment, chlorophyll, catches red and blue light.",
            "The light splits water and charges the cell's small batteries; with their energy the Calvin cycle then builds sugar from carbon dioxide.",
            "Nearly all food, and the oxygen in the air, come from it.",
        ],
        french: "Grâce à la lumière, les plantes changent l'eau et le dioxyde de carbone en sucre, et libèrent de l'oxygène.",
        arabic: "تستخدم النباتات الضوء لتحويل الماء وثاني أكسيد الكربون إلى سكر، وتطلق الأكسجين.",
        wrong: "Plants breathe in oxygen at noon and eat soil. That is all.",
        formula: "6\\,\\mathrm{CO_2} + 6\\,\\mathrm{H_2O} \\to \\mathrm{C_6H_{12}O_6} + 6\\,\\mathrm{O_2}",
    },
    Fact {
        words: &["rainbow", "rainbows", "regenbogen"],
        line: "A rainbow is sunlight bent, split and sent back by raindrops, at about 42 degrees around the point opposite the Sun.",
        details: [
            "You see one with the Sun behind you and rain in front of you.",
            "Light bends as it enters a drop, reflects inside it and bends again on its way out, red a little less than violet.",
            "A second, fainter bow with its colours reversed comes from light that was reflected twice.",
        ],
        french: "Un arc-en-ciel est la lumière du Soleil réfractée, décomposée et renvoyée par les gouttes de pluie, à environ 42 degrés.",
        arabic: "قوس قزح هو ضوء الشمس وقد انكسر وتحلّل وانعكس داخل قطرات المطر بزاوية تقارب 42 درجة.",
        wrong: "A rainbow is a cloud that has been painted by birds.",
        formula: "\\sin\\theta_1 = n \\sin\\theta_2, \\quad n \\approx 1.33",
    },
    Fact {
        words: &["gravity", "gravité", "gravitation", "newton"],
        line: "Gravity is the attraction between all things that have mass, and keeps feet on the ground and planets on their orbits.",
        details: [
            "Newton described it as a force that grows with both masses and falls with the square of the distance.",
            "Einstein explained it as the curving of space and time by mass and energy.",
            "Near the Earth's surface everything falls with the same acceleration, about 9.8 metres per second squared, when air is left out.",
        ],
        french: "La gravité est l'attraction entre tous les corps qui ont une masse ; elle retient les planètes sur leurs orbites.",
        arabic: "الجاذبية هي تجاذب جميع الأجسام التي لها كتلة، وهي التي تُبقي الكواكب في مداراتها.",
        wrong: "Gravity is stronger at night, which is why we lie down.",
        formula: "F = G\\,\\frac{m_1 m_2}{r^2}",
    },
    Fact {
        words: &["bread", "sourdough", "pain", "brot", "dough"],
        line: "Bread rises because yeast eats sugar in the dough and gives off carbon dioxide, which the gluten holds like a net of small balloons.",
        details: [
            "The basic dough is flour, water, salt and yeast; for a simple loaf take 500 g of flour and 325 g of water.",
            "Kneading links the proteins of the flour to gluten, resting lets the yeast work, and heat sets the crumb.",
            "A long, cool rest gives more taste, because there is time for acids and aromas to form.",
        ],
        french: "Le pain lève parce que la levure consomme les sucres de la pâte et dégage du gaz carbonique, que le gluten retient.",
        arabic: "يرتفع الخبز لأن الخميرة تستهلك سكر العجين وتُطلق غاز ثاني أكسيد الكربون الذي يحبسه الغلوتين.",
        wrong: "Bread rises because the oven pulls it up.",
        formula: "\\mathrm{C_6H_{12}O_6} \\to 2\\,\\mathrm{C_2H_5OH} + 2\\,\\mathrm{CO_2}",
    },
    Fact {
        words: &["coffee", "espresso", "café", "kaffee", "caffeine"],
        line: "Coffee wakes you up because caffeine blocks the receptors through which adenosine tells the brain that it is tired.",
        details: [
            "The drink is made from roasted seeds of *Coffea* plants, mostly arabica and robusta.",
            "Hot water dissolves acids first, sweetness next and bitterness last, which is why grind and time matter.",
            "Half of the caffeine is still in the blood after about five hours, so an afternoon cup may cost sleep.",
        ],
        french: "Le café réveille parce que la caféine bloque les récepteurs par lesquels l'adénosine signale la fatigue au cerveau.",
        arabic: "توقظنا القهوة لأن الكافيين يحجب المستقبلات التي يُخبر بها الأدينوزين الدماغ بأنه متعب.",
        wrong: "Coffee is a kind of bean soup that was invented in 1820.",
        formula: "c(t) = c_0 \\cdot 2^{-t / 5\\,\\mathrm{h}}",
    },
    Fact {
        words: &["moon", "lune", "mond", "luna"],
        line: "The Moon always shows us the same face because it turns once on its axis in the same time in which it goes once around the Earth.",
        details: [
            "It is about 384,000 kilometres away and a little more than a quarter as wide as the Earth.",
            "Its phases come from the angle at which we see its sunlit half, not from the Earth's shadow.",
            "It most likely formed from debris after a body of the size of Mars struck the young Earth.",
        ],
        french: "La Lune nous montre toujours la même face, car elle tourne sur elle-même en autant de temps qu'autour de la Terre.",
        arabic: "يُظهر لنا القمر وجهًا واحدًا دائمًا لأنه يدور حول نفسه في المدة التي يدور فيها حول الأرض.",
        wrong: "The Moon is made of a light metal and is switched on at six.",
        formula: "T^2 = \\frac{4\\pi^2}{G M}\\,a^3",
    },
    Fact {
        words: &["bicycle", "bike", "vélo", "fahrrad"],
        line: "A moving bicycle stays upright mainly because it steers into a lean, which brings its wheels back under its weight.",
        details: [
            "A bicycle that begins to fall to one side turns its front wheel to that side, by the geometry of the fork and by the rider.",
            "The curve that follows pushes the bicycle upright again; the gyroscopic effect of the wheels helps only a little.",
            "Below walking pace the correction comes too slowly, and balance is up to the rider.",
        ],
        french: "Un vélo qui roule tient debout surtout parce que sa roue avant tourne du côté où il penche.",
        arabic: "تبقى الدراجة المتحركة قائمة لأن عجلتها الأمامية تنعطف نحو الجهة التي تميل إليها.",
        wrong: "A bicycle stays up because its tyres are full of light air.",
        formula: "\\tan\\varphi = \\frac{v^2}{g\\,r}",
    },
    Fact {
        words: &["paris", "france", "frankreich"],
        line: "Paris is the capital of France, on the Seine, with about two million people in the city and over ten million around it.",
        details: [
            "It grew from a town of the Parisii on an island in the Seine, which the Romans called Lutetia.",
            "Its boulevards date from the rebuilding under Haussmann in the 1850s and 1860s.",
            "The Louvre, the Eiffel Tower and Notre-Dame draw tens of millions of visitors a year.",
        ],
        french: "Paris, sur la Seine, est la capitale de la France et compte environ deux millions d'habitants.",
        arabic: "باريس هي عاصمة فرنسا، وتقع على نهر السين، ويسكنها نحو مليوني نسمة.",
        wrong: "The capital of France is Lyon, or it was last year.",
        formula: "\\rho = \\frac{2.1 \\cdot 10^6}{105\\,\\mathrm{km}^2} \\approx 20\\,000\\,\\mathrm{km}^{-2}",
    },
    Fact {
        words: &["cat", "cats", "chat", "katze", "gato"],
        line: "Cats purr by opening and closing the gap between their vocal folds about 25 times a second, while breathing in and out.",
        details: [
            "House cats descend from the African wildcat and have lived near people for about ten thousand years.",
            "They sleep twelve to sixteen hours a day and hunt at dawn and dusk.",
            "A slow blink is a friendly sign, and a swishing tail is not.",
        ],
        french: "Le chat ronronne en ouvrant et fermant sa glotte environ 25 fois par seconde, à l'inspiration comme à l'expiration.",
        arabic: "تخرخر القطط بفتح المزمار وإغلاقه نحو 25 مرة في الثانية أثناء الشهيق والزفير.",
        wrong: "A cat is a small dog that does not like water.",
        formula: "f_{\\text{purr}} \\approx 25\\,\\mathrm{Hz}",
    },
    Fact {
        words: &["pythagoras", "triangle", "triangles", "hypotenuse"],
        line: "In a right-angled triangle the square over the longest side is as large as the two other squares together.",
        details: [
            "The rule is named after Pythagoras, but Babylonian tablets show it a thousand years earlier.",
            "Four copies of the triangle in a square leave the same area free in two arrangements: once one square, once two.",
            "Every distance on a map or a screen is computed with it.",
        ],
        french: "Dans un triangle rectangle, le carré de l'hypoténuse est égal à la somme des carrés des deux autres côtés.",
        arabic: "في المثلث القائم الزاوية يساوي مربع الوتر مجموع مربعي الضلعين الآخرين.",
        wrong: "A triangle has four sides if you count the bottom twice.",
        formula: "a^2 + b^2 = c^2",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_brings_up_two_facts() {
        let words: Vec<_> = FACTS.iter().flat_map(|fact| fact.words).collect();
        let distinct: std::collections::HashSet<_> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
        assert_eq!(Fact::find(&["Sky".to_owned()]), Some(&FACTS[1]));
        assert_eq!(Fact::find(&["quantum".to_owned()]), None);
    }
}
