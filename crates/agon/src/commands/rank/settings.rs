//! Flags → [`Settings`], and which of them make no sense together.

use anyhow::{Context as _, anyhow};

use crate::{
    app::leaderboard::{
        BOOTSTRAP_ROUNDS, BothBadRule, Condition, DedupRule, Difference, IntervalMethod,
        LocationSetting, Method, PAIR_BATTLES_MIN, Preset, SIMULTANEOUS_DRAWS, Settings,
        SliceSettings, StyleSettings, TieRule, WeightSetting, slices,
    },
    cli::rank::{
        BothBad, Ci, DedupBy, DifferenceName, Location, MethodName, PlotKind, PresetName, RankArgs,
        Reweight, Ties,
    },
    exit_code::CommandError,
};

/// Style features where none are named.
const FEATURES: [&str; 4] = ["length", "headers", "lists", "bold"];
/// Short names of features that are accepted.
const FEATURE_ALIASES: [(&str, &str); 3] =
    [("len", "length"), ("header", "headers"), ("list", "lists")];

/// The settings that the flags ask for, but for the prior and the shares, which need files.
///
/// # Errors
///
/// Exit code 2 for flags that make no sense together.
pub(super) fn settings(args: &RankArgs) -> Result<Settings, CommandError> {
    check(args)?;
    let method = match args.method.method {
        None | Some(MethodName::Bt) => Method::BradleyTerry,
        Some(MethodName::Elo) => Method::Elo,
        Some(MethodName::WinRate) => Method::WinRate,
    };
    let preset = args.method.preset.map(|preset| match preset {
        PresetName::FastChat => Preset::FastChat,
        PresetName::ArenaRank => Preset::ArenaRank,
    });
    let ties = match args.method.ties {
        None | Some(Ties::Half) => TieRule::Half,
        Some(Ties::Drop) => TieRule::Drop,
        Some(Ties::Davidson) => TieRule::Davidson,
        Some(Ties::RaoKupper) => TieRule::RaoKupper,
        Some(Ties::Grounded) => TieRule::Grounded,
    };
    let both_bad = match (args.method.both_bad, ties) {
        (_, TieRule::Grounded) => BothBadRule::Outcome,
        (Some(BothBad::Drop), _) => BothBadRule::Drop,
        (Some(BothBad::Loss), _) => BothBadRule::Loss,
        (None | Some(BothBad::Half), TieRule::Davidson | TieRule::RaoKupper) => BothBadRule::Tie,
        (None | Some(BothBad::Half), TieRule::Half | TieRule::Drop) => BothBadRule::Half,
    };
    let interval = match (args.interval.ci, method, preset) {
        (_, _, Some(Preset::FastChat)) => IntervalMethod::Bootstrap,
        (None, Method::Elo | Method::WinRate, _) | (Some(Ci::None), ..) => IntervalMethod::None,
        (None | Some(Ci::Sandwich), ..) => IntervalMethod::Sandwich,
        (Some(Ci::Model), ..) => IntervalMethod::Model,
        (Some(Ci::Cluster), ..) => IntervalMethod::Cluster,
        (Some(Ci::Bootstrap), ..) => IntervalMethod::Bootstrap,
        (Some(Ci::ClusterBootstrap), ..) => IntervalMethod::ClusterBootstrap,
    };
    let default_rounds = match preset {
        Some(Preset::FastChat) => FASTCHAT_ROUNDS,
        _ => BOOTSTRAP_ROUNDS,
    };
    let simultaneous_draws = args.interval.simultaneous.then_some(SIMULTANEOUS_DRAWS);
    let has_chance = interval.is_bootstrap() || simultaneous_draws.is_some();
    let location = match (&args.scale.anchor, args.scale.location) {
        (Some(anchor), _) => LocationSetting::Model {
            model: anchor.model.clone(),
            rating: anchor.rating,
        },
        (None, Some(Location::WeightedMean)) => LocationSetting::WeightedMean,
        (None, None | Some(Location::Mean)) => LocationSetting::Mean,
    };
    let defaults = Settings::default();
    Ok(Settings {
        method,
        preset,
        interval,
        level: args.interval.level,
        bootstrap_rounds: interval
            .is_bootstrap()
            .then(|| args.interval.bootstrap.unwrap_or(default_rounds)),
        simultaneous_draws,
        seed: has_chance.then(|| args.interval.seed.unwrap_or_default()),
        location,
        scale: args.scale.scale.unwrap_or(defaults.scale),
        base: args.scale.base.unwrap_or(defaults.base),
        init: args.scale.init.unwrap_or(defaults.init),
        ties,
        both_bad,
        min_battles: args.method.min_battles,
        style: style(args, preset)?,
        ridge_strengths: args.method.ridge_strengths.unwrap_or(0.0),
        order_effect: args.method.order_effect,
        weights: weights(args)?,
        k: (method == Method::Elo).then(|| args.method.k.unwrap_or(ELO_K)),
        slices: parts(args)?,
        dedup: args.input.dedup.map(|by| match by {
            DedupBy::Id => DedupRule::Id,
            DedupBy::Content => DedupRule::Content,
        }),
        ..defaults
    })
}

