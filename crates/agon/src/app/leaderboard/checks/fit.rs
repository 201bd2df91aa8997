//! Whether the numbers were computed well, and whether the model behind them describes the votes.

use std::borrow::Cow;

use agon_ranking::calibration::{
    Calibration, PairFit, calibration, condition_number_of_board, rated_comparisons,
};
use agon_ranking::{Comparisons, Covariance, CovarianceMethod, Fitted};

use super::{Check, CheckInput, Effort, Fit, counted, grouped, percent};

/// Above this condition number, about half of the digits of the worst-known difference are lost.
const CONDITION_MAX: f64 = 1e8;
/// Bins of the favourite's predicted score, from ½ to 1.
const BINS: usize = 10;
/// A bin that is off by less than this is no reason to distrust, however certain it is.
const BIN_SLACK: f64 = 0.02;
/// Dispersion up to here is no reason to distrust, however certain it is.
const DISPERSION_MAX: f64 = 1.25;
/// Standard errors by which χ² must exceed its degrees of freedom before the dispersion counts.
const DISPERSION_ERRORS: f64 = 3.0;
/// Standard errors of the votes over those that the model expects, above which they do not agree.
const ERROR_RATIO_MAX: f64 = 1.25;
/// Models up to which the agreement of errors is a quick check.
const AGREEMENT_MODELS_MAX: usize = 1_000;
/// Battles up to which predictions are a quick check of a fit with features: nearly every battle has its own there.
const PREDICTED_BATTLES_MAX: u64 = 500_000;

/// The certificate of the optimum.
pub(super) fn converged(fitted: &Fitted) -> Check {
    let certificate = &fitted.fit.certificate;
    let check = Check::new(
        "converged",
        certificate.gradient_max <= certificate.gradient_limit,
        format!(
            "largest gradient {:.1e}, limit {:.1e}, {} Newton steps; the next step would move no rating by more than {:.1e} nats",
            certificate.gradient_max,
            certificate.gradient_limit,
            certificate.iterations,
            certificate.step_max
        ),
    );
    check
        .with("gradient_max", certificate.gradient_max)
        .with("gradient_limit", certificate.gradient_limit)
        .with("step_max", certificate.step_max)
        .with("iterations", certificate.iterations)
}

/// A number from 1 up to three digits that tell, as people write it: 6.24, 1,730, 100,000,000.
fn plain(number: f64) -> String {
    const WRITTEN_OUT_MAX: f64 = 1e15;
    if number >= WRITTEN_OUT_MAX {
        return format!("{number:.1e}");
    }
    let decimals = if number < 10.0 {
        2
    } else {
        usize::from(number < 100.0)
    };
    if number < 1000.0 {
        return format!("{number:.decimals$}");
    }
    // Beyond three digits the eigenvalues say nothing.
    let unit = 10_f64.powi(number.log10().floor() as i32 - 2);
    grouped(((number / unit).round() * unit) as u64)
}

/// The condition of the information matrix.
pub(super) fn conditioned(fitted: &Fitted) -> Option<Check> {
    let condition = condition_number_of_board(fitted).ok()?;
    let passed = condition <= CONDITION_MAX;
    let detail = if passed {
        format!(
            "condition number {}: differences are computed to full use",
            plain(condition)
        )
    } else {
        format!(
            "condition number {}, limit {}: some difference of strengths is known so much worse than others that its digits are lost",
            plain(condition),
            plain(CONDITION_MAX)
        )
    };
    Some(
        Check::new("conditioned", passed, detail)
            .with("condition_number", condition)
            .with("limit", CONDITION_MAX),
    )
}

/// The battles of a fit, numbered like it.
fn rated<'a>(fit: &Fit<'a>) -> Option<Cow<'a, Comparisons>> {
    let models = &fit.fitted.models;
    // Models of a fit ascend: when all are in it, their numbers are the same, and nothing has to be copied.
    if models.len() == fit.comparisons.n_models() {
        return Some(Cow::Borrowed(fit.comparisons));
    }
    rated_comparisons(fit.comparisons, models)
        .ok()
        .map(Cow::Owned)
}

/// What the fit predicts against what was observed: by bins, and in total.
pub(super) fn predictions(input: &CheckInput<'_>, fit: &Fit<'_>, effort: Effort) -> Vec<Check> {
    let fitted = fit.fitted;
    let Some(rated) = rated(fit) else {
        return Vec::new();
    };
    let is_quick = rated.n_features() == 0 || fitted.battles <= PREDICTED_BATTLES_MAX;
    if effort == Effort::Quick && !is_quick {
        return Vec::new();
    }
    // Each bin gets its share of the error that all may make together (Bonferroni).
    let level = 1.0 - (1.0 - fit.level) / BINS as f64;
    calibration(&fitted.fit, &rated, BINS, level).map_or_else(
        |_| Vec::new(),
        |found| vec![calibrated(&found), dispersion(input, fitted, &found)],
    )
}

/// The standard errors of the fit against those that the model expects.
pub(super) fn errors(fit: &Fit<'_>, effort: Effort) -> Option<Check> {
    if effort == Effort::Quick && fit.fitted.models.len() > AGREEMENT_MODELS_MAX {
        return None;
    }
    let fitted = fit.fitted;
    let model_based = match fitted.covariance.model_based() {
        Some(covariance) => covariance,
        None => Covariance::of(&fitted.fit, &*rated(fit)?, CovarianceMethod::ModelBased).ok()?,
    };
    error_agreement(fitted, &model_based)
}

