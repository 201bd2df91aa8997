//! How long telephone numbers are in each country, and how they begin.
//!
//! Lengths and first digits are those of the national numbering plans as notified to the ITU; only what tells numbers from other digits is kept.

/// One country's plan.
struct Region {
    /// The country code.
    code: &'static str,
    /// The languages that its people write in, ISO 639-1, with blanks between.
    languages: &'static str,
    /// What is dialled in front inside the country.
    trunk: &'static str,
    /// Lengths of national numbers without trunk prefix.
    len: (usize, usize),
    /// First digits of national numbers without trunk prefix, as groups of which one must match; empty for any.
    starts: &'static [&'static str],
}

const fn region(
    code: &'static str,
    languages: &'static str,
    trunk: &'static str,
    len: (usize, usize),
    starts: &'static [&'static str],
) -> Region {
    Region {
        code,
        languages,
        trunk,
        len,
        starts,
    }
}

const TWO_TO_NINE: &[&str] = &["2", "3", "4", "5", "6", "7", "8", "9"];

const REGIONS: &[Region] = &[
    region("1", "en es fr", "1", (10, 10), TWO_TO_NINE),
    region("7", "ru kk", "8", (10, 10), &["3", "4", "7", "8", "9"]),
    region(
        "20",
        "ar",
        "0",
        (8, 10),
        &["1", "2", "3", "4", "5", "6", "8", "9"],
    ),
    region(
        "27",
        "en af zu",
        "0",
        (9, 9),
        &["1", "2", "3", "4", "5", "6", "7", "8"],
    ),
    region("30", "el", "", (10, 10), &["2", "69", "8"]),
    region("31", "nl", "0", (9, 9), &[]),
    region("32", "nl fr de", "0", (8, 9), &[]),
    region("33", "fr", "0", (9, 9), &[]),
    region("34", "es ca eu gl", "", (9, 9), &["6", "7", "8", "9"]),
    region("36", "hu", "06", (8, 9), &[]),
    region("39", "it", "", (6, 11), &["0", "3", "8"]),
    region("40", "ro", "0", (9, 9), &["2", "3", "7", "8", "9"]),
    region("41", "de fr it", "0", (9, 9), &[]),
    region("43", "de", "0", (4, 13), &[]),
    region("44", "en", "0", (9, 10), &["1", "2", "3", "5", "7", "8"]),
    region("45", "da", "", (8, 8), TWO_TO_NINE),
    region("46", "sv", "0", (7, 10), &[]),
    region("47", "no nb nn", "", (8, 8), TWO_TO_NINE),
    region("48", "pl", "", (9, 9), &[]),
    region("49", "de", "0", (5, 12), &[]),
    region("51", "es", "0", (8, 9), &[]),
    region("52", "es", "", (10, 10), TWO_TO_NINE),
    region("53", "es", "0", (6, 8), &[]),
    region("54", "es", "0", (10, 11), &[]),
    region("55", "pt", "0", (10, 11), &[]),
    region("56", "es", "", (9, 9), &[]),
    region("57", "es", "", (8, 10), &["3", "6"]),
    region("58", "es", "0", (10, 10), &["2", "4"]),
    region(
        "60",
        "ms en",
        "0",
        (8, 10),
        &["1", "3", "4", "5", "6", "7", "8", "9"],
    ),
    region("61", "en", "0", (9, 9), &["2", "3", "4", "7", "8"]),
    region(
        "62",
        "id",
        "0",
        (8, 12),
        &["2", "3", "4", "5", "6", "7", "8", "9"],
    ),
    region("63", "en tl", "0", (8, 10), &[]),
    region("64", "en", "0", (8, 10), &["2", "3", "4", "6", "7", "9"]),
    region("65", "en zh", "", (8, 8), &["3", "6", "8", "9"]),
    region("66", "th", "0", (8, 9), &[]),
    region("81", "ja", "0", (9, 10), &[]),
    region("82", "ko", "0", (8, 10), &[]),
    region("84", "vi", "0", (9, 10), &[]),
    region(
        "86",
        "zh",
        "0",
        (10, 11),
        &[
            "13", "14", "15", "16", "17", "18", "19", "10", "2", "3", "4", "5", "6", "7", "8", "9",
        ],
    ),
    region("90", "tr", "0", (10, 10), &["2", "3", "4", "5", "8"]),
    region(
        "91",
        "hi en bn ta te mr gu kn ml pa",
        "0",
        (10, 10),
        &["2", "3", "4", "5", "6", "7", "8", "9"],
    ),
    region("92", "ur en", "0", (9, 10), &[]),
    region("93", "fa ps", "0", (9, 9), &[]),
    region("94", "si ta en", "0", (9, 9), &[]),
    region("95", "my", "0", (7, 10), &[]),
    region(
        "98",
        "fa",
        "0",
        (10, 10),
        &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    ),
    region("212", "fr ar", "0", (9, 9), &["5", "6", "7", "8"]),
    region("213", "fr ar", "0", (8, 9), &[]),
    region("216", "fr ar", "", (8, 8), &[]),
    region("218", "ar", "0", (8, 9), &[]),
    region("221", "fr", "", (9, 9), &[]),
    region("225", "fr", "", (10, 10), &[]),
    region("233", "en", "0", (9, 9), &[]),
    region("234", "en", "0", (8, 10), &[]),
    region("237", "fr en", "", (9, 9), &[]),
    region("250", "en fr", "0", (9, 9), &[]),
    region("251", "am", "0", (9, 9), &[]),
    region("254", "en sw", "0", (9, 9), &["1", "2", "4", "5", "6", "7"]),
    region("255", "sw en", "0", (9, 9), &[]),
    region("256", "en sw", "0", (9, 9), &[]),
    region("260", "en", "0", (9, 9), &[]),
    region("263", "en", "0", (9, 9), &[]),
    region("351", "pt", "", (9, 9), &["2", "3", "9", "8"]),
    region("352", "fr de lb", "", (6, 9), &[]),
    region("353", "en ga", "0", (7, 9), &[]),
    region("354", "is", "", (7, 7), &[]),
    region("355", "sq", "0", (8, 9), &[]),
    region("356", "mt en", "", (8, 8), &[]),
    region("357", "el en", "", (8, 8), &["2", "9"]),
    region("358", "fi sv", "0", (6, 11), &[]),
    region("359", "bg", "0", (8, 9), &[]),
    region("370", "lt", "8", (8, 8), &[]),
    region("371", "lv", "", (8, 8), &["2", "6", "7", "8", "9"]),
    region("372", "et", "", (7, 8), &[]),
    region("373", "ro ru", "0", (8, 8), &[]),
    region("374", "hy", "0", (8, 8), &[]),
    region("375", "be ru", "8", (9, 9), &[]),
    region("376", "ca", "", (6, 9), &[]),
    region("377", "fr", "", (8, 9), &[]),
    region(
        "380",
        "uk",
        "0",
        (9, 9),
        &["3", "4", "5", "6", "7", "8", "9"],
    ),
    region("381", "sr", "0", (8, 9), &[]),
    region("382", "sr", "0", (8, 8), &[]),
    region("385", "hr", "0", (8, 9), &[]),
    region("386", "sl", "0", (8, 8), &[]),
    region("387", "bs hr sr", "0", (8, 8), &[]),
    region("389", "mk", "0", (8, 8), &[]),
    region("420", "cs", "", (9, 9), &["2", "3", "4", "5", "6", "7"]),
    region("421", "sk", "0", (9, 9), &[]),
    region("423", "de", "", (7, 9), &[]),
    region("502", "es", "", (8, 8), &[]),
    region("503", "es", "", (8, 8), &[]),
    region("504", "es", "", (8, 8), &[]),
    region("505", "es", "", (8, 8), &[]),
    region("506", "es", "", (8, 8), &[]),
    region("507", "es", "", (7, 8), &[]),
    region("591", "es", "0", (8, 8), &[]),
    region("593", "es", "0", (8, 9), &[]),
    region("595", "es", "0", (8, 9), &[]),
    region("598", "es", "0", (8, 8), &[]),
    region("852", "zh en", "", (8, 8), TWO_TO_NINE),
    region("853", "zh pt", "", (8, 8), &[]),
    region("855", "km", "0", (8, 9), &[]),
    region("856", "lo", "0", (8, 10), &[]),
    region(
        "880",
        "bn en",
        "0",
        (8, 10),
        &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    ),
    region("886", "zh", "0", (8, 9), &[]),
    region("960", "dv en", "", (7, 7), &[]),
    region("961", "ar", "0", (7, 8), &[]),
    region("962", "ar", "0", (8, 9), &[]),
    region("963", "ar", "0", (8, 9), &[]),
    region("964", "ar", "0", (8, 10), &[]),
    region("965", "ar", "", (8, 8), &[]),
    region("966", "ar", "0", (8, 9), &[]),
    region("967", "ar", "0", (7, 9), &[]),
    region("968", "ar", "", (8, 8), &[]),
    region("970", "ar", "0", (8, 9), &[]),
    region("971", "ar en", "0", (8, 9), &[]),
    region(
        "972",
        "he ar",
        "0",
        (8, 9),
        &["2", "3", "4", "5", "7", "8", "9"],
    ),
    region("973", "ar", "", (8, 8), &[]),
    region("974", "ar", "", (8, 8), &[]),
    region("976", "mn", "0", (8, 8), &[]),
    region("977", "ne", "0", (8, 10), &[]),
    region("992", "tg ru", "", (9, 9), &[]),
    region("993", "tk ru", "8", (8, 8), &[]),
    region("994", "az", "0", (9, 9), &[]),
    region("995", "ka", "0", (9, 9), &[]),
    region("996", "ky ru", "0", (9, 9), &[]),
    region("998", "uz ru", "", (9, 9), &[]),
];

