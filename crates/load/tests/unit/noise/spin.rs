//! Unit tests of `noise/spin.rs`.

use super::*;

#[test]
fn the_time_since_the_previous_reading_is_a_gap() {
    let (now, stop) = (counter::read(), AtomicBool::new(false));
    let previous = now - 1_000_000;
    let spun = spin(previous, now, 0, 900_000, &stop, buffer(4));
    assert_eq!((spun.start, spun.gaps[0].start), (previous, previous));
    assert!(spun.gaps[0].end >= now);
    assert_eq!(spun.turns, u64::from(BATCH));
}
