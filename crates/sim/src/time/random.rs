//! The simulation's only source of randomness.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// PCG XSL 128/64 MCG (O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
/// Number Generation", 2014). Draws happen in the order of events, so a seed determines all draws.
#[derive(Debug, Clone)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// Create the generator of a seed.
    pub fn new(seed: u64) -> Self {
        // The state of a multiplicative generator is odd. Without the shift the lowest bit of the seed would be lost.
        let state = (u128::from(seed) << 1) | 1;
        let mut generator = Pcg64Mcg::from_seed(state.to_le_bytes());
        // A multiplicative generator begins alike for nearby seeds. A few rounds separate the outputs of nearby seeds.
        for _ in 0..8 {
            generator.next_u64();
        }
        Self(generator)
    }

    /// Uniform on `0..below` (`below` at least 1) by the multiply-shift method (Lemire, "Fast Random Integer Generation
    /// in an Interval", ACM TOMACS 29, 2019) without its rejection step: the bias is below `below` / 2^64.
    #[inline]
    pub fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(below)) >> 64) as u64
    }
}

#[cfg(test)]
#[path = "../../tests/unit/time/random.rs"]
mod tests;
