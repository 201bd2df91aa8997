//! Published tables: R's worked examples, GenAI-Arena's board, evalica's scores and the arena's ranks.

use super::{Battles, all_close, close, csv_rows, entry, json, testdata};
use crate::{
    Anchor, Comparison, Comparisons, Covariance, CovarianceMethod, FitOptions, LeaderboardOptions,
    Status, average_win_rates, elo, fit, leaderboard, ranks,
};

/// Grouped data of R: wins of the first and of the second of two names.
fn grouped(path: &std::path::PathBuf) -> Battles {
    let mut battles = Battles::default();
    for row in csv_rows(path) {
        battles.add(&row[0], &row[1], 1.0, row[2].parse().unwrap());
        battles.add(&row[0], &row[1], 0.0, row[3].parse().unwrap());
    }
    battles
}

/// Coefficients and standard errors relative to a reference model, and the deviance, as R's `BTm` gives them.
#[track_caller]
fn check_r(
    data: &str,
    expected: &str,
    reference: &str,
    prefix: &str,
    order_effect: bool,
    deviance: f64,
) {
    let Some(path) = testdata(&format!("votes/bt-reference/{data}")) else {
        return;
    };
    let battles = grouped(&path);
    let names = battles.names();
    // R keeps both orders apart in its deviance, with or without a term for them.
    let ordered = Comparisons::with_order_effect(names.len(), &battles.rows()).unwrap();
    let comparisons = if order_effect {
        ordered.clone()
    } else {
        ordered.without_columns()
    };
    let fit = fit(&comparisons, &FitOptions::default()).unwrap();
    let reference = names.iter().position(|name| name == reference).unwrap();
    let mut weights = vec![0.0; names.len()];
    weights[reference] = 1.0;
    let covariance = Covariance::of(&fit, &comparisons, CovarianceMethod::ModelBased)
        .unwrap()
        .anchored(&weights)
        .unwrap();
    for row in csv_rows(&testdata(&format!("votes/bt-reference/{expected}")).unwrap()) {
        let (estimate, error) = (
            row[1].parse::<f64>().unwrap(),
            row[2].parse::<f64>().unwrap(),
        );
        let (found, found_error) = match row[0].strip_prefix(prefix) {
            Some(name) => {
                let model = names.iter().position(|other| other == name).unwrap();
                (
                    fit.strengths[model] - fit.strengths[reference],
                    covariance.strength_error(model),
                )
            }
            None => (fit.coefficients[0], covariance.coefficient_error(0)),
        };
        // R stops its iterations at a relative change of 1e-8 in deviance.
        close(found, estimate, 1e-7, &row[0]);
        close(found_error.unwrap(), error, 1e-6, &row[0]);
    }
    let found = 2.0 * (ordered.saturated_log_likelihood() - fit.certificate.log_likelihood);
    close(found, deviance, 5e-5, "deviance");
}

#[test]
fn journal_citations_agree_with_r() {
    check_r(
        "citations.csv",
        "citations_expected.csv",
        "Biometrika",
        "journal",
        false,
        4.29338,
    );
}

#[test]
fn baseball_without_home_advantage_agrees_with_r() {
    check_r(
        "baseball.csv",
        "baseball_expected_nohome.csv",
        "Baltimore",
        "team",
        false,
        44.0535,
    );
}

#[test]
fn baseball_with_home_advantage_agrees_with_r() {
    check_r(
        "baseball.csv",
        "baseball_expected_home.csv",
        "Baltimore",
        "team",
        true,
        38.6429,
    );
}

/// GenAI-Arena's battles in file order; only anonymous ones if asked. A model against itself is left out.
fn genai(anonymous: bool) -> Option<Battles> {
    let path = testdata("votes/genai-arena/clean_battle_20240220.json")?;
    let rows = json(&path);
    let named = rows.as_array().unwrap().iter();
    let kept = named
        .filter(|row| !anonymous || row["anony"].as_bool().unwrap())
        .filter(|row| row["model_a"] != row["model_b"]);
    Some(
        kept.map(|row| {
            let outcome = match row["winner"].as_str().unwrap() {
                "model_a" => 1.0,
                "model_b" => 0.0,
                "tie" | "tie (bothbad)" => 0.5,
                other => panic!("unknown winner {other}"),
            };
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("model_a"), text("model_b"), outcome, 1)
        })
        .collect(),
    )
}

