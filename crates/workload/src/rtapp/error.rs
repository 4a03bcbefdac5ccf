//! What is wrong with a document, and where.

use thiserror::Error;

use crate::error::ProgramError;

/// A place in a text, from 1; columns count characters.
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

/// Why a document cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum RtAppError {
    /// The text is no JSON.
    #[error("{place}: {reason}")]
    Syntax { place: Place, reason: String },
    /// Something in the document does not make sense; `path` leads to it, as in `tasks.thread0.run1`.
    #[error("{place}, {path}: {reason}")]
    Content { place: Place, path: String, reason: String },
    /// The program that it makes cannot run.
    #[error(transparent)]
    Program(#[from] ProgramError),
}
