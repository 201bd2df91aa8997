//! The flags of `agon rank`.

use std::{num::NonZeroUsize, path::PathBuf};

use agon_dataset::clean::Profile;
use clap::{Args, Subcommand, ValueEnum};

use super::{
    CompareArgs, UnpackArgs, import::parse_profile, parse_base, parse_finite, parse_level,
    parse_positive,
};

/// `agon rank`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Formats are recognised by content: Parquet, CSV (comma, semicolon, tab), JSON array, JSON lines, each as it is, in gzip, zstd or bzip2, or in a zip archive.\n\nExamples:\n  agon rank votes.csv\n  agon rank 'data/*.parquet' --anchor claude-3-haiku-20240307=1000 --format markdown\n  agon rank battles.parquet --style-control --by category,language --json\n  agon rank battles.parquet --by month --cumulative -o history.json --format json\n  agon rank hf://datasets/ORG/NAME --plot board.svg\n  agon rank compare may.json june.json"
)]
pub struct RankArgs {
    /// Something other than ranking.
    #[command(subcommand)]
    pub command: Option<RankCommand>,
    /// Files, folders, globs, zip archives, compressed or not; addresses (`https://…`, `s3://`, `gs://`, `az://BUCKET/KEY`, `hf://datasets/ORG/NAME`); or `-` for standard input
    #[arg(required_unless_present = "store", value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Which votes are read.
    #[command(flatten)]
    pub input: InputArgs,
    /// Which parts of them get boards.
    #[command(flatten)]
    pub parts: PartArgs,
    /// How ratings come about.
    #[command(flatten)]
    pub method: MethodArgs,
    /// How style enters.
    #[command(flatten)]
    pub style: StyleArgs,
    /// How much votes and sources count.
    #[command(flatten)]
    pub weight: WeightArgs,
    /// What ratings are measured in.
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Where intervals come from.
    #[command(flatten)]
    pub interval: IntervalArgs,
    /// What is written.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What can be done with boards.
#[derive(Debug, Subcommand)]
pub enum RankCommand {
    /// Compare two boards: which places and ratings moved, and how far they agree
    Compare(CompareArgs),
}

/// Which votes are read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Refuse the input at the first rejected row
    #[arg(long)]
    pub strict: bool,
    /// Reject repeated votes: those with the id of an earlier row, or those that say the same in everything
    #[arg(long, value_enum, value_name = "BY")]
    pub dedup: Option<DedupBy>,
    /// Count models under other names: a TOML file with `version`, and below `[aliases]` lines of "old name" = "new name". The result holds it
    #[arg(long, value_name = "FILE")]
    pub aliases: Option<PathBuf>,
    /// Write every rejected row to this file, one JSON object a line: source, row, reason, value
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Leave out what this cleaning profile, `agon-1` or `fastchat-2025-04`, excludes; the inputs are read twice for it
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    pub clean: Option<Profile>,
    /// Rank the votes of the arena in the data folder instead of inputs: its own (`live`), those of `agon import`, or both
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        conflicts_with_all = ["inputs", "strict", "dedup", "rejects", "clean"]
    )]
    pub store: Option<StoreVotes>,
    /// With `--store`, of the imported votes only those of this source
    #[arg(long, value_name = "NAME", requires = "store")]
    pub source: Option<String>,
    /// With `--store`, the imported votes that cleaning excludes too
    #[arg(long, requires = "store")]
    pub keep_flagged: bool,
    /// Work on this many threads; their number changes no number of the result [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// How far compressed inputs may unpack.
    #[command(flatten)]
    pub unpack: UnpackArgs,
}

/// Which votes of a store are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreVotes {
    /// The arena's own
    Live,
    /// Those of finished imports
    Imported,
    /// Both
    All,
}

/// Which parts of the votes get boards.
#[derive(Args, Debug)]
#[command(next_help_heading = "Parts of the votes")]
pub struct PartArgs {
    /// A board for each of these categories; `overall` for all votes, `category=overall` for a category of that name. A name with a comma stands in double quotes, as in CSV
    #[arg(long, value_name = "NAME")]
    pub category: Vec<String>,
    /// Beside the board of all votes, one for each value of these columns: `category`, `language`, `turns`, `judge`, any other column or dotted path, or `day`, `week`, `month`, `year` of the vote (UTC)
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Let each period hold the ones before it too
    #[arg(long)]
    pub cumulative: bool,
    /// Only votes with this value in this column; more than one must all hold
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = parse_condition)]
    pub conditions: Vec<ConditionArg>,
    /// Only votes cast at this time or later: a date (UTC), or a time with its offset
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only votes cast before this time: a date (its beginning, UTC), or a time with its offset
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
}

