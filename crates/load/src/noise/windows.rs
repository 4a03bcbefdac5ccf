//! Counters of the kernel in windows of the measurement, beside the time in gaps: without a trace, a counter that grows with
//! the gaps may show their cause.

use std::collections::BTreeMap;

use serde::Serialize;

use super::explained::Gaps;
use super::observed::Counters;
use crate::sys::counter::{self, Rate};

/// Least length of a window.
const LEAST_SECONDS: f64 = 0.1;
/// Windows of the longest measurement; its windows are longer than `LEAST_SECONDS`.
const MOST: f64 = 1000.0;

/// Windows of a measurement.
#[derive(Debug, Serialize)]
pub struct Windows {
    /// Length of each window.
    pub seconds: Vec<f64>,
    /// Time in gaps of each CPU and window, in ns.
    pub gaps: Vec<(usize, Vec<f64>)>,
    /// Increases of the counters that did not grow equally in all windows.
    pub counters: Vec<Series>,
}

/// Increases of a counter.
#[derive(Debug, Serialize)]
pub struct Series {
    /// CPU; `None` for a counter of the whole machine.
    pub cpu: Option<usize>,
    /// File and name.
    pub name: String,
    /// Increase in each window.
    pub increases: Vec<u64>,
}

/// Reads the counters again and again.
#[derive(Debug)]
pub struct Sampler {
    cpus: Vec<usize>,
    width_ns: f64,
    samples: Vec<(u64, Counters)>,
}

impl Sampler {
    /// A sampler of the counters of `cpus` for a measurement of `seconds`.
    pub fn new(cpus: &[usize], seconds: f64) -> Self {
        let width_ns = LEAST_SECONDS.max(seconds / MOST) * 1e9;
        Self { cpus: cpus.to_vec(), width_ns, samples: Vec::new() }
    }

    /// Read the counters if a window has ended. Sleeping makes windows a little longer than their nominal length.
    pub fn sample(&mut self, rate: Rate) {
        let now = counter::read();
        let is_over =
            |(last, _): &(u64, Counters)| rate.ns(now.saturating_sub(*last)) >= 0.95 * self.width_ns;
        if self.samples.last().is_none_or(is_over) {
            self.samples.push((now, Counters::read(&self.cpus)));
        }
    }

    /// The windows in which all CPUs ran the loop.
    pub fn finish(self, all: &[Gaps], rate: Rate) -> Windows {
        let start = all.iter().map(|cpu| cpu.start).max().unwrap_or(0);
        let end = all.iter().map(|cpu| cpu.end).min().unwrap_or(0);
        let samples: Vec<_> = self.samples.into_iter().filter(|(at, _)| (start..=end).contains(at)).collect();
        let limits: Vec<u64> = samples.iter().map(|(at, _)| *at).collect();
        let windows = limits.len().saturating_sub(1);
        let mut counters: BTreeMap<(Option<usize>, String), Vec<u64>> = BTreeMap::new();
        for (window, pair) in samples.windows(2).enumerate() {
            for grown in pair[1].1.since(&pair[0].1) {
                counters.entry((grown.cpu, grown.name)).or_insert_with(|| vec![0; windows])[window] =
                    grown.count;
            }
        }
        Windows {
            seconds: limits.windows(2).map(|pair| rate.ns(pair[1] - pair[0]) / 1e9).collect(),
            gaps: all.iter().map(|cpu| (cpu.cpu, gap_times(cpu, &limits, rate))).collect(),
            counters: counters
                .into_iter()
                .filter(|(_, increases)| increases.iter().any(|value| *value != increases[0]))
                .map(|((cpu, name), increases)| Series { cpu, name, increases })
                .collect(),
        }
    }
}

/// Time in gaps between each two limits, in ns; a gap across a limit belongs to both windows.
fn gap_times(cpu: &Gaps, limits: &[u64], rate: Rate) -> Vec<f64> {
    let mut times = vec![0u64; limits.len().saturating_sub(1)];
    for gap in &cpu.gaps {
        let end = gap.start + gap.length;
        let first = limits.partition_point(|limit| *limit <= gap.start).saturating_sub(1);
        for window in first..times.len() {
            if limits[window] >= end {
                break;
            }
            times[window] += end.min(limits[window + 1]).saturating_sub(gap.start.max(limits[window]));
        }
    }
    times.into_iter().map(|time| rate.ns(time)).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/noise/windows.rs"]
mod tests;
