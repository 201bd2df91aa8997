//! Which of the given sources can be read, so that one that cannot does not hide the others.

use std::{
    fs::File,
    io::{self, Seek as _},
    path::Path,
};

use agon_dataset::{
    Battles, Error, Input, InputReport, Progress, ReadOptions, Selection, read_battles,
};
use agon_remote::Remote;
use anyhow::Context as _;

use crate::{commands::rank::inputs, exit_code::CommandError};

const STANDARD_INPUT: &str = "-";

/// A source that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// As it was given, or the file of a given folder or pattern.
    pub(super) path: String,
    /// Why, with all causes.
    pub(super) detail: String,
}

/// The arguments as things that can be read one by one and more than once.
pub(super) struct Sources {
    units: Vec<Unit>,
    /// What standard input gave, where it has to be read more than once.
    spooled: Option<File>,
}

#[derive(Clone, PartialEq, Eq)]
struct Unit {
    argument: String,
    /// Whether it only stands in a folder that was given, and is passed over when it holds no votes.
    is_incidental: bool,
}

impl Sources {
    /// The arguments. Standard input beside others, or when all is read twice, is written to a temporary file.
    pub(super) fn new(arguments: &[String], is_read_twice: bool) -> Result<Self, CommandError> {
        let is_kept = is_read_twice || arguments.len() > 1;
        let spooled = if is_kept && arguments.iter().any(|input| input == STANDARD_INPUT) {
            let mut file = tempfile::tempfile().context("cannot make a temporary file")?;
            io::copy(&mut io::stdin(), &mut file)
                .context("cannot write standard input to a temporary file")?;
            Some(file)
        } else {
            None
        };
        let units = arguments
            .iter()
            .map(|argument| Unit {
                argument: argument.clone(),
                is_incidental: false,
            })
            .collect();
        Ok(Self { units, spooled })
    }

    /// The inputs of all that is left.
    pub(super) fn inputs(&self) -> Result<Vec<Input>, Error> {
        let mut inputs = Vec::new();
        for unit in &self.units {
            inputs.extend(self.inputs_of(unit)?);
        }
        Ok(inputs)
    }

    fn inputs_of(&self, unit: &Unit) -> Result<Vec<Input>, Error> {
        match &self.spooled {
            Some(file) if unit.argument == STANDARD_INPUT => {
                let again = || {
                    let mut file = file.try_clone()?;
                    file.rewind()?;
                    Ok(file)
                };
                let file = again().map_err(|source: io::Error| Error::Read {
                    path: STANDARD_INPUT.to_owned(),
                    source,
                })?;
                Ok(vec![Input::Reader {
                    name: STANDARD_INPUT.to_owned(),
                    reader: Box::new(file),
                }])
            }
            _ => inputs::inputs(std::slice::from_ref(&unit.argument)),
        }
    }

    /// Leaves out what cannot be read, and says what that is.
    ///
    /// Each source is read by itself; what of a folder or a pattern can be read stays.
    pub(super) fn take_out_unreadable(
        &mut self,
        options: &ReadOptions<'_>,
        selection: &Selection<'_>,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<Unreadable> {
        // What is rejected is told when the readable ones are read.
        let options = ReadOptions {
            rejects: None,
            checksums: false,
            ..*options
        };
        let mut read =
            |inputs: Result<Vec<Input>, Error>| -> Result<(Battles, InputReport), Error> {
                read_battles(inputs?, &options, selection, on_progress)
            };
        let mut unreadable = Vec::new();
        let mut readable = Vec::new();
        for unit in std::mem::take(&mut self.units) {
            let Err(error) = read(self.inputs_of(&unit)) else {
                readable.push(unit);
                continue;
            };
            let files = files_of(&unit);
            if files.is_empty() {
                unreadable.push(Unreadable {
                    path: if Remote::is_address(&unit.argument) {
                        agon_remote::shown(&unit.argument)
                    } else {
                        unit.argument
                    },
                    detail: in_full(error),
                });
                continue;
            }
            for file in files {
                match read(self.inputs_of(&file)) {
                    Ok(_) => readable.push(file),
                    Err(error) if file.is_incidental && is_no_votes(&error) => {}
                    Err(error) => unreadable.push(Unreadable {
                        path: file.argument,
                        detail: in_full(error),
                    }),
                }
            }
        }
        self.units = readable;
        unreadable
    }

    /// Whether there is more than one thing to read.
    pub(super) fn is_many(&self) -> bool {
        self.units.len() > 1 || self.units.iter().any(|unit| !files_of(unit).is_empty())
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}

/// The files of a folder or a pattern, each by itself; none for anything else.
fn files_of(unit: &Unit) -> Vec<Unit> {
    if unit.argument == STANDARD_INPUT || Remote::is_address(&unit.argument) {
        return Vec::new();
    }
    let files = Input::from_argument(&unit.argument)
        .local_files()
        .unwrap_or_default();
    let is_the_argument = |file: &Path| file == Path::new(&unit.argument);
    if files.iter().any(|file| is_the_argument(file)) {
        return Vec::new();
    }
    let is_incidental = Path::new(&unit.argument).is_dir();
    files
        .into_iter()
        .filter_map(|file| {
            // A name that is no UTF-8 cannot be an argument; the folder is then told of as a whole.
            Some(Unit {
                argument: file.to_str()?.to_owned(),
                is_incidental,
            })
        })
        .collect()
}

/// Whether a file is something else than votes, rather than votes that cannot be read.
fn is_no_votes(error: &Error) -> bool {
    matches!(
        error,
        Error::UnknownFormat { .. }
            | Error::MissingColumns { .. }
            | Error::NoVotes { .. }
            | Error::NoJsonObject { .. }
    )
}

/// An error with all its causes in one line.
fn in_full(error: Error) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