fn short_name(name: &str) -> &str {
    let name = name.strip_prefix("imagenhub_").unwrap();
    name.rsplit_once('_').unwrap().0
}

#[test]
fn genai_arena_gives_two_boards_with_the_converged_ratings() {
    // The source fits with a ridge of C = 1 on every battle entered twice: ½ ‖r‖² against twice the loss, θ = ln 10 · r.
    let ridge = FitOptions {
        ridge_strengths: 0.5 / (10.0_f64.ln() * 10.0_f64.ln()),
        ..FitOptions::default()
    };
    for (anonymous, suffix) in [(true, "anony"), (false, "full")] {
        let Some(battles) = genai(anonymous) else {
            return;
        };
        let expected = json(&testdata("votes/genai-arena/expected.json").unwrap());
        let names = battles.names();
        let options = LeaderboardOptions {
            fit: ridge,
            ..LeaderboardOptions::default()
        };
        let board = leaderboard(&battles.comparisons(), &options).unwrap();
        assert_eq!(board.boards.len(), 2);
        for (board, group) in board.boards.iter().zip(["text_to_image", "editing"]) {
            let converged =
                &expected["bradley_terry"]["converged"][format!("{group}_{suffix}")]["ratings"];
            assert_eq!(board.entries.len(), converged.as_object().unwrap().len());
            for entry in &board.entries {
                let name = short_name(&names[entry.model]);
                close(entry.rating, converged[name].as_f64().unwrap(), 1e-3, name);
            }
        }
    }
}

#[test]
fn genai_arena_agrees_with_arena_rank() {
    for (anonymous, suffix) in [(true, "anony"), (false, "full")] {
        let Some(battles) = genai(anonymous) else {
            return;
        };
        let names = battles.names();
        let plain = battles.comparisons();
        for (comparisons, end) in [
            (plain.clone(), ""),
            (plain.reweighted_by_pair(50), "_reweighted"),
        ] {
            let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
            let path = format!("votes/genai-arena/t2i_{suffix}_arena_rank_expected{end}.csv");
            for row in csv_rows(&testdata(&path).unwrap()) {
                let model = names.iter().position(|name| *name == row[0]).unwrap();
                let entry = entry(&board, model);
                let [rating, lower, upper] =
                    [1, 2, 3].map(|column: usize| row[column].parse::<f64>().unwrap());
                close(entry.rating, rating, 0.02, &row[0]);
                // It adds a ridge to the Hessian of the interval, worth a twentieth of a per cent here.
                let interval = entry.interval.unwrap();
                close(
                    (interval.upper - interval.lower) / (upper - lower),
                    1.0,
                    1e-3,
                    &row[0],
                );
                // The source counts battles of a model against itself, which only the named modes have.
                let battles = row[5].parse::<u64>().unwrap();
                assert!(if anonymous {
                    entry.record.battles == battles
                } else {
                    entry.record.battles <= battles
                });
            }
        }
    }
}

#[test]
fn genai_arena_online_elo_is_the_published_one() {
    for (anonymous, key) in [(true, "anony"), (false, "full")] {
        let Some(battles) = genai(anonymous) else {
            return;
        };
        let published = json(&testdata("votes/genai-arena/elo_results_20240220_all.json").unwrap());
        let published = &published[key]["elo_rating_online"];
        let names = battles.names();
        let ratings =
            elo::online(names.len(), battles.rows(), &elo::EloOptions::default()).unwrap();
        for (name, rating) in names.iter().zip(ratings) {
            close(rating, published[name].as_f64().unwrap(), 1e-9, name);
        }
    }
}

