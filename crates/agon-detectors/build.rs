//! Takes the model of the face detector that needs no installed file out of the source of the crate `rustface`.
//!
//! That crate ships the model beside its code and does not hand it out, and nothing of other people's is kept in this repository.
//! Nothing is downloaded: the source is where cargo put it to compile it.
//! Where it is not found or is not the known file, the build says so and goes on without, and the detector says that it is not there.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The model inside the crate.
const MODEL: &str = "model/seeta_fd_frontal_v1.0.bin";
/// Its size.
const N_BYTES: usize = 1_209_904;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.toml");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let model = candidates()
        .into_iter()
        .filter_map(|folder| fs::read(folder.join(MODEL)).ok())
        .find(|bytes| bytes.len() == N_BYTES);
    if model.is_none() {
        println!(
            "cargo::warning=the source of rustface was not found, so there is no built-in face detector"
        );
    }
    fs::write(out.join("seeta_fd_frontal.bin"), model.unwrap_or_default())
        .expect("OUT_DIR can be written to");
}

/// Folders that may hold the source of `rustface`: cargo's own, and what cargo says when sources are vendored.
fn candidates() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"))?;
        Some(Path::new(&home).join(".cargo"))
    });
    let mut folders = home.map(|home| in_registry(&home)).unwrap_or_default();
    if folders.is_empty() {
        folders.extend(from_metadata());
    }
    folders
}

fn in_registry(home: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(home.join("registry/src"))
        .into_iter()
        .flatten()
        .filter_map(|registry| fs::read_dir(registry.ok()?.path()).ok())
        .flatten()
        .filter_map(|package| Some(package.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with("rustface-0.1."))
        })
        .collect();
    folders.sort();
    folders
}

/// Where cargo says the crate is, without any connection.
fn from_metadata() -> Option<PathBuf> {
    let output = Command::new(env::var_os("CARGO")?)
        .args([
            "metadata",
            "--format-version=1",
            "--offline",
            "--filter-platform",
        ])
        .arg(env::var_os("TARGET")?)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let end = text.find("rustface")?;
    let manifest = text[end..]
        .split("\"manifest_path\":\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap_or_default())
        .find(|path| path.contains("rustface"))?;
    Path::new(manifest).parent().map(Path::to_owned)
}