/// Countries with a trunk prefix that is left out of written mobile numbers as often as not.
const WRITTEN_WITHOUT_TRUNK: &[&str] = &["7", "51", "54", "55", "86", "90", "91"];

impl Region {
    fn takes(&self, national: &str) -> bool {
        (self.len.0..=self.len.1).contains(&national.len())
            && (self.starts.is_empty()
                || self.starts.iter().any(|start| national.starts_with(start)))
    }

    /// A trunk prefix is part of the written number where there is one.
    fn takes_written(&self, number: &str) -> bool {
        let with_trunk = !self.trunk.is_empty()
            && number
                .strip_prefix(self.trunk)
                .is_some_and(|national| self.takes(national));
        with_trunk
            || (self.trunk.is_empty()
                || self.trunk == "1"
                || WRITTEN_WITHOUT_TRUNK.contains(&self.code))
                && self.takes(number)
    }
}

/// Whether digits after a plus begin with a country code and have a length that its plan gives out.
///
/// A trunk prefix in brackets, as in `+44 (0)20`, is written too.
pub(super) fn is_international(digits: &str) -> bool {
    REGIONS.iter().any(|region| {
        digits.strip_prefix(region.code).is_some_and(|national| {
            let without_trunk = if region.trunk == "0" {
                national.strip_prefix('0')
            } else {
                None
            };
            region.takes(national) || without_trunk.is_some_and(|national| region.takes(national))
        })
    })
}

/// Whether digits are a number as written inside a country where this language is spoken.
pub(super) fn is_national(digits: &str, language: &str) -> bool {
    REGIONS.iter().any(|region| {
        region.languages.split(' ').any(|spoken| spoken == language) && region.takes_written(digits)
    })
}

/// Whether digits are a number as written inside any country.
pub(super) fn is_national_somewhere(digits: &str) -> bool {
    REGIONS.iter().any(|region| region.takes_written(digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn country_codes_are_distinct_and_none_begins_another() {
        let codes: BTreeSet<&str> = REGIONS.iter().map(|region| region.code).collect();
        assert_eq!(codes.len(), REGIONS.len());
        for code in &codes {
            assert!(
                !codes
                    .iter()
                    .any(|other| other != code && other.starts_with(code)),
                "{code}"
            );
        }
        assert!(codes.len() >= 60);
    }

    #[test]
    fn written_numbers_have_their_trunk_prefix() {
        assert!(is_national("0174605123", "sv"));
        assert!(is_national("612345678", "es"));
        assert!(!is_national("174605123", "sv"));
        assert!(is_international("442071234567") && is_international("4402071234567"));
        assert!(!is_international("99912345678"));
    }
}
