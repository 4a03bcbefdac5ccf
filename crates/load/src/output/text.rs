//! The text of a run: a line for each metric, and the distribution of each series.

use schedlab_workload::measure::{Measured, quantile};

use crate::executor::Outcome;

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
