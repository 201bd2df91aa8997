//! `agon serve`: the arena.

use std::{collections::BTreeMap, io::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use agon_domain::{Clock as _, FindingKind, Purpose, SystemClock};
use agon_store::{CaseState, Store};
use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use rand::{TryRng as _, rngs::SysRng};
use tokio::net::TcpListener;

use crate::{
    app::{
        App, AppParts, Terms, providers,
        quarantine::Custodians,
        screening::{Coverage, Screener, Standing},
    },
    cli::{GlobalArgs, ServeArgs},
    config::{Config, ConfigError},
    exit_code::CommandError,
    http::{self, health::coverage_json},
    telemetry,
};

/// How long answers may go on after a signal to stop, in seconds.
const STOP_GRACE_S: u64 = 20;
/// How often rate limits forget those who went away, in seconds.
const FORGET_PERIOD_S: u64 = 300;

/// Runs the arena until it is told to stop.
///
/// # Errors
///
/// Exit code 2 for a configuration that cannot be used, 1 for everything else.
pub fn run(global: &GlobalArgs, args: ServeArgs) -> Result<(), CommandError> {
    telemetry::start(global);
    let mut config = load_config(global)?;
    if let Some(bind) = args.bind {
        config.bind = bind;
    }
    if args.check_config {
        // Models and detectors are built too, so that what is printed would start.
        providers::build(&config).map_err(config_error)?;
        Screener::from_config(&config, Arc::new(SystemClock), None).map_err(CommandError::usage)?;
        Custodians::from_config(&config).map_err(CommandError::usage)?;
        return print_config(&config, global.json);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(config, global))
}

/// The configuration, from file, environment and flags.
///
/// # Errors
///
/// Exit code 2, with the nearest known key as a hint.
pub fn load_config(global: &GlobalArgs) -> Result<Config, CommandError> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let working_folder = std::env::current_dir().unwrap_or_default();
    Config::load(global, &environment, &working_folder).map_err(config_error)
}

fn config_error(error: ConfigError) -> CommandError {
    let nearest = match &error {
        ConfigError::Parse { nearest, .. } => nearest.clone(),
        _ => None,
    };
    let error = CommandError::usage(error);
    match nearest {
        Some(key) => error.with_hint(format!("did you mean `{key}`?")),
        None => error,
    }
}

