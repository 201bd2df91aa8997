//! What to read: files, folders, patterns, streams and remote objects; and what their first bytes say they are.
//!
//! `local` finds files, `shape` recognises what they are, `container` and `archive` take compressions apart, and `access` is how bytes are fetched.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use sha2::{Digest as _, Sha256};

use crate::Error;

pub mod access;
mod archive;
mod container;
mod local;
mod shape;
#[cfg(test)]
mod tests;

pub use access::RandomAccess;
pub(crate) use container::Outer;
pub use container::{LAYERS_MAX, RATIO_FREE_BYTES, UnpackLimits};
pub(crate) use shape::{Shape, without_byte_order_mark};

use access::{Cursor, LocalFile, read_range};
use container::{Checksum, Metered, Stream, Watched, sha256_of, spool, unwrap};
use shape::{HEAD_BYTES, Recognised, is_zip, recognise};

/// Something to read votes from.
///
/// Whatever it is may be compressed (gzip, zstd, bzip2) or a zip archive, whose files are then read in the order of their names.
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
    /// Bytes that can be read at any place, such as an object behind a network. Of Parquet, only what is needed is read.
    Object {
        /// The bytes.
        object: Arc<dyn RandomAccess>,
        /// Whether it only stands in a folder that was given, and is skipped when it holds no votes.
        is_incidental: bool,
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
            Self::Object {
                object,
                is_incidental,
            } => f
                .debug_struct("Object")
                .field("name", &object.name())
                .field("is_incidental", is_incidental)
                .finish(),
        }
    }
}

impl Input {
    /// The files that would be read, for whoever must not write to them; none for streams and objects.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] for a path that leads nowhere, [`Error::BadPattern`], and [`Error::NothingToRead`] for an empty folder.
    pub fn local_files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut found = Vec::new();
        match self {
            Self::Path(path) => local::add_path(path.clone(), &mut found)?,
            Self::Pattern(pattern) => {
                for path in local::matching(pattern)? {
                    local::add_path(path, &mut found)?;
                }
            }
            Self::Reader { .. } | Self::Object { .. } => {}
        }
        Ok(found
            .into_iter()
            .filter_map(|source| match source.content {
                Content::File(path) => Some(path),
                _ => None,
            })
            .collect())
    }

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
    /// VisionArena-Battle, and the releases that Agon writes.
    VisionArenaBattle,
    /// VisionArena-Chat, which has no votes: only [`crate::read_conversations`] takes it.
    VisionArenaChat,
    /// vision-arena-bench, of which the first version had votes.
    VisionArenaBench,
    /// chatbot_arena_conversations, the 33 thousand battles of 2023.
    ChatbotArena33k,
    /// arena-human-preference-55k, whose winner is three columns.
    HumanPreference55k,
    /// arena-human-preference-100k.
    HumanPreference100k,
    /// arena-human-preference-140k.
    HumanPreference140k,
    /// arena-expert-5k.
    ArenaExpert5k,
    /// search-arena, of both releases.
    SearchArena,
    /// webdev-arena-preference-10k.
    WebDevArena,
    /// comparia-votes, whose winner is a name or a flag.
    CompariaVotes,
    /// The later votes of compar:IA, a choice for each turn.
    CompariaChoices,
    /// WildVision's battles.
    WildVisionBattle,
    /// The human judgements of MT-bench.
    MtBenchHuman,
    /// The cleaned battles of GenAI-Arena.
    GenAiArena,
    /// A log of FastChat's web server.
    FastChatLog,
    /// Feedback exported from Open WebUI.
    OpenWebUiFeedback,
    /// The human test set of PandaLM, three labels for each pair.
    PandaLm,
    /// Conversations of PRISM.
    Prism,
    /// Outcomes of Copilot Arena.
    CopilotArena,
    /// Conversations with one model each, without votes: only [`crate::read_conversations`] takes them.
    Chats,
    /// A square table of wins.
    WinMatrix,
    /// The three columns that Evalica reads.
    Evalica,
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
            Self::VisionArenaChat => "vision-arena-chat",
            Self::VisionArenaBench => "vision-arena-bench",
            Self::ChatbotArena33k => "chatbot-arena-33k",
            Self::HumanPreference55k => "arena-human-preference-55k",
            Self::HumanPreference100k => "arena-human-preference-100k",
            Self::HumanPreference140k => "arena-human-preference-140k",
            Self::ArenaExpert5k => "arena-expert-5k",
            Self::SearchArena => "search-arena",
            Self::WebDevArena => "webdev-arena",
            Self::CompariaVotes => "comparia-votes",
            Self::CompariaChoices => "comparia-choices",
            Self::WildVisionBattle => "wildvision-battle",
            Self::MtBenchHuman => "mt-bench-human",
            Self::GenAiArena => "genai-arena",
            Self::FastChatLog => "fastchat-log",
            Self::OpenWebUiFeedback => "open-webui-feedback",
            Self::PandaLm => "pandalm",
            Self::Prism => "prism",
            Self::CopilotArena => "copilot-arena",
            Self::Chats => "chats",
            Self::WinMatrix => "win-matrix",
            Self::Evalica => "evalica",
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
    /// The file in an archive that it is.
    pub(crate) member: Option<String>,
    /// Whether it only stands in a folder or an archive that was given, and may thus be something else than votes.
    pub(crate) is_incidental: bool,
}

