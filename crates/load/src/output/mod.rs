//! Output of a run: the JSON document, and the text.

mod document;
mod text;

use std::io::Write;

use serde::Serialize;

pub use document::Document;
pub use text::text;

use crate::error::LoadError;

/// Print lines to standard output and flush the stream.
pub fn print(lines: &[String]) -> Result<(), LoadError> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}").map_err(LoadError::system("writing to standard output"))?;
    }
    out.flush().map_err(LoadError::system("writing to standard output"))
}

/// Print an error.
#[expect(clippy::print_stderr, reason = "the edge of the program")]
pub fn complain(error: &LoadError) {
    eprintln!("schedload: {error}");
}

/// Print a value as one line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), LoadError> {
    let text = serde_json::to_string(value).map_err(|error| LoadError::Usage(error.to_string()))?;
    print(&[text])
}
