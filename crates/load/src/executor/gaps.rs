//! Gaps between successive readings of the clock.

use crate::sys::clock::now_ns;

/// Gaps between successive readings of the clock, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The longest gap.
    pub longest_ns: u64,
    /// Number of gaps longer than the threshold.
    pub count: u64,
    /// Sum of these gaps.
    pub lost_ns: u64,
}

/// Polls the clock for `ns` nanoseconds; gaps longer than `over_ns` are counted. The state is in registers,
/// so that an iteration costs only a reading of the clock.
pub fn measure(ns: u64, over_ns: u64) -> Gaps {
    let begun = now_ns();
    let (mut last, mut gaps) = (begun, Gaps::default());
    while last - begun < ns {
        let now = now_ns();
        let gap = now - last;
        gaps.longest_ns = gaps.longest_ns.max(gap);
        if gap > over_ns {
            gaps.count += 1;
            gaps.lost_ns += gap;
        }
        last = now;
    }
    gaps
}

#[cfg(test)]
#[path = "../../tests/unit/executor/gaps.rs"]
mod tests;
