//! Made-up leaderboards of any size, the same each time.

use agon_plot::{
    Board, Calibration, CalibrationBin, Caption, Cells, Coefficient, Coefficients, HeatMap,
    History, HistoryLine, Interval, Intervals, RatedModel,
};

/// Numbers between 0 and 1 from a linear congruential generator (Knuth's MMIX constants).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[(self.next() * from.len() as f64) as usize % from.len()]
    }
}

pub(crate) fn names(count: usize) -> Vec<String> {
    let mut chance = Chance::new(7);
    (0..count)
        .map(|index| {
            let family = chance.pick(&[
                "aurora",
                "basalt",
                "cobalt-vision",
                "dahlia",
                "ember",
                "fjord-vl",
                "granite-mm",
                "heron",
            ]);
            let size = chance.pick(&["3b", "8b", "34b", "72b", "mini", "pro", "ultra-405b"]);
            let kind = chance.pick(&[
                "",
                "-instruct",
                "-chat-latest",
                "-preview-2025-04-07",
                "-thinking-32k-experimental",
            ]);
            format!("{family}-{}.{}-{size}{kind}", 1 + index % 4, index / 4)
        })
        .collect()
}

fn caption(title: &str) -> Caption {
    Caption {
        title: title.to_owned(),
        subtitle: Some("Vision, all languages · 128,403 battles · Bradley-Terry with style control · sandwich intervals".to_owned()),
        source: Some("Made-up data, 1 March 2026".to_owned()),
    }
}

pub(crate) fn rated(count: usize, provisional: usize) -> Intervals {
    let mut chance = Chance::new(11);
    let models = names(count)
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let place = index as f64 / count as f64;
            let rating = 1290.0 - 330.0 * place.powf(1.3) + 12.0 * chance.next();
            let half = 4.0 + 14.0 * chance.next() * chance.next();
            let provisional = index >= count - provisional;
            let wide = if provisional { 15.0 } else { 1.0 };
            RatedModel {
                name,
                rating,
                interval: Some(Interval {
                    lower: rating - half * wide,
                    upper: rating + 1.1 * half * wide,
                }),
                simultaneous: (!provisional).then_some(Interval {
                    lower: rating - 1.7 * half,
                    upper: rating + 1.9 * half,
                }),
                ranks: (!provisional).then(|| {
                    let spread = (half / 3.0) as u32;
                    (
                        ((index + 1) as u32).saturating_sub(spread).max(1),
                        (index + 1) as u32 + spread,
                    )
                }),
                battles: Some((4e5 / (half * half)) as u64),
                provisional,
            }
        })
        .collect();
    Intervals {
        caption: caption("Vision leaderboard"),
        axis: "Rating".to_owned(),
        confidence: 95.0,
        models,
    }
}

pub(crate) fn win_rates(count: usize) -> HeatMap {
    let mut chance = Chance::new(3);
    let ratings: Vec<f64> = rated(count, 0)
        .models
        .iter()
        .map(|model| model.rating)
        .collect();
    let mut values = vec![None; count * count];
    let mut battles = vec![0; count * count];
    for row in 0..count {
        for column in 0..row {
            if chance.next() < 0.12 {
                continue;
            }
            let noise = 0.1 * (chance.next() - 0.5);
            let rate = 1.0 / (1.0 + 10_f64.powf((ratings[row] - ratings[column]) / 400.0)) + noise;
            let rate = rate.clamp(0.0, 1.0);
            values[column * count + row] = Some(rate);
            values[row * count + column] = Some(1.0 - rate);
            let met = (900.0 * chance.next() * chance.next()) as u64 + 1;
            battles[column * count + row] = met;
            battles[row * count + column] = met;
        }
    }
    HeatMap {
        caption: caption("Observed win rates"),
        models: names(count),
        cells: Cells::WinRates {
            values,
            battles: Some(battles),
        },
    }
}

pub(crate) fn battle_counts(count: usize) -> HeatMap {
    let HeatMap { models, cells, .. } = win_rates(count);
    let Cells::WinRates {
        battles: Some(battles),
        ..
    } = cells
    else {
        unreachable!("win_rates gives battles")
    };
    HeatMap {
        caption: caption("Battles of each pair"),
        models,
        cells: Cells::Battles(battles),
    }
}

pub(crate) fn over_time(count: usize, boards: usize) -> History {
    let mut chance = Chance::new(5);
    let lines = names(count)
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let first = if index % 3 == 0 {
                0
            } else {
                (chance.next() * boards as f64 * 0.7) as usize
            };
            let gone = if index % 7 == 6 {
                boards * 2 / 3
            } else {
                boards
            };
            let mut rating = 1280.0 - 260.0 * (index as f64 / count as f64) + 20.0 * chance.next();
            let ratings = (0..boards)
                .map(|board| {
                    rating += 12.0 * (chance.next() - 0.55);
                    (board >= first && board < gone && !(index % 5 == 2 && board == boards / 2))
                        .then_some(rating)
                })
                .collect();
            HistoryLine {
                name,
                ratings,
                ..HistoryLine::default()
            }
        })
        .collect();
    let board = |index: usize| Board {
        label: format!("{}-{:02}", 2024 + index / 12, 1 + index % 12),
        day: 30.44 * index as f64,
    };
    History {
        caption: caption("Ratings over time"),
        axis: "Rating".to_owned(),
        boards: (0..boards).map(board).collect(),
        lines,
        highlighted: 12,
    }
}

pub(crate) fn style() -> Coefficients {
    let row = |name: &str, value: f64, half: f64| Coefficient {
        name: name.to_owned(),
        value,
        interval: Some(Interval {
            lower: value - half,
            upper: value + half,
        }),
    };
    Coefficients {
        caption: caption("What style adds to the odds of winning"),
        unit: "Log-odds for one standard deviation".to_owned(),
        below: "favours the plainer answer".to_owned(),
        above: "favours the richer answer".to_owned(),
        rows: vec![
            row("Length in tokens", 0.241, 0.012),
            row("Markdown headers", 0.028, 0.011),
            row("Markdown lists", 0.009, 0.012),
            row("Bold text", -0.014, 0.011),
        ],
    }
}

pub(crate) fn predictions() -> Calibration {
    let mut chance = Chance::new(9);
    let bins = (0..10)
        .map(|index| {
            let predicted = 0.05 + 0.1 * f64::from(index) + 0.02 * (chance.next() - 0.5);
            let battles = (9000.0 * (-((predicted - 0.5) / 0.22).powi(2)).exp()) as u64 + 90;
            let observed =
                (0.5 + 0.93 * (predicted - 0.5) + 0.03 * (chance.next() - 0.5)).clamp(0.0, 1.0);
            let half = 1.96 * (observed * (1.0 - observed) / battles as f64).sqrt();
            CalibrationBin {
                predicted,
                observed,
                interval: Some(Interval {
                    lower: (observed - half).max(0.0),
                    upper: (observed + half).min(1.0),
                }),
                battles,
            }
        })
        .collect();
    Calibration {
        caption: caption("Are predicted win rates right?"),
        bins,
    }
}
