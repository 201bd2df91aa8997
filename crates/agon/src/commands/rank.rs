//! `agon rank`: votes in, leaderboard out.

use std::{
    fs,
    io::{self, Write as _},
};

use agon_dataset::{Error, Input, ReadOptions, read_votes};
use anyhow::Context as _;

use crate::{
    app::leaderboard::{InputBody, LocationSetting, RankError, Settings, TieRule, rank},
    cli::{Format, GlobalArgs, Location, RankArgs, Ties},
    commands::progress::{self, Progress},
    exit_code::CommandError,
};

mod print;

/// Ranks the models of vote files.
///
/// # Errors
///
/// Exit code 3 for an input that cannot be read, has no battles, or has a rejected row under `--strict`; 2 for an anchor that is no model.
pub fn run(global: &GlobalArgs, args: RankArgs) -> Result<(), CommandError> {
    let inputs = args
        .inputs
        .iter()
        .map(|argument| Input::from_argument(argument))
        .collect();
    let options = ReadOptions {
        strict: args.strict,
        repeated_ids: true,
        checksums: true,
        ..ReadOptions::default()
    };
    let mut progress = Progress::new(global.quiet, progress::BYTES);
    let votes = read_votes(inputs, &options, &mut |step| {
        progress.show(step.bytes_read, step.bytes_total, || {
            format!(
                "[{}/{}] {} rows",
                step.source_idx + 1,
                step.n_sources,
                step.rows
            )
        });
    })
    .map_err(refused)?;
    progress.finish();

    let settings = settings(&args);
    let input = InputBody::from(&votes.report);
    if !global.quiet {
        print::rejections(&votes.report)?;
    }
    let board =
        rank(votes.tally, &settings, input).map_err(|error| rank_error(error, &votes.report))?;
    let format = if global.json {
        Format::Json
    } else {
        args.format
    };
    let text = print::board(&board, format)?;
    match &args.output {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        None => io::stdout().write_all(text.as_bytes())?,
    }
    Ok(())
}

fn settings(args: &RankArgs) -> Settings {
    let rule = |ties| match ties {
        Ties::Half => TieRule::Half,
        Ties::Drop => TieRule::Drop,
    };
    let location = match (&args.anchor, args.location) {
        (Some(anchor), _) => LocationSetting::Model {
            model: anchor.model.clone(),
            rating: anchor.rating,
        },
        (None, Location::Mean) => LocationSetting::Mean,
        (None, Location::WeightedMean) => LocationSetting::WeightedMean,
    };
    Settings {
        level: args.level,
        location,
        scale: args.scale,
        base: args.base,
        init: args.init,
        ties: rule(args.ties),
        both_bad: rule(args.both_bad),
        min_battles: args.min_battles,
        ..Settings::default()
    }
}

fn refused(error: Error) -> CommandError {
    // A path that leads nowhere is the caller's; a disk that fails is not.
    let is_machine =
        matches!(&error, Error::Read { source, .. } if source.kind() != io::ErrorKind::NotFound);
    let is_row = matches!(error, Error::RowRejected { .. });
    let error = if is_machine {
        CommandError::from(error)
    } else {
        CommandError::input_refused(error)
    };
    if is_row {
        error.with_hint("without --strict such rows are left out and counted")
    } else {
        error
    }
}

fn rank_error(error: RankError, report: &agon_dataset::InputReport) -> CommandError {
    match error {
        RankError::NoBattles => {
            let error = CommandError::input_refused(RankError::NoBattles);
            if report.rows == 0 {
                error.with_hint("the input has no rows")
            } else {
                error.with_hint(format!(
                    "{} rows were read, {} were kept",
                    report.rows, report.kept
                ))
            }
        }
        RankError::UnknownAnchor { ref nearest, .. } => {
            let nearest = nearest.clone();
            let error = CommandError::usage(error);
            match nearest {
                Some(name) => error.with_hint(format!("did you mean `{}`?", print::visible(&name))),
                None => error,
            }
        }
        RankError::AnchorNotRated { .. } => CommandError::usage(error)
            .with_hint("choose a model that has both won and lost against the others"),
        RankError::TooManyModels { .. } => {
            CommandError::input_refused(error).with_hint("is the right column called `model_a`?")
        }
        RankError::TooLarge { .. } => {
            CommandError::usage(error).with_hint("choose a smaller --scale, --init or --anchor")
        }
        RankError::Ranking(_) => CommandError::from(error),
    }
}
