//! Sets of CPUs.

use crate::time::MAX_SLOTS;

/// Maximum number of CPUs of a machine: the agenda needs a slot for each CPU and one for the timers.
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

    /// Adds a CPU.
    #[inline]
    pub fn insert(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Adds a CPU if `there`, else removes it, without a branch.
    #[inline]
    pub fn put(&mut self, cpu: usize, there: bool) {
        let word = &mut self.0[cpu / 64];
        *word = *word & !(1 << (cpu % 64)) | u64::from(there) << (cpu % 64);
    }

    /// Removes a CPU.
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

    /// Whether the sets have a common CPU.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
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

    /// First CPU in both sets from `start` on, wrapping around.
    #[inline]
    pub fn first_common_from(&self, other: &Self, start: usize) -> Option<usize> {
        let (word, bit) = (start / 64, start % 64);
        let both = |at: usize| self.0[at] & other.0[at];
        let here = both(word) & (u64::MAX << bit);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let later = (word + 1..WORDS).chain(0..word).find(|at| both(*at) != 0);
        if let Some(at) = later {
            return Some(at * 64 + both(at).trailing_zeros() as usize);
        }
        let before = both(word) & !(u64::MAX << bit);
        (before != 0).then(|| word * 64 + before.trailing_zeros() as usize)
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
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{CpuMask, MAX_CPUS};

    proptest! {
        #[test]
        fn masks_behave_like_sets(
            a in prop::collection::btree_set(0..MAX_CPUS, 0..40), b in prop::collection::btree_set(0..MAX_CPUS, 0..40),
            start in 0..MAX_CPUS,
        ) {
            let (x, y): (CpuMask, CpuMask) = (a.iter().copied().collect(), b.iter().copied().collect());
            let both: BTreeSet<_> = a.intersection(&b).copied().collect();
            prop_assert_eq!(x.and(&y).iter().collect::<BTreeSet<_>>(), both.clone());
            prop_assert_eq!(x.or(&y).count(), a.union(&b).count());
            prop_assert_eq!(x.without(&y).count(), a.difference(&b).count());
            prop_assert_eq!((x.common(&y), x.meets(&y)), (both.len(), !both.is_empty()));
            prop_assert_eq!(x.lowest(), a.first().copied());
            let (low, high) = (start.min(MAX_CPUS / 3), start);
            prop_assert_eq!(x.count_between(low, high), a.range(low..high).count());
            let next = both.range(start..).chain(both.range(..start)).next().copied();
            prop_assert_eq!(x.first_common_from(&y, start), next);
        }
    }
}
