//! `schedload show`: the program that a subcommand would run.

use clap::Args;

use super::program::ProgramCommand;
use crate::error::LoadError;
use crate::output;

/// Prints the program that a subcommand with these parameters runs, as JSON for `schedload run`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    program: ProgramCommand,
}

pub(super) fn execute(arguments: &Arguments) -> Result<(), LoadError> {
    output::print_json(&arguments.program.prepare()?.program)
}
