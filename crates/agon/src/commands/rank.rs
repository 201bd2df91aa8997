//! `agon rank`: votes in, leaderboard out.

use std::{
    fs,
    io::{self, Write as _},
    num::NonZeroUsize,
    path::Path,
    thread,
};

use agon_dataset::InputReport;
use anyhow::{Context as _, anyhow};

use crate::{
    app::leaderboard::{Effort, InputBody, RankError, RankOptions, Settings, SourceWeight, rank},
    cli::{
        GlobalArgs,
        rank::{Checks, Format, RankArgs, RankCommand, ShareArg},
    },
    commands::{aliases::AliasTable, outputs},
    exit_code::CommandError,
};

mod clean;
mod compare;
mod html;
pub(super) mod inputs;
mod plots;
pub(super) mod print;
mod prior;
pub(super) mod read;
mod settings;
mod store;
mod tables;

/// What two boards are compared by, as the first word after `rank`.
const COMPARE: &str = "compare";

/// Ranks the models of vote files.
///
/// # Errors
///
/// Exit code 2 for flags that make no sense together, and for an anchor, a category or a share that the votes do not know; 3 for an input that cannot be read, has no battles, or has a rejected row under `--strict`.
pub fn run(global: &GlobalArgs, args: &RankArgs) -> Result<(), CommandError> {
    if let Some(RankCommand::Compare(compare)) = &args.command {
        return compare::run(global, compare);
    }
    if args.inputs.iter().any(|input| input == COMPARE) && !Path::new(COMPARE).exists() {
        return Err(CommandError::usage(anyhow!(
            "`{COMPARE}` is taken for a file here, and there is none"
        ))
        .with_hint(
            "what compares boards is the first word: agon rank compare BEFORE AFTER --json",
        ));
    }
    let mut settings = settings::settings(args)?;
    let output = &args.output;
    let outputs: Vec<outputs::Named<'_>> = [
        ("--rejects", args.input.rejects.as_deref()),
        ("--output", output.output.as_deref()),
    ]
    .into_iter()
    .filter_map(|(flag, path)| Some((flag, path?)))
    .chain(output.plot.iter().map(|plot| ("--plot", &*plot.path)))
    .collect();
    let read_besides: Vec<outputs::Named<'_>> = [
        ("--aliases", args.input.aliases.as_deref()),
        ("--prior", args.method.prior.as_deref()),
    ]
    .into_iter()
    .filter_map(|(flag, path)| Some((flag, path?)))
    .collect();
    outputs::check(&outputs, &args.inputs, &read_besides)?;
    let n_threads = args
        .input
        .threads
        .or_else(|| thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let prior = match &args.method.prior {
        Some(path) => {
            let (prior, setting) = prior::read(path, args.method.prior_weight)?;
            settings.prior = Some(setting);
            Some(prior)
        }
        None => None,
    };
    // The shares are not known before the sources are; that rows are needed for them is.
    settings.source_weights = named_shares(&args.weight.source_weight, &[])?;
    let aliases = args.input.aliases.as_deref();
    let aliases = aliases.map(AliasTable::read).transpose()?;
    let names = aliases.as_ref().map(|table| &table.aliases);
    clean::check(args)?;
    let (votes, report, mut input) = match args.input.store {
        Some(which) => store::read(global, &args.input, which, &settings, names)?,
        None => {
            let (votes, report) = read::read(args, &settings, names, n_threads, global.quiet)
                .map_err(|error| with_board_hint(error, &args.inputs))?;
            let input = InputBody::from(&report);
            (votes, report, input)
        }
    };
    let votes = match &args.input.clean {
        Some(profile) => clean::clean(
            args,
            profile,
            votes,
            &mut input,
            names,
            n_threads,
            global.quiet,
        )?,
        None => votes,
    };
    input.aliases = aliases.map(|table| table.body(report.n_renamed));
    let paths: Vec<&str> = input
        .sources
        .iter()
        .map(|source| source.path.as_str())
        .collect();
    settings.source_weights = named_shares(&args.weight.source_weight, &paths)?;
    if !global.quiet {
        print::rejections(&report)?;
        store::left_out(&input, &report)?;
    }
    let options = RankOptions {
        prior,
        n_threads,
        checks: match args.output.checks {
            Checks::Quick => Some(Effort::Quick),
            Checks::Full => Some(Effort::Full),
            Checks::None => None,
        },
        keep_pairs: plots::needs_pairs(&args.output.plot),
    };
    let mut board = rank(votes, &settings, input, &options)
        .map_err(|error| rank_error(error, &report, &settings))
        .map_err(|error| with_board_hint(error, &args.inputs))?;
    if let Some(profile) = &args.input.clean {
        board
            .notes
            .push(format!("the votes were cleaned by {}", profile.name()));
    }
    if !global.quiet && settings.preset.is_some() {
        print::notes(&board)?;
    }
    let format = if global.json {
        Format::Json
    } else {
        args.output.format
    };
    if !global.quiet && matches!(format, Format::Csv | Format::Catalog) {
        print::unsaid(&board)?;
    }
    let text = print::board(&board, format)?;
    match &args.output.output {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        None => io::stdout().write_all(text.as_bytes())?,
    }
    plots::write(&board, &args.output.plot)
}