/// Rounds of FastChat's own bootstrap.
const FASTCHAT_ROUNDS: usize = 100;
/// The arena's constant.
const ELO_K: f64 = 4.0;

fn usage(message: String, hint: &str) -> CommandError {
    let error = CommandError::usage(anyhow!(message));
    if hint.is_empty() {
        error
    } else {
        error.with_hint(hint)
    }
}

/// Refuses the first flag that is given.
fn refuse(what: &str, flags: &[(&str, bool)], hint: &str) -> Result<(), CommandError> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(usage(format!("{what} does not go with `{flag}`"), hint)),
        None => Ok(()),
    }
}

/// Whether a flag was given, by its name.
struct Given<'a>(&'a RankArgs);

impl Given<'_> {
    fn ties(&self) -> (&'static str, bool) {
        ("--ties", self.0.method.ties.is_some())
    }
    fn both_bad(&self) -> (&'static str, bool) {
        ("--both-bad", self.0.method.both_bad.is_some())
    }
    fn order_effect(&self) -> (&'static str, bool) {
        ("--order-effect", self.0.method.order_effect)
    }
    fn prior(&self) -> (&'static str, bool) {
        ("--prior", self.0.method.prior.is_some())
    }
    fn ridge_strengths(&self) -> (&'static str, bool) {
        ("--ridge-strengths", self.0.method.ridge_strengths.is_some())
    }
    fn style_control(&self) -> (&'static str, bool) {
        ("--style-control", self.0.style.style_control)
    }
    fn reweight(&self) -> (&'static str, bool) {
        ("--reweight", self.0.weight.reweight.is_some())
    }
    fn weight_column(&self) -> (&'static str, bool) {
        ("--weight-column", self.0.weight.weight_column.is_some())
    }
    fn source_weight(&self) -> (&'static str, bool) {
        ("--source-weight", !self.0.weight.source_weight.is_empty())
    }
    fn anchor(&self) -> (&'static str, bool) {
        ("--anchor", self.0.scale.anchor.is_some())
    }
    fn location(&self) -> (&'static str, bool) {
        ("--location", self.0.scale.location.is_some())
    }
    fn scale(&self) -> (&'static str, bool) {
        ("--scale", self.0.scale.scale.is_some())
    }
    fn base(&self) -> (&'static str, bool) {
        ("--base", self.0.scale.base.is_some())
    }
    fn init(&self) -> (&'static str, bool) {
        ("--init", self.0.scale.init.is_some())
    }
    fn simultaneous(&self) -> (&'static str, bool) {
        ("--simultaneous", self.0.interval.simultaneous)
    }
    fn bootstrap(&self) -> (&'static str, bool) {
        ("--bootstrap", self.0.interval.bootstrap.is_some())
    }
    fn seed(&self) -> (&'static str, bool) {
        ("--seed", self.0.interval.seed.is_some())
    }
    fn ci(&self, refused: &[Ci]) -> (&'static str, bool) {
        let own = self.0.interval.ci;
        let flag = match own {
            None | Some(Ci::Sandwich) => "--ci sandwich",
            Some(Ci::Model) => "--ci model",
            Some(Ci::Cluster) => "--ci cluster",
            Some(Ci::Bootstrap) => "--ci bootstrap",
            Some(Ci::ClusterBootstrap) => "--ci cluster-bootstrap",
            Some(Ci::None) => "--ci none",
        };
        (flag, own.is_some_and(|own| refused.contains(&own)))
    }
}

