//! What can be wrong with a trace as a whole. Damage within its data is no error: see [`crate::Damage`].

use std::path::{Path, PathBuf};

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a trace, or what was asked of it, cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system says no.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not a trace of any known format.
    #[error("{path} is not a trace: {reason}", path = path.display())]
    NotATrace {
        /// The file or directory.
        path: PathBuf,
        /// What was looked for and not found.
        reason: String,
    },
    /// A trace that uses what this decoder does not know.
    #[error("{path}: {what} cannot be read", path = path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The feature, by the name that the format's specification gives it.
        what: String,
    },
    /// The description of the trace (metadata, head, formats) is damaged: nothing can be decoded.
    #[error("{path} is damaged at byte {offset}: {what}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// A selection names an event or a field that the trace does not have.
    #[error("the trace has no {0}")]
    Unknown(String),
    /// More than the result can hold.
    #[error("{0} is more than fits into one result: select fewer events")]
    TooMuch(String),
    /// The receiver of the batches could not take them.
    #[error("{0}")]
    Sink(String),
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// A file of a trace that is a link to another.
    pub(crate) fn linked(path: &Path) -> Self {
        let reason = "a link inside a trace is not followed: put the file itself there".into();
        Self::NotATrace { path: path.to_owned(), reason }
    }

    pub(crate) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, what: what.into() }
    }

    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        Self::Unsupported { path: path.to_owned(), what: what.into() }
    }
}