/// How ratings come about.
#[derive(Args, Debug)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// How models are rated [default: bt]
    #[arg(long, value_enum)]
    pub method: Option<MethodName>,
    /// Reproduce the board of another program, and say what is untrue about it
    #[arg(long, value_enum, value_name = "PROGRAM")]
    pub preset: Option<PresetName>,
    /// What a tie counts [default: half]
    #[arg(long, value_enum)]
    pub ties: Option<Ties>,
    /// What both bad counts [default: half, or a tie where ties are outcomes of their own]
    #[arg(long, value_enum)]
    pub both_bad: Option<BothBad>,
    /// Estimate the advantage of side A, and rate models net of it
    #[arg(long)]
    pub order_effect: bool,
    /// Largest change of a rating by one vote, of online Elo [default: 4]
    #[arg(long, value_parser = parse_positive)]
    pub k: Option<f64>,
    /// Draw ratings towards those of this board, as `--json` writes one
    #[arg(long, value_name = "BOARD.json")]
    pub prior: Option<PathBuf>,
    /// How many votes against an equal each rating of the prior counts as [default: 10]
    #[arg(long, value_name = "VOTES", value_parser = parse_positive, requires = "prior")]
    pub prior_weight: Option<f64>,
    /// Penalty ½ · X · (sum of squared strengths, in natural units) on the summed loss, which draws ratings together [default: 0]
    #[arg(long, value_name = "X", value_parser = parse_not_negative)]
    pub ridge_strengths: Option<f64>,
    /// List models with fewer battles as provisional
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub min_battles: u64,
}

/// How style enters.
#[derive(Args, Debug)]
#[command(next_help_heading = "Style control")]
pub struct StyleArgs {
    /// Rate models net of style, and say how places change
    #[arg(long)]
    pub style_control: bool,
    /// What style is: `length`, `headers`, `lists`, `bold`, or any column of numbers: NAME for NAME_a and NAME_b, or for a minus b [default: length,headers,lists,bold]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        requires = "style_control"
    )]
    pub features: Vec<String>,
    /// How the counts of two sides become a difference [default: relative]
    #[arg(long, value_enum, requires = "style_control")]
    pub difference: Option<DifferenceName>,
    /// Penalty ½ · X · (sum of squared coefficients) on the summed loss [default: 0]
    #[arg(long, value_name = "X", value_parser = parse_not_negative, requires = "style_control")]
    pub ridge: Option<f64>,
}

/// How much votes and sources count.
#[derive(Args, Debug)]
#[command(next_help_heading = "Weights")]
pub struct WeightArgs {
    /// Weigh votes by 1 / max(battles of the pair, N), or by 1 / the probability in `--weight-column` that the pair was drawn with (`recorded`). Without a value, N is 50
    #[arg(
        long,
        value_name = "N|recorded",
        num_args = 0..=1,
        default_missing_value = "50",
        value_parser = parse_reweight
    )]
    pub reweight: Option<Reweight>,
    /// The column with the weight of each vote, or with its probability
    #[arg(long, value_name = "COLUMN")]
    pub weight_column: Option<String>,
    /// The share of each source in the fit, whatever its number of votes: PATH=SHARE for each, or one SHARE for each in their order
    #[arg(long, value_name = "SHARE", value_delimiter = ',', value_parser = parse_share)]
    pub source_weight: Vec<ShareArg>,
}

/// What ratings are measured in.
#[derive(Args, Debug)]
#[command(next_help_heading = "Scale")]
pub struct ScaleArgs {
    /// Fix one model's rating; without it the location is set as `--location` says
    #[arg(long, value_name = "MODEL=RATING", value_parser = parse_anchor)]
    pub anchor: Option<AnchorArg>,
    /// What lies at `--init` when no model is anchored, and what intervals are relative to [default: mean]
    #[arg(long, value_enum, conflicts_with = "anchor")]
    pub location: Option<Location>,
    /// Rating points per factor of `--base` in the odds [default: 400]
    #[arg(long, value_parser = parse_positive)]
    pub scale: Option<f64>,
    /// Base of the odds [default: 10]
    #[arg(long, value_parser = parse_base)]
    pub base: Option<f64>,
    /// Rating at the location [default: 1000]
    #[arg(long, value_parser = parse_finite, allow_negative_numbers = true)]
    pub init: Option<f64>,
}

