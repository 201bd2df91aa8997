//! `agon rank compare`: two documents of boards in, what moved out.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
};

use anyhow::Context as _;

use super::print::visible;
use crate::{
    app::leaderboard::compare::{BoardKey, CompareError, Document, ReadError, compare, read},
    cli::{CompareArgs, CompareFormat, GlobalArgs},
    exit_code::CommandError,
};

mod print;

/// Compares two documents of boards.
///
/// # Errors
///
/// Exit code 3 for a file that is no such document, and for documents without a board in common; 2 when both are
/// standard input.
pub(super) fn run(global: &GlobalArgs, args: &CompareArgs) -> Result<(), CommandError> {
    if args.before.as_os_str() == "-" && args.after.as_os_str() == "-" {
        return Err(CommandError::usage(anyhow::anyhow!(
            "BEFORE and AFTER cannot both be standard input"
        )));
    }
    let before = document(&args.before)?;
    let after = document(&args.after)?;
    let path = |path: &Path| path.display().to_string();
    let (before_path, after_path) = (path(&args.before), path(&args.after));
    let comparison = compare((&before_path, &before), (&after_path, &after), args.level)
        .map_err(|error| refused(error, &before_path, &after_path))?;
    let format = if global.json {
        CompareFormat::Json
    } else {
        args.format
    };
    if !global.quiet && format == CompareFormat::Csv {
        let mut lines = print::unsaid(&comparison).join("\n");
        if !lines.is_empty() {
            lines.push('\n');
            io::stderr().write_all(lines.as_bytes())?;
        }
    }
    let text = print::comparison(&comparison, format)?;
    match &args.output {
        Some(path) => {
            fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        None => io::stdout().write_all(text.as_bytes())?,
    }
    Ok(())
}

/// Whether a file is a document of boards, as far as a look at its first bytes and, for one that looks so, at all of it tells.
pub(super) fn is_board(path: &Path) -> bool {
    /// A board of thousands of models has some megabytes.
    const BYTES_MAX: u64 = 100_000_000;
    const HEAD_BYTES: usize = 4_096;
    let is_small =
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= BYTES_MAX);
    if !is_small {
        return false;
    }
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let names_boards = head
        .windows(b"\"leaderboards\"".len())
        .any(|window| window == b"\"leaderboards\"");
    names_boards && read(&bytes).is_ok()
}

fn document(path: &Path) -> Result<Document, CommandError> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        bytes
    } else {
        fs::read(path).map_err(|error| {
            // A path that leads nowhere is the caller's; a disk that fails is not.
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let error =
                anyhow::Error::new(error).context(format!("cannot read `{}`", path.display()));
            if is_missing {
                CommandError::input_refused(error)
            } else {
                CommandError::from(error)
            }
        })?
    };
    read(&bytes).map_err(|error| {
        let hint = match error {
            ReadError::NoJson(_) | ReadError::Unknown => {
                "make one from votes: agon rank VOTES --json -o board.json"
            }
            ReadError::Field { .. } => {
                "was the file made by `agon rank --json`, of this version or an earlier one?"
            }
        };
        let error = anyhow::Error::new(error)
            .context(format!("`{}` is no document of boards", path.display()));
        CommandError::input_refused(error).with_hint(hint)
    })
}

fn refused(error: CompareError, before_path: &str, after_path: &str) -> CommandError {
    match &error {
        CompareError::NothingInCommon { before, after } => {
            let listed = |path: &str, keys: &[BoardKey]| {
                let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                let keys = if keys.is_empty() {
                    "no board".to_owned()
                } else {
                    keys.join("; ")
                };
                visible(&format!("`{path}` has {keys}"))
            };
            let hints = [listed(before_path, before), listed(after_path, after)];
            let [first, second] = hints;
            CommandError::input_refused(error)
                .with_hint(first)
                .with_hint(second)
        }
        CompareError::Ranking(_) => CommandError::input_refused(error),
    }
}
