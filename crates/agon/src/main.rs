//! The `agon` binary: parse, run, print the error chain, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    agon::run(std::env::args_os())
}
