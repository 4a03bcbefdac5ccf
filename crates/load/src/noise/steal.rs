//! Time that the hypervisor takes from CPUs: stolen time in /proc/stat, and jumps of the counter against the clock.

use super::join::{self, Explained};
use super::observed;
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

/// Explain unexplained time by the hypervisor where /proc/stat shows that it took time. Return that time in ns.
///
/// `samples` are (count, stolen ticks). The counters have steps of a tick. Only windows in which the counters grew are
/// considered; the stolen time of a window may be a tick longer than the growth.
pub fn attribute(gaps: &mut [Explained], samples: &[(u64, u64)], rate: Rate) -> u64 {
    let tick_ns = 1_000_000_000 / observed::ticks_per_second().max(1);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0 };
    let ticks = last.1.saturating_sub(first.1);
    if ticks == 0 {
        return 0;
    }
    let slack = rate.counts(tick_ns as f64);
    let windows: Vec<(u64, u64)> =
        samples.windows(2).filter(|pair| pair[1].1 > pair[0].1).map(|pair| (pair[0].0, pair[1].0)).collect();
    let admits =
        |gap: &Explained| windows.iter().any(|(from, to)| overlaps(gap, from.saturating_sub(slack), *to));
    let budget = rate.counts(((ticks + 1) * tick_ns) as f64);
    join::attribute(gaps, join::HYPERVISOR, budget, usize::MAX, admits);
    ticks * tick_ns
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
        join::attribute(gaps, join::HYPERVISOR, u64::MAX, 1, admits);
    }
}

fn overlaps(gap: &Explained, from: u64, to: u64) -> bool {
    gap.start + gap.length >= from && gap.start <= to
}

#[cfg(test)]
mod tests {
    use super::{Jump, attribute_jumps, jumps};
    use crate::noise::join::{Explained, HYPERVISOR, Part, UNEXPLAINED};
    use crate::sys::counter::Pair;

    /// Pairs each 100 ms at 2 counts per ns, where the clock lacks `lost` ns from the third on.
    fn pairs(lost: u64) -> Vec<Pair> {
        let at = |n: u64| {
            let raw_ns = n * 100_000_000 - if n >= 2 { lost } else { 0 };
            Pair { count: 200_000_000 * n, raw_ns, width: 100 }
        };
        (0..6).map(at).collect()
    }

    fn gap(start: u64, length: u64) -> Explained {
        let parts = vec![Part::new(UNEXPLAINED, length, 1)];
        Explained { start, length, parts, bare: Vec::new(), is_traced: false }
    }

    #[test]
    fn a_clock_that_was_held_is_a_jump_of_the_counter() {
        assert_eq!(jumps(&pairs(0)), []);
        let expected = Jump { from: 200_000_000, to: 400_000_000, length: 6_000_000 };
        assert_eq!(jumps(&pairs(3_000_000)), [expected]);
    }

    #[test]
    fn the_gap_of_a_jump_is_the_hypervisor_and_other_gaps_keep_their_cause() {
        let mut gaps =
            vec![gap(50_000_000, 9_000_000), gap(300_000_000, 1_000_000), gap(320_000_000, 6_100_000)];
        attribute_jumps(&mut gaps, &jumps(&pairs(3_000_000)));
        let names: Vec<&str> = gaps.iter().map(|gap| gap.parts[0].name.as_str()).collect();
        assert_eq!(names, [UNEXPLAINED, UNEXPLAINED, HYPERVISOR]);
    }
}