fn print_config(config: &Config, json: bool) -> Result<(), CommandError> {
    let text = if json {
        let document = serde_json::json!({
            "file": config.file,
            "data_dir": config.data_dir,
            "bind": config.bind,
            "config": config.raw,
        });
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else {
        let file = config
            .file
            .as_ref()
            .map_or_else(|| "none".to_owned(), |path| path.display().to_string());
        format!(
            "# file: {file}\n# data folder: {}\n# listens on: {}\n\n{}",
            config.data_dir.display(),
            config.bind,
            toml::to_string_pretty(&config.raw)?
        )
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

async fn serve(config: Config, global: &GlobalArgs) -> Result<(), CommandError> {
    let models = providers::build(&config).map_err(config_error)?;
    let terms = match &config.raw.arena.terms_file {
        Some(path) => Terms::from_file(path)
            .with_context(|| format!("cannot read the terms `{}`", path.display()))
            .map_err(CommandError::usage)?,
        None => Terms::built_in(),
    };
    let store = Store::open(&config.data_dir).await.with_context(|| {
        format!(
            "cannot open the data folder `{}`",
            config.data_dir.display()
        )
    })?;
    // Held until this function returns: one server for each data folder.
    let _lock = store.lock_for_serving()?;
    let n_interrupted = store.interrupt_running(SystemClock.now()).await?;
    if n_interrupted > 0 {
        tracing::warn!(
            n_interrupted,
            "answers were interrupted by the last stop; they can be asked for again"
        );
    }
    let custodians = Custodians::from_config(&config).map_err(CommandError::usage)?;
    let screener = {
        let (config, store) = (config.clone(), store.clone());
        tokio::task::spawn_blocking(move || {
            Screener::from_config(&config, Arc::new(SystemClock), Some(store))
        })
        .await
        .context("detectors could not be loaded")?
        .map_err(CommandError::usage)?
    };
    let voter_key = store.voter_key(random_bytes()?).await?;
    let listener = TcpListener::bind(&config.bind)
        .await
        .with_context(|| format!("cannot listen on `{}`", config.bind))
        .map_err(|error| {
            CommandError::from(error).with_hint("choose another address with --bind HOST:PORT")
        })?;
    let address = listener.local_addr()?;
    let data_dir = config.data_dir.clone();
    let app = App::new(AppParts {
        config,
        terms,
        models,
        store: store.clone(),
        screener,
        custodians,
        clock: Arc::new(SystemClock),
        seed: random_bytes()?,
        voter_key,
        metrics: Some(start_metrics()?),
    });
    // How many there are is all that is said of them, and only here: nothing tells of a case when it is sealed.
    let n_cases_waiting = store
        .cases()
        .await?
        .iter()
        .filter(|case| !matches!(case.state, CaseState::Reported | CaseState::Destroyed))
        .count();
    if n_cases_waiting > 0 {
        tracing::warn!(
            n_cases_waiting,
            "sealed cases wait for their custodians: `agon quarantine list`"
        );
    }
    if global.json {
        announce_to_programs(&app, address, &data_dir)?;
    } else if !global.quiet {
        announce(&app, address, &data_dir)?;
    }
    let sweeper = {
        let app = app.clone();
        tokio::spawn(async move {
            let mut period = tokio::time::interval(Duration::from_secs(FORGET_PERIOD_S));
            loop {
                period.tick().await;
                app.forget_idle_visitors();
            }
        })
    };
    let annotator = {
        let app = app.clone();
        tokio::spawn(async move { app.keep_annotated().await })
    };
    let stopping = app.stopping();
    let signalled = stopping.clone();
    tokio::spawn(async move {
        wait_for_signal().await;
        tracing::info!("stopping");
        signalled.cancel();
    });
    let limits = http::connections::ConnectionLimits::default();
    http::connections::serve(listener, http::router(app.clone()), limits, stopping).await;
    sweeper.abort();
    app.stop(Duration::from_secs(STOP_GRACE_S)).await;
    // It ends with the page of battles that it is at; one that panicked has said so.
    let _ = annotator.await;
    store.close().await;
    Ok(())
}

/// Says where the arena is. On standard error, because standard output is for results.
fn announce(
    app: &App,
    address: SocketAddr,
    data_dir: &std::path::Path,
) -> Result<(), CommandError> {
    let mut text = format!(
        "{} is open at http://{address}\n  data folder: {}\n",
        app.arena_name(),
        data_dir.display()
    );
    if app.is_demo() {
        text.push_str(
            "  models: scripted demo models. Add [[model]] entries to agon.toml for real ones.\n",
        );
    } else {
        text.push_str(&format!("  models: {}\n", app.models().len()));
    }
    if !agon_domain::sampling::can_draw(app.models(), false) {
        text.push_str(
            "  WARNING: a battle needs two models with a weight above 0; nobody can start one\n",
        );
    } else if !agon_domain::sampling::can_draw(app.models(), true) {
        text.push_str(
            "  note: fewer than two models can see images (vision = true); battles are text only\n",
        );
    }
    text.push_str(&announced_screening(app.screener().coverage()));
    text.push_str("  stop with Ctrl-C\n");
    std::io::stderr().write_all(text.as_bytes())?;
    Ok(())
}

/// What is looked for in chats, by whom, and what is not.
fn announced_screening(coverage: &Coverage) -> String {
    let listed = |kinds: Vec<FindingKind>| {
        kinds
            .iter()
            .map(|kind| kind.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let covered: Vec<FindingKind> = coverage.with(Purpose::Chat, Standing::Covered).collect();
    let mut text = if covered.is_empty() {
        "  screening: OFF. Nothing that is sent is looked at by any detector.\n".to_owned()
    } else {
        format!("  screening: {}\n", listed(covered))
    };
    for (standing, words) in [
        (
            Standing::Missing,
            "  WARNING: required, and nothing looks for it, so that nothing it is about can be sent",
        ),
        (
            Standing::NotInstalled,
            "  not screened, nothing looks for it",
        ),
        (Standing::SwitchedOff, "  not screened, switched off"),
    ] {
        let kinds: Vec<FindingKind> = coverage.with(Purpose::Chat, standing).collect();
        if !kinds.is_empty() {
            text.push_str(&format!("{words}: {}\n", listed(kinds)));
        }
    }
    text
}

/// The same as one JSON document on standard output, for whatever started the server.
fn announce_to_programs(
    app: &App,
    address: SocketAddr,
    data_dir: &std::path::Path,
) -> Result<(), CommandError> {
    let document = serde_json::json!({
        "url": format!("http://{address}"),
        "data_dir": data_dir,
        "demo": app.is_demo(),
        "n_models": app.models().len(),
        "screening": coverage_json(app.screener().coverage()),
    });
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{document}")?;
    stdout.flush()?;
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
async fn wait_for_signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = interrupt => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(_) => {
                let _ = interrupt.await;
            }
        }
    }
    #[cfg(not(unix))]
    {
        let _ = interrupt.await;
    }
}

fn start_metrics() -> Result<PrometheusHandle, CommandError> {
    let seconds = [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0,
    ];
    Ok(PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &seconds)?
        .install_recorder()?)
}

/// 32 bytes from the operating system.
///
/// # Errors
///
/// When the system gives none.
pub fn random_bytes() -> Result<[u8; 32], CommandError> {
    let mut bytes = [0; 32];
    SysRng
        .try_fill_bytes(&mut bytes)
        .context("the system gives no random bytes")?;
    Ok(bytes)
}
