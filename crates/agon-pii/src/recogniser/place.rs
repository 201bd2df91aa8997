//! Places on the earth: decimal and sexagesimal coordinates, `geo:` links, plus codes.

use super::{Reading, Recogniser, run_forwards};
use crate::{
    Entity as E,
    finding::Evidence,
    normalise::{ends_word, starts_word},
    shapes::Candidate,
};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::GpsCoordinates],
    words: &[(
        E::GpsCoordinates,
        &[
            "gps",
            "located",
            "home",
            "near",
            "coordinates",
            "latitude",
            "lat",
            "latlong",
            "my location",
            "i live",
            "coordenadas",
            "koordinaten",
            "coordonnées",
            "坐标",
            "座標",
        ],
    )],
    find,
};

/// Decimal places that tell a place of a person from a town: four are eleven metres.
const DECIMALS_MIN: usize = 4;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    let bytes = text.as_bytes();
    let mut next = 0;
    while next < bytes.len() {
        let start = next;
        next += 1;
        if !bytes[start].is_ascii_digit()
            || !starts_word(text, start)
            || text[..start].ends_with('.')
        {
            if bytes[start] == b'+' {
                plus_code(text, start, found);
            }
            continue;
        }
        let signed = if text[..start].ends_with(['-', '+']) {
            start - 1
        } else {
            start
        };
        if let Some((end, is_link)) = decimal_pair(text, signed) {
            let word = reading
                .surroundings
                .around(signed, end)
                .word(E::GpsCoordinates);
            let prior = if is_link { 2.0 } else { -2.0 };
            let log_odds = prior + if word.is_some() { 4.0 } else { 0.0 };
            found.push(Candidate {
                entity: E::GpsCoordinates,
                range: signed..end,
                log_odds,
                evidence: Evidence::by("coordinates", prior).announced(word),
            });
            next = end;
        } else if let Some(end) = sexagesimal_pair(text, start) {
            found.push(Candidate {
                entity: E::GpsCoordinates,
                range: start..end,
                log_odds: 2.0,
                evidence: Evidence::by("degrees", 2.0),
            });
            next = end;
        } else {
            next = run_forwards(text, start, usize::MAX, |byte| byte.is_ascii_digit()).end;
        }
    }
}

/// A decimal number with at least four places, and its value.
fn decimal(text: &str, start: usize) -> Option<(usize, f64)> {
    let signed = start + usize::from(text[start..].starts_with(['-', '+']));
    let whole = run_forwards(text, signed, 4, |byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || text.as_bytes().get(whole.end) != Some(&b'.') {
        return None;
    }
    let places = run_forwards(text, whole.end + 1, 16, |byte| byte.is_ascii_digit());
    let value = text[start..places.end].parse().ok()?;
    (places.len() >= DECIMALS_MIN).then_some((places.end, value))
}

fn decimal_pair(text: &str, start: usize) -> Option<(usize, bool)> {
    let (first_end, latitude) = decimal(text, start)?;
    let rest = &text[first_end..];
    let gap = rest.len()
        - rest
            .trim_start_matches(['°', ' ', 'N', 'S', ',', ';'])
            .len();
    let between = &rest[..gap];
    if !between.contains([',', ';', 'N', 'S']) || gap > 6 {
        return None;
    }
    let (end, longitude) = decimal(text, first_end + gap)?;
    let tail = &text[end..];
    let letter = tail.len()
        - tail
            .trim_start_matches('°')
            .trim_start_matches(' ')
            .trim_start_matches(['E', 'W'])
            .len();
    let named = between.contains(['N', 'S']) && tail[..letter].contains(['E', 'W']);
    let end = if named { end + letter } else { end };
    let in_range = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    // A third number makes it a list or a vector.
    let is_list =
        text[end..].trim_start_matches(' ').starts_with(',') && decimal_follows(text, end);
    let is_link = named
        || text[..start].ends_with("geo:")
        || text[..start].ends_with("q=")
        || text[..start].ends_with("/@");
    (in_range && !is_list && ends_word(text, end)).then_some((end, is_link))
}

fn decimal_follows(text: &str, end: usize) -> bool {
    let rest = text[end..].trim_start_matches([',', ' ']);
    rest.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

/// Degrees, minutes and seconds north or south, then east or west.
fn sexagesimal_pair(text: &str, start: usize) -> Option<usize> {
    let middle = sexagesimal(text, start, b"NS", 90)?;
    let gap = text[middle..].len() - text[middle..].trim_start_matches([' ', ',']).len();
    if gap > 3 {
        return None;
    }
    sexagesimal(text, middle + gap, b"EWO", 180)
}

fn sexagesimal(text: &str, start: usize, sides: &[u8], degrees_max: u32) -> Option<usize> {
    let mut place = start;
    let mut part = |signs: &[char], most: u32| {
        let whole = run_forwards(text, place, 3, |byte| byte.is_ascii_digit());
        if text[whole.clone()].parse::<u32>().ok()? > most {
            return None;
        }
        let mut end = whole.end;
        if text[end..].starts_with('.') {
            end = run_forwards(text, end + 1, 6, |byte| byte.is_ascii_digit()).end;
        }
        let sign = text[end..]
            .chars()
            .next()
            .filter(|sign| signs.contains(sign))?;
        place = end + sign.len_utf8();
        place += text[place..].len() - text[place..].trim_start_matches(['\'', ' ']).len();
        Some(())
    };
    part(&['°', 'º'], degrees_max)?;
    part(&['\'', '′', '’'], 59)?;
    // Seconds may be left out.
    let _ = part(&['"', '″', '”', '\''], 59);
    let side = text.as_bytes().get(place)?;
    (sides.contains(side) && ends_word(text, place + 1)).then_some(place + 1)
}

/// An Open Location Code: eight characters, a plus, two or three more.
fn plus_code(text: &str, plus: usize, found: &mut Vec<Candidate>) {
    const ALPHABET: &[u8] = b"23456789CFGHJMPQRVWX";
    let bytes = text.as_bytes();
    let Some(start) = plus.checked_sub(8) else {
        return;
    };
    let end = run_forwards(text, plus + 1, 4, |byte| ALPHABET.contains(&byte)).end;
    let code = &bytes[start..plus];
    if code.iter().all(|byte| ALPHABET.contains(byte))
        && code.iter().any(u8::is_ascii_alphabetic)
        && (2..=3).contains(&(end - plus - 1))
        && starts_word(text, start)
        && ends_word(text, end)
    {
        found.push(Candidate {
            entity: E::GpsCoordinates,
            range: start..end,
            log_odds: 1.0,
            evidence: Evidence::by("plus code", 1.0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_a_comma_and_four_decimals() {
        for text in [
            "48.858370, 2.294481",
            "-33.8568,151.2153",
            "48.8583° N, 2.2944° E",
        ] {
            assert_eq!(
                decimal_pair(text, 0).map(|(end, _)| end),
                Some(text.len()),
                "{text}"
            );
        }
        for text in [
            "0.123456789 0.987654321",
            "23.5, 66.5",
            "0.1234, 0.5678, 0.9012",
            "95.1234, 2.1234",
        ] {
            assert_eq!(decimal_pair(text, 0), None, "{text}");
        }
        assert!(sexagesimal_pair("48°51'30\"N 2°17'40\"E", 0).is_some());
        assert!(sexagesimal_pair("48°75'30\"N 2°17'40\"E", 0).is_none());
    }
}
