//! A file of names of models that are counted under other names.

use std::{collections::BTreeMap, fs, path::Path};

use agon_dataset::Aliases;
use anyhow::{Context as _, anyhow};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{app::leaderboard::AliasBody, exit_code::CommandError};

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasFile {
    version: String,
    aliases: BTreeMap<String, String>,
}

/// Aliases and what a document says about them.
#[derive(Debug)]
pub(super) struct AliasTable {
    /// The names.
    pub(super) aliases: Aliases,
    body: AliasBody,
}

impl AliasTable {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Exit code 2 for a file that cannot be read or makes no sense.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let shown = path.display();
        let bytes = fs::read(path)
            .with_context(|| format!("cannot read `{shown}`"))
            .map_err(CommandError::usage)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| CommandError::usage(anyhow!("`{shown}` is not UTF-8")))?;
        let file: AliasFile = toml::from_str(text)
            .with_context(|| format!("`{shown}` is no file of aliases"))
            .map_err(|error| {
                CommandError::usage(error).with_hint(
                    "it holds `version = \"…\"`, and below `[aliases]` lines of `\"old name\" = \"new name\"`",
                )
            })?;
        let aliases = Aliases::new(file.aliases.clone())
            .with_context(|| format!("`{shown}` cannot be applied"))
            .map_err(CommandError::usage)?;
        let sha256 = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            aliases,
            body: AliasBody {
                version: file.version,
                sha256,
                names: file.aliases,
                renamed_rows: 0,
            },
        })
    }

    /// What a document says, with so many rows that have a renamed model.
    pub(super) fn body(&self, renamed_rows: u64) -> AliasBody {
        AliasBody {
            renamed_rows,
            ..self.body.clone()
        }
    }
}
