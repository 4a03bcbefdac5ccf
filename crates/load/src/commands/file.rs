//! `schedload run` and `schedload rt-app`: programs from files.

use std::io::Read;

use clap::Args;
use schedlab_workload::{Program, rtapp};
use serde_json::json;

use super::workload::perform;
use crate::error::LoadError;
use crate::executor::{Settings, ensure_memory};
use crate::output;

/// Run a program given as JSON (see `schedload show`).
#[derive(Debug, Args)]
pub struct ProgramFile {
    /// The file, or `-` for standard input.
    file: String,
}

/// Run a workload written for rt-app.
#[derive(Debug, Args)]
pub struct RtAppFile {
    /// The file, or `-` for standard input.
    file: String,
    /// Duration of the run in seconds; replaces `global.duration` of the file.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    duration: Option<u64>,
    /// Print the file's program as JSON for `schedload run`, without running the program.
    #[arg(long)]
    show: bool,
}

impl ProgramFile {
    pub(super) fn execute(&self, settings: &Settings, json: bool) -> Result<(), LoadError> {
        let text = read(&self.file)?;
        let program: Program =
            serde_json::from_str(&text).map_err(|error| failed(&self.file, error.to_string()))?;
        perform(program, json!({ "file": self.file }), &[], |_| None, settings, json)
    }
}

impl RtAppFile {
    pub(super) fn execute(&self, settings: &Settings, json: bool) -> Result<(), LoadError> {
        let text = read(&self.file)?;
        let name = match self.file.rsplit('/').next().unwrap_or_default() {
            "-" => "rt-app",
            name => name.strip_suffix(".json").unwrap_or(name),
        };
        let reading =
            rtapp::read(name, &text, self.duration).map_err(|error| failed(&self.file, error.to_string()))?;
        if self.show {
            return output::print_json(&reading.program);
        }
        ensure_memory(&reading.program)?;
        let heading: Vec<String> = reading.notes.iter().map(|note| format!("note: {note}")).collect();
        let parameters = json!({ "file": self.file, "notes": reading.notes });
        perform(reading.program, parameters, &heading, |_| None, settings, json)
    }
}

fn failed(path: &str, reason: String) -> LoadError {
    LoadError::File { path: path.to_owned(), reason }
}

/// The text of a file, or of standard input for `-`.
fn read(path: &str) -> Result<String, LoadError> {
    let text = if path == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| failed(path, error.to_string()))
}
