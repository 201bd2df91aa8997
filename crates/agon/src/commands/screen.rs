//! `agon screen`: datasets looked through for personal data and harmful content, and detectors measured.

use crate::{
    cli::{GlobalArgs, ScreenArgs, ScreenCommand},
    exit_code::CommandError,
};

mod dataset;
mod evaluate;
mod rules;
mod summary;
mod work;

/// Runs what was asked for.
///
/// # Errors
///
/// Exit code 2 for rules or a target that cannot be used; 3 for an input that cannot be read or has no rows; 4 when something was found that `--fail-on` names.
pub fn run(global: &GlobalArgs, args: &ScreenArgs) -> Result<(), CommandError> {
    match &args.command {
        Some(ScreenCommand::Evaluate(args)) => evaluate::run(global, args),
        None => dataset::run(global, args),
    }
}
