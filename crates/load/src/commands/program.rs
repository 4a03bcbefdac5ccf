//! The programs of the library as subcommands.

use clap::Subcommand;
use schedlab_workload::Program;

use super::{hackbench, pipetest};
use crate::error::LoadError;
use crate::executor::{self, Outcome, Rate};
use crate::output::{self, Document};

/// A library program with its parameters.
#[derive(Debug, Subcommand)]
pub enum ProgramCommand {
    #[allow(missing_docs, reason = "the arguments are documented")]
    Hackbench(hackbench::Arguments),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Pipetest(pipetest::Arguments),
}

/// What a subcommand makes of its arguments.
pub struct Prepared {
    /// The program to run.
    pub program: Program,
    /// The parameters as a JSON object.
    pub parameters: serde_json::Value,
    /// Lines to print before the run.
    pub heading: Vec<String>,
    /// How to show the outcome as text.
    pub text: fn(&Outcome) -> Vec<String>,
}

impl Prepared {
    /// A program that is shown in the general way.
    pub fn new(program: Program, parameters: &impl serde::Serialize) -> Self {
        let parameters = serde_json::to_value(parameters).unwrap_or_default();
        Self { program, parameters, heading: Vec::new(), text: output::text }
    }
}

impl ProgramCommand {
    /// Makes the program; an error names the parameter that is out of range.
    pub fn prepare(&self) -> Result<Prepared, LoadError> {
        match self {
            Self::Hackbench(arguments) => arguments.prepare(),
            Self::Pipetest(arguments) => arguments.prepare(),
        }
    }
}

/// Runs a library program and prints its outcome.
pub fn execute(command: &ProgramCommand, rate: Option<Rate>, json: bool) -> Result<(), LoadError> {
    perform(command.prepare()?, rate, json)
}

/// Runs a prepared program and prints its outcome.
pub fn perform(prepared: Prepared, rate: Option<Rate>, json: bool) -> Result<(), LoadError> {
    if !json {
        output::print(&prepared.heading)?;
    }
    let program = prepared.program.clone();
    let outcome = executor::run(prepared.program, rate)?;
    if json {
        return output::print_json(&Document::new(&program, prepared.parameters, outcome));
    }
    output::print(&(prepared.text)(&outcome))
}
