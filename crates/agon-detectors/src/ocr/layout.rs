//! The order in which lines are read, and which lines continue each other.

use agon_domain::PixelBox;

use super::TextLine;

/// Share of the lower line's height that two lines have in common when they are one row.
const SAME_ROW: f64 = 0.5;

/// Most gap between a line and the one below it in a column, in heights of the upper one.
const GAP_MAX: f64 = 1.2;

/// Most that heights of lines in one column differ, as a factor.
const HEIGHTS_MAX: f64 = 1.8;

/// Rows from the top, each from the left, in a picture of this width and height turned so that most of its text is level.
pub(super) fn in_reading_order(mut lines: Vec<TextLine>, size: (u32, u32)) -> Vec<TextLine> {
    let mut n_chars = [0; 4];
    for line in &lines {
        n_chars[line.corners.n_quarters() as usize % 4] += line.chars.len();
    }
    let n_quarters = (0..4_u32)
        .rev()
        .max_by_key(|quarters| n_chars[*quarters as usize])
        .unwrap_or_default();
    for line in &mut lines {
        line.level_place = turned_back(line.place, size, n_quarters);
    }
    lines.sort_by_key(|line| (line.level_place.top_px, line.level_place.left_px));
    let mut rows: Vec<Vec<TextLine>> = Vec::new();
    for line in lines {
        // Only the rows just above can share their height with this line.
        let row = rows
            .iter_mut()
            .rev()
            .take(8)
            .find(|row| row.iter().all(|other| is_same_row(other, &line)));
        match row {
            Some(row) => row.push(line),
            None => rows.push(vec![line]),
        }
    }
    for row in &mut rows {
        row.sort_by_key(|line| line.level_place.left_px);
    }
    rows.into_iter().flatten().collect()
}

/// A box of a picture of this width and height, in the picture turned back by so many clockwise quarters.
fn turned_back(place: PixelBox, (width_px, height_px): (u32, u32), n_quarters: u32) -> PixelBox {
    let to_right = width_px.saturating_sub(place.left_px + place.width_px);
    let to_bottom = height_px.saturating_sub(place.top_px + place.height_px);
    let (left_px, top_px) = match n_quarters {
        1 => (place.top_px, to_right),
        2 => (to_right, to_bottom),
        3 => (to_bottom, place.left_px),
        _ => (place.left_px, place.top_px),
    };
    let (width_px, height_px) = if n_quarters % 2 == 1 {
        (place.height_px, place.width_px)
    } else {
        (place.width_px, place.height_px)
    };
    PixelBox {
        left_px,
        top_px,
        width_px,
        height_px,
    }
}

/// Whether two lines are beside each other.
pub(crate) fn is_same_row(left: &TextLine, right: &TextLine) -> bool {
    shares_a_row(left.level_place, right.level_place)
}

fn shares_a_row(left: PixelBox, right: PixelBox) -> bool {
    let common = overlap(
        (left.top_px, left.height_px),
        (right.top_px, right.height_px),
    );
    f64::from(common) >= SAME_ROW * f64::from(left.height_px.min(right.height_px))
}

/// Lines grouped by column: in each group, every line stands right below the one before and is about as high.
///
/// Numbers are places in `lines`. Every line is in exactly one group.
pub fn columns(lines: &[TextLine]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (idx, line) in lines.iter().enumerate() {
        let above = groups
            .iter()
            .enumerate()
            .filter_map(|(group, members)| {
                let last = lines[*members.last()?].level_place;
                continues(last, line.level_place).then_some((group, last.top_px + last.height_px))
            })
            // The nearest one above.
            .max_by_key(|(_, bottom)| *bottom);
        match above {
            Some((group, _)) => groups[group].push(idx),
            None => groups.push(vec![idx]),
        }
    }
    groups
}

fn continues(upper: PixelBox, lower: PixelBox) -> bool {
    let (upper_height, lower_height) = (f64::from(upper.height_px), f64::from(lower.height_px));
    let gap = f64::from(lower.top_px) - f64::from(upper.top_px + upper.height_px);
    lower.top_px > upper.top_px
        && !shares_a_row(upper, lower)
        && gap <= GAP_MAX * upper_height
        && upper_height.max(lower_height) <= HEIGHTS_MAX * upper_height.min(lower_height)
        && overlap(
            (upper.left_px, upper.width_px),
            (lower.left_px, lower.width_px),
        ) > 0
}