/// Where intervals come from.
#[derive(Args, Debug)]
#[command(next_help_heading = "Intervals")]
pub struct IntervalArgs {
    /// Where intervals come from [default: sandwich; none for elo and win-rate]
    #[arg(long, value_enum)]
    pub ci: Option<Ci>,
    /// Confidence level of the intervals
    #[arg(long, default_value_t = 0.95, value_name = "SHARE", value_parser = parse_level)]
    pub level: f64,
    /// Rounds of the bootstrap [default: 1000; 100 for the preset fastchat]
    #[arg(long, value_name = "ROUNDS", value_parser = parse_rounds)]
    pub bootstrap: Option<usize>,
    /// Seed of the bootstrap and of `--simultaneous`; the same seed gives the same numbers [default: 0]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Add intervals and places that hold for all models at once, and the confidence with which each is first. With `--ci` sandwich, model or cluster
    #[arg(long)]
    pub simultaneous: bool,
}

/// What is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// How the leaderboard is printed (`--json` means `--format json`)
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// How much is checked: `full` also searches for the fewest votes and judges on which places hang
    #[arg(long, value_enum, default_value_t = Checks::Quick, value_name = "EFFORT")]
    pub checks: Checks,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also draw the first board as SVG or PNG. KIND is intervals (the default), history, coefficients, win-rates, predicted, battles or calibration; may be repeated
    #[arg(long, value_name = "[KIND:]FILE.svg|.png", value_parser = parse_plot)]
    pub plot: Vec<PlotArg>,
}

/// How much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Checks {
    /// What costs little beside the ranking
    Quick,
    /// Everything, which takes seconds for hundreds of models
    Full,
    /// Nothing
    None,
}

/// `--plot`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotArg {
    /// What it shows.
    pub kind: PlotKind,
    /// Where it is written.
    pub path: PathBuf,
    /// Whether as PNG, else as SVG.
    pub is_png: bool,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlotKind {
    /// Ratings with their intervals
    Intervals,
    /// Ratings over time
    History,
    /// Coefficients of style features
    Coefficients,
    /// Win rates of each pair
    WinRates,
    /// Win rates of each pair as the ratings predict them
    Predicted,
    /// Battles of each pair
    Battles,
    /// Predicted and observed wins
    Calibration,
}

/// What makes a vote a repeated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DedupBy {
    /// The id of an earlier row
    Id,
    /// Everything that says who judged what and when
    Content,
}

/// How models are rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Bradley-Terry: all votes at once, with intervals
    Bt,
    /// Online Elo: one pass over the votes in time order, without intervals
    Elo,
    /// Mean over opponents of the win rate against each, without intervals
    WinRate,
}

/// Whose board is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// FastChat as of April 2025
    #[value(name = "fastchat")]
    FastChat,
    /// arena-rank 0.1.1
    ArenaRank,
}

/// What a tie counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ties {
    /// Half a win for each side, as the reference arena has it
    Half,
    /// Nothing: such votes are left out of the fit
    Drop,
    /// An outcome of its own, likeliest between equals (Davidson 1970)
    Davidson,
    /// An outcome of its own: a difference that nobody notices (Rao & Kupper 1967)
    RaoKupper,
    /// The same with both bad as another outcome, which gives each model an absolute level
    Grounded,
}

/// What both bad counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BothBad {
    /// The same as a tie
    Half,
    /// Nothing: such votes are left out of the fit
    Drop,
    /// A loss for both sides: only with elo and win-rate
    Loss,
}

/// How the counts of two sides become a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DifferenceName {
    /// (a − b) / (a + b + 1), as in FastChat
    Relative,
    /// (a − b) / (a + b), and 0 when both are 0, as in arena-rank's examples
    ArenaRank,
}

/// Where intervals come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ci {
    /// The sandwich covariance, which stays right when ties count half
    Sandwich,
    /// The inverse Fisher information, too wide when ties count half
    Model,
    /// The sandwich with the votes of one judge taken together
    Cluster,
    /// Votes drawn anew
    Bootstrap,
    /// Judges drawn anew, each with all votes
    ClusterBootstrap,
    /// No intervals
    None,
}

/// Where the ratings lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Location {
    /// The plain mean of the rated models
    Mean,
    /// The mean weighted by battles: rare models do not widen everyone's interval
    WeightedMean,
}