pub(crate) enum Content {
    File(PathBuf),
    Reader(Stream),
    Object(Arc<dyn RandomAccess>),
    Member(archive::Member),
    /// It cannot be read, which is told when its turn comes.
    Refused(Box<Error>),
}

/// The sources that the inputs stand for.
pub(crate) fn sources(inputs: Vec<Input>, limits: UnpackLimits) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for input in inputs {
        match input {
            Input::Reader { name, reader } => sources.push(Source {
                path: name,
                content: Content::Reader(reader),
                member: None,
                is_incidental: false,
            }),
            Input::Object {
                object,
                is_incidental,
            } => sources.push(Source {
                path: object.name().to_owned(),
                content: Content::Object(object),
                member: None,
                is_incidental,
            }),
            Input::Path(path) => local::add_path(path, &mut sources)?,
            Input::Pattern(pattern) => {
                let paths = local::matching(&pattern)?;
                if paths.is_empty() {
                    return Err(Error::NothingToRead {
                        input: pattern,
                        detail: "no path matches this pattern",
                    });
                }
                for path in paths {
                    local::add_path(path, &mut sources)?;
                }
            }
        }
    }
    let mut all = Vec::with_capacity(sources.len());
    for source in sources {
        add_members(source, limits, &mut all);
    }
    Ok(all)
}

/// Adds a source, or the files in it when it is a zip archive.
fn add_members(source: Source, limits: UnpackLimits, all: &mut Vec<Source>) {
    let Source {
        path,
        content,
        is_incidental,
        ..
    } = source;
    let content = match archive_in(&path, content, limits) {
        Ok(Ok(access)) => {
            all.extend(archive::members(&path, access, is_incidental, limits));
            return;
        }
        Ok(Err(content)) => content,
        Err(error) => Content::Refused(Box::new(error)),
    };
    all.push(Source {
        path,
        content,
        member: None,
        is_incidental,
    });
}

/// The bytes of a zip archive, or the content as it was when it is none.
fn archive_in(
    path: &str,
    content: Content,
    limits: UnpackLimits,
) -> Result<Result<Arc<dyn RandomAccess>, Content>, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    match content {
        Content::File(file_path) => {
            let mut file = File::open(&file_path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if !metadata.is_file() || metadata.len() == 0 {
                // Pipes and devices have no length and cannot be rewound; some files of the system only seem to be empty.
                return archive_in(path, Content::Reader(Box::new(file)), limits);
            }
            let mut head = Vec::new();
            (&mut file).take(4).read_to_end(&mut head).map_err(failed)?;
            if !is_zip(&head) {
                return Ok(Err(Content::File(file_path)));
            }
            file.rewind().map_err(failed)?;
            let file = LocalFile::new(path.to_owned(), file, metadata.len());
            Ok(Ok(Arc::new(file)))
        }
        Content::Object(object) => {
            let head = read_range(object.as_ref(), 0..object.size().min(4)).map_err(failed)?;
            if is_zip(&head) {
                Ok(Ok(object))
            } else {
                Ok(Err(Content::Object(object)))
            }
        }
        Content::Reader(mut reader) => {
            let mut head = Vec::new();
            (&mut reader)
                .take(4)
                .read_to_end(&mut head)
                .map_err(failed)?;
            let is_zip = is_zip(&head);
            let mut stream: Stream = Box::new(io::Cursor::new(head).chain(reader));
            if !is_zip {
                return Ok(Err(Content::Reader(stream)));
            }
            // The directory of an archive is at its end.
            let access = spool(path, &mut (&mut stream).take(limits.bytes_max)).map_err(failed)?;
            Ok(Ok(access))
        }
        content => Ok(Err(content)),
    }
}

