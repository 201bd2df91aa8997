//! The application: the only crate that knows HTTP, the command line and the environment.
//!
//! Reading order: [`cli`] (what can be asked), [`config`] (how it is set up), [`app`] (what it does), [`http`] (who may ask), [`commands`] (one file each).

use std::{ffi::OsString, io::Write as _, process};

use clap::Parser as _;

pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
pub mod exit_code;
pub mod http;
pub mod telemetry;

use exit_code::{CommandError, ExitCode};

/// Runs one command line and says how it ended.
///
/// Results go to standard output, everything else to standard error.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> process::ExitCode {
    let cli = match cli::Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Printing can only fail when the reader is gone; there is no one left to tell.
            let _ = error.print();
            let code = if error.use_stderr() {
                ExitCode::Usage
            } else {
                ExitCode::Done
            };
            return code.code().into();
        }
    };
    match commands::run(cli) {
        Ok(()) => ExitCode::Done.code().into(),
        Err(error) if is_broken_pipe(&error.error) => ExitCode::Done.code().into(),
        Err(error) => {
            print_error(&error);
            error.exit_code.code().into()
        }
    }
}

/// Whoever read our output has seen enough (`agon rank … | head`): that is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

fn print_error(error: &CommandError) {
    let mut text = format!("error: {}\n", error.error);
    for cause in error.error.chain().skip(1) {
        text.push_str(&format!("  caused by: {cause}\n"));
    }
    for hint in &error.hints {
        text.push_str(&format!("hint: {hint}\n"));
    }
    // What was typed or read may hold characters that steer a terminal.
    let text: String = text
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            _ if character.is_control() => '\u{fffd}',
            _ => character,
        })
        .collect();
    let _ = std::io::stderr().write_all(text.as_bytes());
}