/// How much two stretches, each a start and a length, have in common.
fn overlap(left: (u32, u32), right: (u32, u32)) -> u32 {
    (left.0 + left.1)
        .min(right.0 + right.1)
        .saturating_sub(left.0.max(right.0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ocr::{CharPlace, Corners};

    /// A level line whose characters are all equally wide.
    pub(crate) fn line(text: &str, left_px: u32, top_px: u32, char_px: u32) -> TextLine {
        let n_chars = text.chars().count() as u32;
        let place = PixelBox {
            left_px,
            top_px,
            width_px: n_chars * char_px,
            height_px: char_px * 2,
        };
        let (left, top) = (left_px as f32, top_px as f32);
        let (right, bottom) = (
            (left_px + place.width_px) as f32,
            (top_px + place.height_px) as f32,
        );
        TextLine {
            text: text.to_owned(),
            score: 0.9,
            corners: Corners([(left, top), (right, top), (right, bottom), (left, bottom)]),
            place,
            level_place: place,
            chars: text
                .char_indices()
                .zip(0..)
                .map(|((at_byte, _), idx)| CharPlace {
                    at_byte,
                    place: PixelBox {
                        left_px: left_px + idx * char_px,
                        width_px: char_px,
                        ..place
                    },
                })
                .collect(),
        }
    }

    #[test]
    fn rows_are_read_from_the_left_though_one_line_is_a_little_higher() {
        let lines = vec![
            line("second", 200, 98, 10),
            line("first", 10, 100, 10),
            line("below", 10, 140, 10),
            line("above", 10, 10, 10),
        ];
        let texts: Vec<String> = in_reading_order(lines, (500, 500))
            .into_iter()
            .map(|line| line.text)
            .collect();
        assert_eq!(texts, ["above", "first", "second", "below"]);
    }

    #[test]
    fn a_turned_page_is_read_as_if_it_stood_upright() {
        let size = (500, 300);
        let upright = [
            line("first", 10, 10, 10),
            line("beside", 300, 12, 10),
            line("second", 10, 60, 10),
        ];
        let turned: Vec<TextLine> = upright
            .iter()
            .map(|line| {
                // Turned clockwise by a quarter, x becomes height - y and y becomes x.
                let corners = line.corners.0.map(|(x, y)| (size.1 as f32 - y, x));
                TextLine {
                    corners: Corners(corners),
                    place: Corners(corners).around((size.1, size.0)).unwrap(),
                    ..line.clone()
                }
            })
            .rev()
            .collect();
        let read = in_reading_order(turned, (size.1, size.0));
        for (line, expected) in read.iter().zip(&upright) {
            assert_eq!(line.text, expected.text);
            assert_eq!(line.level_place, expected.place);
        }
    }

    #[test]
    fn columns_go_down_beside_each_other() {
        let lines = in_reading_order(
            vec![
                line("left one", 10, 10, 10),
                line("right one", 300, 12, 10),
                line("left two", 10, 40, 10),
                line("right two", 300, 42, 10),
                line("far below", 10, 400, 10),
                line("HUGE", 10, 430, 40),
            ],
            (600, 600),
        );
        assert_eq!(columns(&lines), [vec![0, 2], vec![1, 3], vec![4], vec![5]]);
    }

    #[test]
    fn a_part_of_a_text_has_the_place_of_its_characters() {
        let line = line("né 12", 100, 50, 10);
        let place = line.place_of(&(1..3)).unwrap();
        assert_eq!((place.left_px, place.width_px), (110, 10));
        let place = line.place_of(&(4..6)).unwrap();
        assert_eq!((place.left_px, place.width_px), (130, 20));
        assert_eq!(line.place_of(&(0..6)), Some(line.place));
        assert_eq!(line.place_of(&(3..3)), None);
        assert_eq!(line.place_of(&(6..9)), None);
    }
}
