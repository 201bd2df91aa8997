//! Unfinished work, in a folder beside the output, so that a run goes on where one before it was interrupted.
//!
//! Each part is a folder that is finished once its `part.json` is there; the folder of all goes when the dataset is in place.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use agon_dataset::Part;
use anyhow::{Context as _, anyhow};
use serde::{Deserialize, Serialize};

use crate::{
    app::screening::dataset::Tally, commands::serve::random_bytes, exit_code::CommandError,
};

/// What the work was begun with.
#[derive(Deserialize, Serialize)]
struct Begun {
    /// The hash of all settings that the result depends on.
    settings: String,
    /// What values are hashed with; it goes with the folder.
    key: [u8; 32],
}

/// A finished part.
#[derive(Debug, Deserialize, Serialize)]
struct FinishedPart {
    /// Rows of the input up to its end, from the first.
    rows_until: u64,
    /// The hash of these rows.
    rows_sha256: [u8; 32],
    tally: Tally,
    part: Part,
}

/// The work on one dataset.
pub(super) struct Work {
    folder: PathBuf,
    /// Locked while a run works here.
    _lock: File,
    /// What values are hashed with.
    pub(super) key: [u8; 32],
    /// The finished parts with their folders.
    pub(super) parts: Vec<(PathBuf, Part)>,
    /// Rows of the input in finished parts.
    pub(super) rows_done: u64,
    /// The hash of these rows.
    pub(super) rows_sha256: [u8; 32],
    /// What was counted of them.
    pub(super) tally: Tally,
}

impl Work {
    /// Begins work on what becomes `output`, or goes on with it. With `force`, work with other settings is forgotten.
    ///
    /// # Errors
    ///
    /// Exit code 2 for work with other settings, or that another run is at; 1 for what cannot be read or written.
    pub(super) fn open(output: &Path, settings: String, force: bool) -> Result<Self, CommandError> {
        let folder = folder_of(output)?;
        let failed = || format!("cannot keep unfinished work in `{}`", folder.display());
        let mut begun = begin(&folder).with_context(failed)?;
        if begun.try_lock().is_err() {
            return Err(CommandError::usage(anyhow!(
                "another run is at work on `{}`",
                output.display()
            )));
        }
        let mut text = String::new();
        begun.read_to_string(&mut text).with_context(failed)?;
        // What cannot be read was interrupted before there was any work.
        let earlier = serde_json::from_str::<Begun>(&text).ok();
        let key = match earlier {
            Some(earlier) if earlier.settings == settings => earlier.key,
            Some(_) if !force => {
                return Err(CommandError::usage(anyhow!(
                    "there is unfinished work on `{}` with other inputs or settings",
                    output.display()
                ))
                .with_hint("give those again to go on with it, or forget it with --force"));
            }
            _ => {
                let key = random_bytes()?;
                for entry in fs::read_dir(&folder).with_context(failed)? {
                    let path = entry.with_context(failed)?.path();
                    if path.is_dir() {
                        fs::remove_dir_all(path).with_context(failed)?;
                    }
                }
                let text = serde_json::to_string(&Begun { settings, key })?;
                begun.set_len(0).with_context(failed)?;
                io::Seek::rewind(&mut begun).with_context(failed)?;
                begun.write_all(text.as_bytes()).with_context(failed)?;
                begun.sync_all().with_context(failed)?;
                key
            }
        };
        let mut work = Self {
            folder,
            _lock: begun,
            key,
            parts: Vec::new(),
            rows_done: 0,
            rows_sha256: [0; 32],
            tally: Tally::default(),
        };
        while let Some(finished) = read_part(&work.next_part()) {
            work.take(finished);
        }
        Ok(work)
    }

    fn take(&mut self, finished: FinishedPart) {
        self.tally.add(&finished.tally);
        self.rows_done = finished.rows_until;
        self.rows_sha256 = finished.rows_sha256;
        self.parts.push((self.next_part(), finished.part));
    }

    /// Where the next part is written.
    pub(super) fn next_part(&self) -> PathBuf {
        self.folder.join(format!("part-{:05}", self.parts.len()))
    }

    /// Notes that the next part is finished, with the rows up to `rows_until`.
    ///
    /// # Errors
    ///
    /// That it cannot be written.
    pub(super) fn finish_part(
        &mut self,
        part: Part,
        tally: Tally,
        rows_until: u64,
        rows_sha256: [u8; 32],
    ) -> Result<(), CommandError> {
        let folder = self.next_part();
        let finished = FinishedPart {
            rows_until,
            rows_sha256,
            tally,
            part,
        };
        let text = serde_json::to_string(&finished)?;
        let beside = folder.join("part.json.new");
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, folder.join("part.json"))
        });
        written.with_context(|| format!("cannot write in `{}`", folder.display()))?;
        self.take(finished);
        Ok(())
    }

    /// Forgets the work, which is done.
    ///
    /// # Errors
    ///
    /// That the folder cannot be removed.
    pub(super) fn remove(self) -> Result<(), CommandError> {
        fs::remove_dir_all(&self.folder)
            .with_context(|| format!("cannot remove `{}`", self.folder.display()))?;
        Ok(())
    }
}

/// A folder beside the output, hidden, under its name.
fn folder_of(output: &Path) -> Result<PathBuf, CommandError> {
    let name = output.file_name().ok_or_else(|| {
        CommandError::usage(anyhow!(
            "`{}` is no name of a folder that could be written",
            output.display()
        ))
    })?;
    Ok(output.with_file_name(format!(".{}.screening", name.to_string_lossy())))
}

/// The file that says what the work was begun with. Nobody else may enter the folder, which has the key in it.
fn begin(folder: &Path) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("begun.json"))
}

/// A part, if it is finished and whole.
fn read_part(folder: &Path) -> Option<FinishedPart> {
    let text = fs::read(folder.join("part.json")).ok()?;
    let finished: FinishedPart = serde_json::from_slice(&text).ok()?;
    finished.part.is_whole(folder).then_some(finished)
}
