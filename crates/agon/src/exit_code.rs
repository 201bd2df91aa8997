//! The exit codes of every command: a contract with scripts, documented in `docs/operating.md`.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// 0: done.
    Done,
    /// 1: failed, for a reason outside the input and the command line (disk, network, a bug).
    Failed,
    /// 2: wrong usage: an unknown flag, a bad value, a configuration that cannot be used.
    Usage,
    /// 3: input refused: not readable as any known format, empty, or rejected under `--strict`.
    InputRefused,
    /// 4: `agon screen` found what `--fail-on` names; its output is written.
    Found,
}

impl ExitCode {
    /// All of them, with their meaning in one line, for the reference.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Done, "done"),
        (
            Self::Failed,
            "failed: disk, network, or an error of Agon's own",
        ),
        (Self::Usage, "wrong usage: flag, value or configuration"),
        (
            Self::InputRefused,
            "input refused: unknown format, no battles, or a rejected row under `--strict`",
        ),
        (
            Self::Found,
            "something was found that `agon screen --fail-on` names; the output is written",
        ),
    ];

    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::InputRefused => 3,
            Self::Found => 4,
        }
    }
}

/// An error at the edge: what went wrong, what to do about it, and the exit code.
#[derive(Debug)]
pub struct CommandError {
    /// The chain of causes.
    pub error: anyhow::Error,
    /// What the user may do, one line each.
    pub hints: Vec<String>,
    /// The exit code.
    pub exit_code: ExitCode,
}

impl CommandError {
    /// Wrong usage.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            error: error.into(),
            hints: Vec::new(),
            exit_code: ExitCode::Usage,
        }
    }

    /// Input refused.
    pub fn input_refused(error: impl Into<anyhow::Error>) -> Self {
        Self {
            error: error.into(),
            hints: Vec::new(),
            exit_code: ExitCode::InputRefused,
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl<E: Into<anyhow::Error>> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            hints: Vec::new(),
            exit_code: ExitCode::Failed,
        }
    }
}
