//! One file for each command.

mod aliases;
pub mod annotate;
pub mod check;
mod cleaning;
pub mod detectors;
pub mod import;
mod outputs;
mod progress;
pub mod quarantine;
pub mod rank;
pub mod release;
pub mod screen;
pub mod serve;

use crate::{
    cli::{Cli, Command},
    exit_code::CommandError,
};

/// Runs the command that was asked for.
///
/// # Errors
///
/// Whatever the command failed of, with its exit code.
pub fn run(cli: Cli) -> Result<(), CommandError> {
    match cli.command {
        Command::Serve(args) => serve::run(&cli.global, args),
        Command::Rank(args) => rank::run(&cli.global, &args),
        Command::Check(args) => check::run(&cli.global, &args),
        Command::Import(args) => import::run(&cli.global, &args),
        Command::Annotate(args) => annotate::run(&cli.global, &args),
        Command::Screen(args) => screen::run(&cli.global, &args),
        Command::Detectors(args) => detectors::run(&cli.global, &args),
        Command::Release(args) => release::run(&cli.global, args),
        Command::Quarantine(args) => quarantine::run(&cli.global, &args.command),
    }
}