fn check(args: &RankArgs) -> Result<(), CommandError> {
    /// All ways to intervals.
    const ANY: [Ci; 5] = [
        Ci::Sandwich,
        Ci::Model,
        Ci::Cluster,
        Ci::Bootstrap,
        Ci::ClusterBootstrap,
    ];
    let given = Given(args);
    let is_tie_model = matches!(
        args.method.ties,
        Some(Ties::Davidson | Ties::RaoKupper | Ties::Grounded)
    );
    if let Some(preset) = args.method.preset {
        let name = match preset {
            PresetName::FastChat => "`--preset fastchat`",
            PresetName::ArenaRank => "`--preset arena-rank`",
        };
        refuse(
            name,
            &[
                ("--method", args.method.method.is_some()),
                given.ties(),
                given.both_bad(),
                given.order_effect(),
                given.prior(),
                given.ridge_strengths(),
                ("--difference", args.style.difference.is_some()),
                ("--ridge", args.style.ridge.is_some()),
                given.weight_column(),
                given.source_weight(),
                given.location(),
                given.scale(),
                given.base(),
                given.init(),
                ("--ci", args.interval.ci.is_some()),
                given.simultaneous(),
            ],
            "a preset does what the other program does; leave the flag out",
        )?;
        match preset {
            PresetName::FastChat => refuse(name, &[given.reweight()], "FastChat has no weights")?,
            PresetName::ArenaRank => refuse(
                name,
                &[given.anchor(), given.bootstrap(), given.seed()],
                "arena-rank has neither an anchor nor, by default, a bootstrap",
            )?,
        }
    }
    match args.method.method {
        Some(MethodName::Elo | MethodName::WinRate) => {
            let name = if args.method.method == Some(MethodName::Elo) {
                "`--method elo`"
            } else {
                "`--method win-rate`"
            };
            let (ci, simultaneous) = (given.ci(&ANY), given.simultaneous());
            refuse(
                name,
                &[ci, simultaneous, given.bootstrap(), given.seed()],
                "it has no intervals; Bradley-Terry (`--method bt`) has",
            )?;
            refuse(
                name,
                &[
                    ("--ties davidson, rao-kupper or grounded", is_tie_model),
                    given.style_control(),
                    given.order_effect(),
                    given.reweight(),
                    given.weight_column(),
                    given.source_weight(),
                    given.prior(),
                    given.ridge_strengths(),
                    given.anchor(),
                    given.location(),
                ],
                "it goes with `--method bt`",
            )?;
            if args.method.method == Some(MethodName::WinRate) {
                refuse(
                    name,
                    &[
                        ("--k", args.method.k.is_some()),
                        given.scale(),
                        given.base(),
                        given.init(),
                    ],
                    "a win rate is a share from 0 to 1",
                )?;
            }
        }
        None | Some(MethodName::Bt) => {
            if args.method.k.is_some() {
                return Err(usage("`--k` goes with `--method elo` only".to_owned(), ""));
            }
            if args.method.both_bad == Some(BothBad::Loss) {
                return Err(usage(
                    "`--both-bad loss` does not go with Bradley-Terry, in which what one side loses the other wins".to_owned(),
                    "`--ties grounded` has both bad as an outcome of its own; `--method elo` and `--method win-rate` know a loss of both",
                ));
            }
        }
    }
    if is_tie_model {
        refuse(
            "a model with ties as outcomes of their own",
            &[
                given.style_control(),
                given.order_effect(),
                given.reweight(),
                given.weight_column(),
                given.source_weight(),
                given.prior(),
                given.ridge_strengths(),
                given.simultaneous(),
                given.ci(&[Ci::Cluster, Ci::Bootstrap, Ci::ClusterBootstrap]),
            ],
            "it goes with `--ties half` and `--ties drop`; intervals can be `sandwich`, `model` or `none`",
        )?;
    }
    if args.method.ties == Some(Ties::Grounded) {
        refuse(
            "`--ties grounded`",
            &[given.both_bad()],
            "it has both bad as an outcome of its own",
        )?;
    }
    if args.method.prior.is_some() {
        refuse(
            "`--prior`",
            &[
                given.anchor(),
                given.location(),
                given.source_weight(),
                given.ridge_strengths(),
                given.simultaneous(),
                given.ci(&[Ci::Bootstrap, Ci::ClusterBootstrap]),
            ],
            "ratings lie where the prior has them",
        )?;
    }
    if !args.weight.source_weight.is_empty() {
        refuse(
            "`--source-weight`",
            &[given.ci(&[Ci::Model, Ci::Cluster, Ci::Bootstrap, Ci::ClusterBootstrap])],
            "intervals of several sources come from the sandwich",
        )?;
    }
    let is_fastchat = args.method.preset == Some(PresetName::FastChat);
    let draws =
        matches!(args.interval.ci, Some(Ci::Bootstrap | Ci::ClusterBootstrap)) || is_fastchat;
    if args.interval.bootstrap.is_some() && !draws {
        return Err(usage(
            "`--bootstrap` is the number of rounds of a bootstrap, and none was asked for"
                .to_owned(),
            "add `--ci bootstrap` or `--ci cluster-bootstrap`",
        ));
    }
    if args.interval.seed.is_some() && !draws && !args.interval.simultaneous {
        return Err(usage(
            "`--seed` has nothing to start: chance has no part in these numbers".to_owned(),
            "it goes with `--ci bootstrap`, `--ci cluster-bootstrap` and `--simultaneous`",
        ));
    }
    if args.interval.simultaneous {
        refuse(
            "`--simultaneous`",
            &[given.ci(&[Ci::Bootstrap, Ci::ClusterBootstrap, Ci::None])],
            "it is worked out from the covariance of `--ci sandwich`, `model` or `cluster`",
        )?;
    }
    check_plots(args)
}