fn calibrated(calibration: &Calibration) -> Check {
    let mut columns: [(&str, Vec<f64>); 7] = [
        ("bin_lower", Vec::new()),
        ("bin_upper", Vec::new()),
        ("bin_battles", Vec::new()),
        ("bin_predicted", Vec::new()),
        ("bin_observed", Vec::new()),
        ("bin_observed_lower", Vec::new()),
        ("bin_observed_upper", Vec::new()),
    ];
    let mut off = Vec::new();
    for bin in &calibration.bins {
        let Some(scores) = bin.scores else { continue };
        let numbers = [
            bin.lower,
            bin.upper,
            bin.battles as f64,
            scores.predicted,
            scores.observed,
            scores.observed_lower,
            scores.observed_upper,
        ];
        for ((_, column), number) in columns.iter_mut().zip(numbers) {
            column.push(number);
        }
        let expected = scores.observed_lower..=scores.observed_upper;
        let distance = (scores.predicted - scores.observed).abs();
        if !expected.contains(&scores.predicted) && distance > BIN_SLACK {
            off.push(format!(
                "where the favourite should score {}, it scores {} in {}",
                percent(scores.predicted),
                percent(scores.observed),
                counted(bin.battles, "battle")
            ));
        }
    }
    let mean = percent(calibration.calibration_error);
    let detail = if off.is_empty() {
        format!(
            "predicted and observed scores differ by {mean} in the mean, no bin by more than chance or {} points of a hundred",
            100.0 * BIN_SLACK
        )
    } else {
        format!(
            "predicted and observed scores differ by {mean} in the mean: {}",
            off.join("; ")
        )
    };
    let mut check = Check::new("calibrated", off.is_empty(), detail)
        .with("calibration_error", calibration.calibration_error)
        .with("bins_off", off.len());
    for (name, column) in columns {
        check = check.with(name, column);
    }
    check
}

fn dispersion(input: &CheckInput<'_>, fitted: &Fitted, calibration: &Calibration) -> Check {
    let freedom = calibration.degrees_of_freedom;
    let too_much = calibration.dispersion.is_some_and(|dispersion| {
        // χ² has mean f and variance 2 f.
        let errors = (calibration.pearson - freedom as f64) / (2.0 * freedom as f64).sqrt();
        dispersion > DISPERSION_MAX && errors > DISPERSION_ERRORS
    });
    // Judged by size, the first of equals, so that the order of models does not matter more than it must.
    let worst = calibration.pairs.iter().reduce(|worst, pair| {
        if pair.residual.abs() > worst.residual.abs() {
            pair
        } else {
            worst
        }
    });
    let mut detail = match calibration.dispersion {
        Some(dispersion) => format!(
            "deviance {:.1} and Pearson's chi-square {:.1} on {freedom} degrees of freedom: the votes scatter {dispersion:.2} times as much as the model expects (ties scatter less than wins and losses)",
            calibration.deviance, calibration.pearson
        ),
        None => format!(
            "deviance {:.1}: no degrees of freedom are left to judge by",
            calibration.deviance
        ),
    };
    if too_much {
        detail.push_str("; one number a model does not explain them");
        if let Some(pair) = worst {
            detail.push_str(&format!("; worst: {}", pair_words(input, fitted, pair)));
        }
    }
    let mut check = Check::new("dispersion", !too_much, detail)
        .with("deviance", calibration.deviance)
        .with("pearson", calibration.pearson)
        .with("degrees_of_freedom", freedom as f64);
    if let Some(dispersion) = calibration.dispersion {
        check = check.with("dispersion", dispersion);
    }
    if let Some(pair) = worst {
        let models = [pair.a, pair.b].map(|local| fitted.models[local as usize]);
        check = check
            .with("worst_pair", input.named(models))
            .with("worst_residual", pair.residual);
    }
    check
}

fn pair_words(input: &CheckInput<'_>, fitted: &Fitted, pair: &PairFit) -> String {
    let name = |local: u32| input.name(fitted.models[local as usize]);
    format!(
        "{} scores {} against {} in {} battles, {} expected",
        name(pair.a),
        percent(pair.observed),
        name(pair.b),
        grouped(pair.battles),
        percent(pair.predicted)
    )
}

/// The errors in use against those that follow from the model, on differences to the first model, which no anchor moves.
fn error_agreement(fitted: &Fitted, model_based: &Covariance) -> Option<Check> {
    let strengths = &fitted.fit.strengths;
    let first = (0..strengths.len()).reduce(|first, model| {
        if strengths[model] > strengths[first] {
            model
        } else {
            first
        }
    })?;
    let in_use = fitted.covariance.difference_errors(first);
    let expected = model_based.difference_errors(first);
    let mut ratios: Vec<f64> = (0..strengths.len())
        .filter(|&model| model != first)
        .filter_map(|model| {
            let (in_use, expected) = (in_use[model]?, expected[model]?);
            (expected > 0.0).then(|| in_use / expected)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let median = agon_ranking::quantile(&ratios, 0.5)?;
    let (least, most) = (*ratios.first()?, *ratios.last()?);
    let passed = median <= ERROR_RATIO_MAX;
    let words = if passed {
        " (below 1 is normal where there are ties)"
    } else {
        ": votes vary more than the model explains, because they depend on each other or it misses something"
    };
    Some(
        Check::new(
            "interval_agreement",
            passed,
            format!("intervals are {median:.2} times as wide as the model alone would make them, {least:.2} to {most:.2} by model{words}"),
        )
        .with("ratio_median", median)
        .with("ratio_least", least)
        .with("ratio_most", most)
        .with("limit", ERROR_RATIO_MAX),
    )
}
