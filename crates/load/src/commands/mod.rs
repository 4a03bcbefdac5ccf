//! Subcommands: arguments in, text or JSON out.
//!
//! Exit status: 0 success; 1 a run failed; 2 wrong usage; 128 + n stopped by signal n. The exit statuses of `exec` differ,
//! see [`exec`].

mod boot;
mod exec;
mod file;
mod list;
mod workload;

use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use schedlab_workload::check::samples::DEFAULT_SAMPLES;
use schedlab_workload::library::{Definition, workloads};

use crate::agent;
use crate::error::LoadError;
use crate::executor;
use crate::launcher::{LAUNCHER_FAILED, Order};
use crate::noise;
use crate::output;

/// Run scheduler workloads on this machine's kernel.
#[derive(Debug, Parser)]
#[command(name = "schedload", version, about, max_term_width = 100, subcommand_required = true)]
struct Options {
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Speed of computation in rounds per microsecond, instead of a measurement: runs with the `rounds_per_us` of an
    /// earlier run do the same work.
    #[arg(long, global = true, value_name = "RATE")]
    rounds_per_us: Option<f64>,
    /// Keep at most this number of samples of each series; a longer series keeps a random selection.
    #[arg(long, global = true, value_name = "NUM", default_value_t = DEFAULT_SAMPLES)]
    samples: u64,
}

// Subcommands that are not workloads. A doc comment would become the description of the program.
#[derive(Debug, Subcommand)]
enum Other {
    Run(file::ProgramFile),
    RtApp(file::RtAppFile),
    /// List the workloads with their parameters and metrics.
    List,
    Exec(Box<Order>),
    Noise(noise::Order),
    #[command(hide = true)]
    Agent(agent::Arguments),
    #[command(hide = true)]
    Boot(boot::Arguments),
    #[command(name = executor::image::SUBCOMMAND, hide = true)]
    Image(executor::image::Arguments),
}

const SHOW: &str = "show";

/// Parse the command line, run the chosen subcommand and return the exit status.
pub fn main() -> ExitCode {
    if let Some(status) = crate::boot::guard::run_if_started_as_guard() {
        return status;
    }
    let definitions = workloads();
    let parsed = command(&definitions).try_get_matches();
    match parsed.and_then(|matches| Ok((Options::from_arg_matches(&matches)?, matches))) {
        Ok((options, matches)) => dispatch(&definitions, &options, &matches),
        Err(error) => usage(&error),
    }
}

/// Return the complete command line, from which the man page is made.
pub fn command_line() -> Command {
    command(&workloads())
}

/// The command line: workloads, `show` with the same workloads, and the other subcommands.
fn command(definitions: &[Definition]) -> Command {
    let commands = || definitions.iter().map(workload::command);
    let show = Command::new(SHOW)
        .about("Prints the program that a workload with these parameters runs, as JSON for `schedload run`")
        .subcommand_required(true)
        .subcommands(commands());
    Other::augment_subcommands(Options::command().subcommands(commands())).subcommand(show)
}

/// Print an error of the command line, or help, and return the exit status.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let launching = std::env::args().nth(1).is_some_and(|first| first == "exec");
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if launching => ExitCode::from(LAUNCHER_FAILED),
        code => ExitCode::from(code as u8),
    }
}

fn dispatch(definitions: &[Definition], options: &Options, matches: &ArgMatches) -> ExitCode {
    let rate = options.rounds_per_us.filter(|rate| *rate > 0.0).map(executor::Rate);
    let settings = executor::Settings { rate, samples: options.samples };
    let chosen = |matches: &ArgMatches| {
        let (name, matches) = matches.subcommand()?;
        let definition = definitions.iter().find(|definition| definition.command == name)?;
        Some((definition, matches.clone()))
    };
    let done = match (matches.subcommand_matches(SHOW), chosen(matches)) {
        (Some(show), _) => chosen(show).map(|(definition, matches)| {
            workload::prepare(definition, &matches).and_then(|prepared| output::print_json(&prepared.program))
        }),
        (None, Some((definition, matches))) => {
            Some(workload::execute(definition, &matches, &settings, options.json))
        }
        (None, None) => None,
    };
    let done = match done {
        Some(done) => done,
        None => match Other::from_arg_matches(matches) {
            Ok(Other::Exec(order)) => return exec::execute(&order),
            Ok(Other::Noise(order)) => {
                return noise::run(&order, output::print_json)
                    .map_or_else(|error| fail(&error), ExitCode::from);
            }
            Ok(Other::Agent(arguments)) => {
                return agent::run(&arguments).unwrap_or_else(|error| fail(&error));
            }
            Ok(Other::Run(file)) => file.execute(&settings, options.json),
            Ok(Other::RtApp(file)) => file.execute(&settings, options.json),
            Ok(Other::List) => list::execute(definitions, options.json),
            Ok(Other::Boot(arguments)) => arguments.execute(),
            Ok(Other::Image(arguments)) => arguments.perform(),
            Err(error) => return usage(&error),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Print an error and return the exit status.
fn fail(error: &LoadError) -> ExitCode {
    output::complain(error);
    ExitCode::from(error.status())
}
