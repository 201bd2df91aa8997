//! Boards of periods, turned into one series for each model.

use std::collections::BTreeMap;

use super::{Board, HistoryBody, HistoryPoint, HistorySeries, LeaderboardBody, slices::Unit};

/// The series of every unit of time that the board was cut by.
pub fn of(board: &Board) -> Vec<HistoryBody> {
    let wanted = &board.settings.slices;
    let units = wanted.by.iter().filter(|name| Unit::parse(name).is_some());
    let styles: &[bool] = if board.settings.style.is_some() {
        &[true, false]
    } else {
        &[false]
    };
    units
        .flat_map(|unit| {
            styles
                .iter()
                .map(|&style| of_unit(board, unit, style, wanted.cumulative))
        })
        .collect()
}

fn of_unit(board: &Board, unit: &str, style_control: bool, cumulative: bool) -> HistoryBody {
    let slices: Vec<_> = board
        .slices
        .iter()
        .filter(|slice| slice.column.as_deref() == Some(unit))
        .collect();
    let main_of = |category: &str| -> Option<&LeaderboardBody> {
        board.leaderboards.iter().find(|board| {
            board.category == category && board.group == 1 && board.style_control == style_control
        })
    };
    let mut series: BTreeMap<&str, Vec<Option<HistoryPoint>>> = BTreeMap::new();
    for (idx, slice) in slices.iter().enumerate() {
        let Some(board) = main_of(&slice.category) else {
            continue;
        };
        for row in &board.models {
            let points = series
                .entry(&row.model)
                .or_insert_with(|| vec![None; slices.len()]);
            points[idx] = row.rank.map(|rank| HistoryPoint {
                rating: row.rating,
                rating_lower: row.rating_lower,
                rating_upper: row.rating_upper,
                rank: Some(rank),
                battles: row.battles,
            });
        }
    }
    HistoryBody {
        unit: unit.to_owned(),
        cumulative,
        style_control,
        periods: slices
            .iter()
            .filter_map(|slice| slice.value.clone())
            .collect(),
        models: series
            .into_iter()
            .map(|(model, points)| HistorySeries {
                model: model.to_owned(),
                points,
            })
            .collect(),
    }
}
