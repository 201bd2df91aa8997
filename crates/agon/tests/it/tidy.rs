//! Rules about the code itself that neither the compiler nor Clippy checks: which crate may depend on which, who owns a heavy dependency, how modules are called.
//!
//! Each check lists every offender before it fails, so one run shows all there is to fix.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Which workspace crates each crate may depend on.
///
/// This table *is* the architecture: change it only together with `ARCHITECTURE.md`.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("agon-domain", &[]),
    ("agon-ranking", &[]),
    ("agon-pii", &[]),
    ("agon-plot", &[]),
    ("agon-providers", &["agon-domain"]),
    ("agon-content", &["agon-domain"]),
    (
        "agon-detectors",
        &["agon-content", "agon-domain", "agon-pii"],
    ),
    ("agon-store", &["agon-domain"]),
    ("agon-dataset", &["agon-domain"]),
    ("agon-remote", &["agon-dataset"]),
    (
        "agon",
        &[
            "agon-content",
            "agon-dataset",
            "agon-detectors",
            "agon-domain",
            "agon-pii",
            "agon-plot",
            "agon-providers",
            "agon-ranking",
            "agon-remote",
            "agon-store",
        ],
    ),
];

/// Heavy dependencies, each with the crates that may use it outside tests: one, unless `ARCHITECTURE.md` says why not.
const OWNERS: &[(&str, &[&str])] = &[
    ("age", &["agon"]),
    ("arrow-array", &["agon-dataset"]),
    ("arrow-buffer", &["agon-dataset"]),
    ("arrow-schema", &["agon-dataset"]),
    ("axum", &["agon"]),
    ("bpe-openai", &["agon-content"]),
    ("clap", &["agon"]),
    ("image", &["agon-content"]),
    ("notosans", &["agon-plot"]),
    ("object_store", &["agon-remote"]),
    ("parquet", &["agon-dataset"]),
    ("reqwest", &["agon-providers"]),
    ("resvg", &["agon-plot"]),
    ("rten", &["agon-detectors"]),
    ("rustface", &["agon-detectors"]),
    ("rxing", &["agon-detectors"]),
    ("skrifa", &["agon-plot"]),
    ("sqlx", &["agon-store"]),
    ("zip", &["agon-dataset", "agon-detectors"]),
];

/// Module names that say where code was put, not what it is about.
const BANNED_MODULES: &[&str] = &[
    "common", "core", "helper", "helpers", "manager", "misc", "mod", "service", "types", "util",
    "utils",
];

#[test]
fn dependencies_point_down_and_heavy_ones_have_one_owner() {
    let mut offenders = Vec::new();
    let manifests = manifests();
    for (name, manifest) in &manifests {
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(listed, _)| listed == name) else {
            offenders.push(format!("{name} is missing from MAY_DEPEND_ON"));
            continue;
        };
        for dependency in dependencies(manifest, "dependencies") {
            if manifests.contains_key(&dependency) && !allowed.contains(&dependency.as_str()) {
                offenders.push(format!("{name} must not depend on {dependency}"));
            }
            if let Some((_, owners)) = OWNERS
                .iter()
                .find(|(owned, owners)| *owned == dependency && !owners.contains(&name.as_str()))
            {
                offenders.push(format!(
                    "{name} must not use {dependency}, which belongs to {}",
                    owners.join(" and ")
                ));
            }
        }
    }
    for (name, _) in MAY_DEPEND_ON {
        if !manifests.contains_key(*name) {
            offenders.push(format!(
                "{name} is listed in MAY_DEPEND_ON and does not exist"
            ));
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

#[test]
fn every_dependency_version_stands_once_in_the_root_manifest() {
    let mut offenders = Vec::new();
    for (name, manifest) in manifests() {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for (dependency, value) in table {
                if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                    offenders.push(format!(
                        "{name}: {dependency} in [{section}] does not say `workspace = true`"
                    ));
                }
            }
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

#[test]
fn modules_are_named_after_what_they_do_and_say_so() {
    let mut offenders = Vec::new();
    for path in rust_files(&crates_dir()) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if BANNED_MODULES.contains(&stem) {
            offenders.push(format!(
                "{}: name the module after its subject",
                path.display()
            ));
        }
        if !read(&path).starts_with("//!") {
            offenders.push(format!(
                "{}: start with a `//!` doc comment",
                path.display()
            ));
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

#[test]
fn the_map_names_every_crate() {
    let map = read(&crates_dir().join("../ARCHITECTURE.md"));
    let missing: Vec<String> = manifests()
        .into_keys()
        .filter(|name| !map.contains(&format!("`{name}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md does not name {missing:?}"
    );
}

#[test]
fn documentation_has_no_links_to_files_that_do_not_exist() {
    let root = crates_dir().parent().unwrap().to_owned();
    let mut pages: Vec<PathBuf> = [root.clone(), root.join("docs"), root.join("benches")]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    assert!(pages.len() >= 4, "{pages:?}");
    let mut offenders = Vec::new();
    for page in pages {
        for target in link_targets(&read(&page)) {
            let path = target.split('#').next().unwrap();
            if !path.is_empty() && !page.parent().unwrap().join(path).exists() {
                offenders.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

/// Targets of Markdown links that point into the repository.
fn link_targets(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| {
            !target.contains("://") && !target.starts_with("mailto:") && !target.contains(' ')
        })
        .map(ToOwned::to_owned)
        .collect()
}

fn dependencies(manifest: &toml::Table, section: &str) -> Vec<String> {
    let table = manifest.get(section).and_then(toml::Value::as_table);
    table
        .into_iter()
        .flatten()
        // A renamed package counts as what it is.
        .map(|(name, value)| {
            value
                .get("package")
                .and_then(toml::Value::as_str)
                .unwrap_or(name)
                .to_owned()
        })
        .collect()
}

/// The manifest of each crate, by the crate's name.
fn manifests() -> BTreeMap<String, toml::Table> {
    fs::read_dir(crates_dir())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                read(&entry.path().join("Cargo.toml")).parse().unwrap(),
            )
        })
        .collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn crates_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
