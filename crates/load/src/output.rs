//! Output of a run: the JSON document, and the text.

use std::collections::BTreeMap;
use std::io::Write;

use schedlab_workload::Program;
use schedlab_workload::measure::{Measured, quantile};
use schedlab_workload::program::LOAD;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::LoadError;
use crate::executor::Outcome;

/// Print lines to standard output and flush the stream.
pub fn print(lines: &[String]) -> Result<(), LoadError> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}").map_err(LoadError::system("writing to standard output"))?;
    }
    out.flush().map_err(LoadError::system("writing to standard output"))
}

/// Print an error.
#[expect(clippy::print_stderr, reason = "the edge of the program")]
pub fn complain(error: &LoadError) {
    eprintln!("schedload: {error}");
}

/// Print a value as one line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), LoadError> {
    let text = serde_json::to_string(value).map_err(|error| LoadError::Usage(error.to_string()))?;
    print(&[text])
}

/// Version of the document's layout.
pub const SCHEMA: u32 = 1;

/// One run.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: u32,
    program: String,
    parameters: Value,
    metrics: Vec<Measured>,
    counters: BTreeMap<String, Value>,
}

impl Document {
    /// Collect all data about a run of `program`.
    pub fn new(program: &Program, parameters: Value, outcome: Outcome) -> Self {
        let usage = outcome.usage;
        let mut counters = BTreeMap::from(
            [
                ("elapsed_ns", json!(outcome.observed.elapsed_ns)),
                ("tasks", json!(outcome.observed.tasks)),
                ("user_us", json!(usage.user_us)),
                ("system_us", json!(usage.system_us)),
                ("voluntary_switches", json!(usage.voluntary_switches)),
                ("involuntary_switches", json!(usage.involuntary_switches)),
                ("minor_faults", json!(usage.minor_faults)),
                ("max_rss_kib", json!(usage.max_rss_kib)),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        counters.extend(outcome.rate.map(|rate| ("rounds_per_us".to_owned(), json!(rate.0))));
        let is_of_load = |name: &&String| name.starts_with(LOAD);
        let of_program = program.counters.iter().zip(&outcome.observed.counters);
        for (name, total) in of_program.filter(|(name, _)| !is_of_load(name)) {
            counters.insert(name.clone(), json!(total));
        }
        for (name, one_in) in program.series.iter().zip(&outcome.one_in) {
            if *one_in > 1 && !is_of_load(&name) {
                counters.insert(format!("{name}_samples_one_in"), json!(one_in));
            }
        }
        Self { schema: SCHEMA, program: program.name.clone(), parameters, metrics: outcome.metrics, counters }
    }
}

/// Points of a distribution that are shown, in percent.
const POINTS: [(&str, f64); 8] = [
    ("min", 0.0),
    ("1st quartile", 25.0),
    ("median", 50.0),
    ("3rd quartile", 75.0),
    ("90 %", 90.0),
    ("95 %", 95.0),
    ("99 %", 99.0),
    ("max", 100.0),
];

/// Lines for the metrics of a run.
pub fn text(outcome: &Outcome) -> Vec<String> {
    outcome.metrics.iter().flat_map(lines).collect()
}

fn lines(metric: &Measured) -> Vec<String> {
    let shown = metric.value.map_or_else(|| "nothing recorded".to_owned(), |value| format!("{value:.3}"));
    let Some(samples) = metric.samples.as_ref().filter(|samples| !samples.is_empty()) else {
        return vec![format!("{:<20} {shown} {}", metric.name, metric.unit)];
    };
    // Thousandths of the unit are exact: the samples are whole nanoseconds.
    let mut ascending: Vec<u64> = samples.iter().map(|sample| (sample * 1000.0).round() as u64).collect();
    ascending.sort_unstable();
    let mut lines = vec![format!("{} ({}, {} samples)", metric.name, metric.unit, samples.len())];
    for (name, percent) in POINTS {
        let value = quantile(&ascending, percent).unwrap_or_default() / 1000.0;
        lines.push(format!("  {name:<18} {value:.3}"));
    }
    lines.push(format!("  {:<18} {shown}", "mean"));
    lines
}
