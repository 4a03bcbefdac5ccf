//! Looking at the clock again and again.

use crate::sys::clock::now_ns;

/// What was seen between looks at the clock, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// The longest time between two looks.
    pub longest_ns: u64,
    /// Times that were longer than the threshold, and their sum.
    pub gaps: u64,
    pub lost_ns: u64,
}

/// Looks at the clock for `ns` nanoseconds. The loop keeps everything in registers, so that it has nothing to wait for but
/// the clock.
pub fn watch(ns: u64, over_ns: u64) -> Seen {
    let begun = now_ns();
    let (mut last, mut seen) = (begun, Seen::default());
    while last - begun < ns {
        let now = now_ns();
        let gap = now - last;
        seen.longest_ns = seen.longest_ns.max(gap);
        if gap > over_ns {
            seen.gaps += 1;
            seen.lost_ns += gap;
        }
        last = now;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::watch;

    #[test]
    fn gaps_are_counted_by_the_threshold_and_the_longest_is_always_known() {
        // Every look takes longer than nothing, none takes a minute.
        let all = watch(2_000_000, 0);
        assert!(all.longest_ns > 0 && all.gaps > 0 && all.lost_ns >= 2_000_000, "{all:?}");
        assert!(all.lost_ns >= all.longest_ns && all.longest_ns >= all.lost_ns / all.gaps, "{all:?}");
        let none = watch(1_000_000, 60_000_000_000);
        assert_eq!((none.gaps, none.lost_ns), (0, 0));
        assert!(none.longest_ns > 0);
    }
}
