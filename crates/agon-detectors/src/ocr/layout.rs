//! The order in which lines are read, and which lines continue each other.

use agon_domain::PixelBox;

use super::TextLine;

/// Share of the lower line's height that two lines have in common when they are one row.
const SAME_ROW: f64 = 0.5;

/// Most gap between a line and the one below it in a column, in heights of the upper one.
const GAP_MAX: f64 = 1.2;

/// Most that heights of lines in one column differ, as a factor.
const HEIGHTS_MAX: f64 = 1.8;

/// Rows from the top, each from the left.
pub(super) fn in_reading_order(mut lines: Vec<TextLine>) -> Vec<TextLine> {
    lines.sort_by_key(|line| (line.place.top_px, line.place.left_px));
    let mut rows: Vec<Vec<TextLine>> = Vec::new();
    for line in lines {
        // Only the rows just above can share their height with this line.
        let row = rows
            .iter_mut()
            .rev()
            .take(8)
            .find(|row| row.iter().all(|other| is_same_row(other.place, line.place)));
        match row {
            Some(row) => row.push(line),
            None => rows.push(vec![line]),
        }
    }
    for row in &mut rows {
        row.sort_by_key(|line| line.place.left_px);
    }
    rows.into_iter().flatten().collect()
}

/// Whether two lines are beside each other.
pub(crate) fn is_same_row(left: PixelBox, right: PixelBox) -> bool {
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
                let last = lines[*members.last()?].place;
                continues(last, line.place).then_some((group, last.top_px + last.height_px))
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
        && !is_same_row(upper, lower)
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
        let texts: Vec<String> = in_reading_order(lines)
            .into_iter()
            .map(|line| line.text)
            .collect();
        assert_eq!(texts, ["above", "first", "second", "below"]);
    }

    #[test]
    fn columns_go_down_beside_each_other() {
        let lines = in_reading_order(vec![
            line("left one", 10, 10, 10),
            line("right one", 300, 12, 10),
            line("left two", 10, 40, 10),
            line("right two", 300, 42, 10),
            line("far below", 10, 400, 10),
            line("HUGE", 10, 430, 40),
        ]);
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
