//! Leaderboards in the shape of LMArena's published boards: `{category: {model: {rating, rating_q975, rating_q025}}}`.

use serde_json::{Map, Value, json};

use super::Board;

/// The rated models of the first group of each category, in the order of names; with style control where it was asked for.
///
/// The shape has no place for provisional models and for groups that never met the first one. Without intervals, the bounds are null.
pub fn write(board: &Board) -> Value {
    let with_style = board.settings.style.is_some();
    let mut categories = Map::new();
    for leaderboard in &board.leaderboards {
        if leaderboard.style_control != with_style || leaderboard.group != 1 {
            continue;
        }
        let models: Map<String, Value> = leaderboard
            .models
            .iter()
            .filter(|row| row.rank.is_some())
            .map(|row| {
                let bounds = json!({
                    "rating": row.rating,
                    "rating_q975": row.rating_upper,
                    "rating_q025": row.rating_lower,
                });
                (row.model.clone(), bounds)
            })
            .collect();
        categories.insert(leaderboard.category.clone(), Value::Object(models));
    }
    Value::Object(categories)
}
