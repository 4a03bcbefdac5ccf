//! The loop that notices interruptions: it reads the counter again and again, and does nothing else.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys::counter;

/// An interruption of the loop, in counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last reading before the interruption.
    pub start: u64,
    /// The first reading after the interruption.
    pub end: u64,
}

/// Result of the loop.
#[derive(Debug, Clone, Default)]
pub struct Spun {
    /// First and last reading.
    pub start: u64,
    /// See `start`.
    pub end: u64,
    /// Least time of a turn in counts.
    pub minimum: u64,
    /// Number of turns.
    pub turns: u64,
    /// Number of gaps, with the gaps that are not in `gaps`.
    pub count: u64,
    /// Counts beyond the minimum in all gaps.
    pub stolen: u64,
    /// Counts beyond the minimum in the longest gap.
    pub worst: u64,
    /// The gaps, in order, as many as the buffer has room for.
    pub gaps: Vec<Gap>,
}

/// Turns between two checks whether the measurement is over.
const BATCH: u32 = 4096;

/// Read the counter until it shows `until` or `stop` is set. Store gaps of more than `threshold` counts beyond `minimum` in
/// `gaps` up to its capacity. `start` is the previous reading.
///
/// The loop makes no system call and allocates nothing.
pub fn spin(
    start: u64,
    until: u64,
    minimum: u64,
    threshold: u64,
    stop: &AtomicBool,
    mut gaps: Vec<Gap>,
) -> Spun {
    let limit = minimum.saturating_add(threshold);
    let (mut last, mut least, mut turns) = (start, u64::MAX, 0u64);
    let (mut count, mut total, mut worst) = (0u64, 0u64, 0u64);
    while last < until && !stop.load(Ordering::Relaxed) {
        for _ in 0..BATCH {
            let now = counter::read();
            let turn = now.wrapping_sub(last);
            // Without a branch: the least turn changes often at the beginning.
            least = least.min(turn);
            if turn > limit {
                count += 1;
                total += turn;
                worst = worst.max(turn);
                if gaps.len() < gaps.capacity() {
                    gaps.push(Gap { start: last, end: now });
                }
            }
            last = now;
        }
        turns += u64::from(BATCH);
    }
    let minimum = least.min(minimum);
    Spun {
        start,
        end: last,
        minimum,
        turns,
        count,
        stolen: total - count * minimum,
        worst: worst.saturating_sub(minimum),
        gaps,
    }
}

/// A buffer for `gaps` gaps, whose pages are in memory.
pub fn buffer(gaps: usize) -> Vec<Gap> {
    let mut buffer = vec![Gap { start: 1, end: 1 }; gaps];
    buffer.clear();
    buffer
}

#[cfg(test)]
#[path = "../../tests/unit/noise/spin.rs"]
mod tests;