#[test]
fn evalica_scores_agree() {
    for name in ["simple", "food"] {
        let Some(path) = testdata(&format!("votes/evalica/{name}.csv")) else {
            return;
        };
        let mut battles = Battles::default();
        for row in csv_rows(&path) {
            let outcome = match row[2].as_str() {
                "left" => 1.0,
                "right" => 0.0,
                "tie" => 0.5,
                other => panic!("unknown winner {other}"),
            };
            battles.add(&row[0], &row[1], outcome, 1);
        }
        let names = battles.names();
        let golden = csv_rows(&testdata(&format!("votes/evalica/{name}-golden.csv")).unwrap());
        let scores = |method: &str| -> Vec<f64> {
            let of = |name: &String| {
                golden
                    .iter()
                    .find(|row| row[0] == method && row[1] == *name)
                    .unwrap()
            };
            names
                .iter()
                .map(|name| of(name)[2].parse().unwrap())
                .collect()
        };
        let comparisons = battles.comparisons();

        let fit = fit(&comparisons, &FitOptions::default()).unwrap();
        let powers: Vec<f64> = fit
            .strengths
            .iter()
            .map(|strength| strength.exp())
            .collect();
        let (sum, golden_sum) = (
            powers.iter().sum::<f64>(),
            scores("bradley_terry").iter().sum::<f64>(),
        );
        let share: Vec<f64> = powers.iter().map(|power| power / sum).collect();
        let golden_share: Vec<f64> = scores("bradley_terry")
            .iter()
            .map(|score| score / golden_sum)
            .collect();
        all_close(&share, &golden_share, 2e-4, "Bradley-Terry");

        let online = elo::online(names.len(), battles.rows(), &elo::EloOptions::default()).unwrap();
        all_close(&online, &scores("elo"), 2e-4, "online Elo");
        let rates: Vec<f64> = average_win_rates(&comparisons)
            .into_iter()
            .map(Option::unwrap)
            .collect();
        all_close(
            &rates,
            &scores("average_win_rate"),
            1e-12,
            "average win rate",
        );
    }
}

#[test]
fn the_published_table_of_march_2024_follows_the_rank_rule() {
    let Some(path) = testdata("leaderboards/lmsys-table/elo_results_20240329_table.csv") else {
        return;
    };
    let rows = csv_rows(&path);
    let number = |row: &[String], column: usize| row[column].parse::<f64>().unwrap();
    let intervals: Vec<_> = rows
        .iter()
        .map(|row| Some((number(row, 4), number(row, 3))))
        .collect();
    assert_eq!(rows.len(), 76);
    for (row, place) in rows.iter().zip(ranks(&intervals)) {
        assert_eq!(place.rank as f64, number(row, 6), "{}", row[0]);
    }
}

// What follows covers the same ground without published files: sets with answers in closed form.

/// Two models, `wins` to `losses`: θ₀ − θ₁ = ln(wins / losses) with variance 1 / wins + 1 / losses.
#[track_caller]
fn check_two_models(wins: u64, losses: u64) {
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(wins),
        Comparison::new(0, 1, 0.0).with_count(losses),
    ];
    let comparisons = Comparisons::new(2, rows).unwrap();
    let (w, l) = (wins as f64, losses as f64);
    for covariance in [CovarianceMethod::Sandwich, CovarianceMethod::ModelBased] {
        for (anchor, share) in [
            (Anchor::Mean, 0.5),
            (Anchor::WeightedMean, 0.5),
            (
                Anchor::Model {
                    model: 1,
                    rating: 1000.0,
                },
                1.0,
            ),
        ] {
            let options = LeaderboardOptions {
                covariance,
                anchor,
                ..LeaderboardOptions::default()
            };
            let board = leaderboard(&comparisons, &options).unwrap();
            let first = entry(&board, 0);
            let points = options.points_per_nat() * share;
            close(first.rating, 1000.0 + points * (w / l).ln(), 1e-8, "rating");
            // Without ties the model's variance and the sandwich agree: a saturated binomial.
            let error = points * (1.0 / w + 1.0 / l).sqrt();
            close(
                first.interval.unwrap().standard_error / error,
                1.0,
                1e-8,
                "standard error",
            );
        }
    }
}

#[test]
fn two_models_agree_with_the_closed_form() {
    check_two_models(3, 1);
    check_two_models(1, 1);
    check_two_models(10_000, 1);
    check_two_models(123_456, 654_321);
}

#[test]
fn ties_shrink_the_sandwich_but_not_the_fisher_information() {
    // n battles at p = ½ with t ties: H = n / 4, B = (n − t) / 4, so the variances are 4 (n − t) / n² and 4 / n.
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(30),
        Comparison::new(1, 0, 1.0).with_count(30),
        Comparison::new(0, 1, 0.5).with_count(40),
    ];
    let comparisons = Comparisons::new(2, rows).unwrap();
    let fit = fit(&comparisons, &FitOptions::default()).unwrap();
    let difference = |method| {
        Covariance::of(&fit, &comparisons, method)
            .unwrap()
            .difference_error(0, 1)
            .unwrap()
    };
    close(
        difference(CovarianceMethod::Sandwich),
        (4.0 * 60.0 / 10_000.0_f64).sqrt(),
        1e-12,
        "sandwich",
    );
    close(
        difference(CovarianceMethod::ModelBased),
        (4.0 / 100.0_f64).sqrt(),
        1e-12,
        "Fisher",
    );
}