/// Refuses pictures of what the document will not have.
fn check_plots(args: &RankArgs) -> Result<(), CommandError> {
    for plot in &args.output.plot {
        let has_periods = args
            .parts
            .by
            .iter()
            .any(|name| slices::Unit::parse(name).is_some());
        let (is_there, what, hint) = match plot.kind {
            PlotKind::History => (
                has_periods,
                "a plot of the history needs periods",
                "add `--by day`, `week`, `month` or `year`",
            ),
            PlotKind::Coefficients => (
                args.style.style_control || args.method.order_effect,
                "a plot of coefficients needs some",
                "add `--style-control` or `--order-effect`",
            ),
            PlotKind::Intervals
            | PlotKind::WinRates
            | PlotKind::Predicted
            | PlotKind::Battles
            | PlotKind::Calibration => (true, "", ""),
        };
        if !is_there {
            return Err(usage(what.to_owned(), hint));
        }
    }
    Ok(())
}

fn style(args: &RankArgs, preset: Option<Preset>) -> Result<Option<StyleSettings>, CommandError> {
    if !args.style.style_control {
        return Ok(None);
    }
    let mut features: Vec<String> = Vec::new();
    for given in &args.style.features {
        let given = given.trim();
        let alias = FEATURE_ALIASES.iter().find(|(short, _)| *short == given);
        let name = alias.map_or(given, |(_, name)| name);
        if name.is_empty() {
            return Err(usage("`--features` has an empty name".to_owned(), ""));
        }
        if features.iter().any(|known| known == name) {
            return Err(usage(
                format!("`--features` names `{name}` more than once"),
                "",
            ));
        }
        features.push(name.to_owned());
    }
    if features.is_empty() {
        features = FEATURES.map(ToOwned::to_owned).to_vec();
    }
    let difference = match (args.style.difference, preset) {
        (Some(DifferenceName::ArenaRank), _) | (None, Some(Preset::ArenaRank)) => {
            Difference::ArenaRank
        }
        (None | Some(DifferenceName::Relative), _) => Difference::Relative,
    };
    Ok(Some(StyleSettings {
        features,
        difference,
        ridge: args.style.ridge.unwrap_or(0.0),
        centred: preset.is_some(),
    }))
}

