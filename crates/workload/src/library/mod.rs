//! Workloads: each a function from a parameter struct to a [`Program`].

pub mod busyloop;
pub mod forkstorm;
pub mod futex;
pub mod hackbench;
pub mod kernbench;
pub mod pgbench;
pub mod pipetest;
pub mod rr;
pub mod schedbench;
pub mod scripts;
pub mod stream;
pub mod tbench;
pub mod wakeup;
pub mod yielding;

use crate::program::{Gate, Metric, Program, Quantity, Resources, SCHEMA, lower};

/// Default length of a warm-up, in nanoseconds: connections, page tables and frequencies settle well within 1 s.
pub const WARMUP_NS: u64 = 1_000_000_000;

/// Default length of the recorded part, in nanoseconds.
pub const DURATION_NS: u64 = 5_000_000_000;

/// Most tasks, clients or pairs that a library program accepts.
const MOST: u32 = 100_000;

/// A program with nothing in it.
fn empty(name: &str) -> Program {
    Program {
        schema: SCHEMA,
        name: name.to_owned(),
        seed: 0,
        replicas: 1,
        gate: Gate::default(),
        window: None,
        resources: Resources::default(),
        counters: Vec::new(),
        series: Vec::new(),
        groups: Vec::new(),
        metrics: Vec::new(),
    }
}

/// The mean of a series as `latency`, with its samples, and percentiles as `latency_p50`, `_p99`, `_p99.9`, in µs.
fn latency(series: &str) -> Vec<Metric> {
    let mut metrics = vec![lower("latency", "us", Quantity::Mean(series.to_owned()), 1e-3)];
    for percent in [50.0, 99.0, 99.9] {
        let quantity = Quantity::Percentile(series.to_owned(), percent);
        metrics.push(lower(&format!("latency_p{percent}"), "us", quantity, 1e-3));
    }
    metrics
}

fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}
