//! Hidden subcommand: the fresh image that the operation `exec` of `work` executes.

use clap::Args;

use crate::error::LoadError;
use crate::executor::image;

/// Touches memory, computes, exits.
#[derive(Debug, Args)]
pub struct Arguments {
    rounds: u64,
    bytes: u64,
}

pub(super) fn execute(arguments: &Arguments) -> Result<(), LoadError> {
    let memory = |source| LoadError::Memory { what: "the image's memory", source };
    image::perform(arguments.rounds, arguments.bytes).map_err(memory)
}
