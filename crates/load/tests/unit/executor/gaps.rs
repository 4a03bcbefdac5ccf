//! Unit tests of `executor/gaps.rs`.

use super::measure;

#[test]
fn gaps_are_counted_by_the_threshold_and_the_longest_is_always_recorded() {
    // Every reading takes longer than 0 ns and less than a minute.
    let all = measure(2_000_000, 0);
    assert!(all.longest_ns > 0 && all.count > 0 && all.lost_ns >= 2_000_000, "{all:?}");
    assert!(all.lost_ns >= all.longest_ns && all.longest_ns >= all.lost_ns / all.count, "{all:?}");
    let none = measure(1_000_000, 60_000_000_000);
    assert_eq!((none.count, none.lost_ns), (0, 0));
    assert!(none.longest_ns > 0);
}