#[test]
fn a_round_robin_of_equals_agrees_with_the_closed_form() {
    // k models, n battles for each pair, half of them won: H = B = (n / 4) (k I − 1 1ᵀ), so V = 4 / (n k) (I − 1 1ᵀ / k).
    let (k, n) = (5_u32, 20_u64);
    let mut rows = Vec::new();
    for a in 0..k {
        for b in 0..a {
            rows.push(Comparison::new(a, b, 1.0).with_count(n / 2));
            rows.push(Comparison::new(b, a, 1.0).with_count(n / 2));
        }
    }
    let comparisons = Comparisons::new(k as usize, rows).unwrap();
    let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
    let fitted = board.main().fitted.as_ref().unwrap();
    let (k, n) = (f64::from(k), n as f64);
    for row in 0..5 {
        for column in 0..5 {
            let identity = if row == column { 1.0 } else { 0.0 };
            let expected = 4.0 / (n * k) * (identity - 1.0 / k);
            close(
                fitted.covariance.get(row, column).unwrap(),
                expected,
                1e-14,
                "covariance",
            );
        }
    }
    for entry in &board.main().entries {
        close(entry.rating, 1000.0, 1e-9, "rating");
        let rank = entry.rank.unwrap();
        assert_eq!(
            (rank.rank, rank.upper, rank.lower, entry.status),
            (1, 1, 5, Status::Rated)
        );
    }
}

#[test]
fn an_order_effect_agrees_with_the_closed_form() {
    // Two equal models; side A wins 30 of 40 whichever it is: θ = 0, α = ln 3 with variance 1 / 60 + 1 / 20.
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(30),
        Comparison::new(0, 1, 0.0).with_count(10),
        Comparison::new(1, 0, 1.0).with_count(30),
        Comparison::new(1, 0, 0.0).with_count(10),
    ];
    let comparisons = Comparisons::with_order_effect(2, &rows).unwrap();
    let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
    let effect = board.main().coefficients[0];
    close(effect.estimate, 3.0_f64.ln(), 1e-12, "order effect");
    close(
        effect.standard_error,
        (1.0 / 60.0 + 1.0 / 20.0_f64).sqrt(),
        1e-12,
        "standard error",
    );
    close(entry(&board, 0).rating, 1000.0, 1e-9, "rating");
    // The model with an order effect is saturated here, so its deviance is 0.
    let fitted = board.main().fitted.as_ref().unwrap();
    close(
        comparisons.saturated_log_likelihood(),
        fitted.fit.certificate.log_likelihood,
        1e-12,
        "deviance",
    );
}

#[test]
fn clusters_of_one_battle_give_the_plain_sandwich_and_copies_add_up() {
    let rows: Vec<Comparison> = [
        (0, 1, 1.0),
        (1, 0, 1.0),
        (0, 1, 0.5),
        (1, 2, 1.0),
        (2, 1, 1.0),
        (2, 0, 1.0),
    ]
    .map(|(a, b, outcome)| Comparison::new(a, b, outcome))
    .to_vec();
    let errors = |rows: &[Comparison], clusters: &[u32]| {
        let columns = crate::Columns {
            n_features: 0,
            features: &[],
            clusters: Some(clusters),
        };
        let comparisons = Comparisons::with_columns(3, rows, columns).unwrap();
        let fit = fit(&comparisons, &FitOptions::default()).unwrap();
        [
            CovarianceMethod::ClusteredSandwich,
            CovarianceMethod::Sandwich,
        ]
        .map(|method| {
            let covariance = Covariance::of(&fit, &comparisons, method).unwrap();
            covariance.difference_error(0, 1).unwrap()
        })
    };
    let [clustered, plain] = errors(&rows, &[0, 1, 2, 3, 4, 5]);
    close(clustered, plain, 1e-14, "one battle for each voter");
    // Every voter votes twice alike: the copies say nothing new, and only the clustered error knows.
    let twice = [rows.clone(), rows].concat();
    let [clustered, copied] = errors(&twice, &[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    close(clustered, plain, 1e-14, "two equal battles for each voter");
    close(
        copied,
        plain / 2.0_f64.sqrt(),
        1e-14,
        "copies taken as independent",
    );
}
