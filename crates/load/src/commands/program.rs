//! The programs of the library as subcommands.

use clap::Subcommand;
use schedlab_workload::Program;

use super::{
    busyloop, forkstorm, futex, hackbench, kernbench, pgbench, pipetest, rr, schedbench, scripts, stream,
    tbench, wakeup, yielding,
};
use crate::error::LoadError;
use crate::executor::{self, Outcome, Settings};
use crate::output::{self, Document};

/// A library program with its parameters.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "the arguments of each program are documented")]
pub enum ProgramCommand {
    Hackbench(hackbench::Arguments),
    Pipetest(pipetest::Arguments),
    Stream(stream::Arguments),
    Rr(rr::Arguments),
    Tbench(tbench::Arguments),
    Pgbench(pgbench::Arguments),
    Kernbench(kernbench::Arguments),
    Scripts(scripts::Arguments),
    Schedbench(schedbench::Arguments),
    Wakeup(wakeup::Arguments),
    Yield(yielding::Arguments),
    Futex(futex::Arguments),
    Forkstorm(forkstorm::Arguments),
    #[command(name = "busyloop")]
    BusyLoop(busyloop::Arguments),
}

/// What a subcommand makes of its arguments.
pub struct Prepared {
    /// The program to run.
    pub program: Program,
    /// The parameters as a JSON object.
    pub parameters: serde_json::Value,
    /// Lines to print before the run.
    pub heading: Vec<String>,
    /// Makes the place that the program's commands need, until it is dropped.
    pub workplace: Option<fn() -> Result<scripts::Workplace, LoadError>>,
    /// How to show the outcome as text.
    pub text: fn(&Outcome) -> Vec<String>,
}

impl Prepared {
    /// A program that is shown in the general way.
    pub fn new(program: Program, parameters: &impl serde::Serialize) -> Self {
        let parameters = serde_json::to_value(parameters).unwrap_or_default();
        Self { program, parameters, heading: Vec::new(), workplace: None, text: output::text }
    }
}

impl ProgramCommand {
    /// Makes the program; an error names the parameter that is out of range.
    pub fn prepare(&self) -> Result<Prepared, LoadError> {
        match self {
            Self::Hackbench(arguments) => arguments.prepare(),
            Self::Pipetest(arguments) => arguments.prepare(),
            Self::Stream(arguments) => arguments.prepare(),
            Self::Rr(arguments) => arguments.prepare(),
            Self::Tbench(arguments) => arguments.prepare(),
            Self::Pgbench(arguments) => arguments.prepare(),
            Self::Kernbench(arguments) => arguments.prepare(),
            Self::Scripts(arguments) => arguments.prepare(),
            Self::Schedbench(arguments) => arguments.prepare(),
            Self::Wakeup(arguments) => arguments.prepare(),
            Self::Yield(arguments) => arguments.prepare(),
            Self::Futex(arguments) => arguments.prepare(),
            Self::Forkstorm(arguments) => arguments.prepare(),
            Self::BusyLoop(arguments) => arguments.prepare(),
        }
    }
}

/// Runs a library program and prints its outcome.
pub fn execute(command: &ProgramCommand, settings: &Settings, json: bool) -> Result<(), LoadError> {
    perform(command.prepare()?, settings, json)
}

/// Runs a prepared program and prints its outcome.
pub fn perform(prepared: Prepared, settings: &Settings, json: bool) -> Result<(), LoadError> {
    if !json {
        output::print(&prepared.heading)?;
    }
    let _workplace = prepared.workplace.map(|enter| enter()).transpose()?;
    let program = prepared.program.clone();
    let outcome = executor::run(prepared.program, settings)?;
    if json {
        return output::print_json(&Document::new(&program, prepared.parameters, outcome));
    }
    output::print(&(prepared.text)(&outcome))
}
