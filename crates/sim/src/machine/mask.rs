//! Sets of CPUs.

use crate::time::MAX_SLOTS;

/// Maximum number of CPUs of a machine: the agenda needs a slot for each CPU and a slot for the timers.
pub const MAX_CPUS: usize = MAX_SLOTS - 1;

const WORDS: usize = MAX_SLOTS / 64;

/// Set of CPUs of fixed size. Each operation takes a few word operations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CpuMask(pub(super) [u64; WORDS]);

impl CpuMask {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// Set of the CPUs `0..count`.
    pub fn first_cpus(count: usize) -> Self {
        (0..count).collect()
    }

    /// Add a CPU.
    #[inline]
    pub fn insert(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Add a CPU if `there`, otherwise remove the CPU, without a branch.
    #[inline]
    pub fn put(&mut self, cpu: usize, there: bool) {
        let word = &mut self.0[cpu / 64];
        *word = *word & !(1 << (cpu % 64)) | u64::from(there) << (cpu % 64);
    }

    /// Remove a CPU.
    #[inline]
    pub fn remove(&mut self, cpu: usize) {
        self.0[cpu / 64] &= !(1 << (cpu % 64));
    }

    /// Whether a CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: usize) -> bool {
        self.0[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// Number of CPUs.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// CPUs in both sets.
    #[inline]
    pub fn and(&self, other: &Self) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
        Self(words)
    }

    /// CPUs in this set and not in the other.
    #[inline]
    pub fn without(&self, other: &Self) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
        Self(words)
    }

    /// CPUs in either set.
    pub fn or(&self, other: &Self) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
        Self(words)
    }

    /// Number of CPUs in both sets.
    #[inline]
    pub fn common(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// Lowest CPU of the set.
    #[inline]
    pub fn lowest(&self) -> Option<usize> {
        self.0.iter().position(|word| *word != 0).map(|at| at * 64 + self.0[at].trailing_zeros() as usize)
    }

    /// Number of CPUs in `from..below`.
    #[inline]
    pub fn count_between(&self, from: usize, below: usize) -> usize {
        if from >= below {
            return 0;
        }
        let (first, last) = (from / 64, (below - 1) / 64);
        let (low, high) = (u64::MAX << (from % 64), u64::MAX >> (63 - (below - 1) % 64));
        if first == last {
            return (self.0[first] & low & high).count_ones() as usize;
        }
        let between: usize = self.0[first + 1..last].iter().map(|word| word.count_ones() as usize).sum();
        between + ((self.0[first] & low).count_ones() + (self.0[last] & high).count_ones()) as usize
    }

    /// All CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

impl FromIterator<usize> for CpuMask {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut mask = Self::EMPTY;
        cpus.into_iter().for_each(|cpu| mask.insert(cpu));
        mask
    }
}

impl std::fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/machine/mask.rs"]
mod tests;
