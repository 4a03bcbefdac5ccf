//! Polling of the clock: gaps between successive readings.

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

/// Polls the clock for `ns` nanoseconds. The loop keeps its state in registers, so that it waits for the clock alone.
pub fn watch(ns: u64, over_ns: u64) -> Gaps {
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
mod tests {
    use super::watch;

    #[test]
    fn gaps_are_counted_by_the_threshold_and_the_longest_is_always_recorded() {
        // Every reading takes longer than 0 ns and less than a minute.
        let all = watch(2_000_000, 0);
        assert!(all.longest_ns > 0 && all.count > 0 && all.lost_ns >= 2_000_000, "{all:?}");
        assert!(all.lost_ns >= all.longest_ns && all.longest_ns >= all.lost_ns / all.count, "{all:?}");
        let none = watch(1_000_000, 60_000_000_000);
        assert_eq!((none.count, none.lost_ns), (0, 0));
        assert!(none.longest_ns > 0);
    }
}
