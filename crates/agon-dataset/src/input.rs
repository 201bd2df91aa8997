//! What to read: files, folders, patterns and streams; and what their first bytes say they are.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{self, Read, Seek as _, SeekFrom},
    path::{Component, Path, PathBuf},
};

use glob::Pattern;

use crate::Error;

/// Bytes looked at to recognise a format.
const HEAD_BYTES: usize = 16 * 1024;

/// As in a shell, hidden files are matched by patterns that say so only.
const MATCH_OPTIONS: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Something to read votes from.
pub enum Input {
    /// A file, or a folder: the `data/*.parquet` of a release, or else every file in it that holds votes, in the order of their names.
    Path(PathBuf),
    /// A glob pattern such as `votes/*.csv`, whose matches are read in the order of their names.
    Pattern(String),
    /// A stream, read once to its end.
    Reader {
        /// How messages call it.
        name: String,
        /// The stream.
        reader: Box<dyn Read + Send>,
    },
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Pattern(pattern) => f.debug_tuple("Pattern").field(pattern).finish(),
            Self::Reader { name, .. } => f
                .debug_struct("Reader")
                .field("name", name)
                .finish_non_exhaustive(),
        }
    }
}

impl Input {
    /// Reads a command line argument: `-` is standard input; a path that exists is that path; what has `*`, `?` or `[` in it is a pattern; anything else is a path.
    pub fn from_argument(argument: &str) -> Self {
        if argument == "-" {
            return Self::Reader {
                name: argument.to_owned(),
                reader: Box::new(io::stdin()),
            };
        }
        let path = Path::new(argument);
        if !path.exists() && argument.contains(['*', '?', '[']) {
            return Self::Pattern(argument.to_owned());
        }
        Self::Path(path.to_owned())
    }
}

/// What the content of a source was recognised as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Parquet with the columns of VisionArena-Battle.
    VisionArenaBattle,
    /// Parquet with at least the models and the winner.
    BattlesParquet,
    /// A table in text, the fields separated by commas, semicolons, tabs or bars.
    BattlesCsv,
    /// One JSON array of objects.
    BattlesJson,
    /// One JSON object on each line.
    BattlesJsonLines,
    /// Not a single byte.
    Empty,
}

impl Format {
    /// The name that appears in JSON and in documentation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VisionArenaBattle => "vision-arena-battle",
            Self::BattlesParquet => "battles-parquet",
            Self::BattlesCsv => "battles-csv",
            Self::BattlesJson => "battles-json",
            Self::BattlesJsonLines => "battles-jsonl",
            Self::Empty => "empty",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing to read from first to last.
pub(crate) struct Source {
    /// As messages call it.
    pub(crate) path: String,
    pub(crate) content: Content,
    /// Whether it only stands in a folder that was given, and may thus be something else than votes.
    pub(crate) is_incidental: bool,
}

pub(crate) enum Content {
    File(PathBuf),
    Reader(Box<dyn Read + Send>),
}

/// The sources that the inputs stand for.
pub(crate) fn sources(inputs: Vec<Input>) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for input in inputs {
        match input {
            Input::Reader { name, reader } => sources.push(Source {
                path: name,
                content: Content::Reader(reader),
                is_incidental: false,
            }),
            Input::Path(path) => add_path(path, &mut sources)?,
            Input::Pattern(pattern) => {
                let paths = matching(&pattern)?;
                if paths.is_empty() {
                    return Err(Error::NothingToRead {
                        input: pattern,
                        detail: "no path matches this pattern",
                    });
                }
                for path in paths {
                    add_path(path, &mut sources)?;
                }
            }
        }
    }
    Ok(sources)
}

/// The paths that match a pattern, in the order of their names.
///
/// Only the patterns are the `glob` crate's: its walk through folders panics at a name that is not UTF-8.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let parsed = |text: &str| {
        Pattern::new(text).map_err(|source| Error::BadPattern {
            pattern: pattern.to_owned(),
            source,
        })
    };
    parsed(pattern)?;
    let mut found = vec![PathBuf::new()];
    for component in Path::new(pattern).components() {
        let part = match component {
            Component::Normal(part) => part.to_str().filter(|part| part.contains(['*', '?', '['])),
            _ => None,
        };
        let mut next = Vec::new();
        match part {
            None => {
                let paths = found.into_iter().map(|path| path.join(component));
                next.extend(paths.filter(|path| fs::symlink_metadata(path).is_ok()));
            }
            Some("**") => {
                for path in found {
                    add_folders(path, &mut next)?;
                }
            }
            Some(part) => {
                let part = parsed(part)?;
                for path in found {
                    let names = names_in(&path)?;
                    let names = names
                        .into_iter()
                        .filter(|name| part.matches_with(&name.to_string_lossy(), MATCH_OPTIONS));
                    next.extend(names.map(|name| path.join(name)));
                }
            }
        }
        found = next;
    }
    Ok(found)
}

