//! Time that the hypervisor takes from CPUs: stolen time in /proc/stat, and jumps of the counter against the clock.

use super::explained::{Explained, HYPERVISOR};
use super::{join, observed};
use crate::sys::counter::{Pair, Rate};

/// An observation during the measurement.
#[derive(Debug)]
pub struct Sample {
    /// The counter and the clock.
    pub pair: Pair,
    /// Stolen ticks of each CPU.
    pub ticks: Vec<u64>,
}

impl Sample {
    /// Observe `cpus`.
    pub fn take(cpus: &[usize]) -> Self {
        Self { pair: Pair::take(), ticks: observed::steal_ticks(cpus) }
    }
}

/// Least length in ns of a gap that stolen time explains: the shortest time that a scheduler gives the hypervisor's other
/// tasks (base_slice_ns is 0.7 ms in Linux 6.12), and far above the exits of a virtual machine.
const LEAST_STOLEN_NS: f64 = 500_000.0;

/// Time that the hypervisor took, in ns: the growth of the stolen ticks in `samples`, which are (count, stolen ticks).
pub fn stolen_ns(samples: &[(u64, u64)]) -> u64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0 };
    last.1.saturating_sub(first.1) * tick_ns()
}

/// Explain by the hypervisor the longest unexplained gaps of each window in which the stolen ticks grew, up to the growth
/// and one tick: the counters have steps of a tick, and the time may have begun a tick before the window.
pub fn attribute(gaps: &mut [Explained], samples: &[(u64, u64)], rate: Rate) {
    let least = rate.counts(LEAST_STOLEN_NS);
    let slack = rate.counts(tick_ns() as f64);
    for pair in samples.windows(2).filter(|pair| pair[1].1 > pair[0].1) {
        let from = pair[0].0.saturating_sub(slack);
        let admits = |gap: &Explained| gap.unexplained() >= least && overlaps(gap, from, pair[1].0);
        let budget = rate.counts(((pair[1].1 - pair[0].1 + 1) * tick_ns()) as f64);
        join::attribute(gaps, HYPERVISOR, budget, usize::MAX, admits);
    }
}

fn tick_ns() -> u64 {
    1_000_000_000 / observed::ticks_per_second().max(1)
}

/// A time in which the counter ran ahead of the clock, as when a hypervisor stops a virtual machine and holds its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    from: u64,
    to: u64,
    /// Counts that the clock lacks.
    length: u64,
}

/// Least jump in ns: ten times the width of a pair of readings that an interrupt disturbed.
const LEAST_JUMP_NS: f64 = 10_000.0;

/// The jumps between each two samples. The rate of the counter is the median over all windows, which no jump changes.
pub fn jumps(pairs: &[Pair]) -> Vec<Jump> {
    let rates = |pair: &[Pair]| Rate::between(pair[0], pair[1]).per_ns;
    let mut all: Vec<f64> = pairs.windows(2).map(rates).collect();
    if all.len() < 3 {
        return Vec::new();
    }
    all.sort_by(f64::total_cmp);
    let usual = Rate { per_ns: all[all.len() / 2] };
    let ahead = |pair: &[Pair]| {
        let clock = usual.counts(pair[1].raw_ns.saturating_sub(pair[0].raw_ns) as f64);
        let length = pair[1].count.saturating_sub(pair[0].count).saturating_sub(clock);
        let least = usual.counts(LEAST_JUMP_NS) + pair[0].width + pair[1].width;
        (length > least).then_some(Jump { from: pair[0].count, to: pair[1].count, length })
    };
    pairs.windows(2).filter_map(ahead).collect()
}

/// Explain by the hypervisor the longest unexplained gap in each jump, if the gap is as long as the jump.
pub fn attribute_jumps(gaps: &mut [Explained], jumps: &[Jump]) {
    for jump in jumps {
        // A pair's error makes a jump a little longer or shorter.
        let admits =
            |gap: &Explained| overlaps(gap, jump.from, jump.to) && gap.unexplained() > jump.length / 10 * 9;
        join::attribute(gaps, HYPERVISOR, u64::MAX, 1, admits);
    }
}

fn overlaps(gap: &Explained, from: u64, to: u64) -> bool {
    gap.start + gap.length >= from && gap.start <= to
}

#[cfg(test)]
#[path = "../../tests/unit/noise/steal.rs"]
mod tests;