/// Shares with the paths that they are for; before these are known, with what stands for them.
fn named_shares(shares: &[ShareArg], paths: &[&str]) -> Result<Vec<SourceWeight>, CommandError> {
    let n_unnamed = shares.iter().filter(|share| share.path.is_none()).count();
    if n_unnamed > 0 && n_unnamed < shares.len() {
        return Err(CommandError::usage(anyhow!(
            "`--source-weight` is either PATH=SHARE for each source or one SHARE for each, not both"
        )));
    }
    if n_unnamed > 0 && !paths.is_empty() && n_unnamed != paths.len() {
        return Err(CommandError::usage(anyhow!(
            "`--source-weight` has {n_unnamed} shares for {} sources",
            paths.len()
        ))
        .with_hint(format!(
            "the sources are, in their order: {}",
            paths.join(", ")
        )));
    }
    Ok(shares
        .iter()
        .enumerate()
        .map(|(idx, share)| SourceWeight {
            path: share.path.clone().unwrap_or_else(|| {
                paths
                    .get(idx)
                    .map_or_else(|| idx.to_string(), |path| (*path).to_owned())
            }),
            weight: share.share,
        })
        .collect())
}

/// Says so when what was to be ranked is a board already.
fn with_board_hint(error: CommandError, inputs: &[String]) -> CommandError {
    let board = inputs
        .iter()
        .find(|input| compare::is_board(Path::new(input)));
    match board {
        Some(path) => error.with_hint(format!(
            "`{}` is a board, not votes; two boards are compared by: agon rank compare BEFORE AFTER",
            print::visible(path)
        )),
        None => error,
    }
}

fn rank_error(error: RankError, report: &InputReport, settings: &Settings) -> CommandError {
    match &error {
        RankError::NoBattles => {
            let error = CommandError::input_refused(RankError::NoBattles);
            if report.rows == 0 {
                error.with_hint("the input has no rows")
            } else {
                let limits = &settings.slices;
                let is_limited = !limits.conditions.is_empty()
                    || limits.since.is_some()
                    || limits.until.is_some();
                error.with_hint(format!(
                    "{} rows were read, {} were kept{}",
                    report.rows,
                    report.kept,
                    if is_limited {
                        "; none of them fulfils all of `--where`, `--since` and `--until`"
                    } else {
                        ""
                    }
                ))
            }
        }
        RankError::UnknownAnchor { nearest, .. } | RankError::UnknownValue { nearest, .. } => {
            let nearest = nearest.clone();
            let error = CommandError::usage(error);
            match nearest {
                Some(name) => error.with_hint(format!("did you mean `{}`?", print::visible(&name))),
                None => error,
            }
        }
        RankError::UnknownCategory { known, .. } => {
            let known = print::visible(&known.join(", "));
            CommandError::usage(error).with_hint(format!("there are: overall, {known}"))
        }
        RankError::AnchorNotRated { .. } => CommandError::usage(error)
            .with_hint("choose a model that has both won and lost against the others"),
        RankError::TooManyModels { .. } => {
            CommandError::input_refused(error).with_hint("is the right column called `model_a`?")
        }
        RankError::TooLarge { .. } => {
            CommandError::usage(error).with_hint("choose a smaller --scale, --init or --anchor")
        }
        RankError::NoJudges => CommandError::input_refused(error).with_hint(
            "`--ci cluster` and `--ci cluster-bootstrap` need a column `judge`; `--ci sandwich` does not",
        ),
        RankError::NegativeCounts { .. } => CommandError::input_refused(error)
            .with_hint("give one column that holds the difference of side A and side B"),
        RankError::NoFeatures { .. }
        | RankError::NoTimes
        | RankError::NoColumn { .. }
        | RankError::NoWeights { .. } => CommandError::input_refused(error),
        RankError::TooManySlices { .. } => {
            CommandError::usage(error).with_hint("cut by a column with fewer values")
        }
        RankError::Date { .. } | RankError::Sources { .. } | RankError::Prior { .. } => {
            CommandError::usage(error)
        }
        RankError::Ranking(cause) => {
            let hint = hint(cause);
            let error = match cause {
                agon_ranking::Error::NotConnected { .. }
                | agon_ranking::Error::NotGrounded { .. }
                | agon_ranking::Error::NoTies
                | agon_ranking::Error::SeparatedTies => CommandError::input_refused(error),
                _ => CommandError::from(error),
            };
            match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        }
    }
}

fn hint(cause: &agon_ranking::Error) -> Option<&'static str> {
    match cause {
        agon_ranking::Error::NotConnected { .. } => Some(
            "without `--preset`, and with `--ties half`, such models are listed as provisional",
        ),
        agon_ranking::Error::NotGrounded { .. }
        | agon_ranking::Error::NoTies
        | agon_ranking::Error::SeparatedTies => {
            Some("`--ties half` counts a tie as half a win and needs none of this")
        }
        _ => None,
    }
}
