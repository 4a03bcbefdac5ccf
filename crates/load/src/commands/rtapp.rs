//! `schedload rt-app`: a workload in the JSON of rt-app(1).

use std::io::Read;

use clap::Args;
use schedlab_workload::rtapp;

use super::program::{Prepared, perform};
use crate::error::LoadError;
use crate::executor::Settings;
use crate::limits;
use crate::output;

/// Runs a workload written for rt-app.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The file, or `-` for standard input.
    file: String,
    /// End the run after so many seconds, whatever the file says.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    duration: Option<u64>,
    /// Print the program that the file makes, as JSON for `schedload run`, instead of running it.
    #[arg(long)]
    show: bool,
}

pub(super) fn execute(arguments: &Arguments, settings: &Settings, json: bool) -> Result<(), LoadError> {
    let failed = |reason: String| LoadError::File { path: arguments.file.clone(), reason };
    let mut text = String::new();
    let read = if arguments.file == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::File::open(&arguments.file).and_then(|mut file| file.read_to_string(&mut text)).map(drop)
    };
    read.map_err(|error| failed(error.to_string()))?;
    let name = arguments.file.rsplit('/').next().unwrap_or_default();
    let name = if name == "-" { "rt-app" } else { name.strip_suffix(".json").unwrap_or(name) };
    let reading = rtapp::read(name, &text, arguments.duration).map_err(|error| failed(error.to_string()))?;
    if arguments.show {
        return output::print_json(&reading.program);
    }
    limits::ensure_memory(&reading.program)?;
    let parameters = serde_json::json!({ "file": arguments.file, "notes": reading.notes });
    let heading = reading.notes.iter().map(|note| format!("note: {note}")).collect();
    perform(Prepared { heading, ..Prepared::new(reading.program, &parameters) }, settings, json)
}
