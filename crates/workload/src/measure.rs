//! Computation of a program's metrics from a run's observations.

use serde::Serialize;

use crate::program::{Better, Program, Quantity};

/// Observations of an executor. Counters and series are in the order of the program's lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Time from the opening of the gate until every task was reaped, in nanoseconds.
    pub elapsed_ns: u64,
    /// Time from the creation of the first task until every task was reaped, in nanoseconds.
    pub lifetime_ns: u64,
    /// Totals of the counters.
    pub counters: Vec<u64>,
    /// Recorded samples of each series, in nanoseconds. An executor may keep a random selection of a long series.
    pub series: Vec<Vec<u64>>,
    /// Largest sample offered to each series, also if the sample was not kept; 0 without samples.
    pub largest: Vec<u64>,
    /// User time of all tasks and their reaped children, without disturbances, in nanoseconds.
    pub user_ns: u64,
    /// System time of the same tasks, in nanoseconds.
    pub system_ns: u64,
    /// Number of these tasks.
    pub tasks: u32,
}

/// A metric's value. `value` is `None` where nothing was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Name of the metric.
    pub name: String,
    /// Unit of value and samples.
    pub unit: String,
    /// Direction of improvement.
    pub direction: Better,
    /// The number.
    pub value: Option<f64>,
    /// Samples of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Vec<f64>>,
}

/// Compute all metrics of `program`, in its order.
pub fn metrics(program: &Program, observed: &Observed) -> Vec<Measured> {
    let sorted: Vec<Vec<u64>> = observed.series.iter().map(|series| sorted(series)).collect();
    let measure = |metric: &crate::program::Metric| {
        let raw = quantity(program, observed, &sorted, &metric.quantity);
        let samples = match &metric.quantity {
            Quantity::Mean(name) => position(&program.series, name)
                .map(|at| observed.series[at].iter().map(|ns| scaled(*ns as f64, metric.factor)).collect()),
            _ => None,
        };
        Measured {
            name: metric.name.clone(),
            unit: metric.unit.clone(),
            direction: metric.direction,
            value: raw.map(|raw| scaled(raw, metric.factor)),
            samples,
        }
    };
    program.metrics.iter().map(measure).collect()
}

fn quantity(program: &Program, observed: &Observed, sorted: &[Vec<u64>], quantity: &Quantity) -> Option<f64> {
    let elapsed = seconds(observed.elapsed_ns);
    let counter = |name: &str| Some(observed.counters[position(&program.counters, name)?] as f64);
    let series = |name: &str| Some(&sorted[position(&program.series, name)?]);
    match quantity {
        Quantity::Elapsed => Some(elapsed),
        Quantity::Lifetime => Some(seconds(observed.lifetime_ns)),
        Quantity::ElapsedPer(name) => counter(name).filter(|count| *count > 0.0).map(|count| elapsed / count),
        Quantity::Rate(name) => {
            let time = program.window.map_or(elapsed, |window| seconds(window.duration_ns));
            counter(name).filter(|_| time > 0.0).map(|count| count / time)
        }
        Quantity::Total(name) => counter(name),
        Quantity::Mean(name) => series(name).and_then(|samples| mean(samples)),
        Quantity::Percentile(name, percent) if *percent >= 100.0 => {
            let largest = *observed.largest.get(position(&program.series, name)?)?;
            series(name).filter(|samples| !samples.is_empty()).map(|_| largest as f64)
        }
        Quantity::Percentile(name, percent) => series(name).and_then(|samples| quantile(samples, *percent)),
        Quantity::User => Some(seconds(observed.user_ns)),
        Quantity::System => Some(seconds(observed.system_ns)),
        Quantity::UserPerTask => Some(seconds(observed.user_ns) / f64::from(observed.tasks.max(1))),
        Quantity::CpuShare if elapsed > 0.0 => {
            Some((seconds(observed.user_ns) + seconds(observed.system_ns)) / elapsed)
        }
        Quantity::CpuShare => None,
    }
}

/// `value` × `factor`; for a factor like 0.001 as a division, whose result is the nearest number to the exact result, so
/// that 2621 ns are 2.621 µs and not 2.6210000000000004.
fn scaled(value: f64, factor: f64) -> f64 {
    let inverse = 1.0 / factor;
    if factor < 1.0 && inverse.fract() == 0.0 { value / inverse } else { value * factor }
}

fn position(names: &[String], name: &str) -> Option<usize> {
    names.iter().position(|each| each == name)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn sorted(samples: &[u64]) -> Vec<u64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Arithmetic mean; `None` without samples.
pub fn mean(samples: &[u64]) -> Option<f64> {
    let sum: u128 = samples.iter().map(|sample| u128::from(*sample)).sum();
    (!samples.is_empty()).then(|| sum as f64 / samples.len() as f64)
}

/// The `percent`-th percentile (0 to 100) of ascending samples by linear interpolation between order statistics
/// (type 7 of Hyndman and Fan, The American Statistician 50, 1996); `None` without samples.
pub fn quantile(ascending: &[u64], percent: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let rank = last as f64 * percent / 100.0;
    let below = (rank.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let (low, high) = (ascending[below] as f64, ascending[above] as f64);
    Some(low + (high - low) * (rank - below as f64))
}

#[cfg(test)]
#[path = "../tests/unit/measure.rs"]
mod tests;
