//! Faults of a document, with their place.

use thiserror::Error;

use crate::error::ProgramError;

/// A place in a text. Lines and columns start at 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Reason why a document cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum RtAppError {
    /// The text is not JSON.
    #[error("{place}: {reason}")]
    Syntax { place: Place, reason: String },
    /// A member of the document is not valid. `path` is its path in the document, such as
    /// `tasks.thread0.run1`.
    #[error("{place}, {path}: {reason}")]
    Content { place: Place, path: String, reason: String },
    /// The resulting program cannot run.
    #[error(transparent)]
    Program(#[from] ProgramError),
}
