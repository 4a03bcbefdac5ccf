//! Metrics that a program reports about a run.

use serde::{Deserialize, Serialize};

/// A reported number: a quantity times a factor that converts the quantity to the unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name, unique in the program.
    pub name: String,
    /// Unit, such as `s`, `us`, `Mbit/s` or `ops/s`.
    pub unit: String,
    /// Direction of improvement.
    pub direction: Better,
    /// The measured quantity.
    pub quantity: Quantity,
    /// Unit of the quantity expressed in the metric's unit: 0.001 for nanoseconds reported as µs.
    #[serde(default = "unity")]
    pub factor: f64,
}

/// Direction of improvement of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Times and costs.
    Lower,
    /// Rates.
    Higher,
}

/// A quantity observed in a run, in base units: seconds for the run and CPU times, nanoseconds for series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Seconds from the opening of the gate until every task has been reaped.
    Elapsed,
    /// Seconds from the creation of the first task until every task has been reaped.
    Lifetime,
    /// Seconds of the run per unit of a counter.
    ElapsedPer(String),
    /// A counter per second of the window, or of the run where there is no window.
    Rate(String),
    /// A counter's total.
    Total(String),
    /// Arithmetic mean of a series, in nanoseconds; the report carries its samples.
    Mean(String),
    /// A percentile (0 to 100) of a series, in nanoseconds, by linear interpolation between order statistics
    /// (type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50, 1996).
    Percentile(String, f64),
    /// User seconds of all tasks and their reaped children.
    User,
    /// System seconds of all tasks and their reaped children.
    System,
    /// Mean user seconds of a task.
    UserPerTask,
    /// (user + system) ÷ elapsed, as a fraction of one CPU.
    CpuShare,
}

fn unity() -> f64 {
    1.0
}