/// A folder and all that are in it, hidden ones and links left out.
fn add_folders(folder: PathBuf, all: &mut Vec<PathBuf>) -> Result<(), Error> {
    let names = names_in(&folder)?;
    let below: Vec<PathBuf> = names
        .into_iter()
        .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
        .map(|name| folder.join(name))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()))
        .collect();
    all.push(folder);
    for folder in below {
        add_folders(folder, all)?;
    }
    Ok(())
}

/// The names in a folder, sorted; none where there is no folder.
fn names_in(folder: &Path) -> Result<Vec<OsString>, Error> {
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let names = fs::read_dir(here).and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<Vec<_>>>()
    });
    match names {
        Ok(mut names) => {
            names.sort_unstable();
            Ok(names)
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        Err(source) => Err(Error::Read {
            path: here.display().to_string(),
            source,
        }),
    }
}

fn add_path(path: PathBuf, sources: &mut Vec<Source>) -> Result<(), Error> {
    let metadata = fs::metadata(&path).map_err(|source| Error::Read {
        path: path.display().to_string(),
        source,
    })?;
    if !metadata.is_dir() {
        sources.push(Source {
            path: path.display().to_string(),
            content: Content::File(path),
            is_incidental: false,
        });
        return Ok(());
    }
    let data = path.join("data");
    let mut files = if data.is_dir() {
        files_in(&data)?
    } else {
        Vec::new()
    };
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "parquet")
    });
    let is_release = !files.is_empty();
    if !is_release {
        files = files_in(&path)?;
    }
    if files.is_empty() {
        return Err(Error::NothingToRead {
            input: path.display().to_string(),
            detail: "the folder has neither `data/*.parquet` nor other files",
        });
    }
    sources.extend(files.into_iter().map(|file| Source {
        path: file.display().to_string(),
        content: Content::File(file),
        is_incidental: !is_release,
    }));
    Ok(())
}

/// The files of a folder, hidden ones left out, in the order of their names.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: folder.display().to_string(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// What the first bytes promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Empty,
    Parquet,
    Delimited,
    JsonArray,
    JsonLines,
}

/// An opened source.
pub(crate) enum Opened {
    /// A file that can be sought in, at its start.
    File { file: File, bytes: u64 },
    /// A stream, at its start.
    Stream(Box<dyn Read + Send>),
}

/// Opens a source and looks at its first bytes.
pub(crate) fn open(path: &str, content: Content) -> Result<(Opened, Shape), Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut head = Vec::new();
    match content {
        Content::File(file_path) => {
            let mut file = File::open(&file_path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            (&mut file)
                .take(HEAD_BYTES as u64)
                .read_to_end(&mut head)
                .map_err(failed)?;
            let shape = shape_of(path, &head)?;
            if !metadata.is_file() {
                // Pipes and devices have no length and cannot be rewound.
                let stream = Box::new(io::Cursor::new(head).chain(file));
                return Ok((opened_stream(stream, shape).map_err(failed)?, shape));
            }
            file.rewind().map_err(failed)?;
            let bytes = metadata.len();
            Ok((Opened::File { file, bytes }, shape))
        }
        Content::Reader(mut reader) => {
            (&mut reader)
                .take(HEAD_BYTES as u64)
                .read_to_end(&mut head)
                .map_err(failed)?;
            let shape = shape_of(path, &head)?;
            let stream = Box::new(io::Cursor::new(head).chain(reader));
            Ok((opened_stream(stream, shape).map_err(failed)?, shape))
        }
    }
}

/// Parquet has its directory at its end, so a stream of it is written to a temporary file first.
fn opened_stream(mut stream: Box<dyn Read + Send>, shape: Shape) -> io::Result<Opened> {
    if shape != Shape::Parquet {
        return Ok(Opened::Stream(stream));
    }
    let mut file = tempfile::tempfile()?;
    let bytes = io::copy(&mut stream, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Opened::File { file, bytes })
}

fn shape_of(path: &str, head: &[u8]) -> Result<Shape, Error> {
    let unknown = |found| {
        Err(Error::UnknownFormat {
            path: path.to_owned(),
            found,
        })
    };
    match head {
        [] => return Ok(Shape::Empty),
        [b'P', b'A', b'R', b'1', ..] => return Ok(Shape::Parquet),
        [b'P', b'A', b'R', b'E', ..] => {
            return unknown("an encrypted Parquet file");
        }
        [0x1f, 0x8b, ..] => return unknown("compressed with gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => return unknown("compressed with zstd"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => return unknown("compressed with bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => return unknown("compressed with xz"),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => return unknown("a zip archive"),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => return unknown("an Arrow file"),
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => return unknown("an SQLite database"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return unknown("UTF-16 text"),
        _ => {}
    }
    let text = without_byte_order_mark(head);
    if memchr::memchr(0, text).is_some() {
        return unknown("binary data");
    }
    Ok(match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Shape::JsonArray,
        Some(b'{') => Shape::JsonLines,
        _ => Shape::Delimited,
    })
}

/// The bytes without a UTF-8 byte order mark.
pub(crate) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