fn weights(args: &RankArgs) -> Result<Option<WeightSetting>, CommandError> {
    match (args.weight.reweight, &args.weight.weight_column) {
        (None, None) => Ok(None),
        (None, Some(column)) => Ok(Some(WeightSetting::Column {
            column: column.clone(),
        })),
        (Some(Reweight::Recorded), Some(column)) => Ok(Some(WeightSetting::Recorded {
            column: column.clone(),
        })),
        (Some(Reweight::Recorded), None) => Err(usage(
            "`--reweight recorded` needs the column with the probabilities".to_owned(),
            "add `--weight-column NAME`",
        )),
        (Some(Reweight::Pair(battles_min)), None) => {
            // arena-rank's own number cannot be changed.
            if args.method.preset.is_some() && battles_min != PAIR_BATTLES_MIN {
                return Err(usage(
                    format!(
                        "`--preset arena-rank` weighs pairs from {PAIR_BATTLES_MIN} battles on"
                    ),
                    "give `--reweight` without a number",
                ));
            }
            Ok(Some(WeightSetting::Pair { battles_min }))
        }
        (Some(Reweight::Pair(_)), Some(_)) => Err(usage(
            "`--reweight N` weighs by pair and `--weight-column` by vote: only one of them can be"
                .to_owned(),
            "`--reweight recorded` takes the column as probabilities",
        )),
    }
}

fn parts(args: &RankArgs) -> Result<SliceSettings, CommandError> {
    let parts = &args.parts;
    for (flag, text) in [("--since", &parts.since), ("--until", &parts.until)] {
        if let Some(text) = text {
            slices::seconds(text).map_err(|error| usage(format!("`{flag}`: {error}"), ""))?;
        }
    }
    let has_periods = parts
        .by
        .iter()
        .any(|name| slices::Unit::parse(name).is_some());
    if parts.cumulative && !has_periods {
        return Err(usage(
            "`--cumulative` needs periods".to_owned(),
            "add `--by day`, `week`, `month` or `year`",
        ));
    }
    let named = |names: &[String], flag: &str| -> Result<Vec<String>, CommandError> {
        let mut kept: Vec<String> = Vec::new();
        for name in names {
            let name = name.trim();
            if name.is_empty() {
                return Err(usage(format!("`{flag}` has an empty name"), ""));
            }
            if !kept.iter().any(|known| known == name) {
                kept.push(name.to_owned());
            }
        }
        Ok(kept)
    };
    Ok(SliceSettings {
        by: named(&parts.by, "--by")?,
        categories: named(&listed(&parts.category)?, "--category")?,
        conditions: parts
            .conditions
            .iter()
            .map(|condition| Condition {
                column: condition.column.clone(),
                value: condition.value.clone(),
            })
            .collect(),
        since: parts.since.clone(),
        until: parts.until.clone(),
        cumulative: parts.cumulative,
    })
}

/// Names that are given with commas between them; one that holds a comma stands in double quotes, as in CSV.
fn listed(values: &[String]) -> Result<Vec<String>, CommandError> {
    let mut names = Vec::new();
    for value in values {
        if value.trim().is_empty() {
            names.push(String::new());
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(value.as_bytes());
        for record in reader.records() {
            let record = record.context("names cannot be told apart")?;
            names.extend(record.iter().map(ToOwned::to_owned));
        }
    }
    Ok(names)
}
