//! Unit tests of `noise/steal.rs`.

use super::{Jump, attribute, attribute_jumps, jumps, tick_ns};
use crate::noise::explained::{Explained, HYPERVISOR, Part, UNEXPLAINED};
use crate::sys::counter::{Pair, Rate};

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
fn stolen_time_explains_long_gaps_of_its_window_up_to_its_growth() {
    let ms = 1_000_000;
    // A gap of another window, one longer than growth and tick, two that fit, one too short.
    let lengths = [(50, 9), (210, 3 * tick_ns() / ms), (220, 5), (240, 4), (260, 0)];
    let mut gaps: Vec<Explained> =
        lengths.iter().map(|(start, length)| gap(start * ms, length * ms + 1000)).collect();
    attribute(&mut gaps, &[(0, 0), (200 * ms, 0), (300 * ms, 1)], Rate { per_ns: 1.0 });
    let names: Vec<&str> = gaps.iter().map(|gap| gap.parts[0].name.as_str()).collect();
    assert_eq!(names, [UNEXPLAINED, UNEXPLAINED, HYPERVISOR, HYPERVISOR, UNEXPLAINED]);
}

#[test]
fn the_gap_of_a_jump_is_the_hypervisor_and_other_gaps_keep_their_cause() {
    let mut gaps = vec![gap(50_000_000, 9_000_000), gap(300_000_000, 1_000_000), gap(320_000_000, 6_100_000)];
    attribute_jumps(&mut gaps, &jumps(&pairs(3_000_000)));
    let names: Vec<&str> = gaps.iter().map(|gap| gap.parts[0].name.as_str()).collect();
    assert_eq!(names, [UNEXPLAINED, UNEXPLAINED, HYPERVISOR]);
}
