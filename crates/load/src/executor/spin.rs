//! Computation of a given length: a fixed number of rounds of a dependency chain.
//!
//! The amount of work is fixed, not the time: a task that is preempted, or runs on a slower CPU, takes longer, as real
//! work does. How many rounds make a microsecond is measured once per run, as the best of many short trials, because
//! a disturbance can only make a trial slower.

use crate::sys::clock::now_ns;

/// Rounds of the chain per trial: about 50 µs on a current machine.
const TRIAL_ROUNDS: u64 = 50_000;

/// Trials; the best trial is within a fraction of a percent of the undisturbed rate.
const TRIALS: u32 = 60;

/// Rounds per microsecond on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

impl Rate {
    /// Measure the rate, in about 3 ms.
    pub fn measure() -> Self {
        let trial = |_| {
            let start = now_ns();
            spin(TRIAL_ROUNDS);
            (now_ns() - start).max(1)
        };
        let best = (0..TRIALS).map(trial).min().unwrap_or(1);
        Self(TRIAL_ROUNDS as f64 * 1000.0 / best as f64)
    }

    /// Rounds that take `ns` nanoseconds.
    pub fn rounds(self, ns: u64) -> u64 {
        (ns as f64 * self.0 / 1000.0) as u64
    }
}

/// The state after `state` of a generator of random numbers: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8
/// (2003), the 64-bit generator (13, 7, 17).
pub fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

/// Run `rounds` rounds. Each operation waits for the previous operation: a multiplication and an addition,
/// the linear congruential generator of Knuth's MMIX (The Art of Computer Programming 2, 3.3.4).
pub fn spin(rounds: u64) {
    let mut state = std::hint::black_box(1u64);
    for _ in 0..rounds {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    std::hint::black_box(state);
}
