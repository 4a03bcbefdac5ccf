//! `schedload noise`: interruptions of CPUs and their causes.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::error::LoadError;
use crate::launcher::attributes::{cpu_list, duration};
use crate::noise::{self, Order};
use crate::output;

/// Measure what interrupts CPUs, for how long, and why. Print one JSON document.
///
/// A loop on each CPU reads the cycle counter; each time that it misses is a gap. A private instance of the kernel's trace
/// (root) names the causes.
#[derive(Debug, Args)]
pub struct Arguments {
    /// CPUs under test, such as 2-3.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    cpus: Box<[usize]>,
    /// Time of the measurement.
    #[arg(long = "for", value_parser = duration, value_name = "DURATION")]
    time: Duration,
    /// Length of a gap in nanoseconds beyond the least time of a turn; auto: ten turns, at least 150 ns.
    #[arg(long, value_parser = threshold, value_name = "auto|NS", default_value = "auto")]
    threshold: Threshold,
    /// Run the loop under SCHED_FIFO with this priority.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=99), value_name = "N")]
    fifo: Option<u32>,
    /// Measure lengths without a trace of their causes.
    #[arg(long)]
    untraced: bool,
    /// Print the parts of all gaps.
    #[arg(long)]
    parts: bool,
}

#[derive(Debug, Clone, Copy)]
struct Threshold(Option<f64>);

fn threshold(text: &str) -> Result<Threshold, String> {
    match (text, text.parse::<f64>()) {
        ("auto", _) => Ok(Threshold(None)),
        (_, Ok(ns)) if ns >= 0.0 && ns.is_finite() => Ok(Threshold(Some(ns))),
        _ => Err(format!("'{text}' is neither auto nor a number of nanoseconds")),
    }
}

pub(super) fn execute(arguments: &Arguments) -> Result<ExitCode, LoadError> {
    let order = Order {
        cpus: arguments.cpus.to_vec(),
        time: arguments.time,
        threshold_ns: arguments.threshold.0,
        fifo: arguments.fifo,
        is_traced: !arguments.untraced,
        has_parts: arguments.parts,
    };
    noise::run(&order, output::print_json).map(ExitCode::from)
}