/// How sources are opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) limits: UnpackLimits,
    /// Compute the SHA-256 of what is read.
    pub(crate) checksums: bool,
    /// Also where it means to fetch all of what would be fetched in part.
    pub(crate) remote_checksums: bool,
}

impl Opening {
    /// Whether something that is read in part is read whole for its checksum.
    fn hashes(&self, access: &dyn RandomAccess) -> bool {
        self.checksums && (access.is_local() || self.remote_checksums)
    }

    fn running(&self) -> Checksum {
        if self.checksums {
            Checksum::Running(Arc::new(Mutex::new(Sha256::new())))
        } else {
            Checksum::Unwanted
        }
    }
}

/// An opened source.
pub(crate) struct Opened {
    pub(crate) body: Body,
    pub(crate) outer: Outer,
}

/// What there is to decode.
pub(crate) enum Body {
    /// Not a single byte.
    Empty,
    /// A Parquet file.
    Parquet(Arc<dyn RandomAccess>),
    /// Text of a shape, at its start.
    Text(Shape, Stream),
}

/// Opens a source, looks at its first bytes, and unpacks it.
pub(crate) fn open(path: &str, content: Content, opening: &Opening) -> Result<Opened, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let (stream, n_layers, outer): (Stream, usize, Outer) = match content {
        Content::Refused(error) => return Err(*error),
        Content::File(file_path) => {
            let file = File::open(&file_path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            let file = LocalFile::new(path.to_owned(), file, metadata.len());
            return open_object(path, Arc::new(file), opening);
        }
        Content::Object(object) => return open_object(path, object, opening),
        Content::Reader(reader) => {
            let outer = Outer::new(None, opening.running());
            (Box::new(Metered::new(path, reader, &outer)), 0, outer)
        }
        Content::Member(member) => {
            let (stream, outer) = member.open(path, opening)?;
            (stream, 1, outer)
        }
    };
    unwrapped(path, stream, n_layers, outer, opening)
}

fn open_object(
    path: &str,
    access: Arc<dyn RandomAccess>,
    opening: &Opening,
) -> Result<Opened, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let size = access.size();
    let head = read_range(access.as_ref(), 0..size.min(HEAD_BYTES as u64)).map_err(failed)?;
    let etag = access.etag().map(str::to_owned);
    if recognise(path, &head)? == Recognised::Plain(Shape::Parquet) {
        let checksum = if opening.hashes(access.as_ref()) {
            if access.is_local() {
                // Hashing and decoding take about as long, and need nothing of each other.
                Checksum::beside(&access)
            } else {
                Checksum::Known(sha256_of(&access).map_err(failed)?)
            }
        } else {
            Checksum::Unwanted
        };
        let mut outer = Outer::new(Some(size), checksum);
        outer.etag = etag;
        let access = Arc::new(Watched {
            access,
            outer: outer.clone(),
        });
        return Ok(Opened {
            body: Body::Parquet(access),
            outer,
        });
    }
    let mut outer = Outer::new(Some(size), opening.running());
    outer.etag = etag;
    let reader = Cursor::sequential(access);
    let stream = Box::new(Metered::new(path, reader, &outer));
    unwrapped(path, stream, 0, outer, opening)
}

fn unwrapped(
    path: &str,
    stream: Stream,
    n_layers: usize,
    outer: Outer,
    opening: &Opening,
) -> Result<Opened, Error> {
    let (mut stream, shape) = unwrap(path, stream, n_layers, opening.limits, &outer)?;
    let body = match shape {
        Shape::Empty => Body::Empty,
        Shape::Parquet => {
            let access = spool(path, &mut stream).map_err(|source| {
                outer.explain(Error::Read {
                    path: path.to_owned(),
                    source,
                })
            })?;
            Body::Parquet(access)
        }
        shape => Body::Text(shape, stream),
    };
    Ok(Opened { body, outer })
}
