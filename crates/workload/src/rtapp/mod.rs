//! Translation of the JSON workloads of rt-app(1) into programs.
//!
//! ```text
//! text ──► json: values with their places ──► parse: Document ──► translate: Program, checked, and notes
//! ```
//! The grammar follows rt-app's tutorial (doc/tutorial.txt in the sources of rt-app 1.0 and later): JSON with
//! comments and commas before closing brackets; keys of events that may be repeated or carry a suffix (`run`,
//! `run1`); times in microseconds. `docs/rt-app.md` describes the points that the tutorial leaves open.

mod document;
mod error;
mod events;
mod fields;
mod global;
mod json;
mod measures;
mod tasks;
mod translate;

use crate::Program;

pub use error::{Place, RtAppError};

/// A program made from an rt-app document.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The program, which has passed [`crate::check`].
    pub program: Program,
    /// Requests of the document that have no effect, a sentence for each request.
    pub notes: Vec<String>,
}

/// Make a program called `name` from the rt-app document `text`.
///
/// `duration_s`, in seconds, takes the place of the document's `global.duration`. Errors name the place in the text.
pub fn read(name: &str, text: &str, duration_s: Option<u64>) -> Result<Reading, RtAppError> {
    let root = json::parse(text)?;
    let mut document = document::parse(&root)?;
    if let Some(seconds) = duration_s {
        document.global.duration_ns = Some(seconds.saturating_mul(1_000_000_000));
    }
    translate::program(name, &document)
}
