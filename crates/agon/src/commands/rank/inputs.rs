//! What the arguments stand for: files, standard input, and what lies elsewhere.

use std::env;

use agon_dataset::{Error, Input};
use agon_remote::{Environment, Remote, Waits};

/// The inputs of all arguments, in their order.
///
/// # Errors
///
/// An address that leads nowhere or may not be read.
pub(in crate::commands) fn inputs(arguments: &[String]) -> Result<Vec<Input>, Error> {
    let mut remote = None;
    let mut inputs = Vec::new();
    for argument in arguments {
        if !Remote::is_address(argument) {
            inputs.push(Input::from_argument(argument));
            continue;
        }
        let failed = |error: agon_remote::Error| Error::Read {
            path: agon_remote::shown(argument),
            source: error.into(),
        };
        let remote = match &remote {
            Some(remote) => remote,
            None => remote.insert(Remote::new(environment(), Waits::default()).map_err(failed)?),
        };
        inputs.extend(
            remote
                .resolve(argument)
                .map_err(failed)?
                .unwrap_or_default(),
        );
    }
    Ok(inputs)
}

/// The credentials and endpoints in the environment.
fn environment() -> Environment {
    // Variables that are not UTF-8 are none of those that are looked at.
    Environment::new(
        env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }),
    )
}
