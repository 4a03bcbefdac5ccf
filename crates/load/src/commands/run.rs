//! `schedload run`: a program from a JSON file.

use std::io::Read;

use clap::Args;
use schedlab_workload::Program;

use super::program::{Prepared, perform};
use crate::error::LoadError;
use crate::executor::Settings;

/// Runs a program given as JSON (see `schedload show`).
#[derive(Debug, Args)]
pub struct Arguments {
    /// The file, or `-` for standard input.
    file: String,
}

pub(super) fn execute(arguments: &Arguments, settings: &Settings, json: bool) -> Result<(), LoadError> {
    let failed = |reason: String| LoadError::File { path: arguments.file.clone(), reason };
    let text = if arguments.file == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(&arguments.file)
    };
    let text = text.map_err(|error| failed(error.to_string()))?;
    let program: Program = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let parameters = serde_json::json!({ "file": arguments.file });
    perform(Prepared::new(program, &parameters), settings, json)
}
