//! Subcommands, one a file. Only this module and the ones under it print.
//!
//! Exit status: 0 success; 1 a run failed; 2 wrong usage; 128 + n stopped by signal n. `exec` has its own, see
//! [`exec`].

mod busyloop;
mod exec;
mod forkstorm;
mod futex;
mod hackbench;
mod image;
mod kernbench;
mod list;
mod pgbench;
mod pipetest;
mod program;
mod rr;
mod rtapp;
mod run;
mod schedbench;
mod scripts;
mod show;
mod stream;
mod tbench;
mod timing;
mod wakeup;
mod yielding;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::LoadError;
use crate::executor;
pub use program::ProgramCommand;

/// Runs scheduler workloads on this machine's kernel.
#[derive(Debug, Parser)]
#[command(name = "schedload", version, about, max_term_width = 100)]
pub struct Cli {
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Fix the speed of computation instead of measuring it, in rounds per microsecond (see the `rounds_per_us` of
    /// an earlier run), so that several runs do exactly the same work.
    #[arg(long, global = true, value_name = "RATE")]
    rounds_per_us: Option<f64>,
    /// Keep at most so many samples of each series; of more, a random selection.
    #[arg(long, global = true, value_name = "NUM", default_value_t = 100_000)]
    samples: u64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Program(ProgramCommand),
    Run(run::Arguments),
    RtApp(rtapp::Arguments),
    Show(show::Arguments),
    List(list::Arguments),
    Exec(Box<exec::Arguments>),
    #[command(name = executor::image::SUBCOMMAND, hide = true)]
    Image(image::Arguments),
}

/// Reads the command line, runs the chosen subcommand and gives the exit status.
pub fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => dispatch(cli),
        Err(error) => {
            let _ = error.print();
            let launching = std::env::args().nth(1).is_some_and(|first| first == "exec");
            match error.exit_code() {
                0 => ExitCode::SUCCESS,
                _ if launching => ExitCode::from(crate::launcher::LAUNCHER_FAILED),
                code => ExitCode::from(code as u8),
            }
        }
    }
}

fn dispatch(cli: Cli) -> ExitCode {
    let rate = cli.rounds_per_us.filter(|rate| *rate > 0.0).map(executor::Rate);
    let settings = executor::Settings { rate, samples: cli.samples };
    let done = match cli.command {
        Command::Exec(arguments) => return exec::execute(&arguments),
        Command::Program(program) => program::execute(&program, &settings, cli.json),
        Command::Run(arguments) => run::execute(&arguments, &settings, cli.json),
        Command::RtApp(arguments) => rtapp::execute(&arguments, &settings, cli.json),
        Command::Show(arguments) => show::execute(&arguments),
        Command::List(arguments) => list::execute(&arguments, cli.json),
        Command::Image(arguments) => image::execute(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Shows an error.
#[expect(clippy::print_stderr, reason = "the edge of the program")]
fn complain(error: &LoadError) {
    eprintln!("schedload: {error}");
}

/// Reports an error; the exit status that it stands for.
fn fail(error: &LoadError) -> ExitCode {
    complain(error);
    match error {
        LoadError::Interrupted(signal) => ExitCode::from(128 + *signal as u8),
        LoadError::Parameter(_) | LoadError::Usage(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}