/// How a leaderboard is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for reading
    Table,
    /// The whole result, for machines
    Json,
    /// One row a model
    Csv,
    /// A Markdown table
    Markdown,
    /// One page that needs nothing else
    Html,
    /// The shape of LMArena's published boards: category, model, rating with its bounds
    Catalog,
}

/// `--anchor MODEL=RATING`.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorArg {
    /// Whose rating is fixed.
    pub model: String,
    /// At what.
    pub rating: f64,
}

/// `--where COLUMN=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionArg {
    /// The column.
    pub column: String,
    /// Its value.
    pub value: String,
}

/// `--reweight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reweight {
    /// By pair, from so many battles.
    Pair(u64),
    /// By the recorded probability.
    Recorded,
}

/// `--source-weight`.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareArg {
    /// Whose share; none for the source at this position.
    pub path: Option<String>,
    /// The share.
    pub share: f64,
}

fn parse_anchor(text: &str) -> Result<AnchorArg, String> {
    // A model's name may hold `=`; a rating cannot.
    let (model, rating) = text
        .rsplit_once('=')
        .ok_or("expected MODEL=RATING, such as gpt-4o=1200")?;
    let rating = parse_finite(rating)?;
    let model = model.trim();
    if model.is_empty() {
        return Err("expected a model's name before `=`".to_owned());
    }
    Ok(AnchorArg {
        model: model.to_owned(),
        rating,
    })
}

fn parse_condition(text: &str) -> Result<ConditionArg, String> {
    match text.split_once('=') {
        Some((column, value)) if !column.trim().is_empty() && value.trim().is_empty() => {
            Err(format!(
                "expected a value after `{}=`: a blank cell is a missing value, and no vote can be chosen by it",
                column.trim()
            ))
        }
        Some((column, value)) if !column.trim().is_empty() => Ok(ConditionArg {
            column: column.trim().to_owned(),
            value: value.to_owned(),
        }),
        _ => Err("expected COLUMN=VALUE, such as language=English".to_owned()),
    }
}

fn parse_reweight(text: &str) -> Result<Reweight, String> {
    if text == "recorded" {
        return Ok(Reweight::Recorded);
    }
    match text.parse::<u64>() {
        Ok(battles) if battles > 0 => Ok(Reweight::Pair(battles)),
        _ => Err(
            "expected a number of battles, `recorded`, or nothing after it (then give INPUT first)"
                .to_owned(),
        ),
    }
}

fn parse_share(text: &str) -> Result<ShareArg, String> {
    let (path, share) = match text.rsplit_once('=') {
        Some((path, share)) => (Some(path.to_owned()), share),
        None => (None, text),
    };
    Ok(ShareArg {
        path,
        share: parse_positive(share)?,
    })
}

fn parse_plot(text: &str) -> Result<PlotArg, String> {
    // A path may hold a colon, but a mistyped kind must not become a file's name: what looks like a word is a kind.
    let (kind, path) = match text.split_once(':') {
        Some((kind, path)) if !kind.contains(['/', '\\', '.']) => {
            let kind = PlotKind::from_str(kind, false).map_err(|_| {
                let kinds: Vec<String> = PlotKind::value_variants()
                    .iter()
                    .filter_map(PlotKind::to_possible_value)
                    .map(|value| value.get_name().to_owned())
                    .collect();
                format!(
                    "`{kind}` is no kind of plot; kinds are {} (for a file of this name, write ./ before it)",
                    kinds.join(", ")
                )
            })?;
            (kind, path)
        }
        _ => (PlotKind::Intervals, text),
    };
    let path = PathBuf::from(path);
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let is_png = match extension.as_deref() {
        Some("png") => true,
        Some("svg") => false,
        _ => return Err("expected a file that ends in .svg or .png".to_owned()),
    };
    Ok(PlotArg { kind, path, is_png })
}

fn parse_not_negative(text: &str) -> Result<f64, String> {
    parse_finite(text).and_then(|number| {
        if number >= 0.0 {
            Ok(number)
        } else {
            Err(format!("`{text}` is below 0"))
        }
    })
}

fn parse_rounds(text: &str) -> Result<usize, String> {
    /// Rounds at most: each keeps a rating of every model.
    const ROUNDS_MAX: usize = 100_000;
    match text.parse::<usize>() {
        Ok(rounds) if (2..=ROUNDS_MAX).contains(&rounds) => Ok(rounds),
        _ => Err(format!("expected a number from 2 to {ROUNDS_MAX}")),
    }
}
