//! Unit tests of `noise/windows.rs`.

use super::gap_times;
use crate::noise::explained::{Explained, Gaps, Part};
use crate::sys::counter::Rate;

#[test]
fn a_gap_across_a_limit_belongs_to_both_windows() {
    let gap = |start, length| Explained {
        start,
        length,
        parts: vec![Part::new("unexplained", length, 1)],
        bare: Vec::new(),
        is_traced: false,
    };
    let gaps = vec![gap(5, 3), gap(95, 10), gap(150, 20), gap(190, 150), gap(400, 5)];
    let cpu = Gaps { cpu: 1, start: 0, end: 500, gaps };
    let times = gap_times(&cpu, &[10, 100, 200, 300, 400], Rate { per_ns: 1.0 });
    assert_eq!(times, [5.0, 35.0, 100.0, 40.0]);
}
