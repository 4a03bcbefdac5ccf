//! Sets of CPUs with neighbouring numbers.

use std::ops::{Deref, Range};

use super::CpuMask;

/// Set of CPUs that skips its empty words.
///
/// Domains and caches of large machines use one or two of sixteen words. Every wake-up and balancing pass intersects a
/// span with a changing set, so that skipping the other words saves time.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    mask: CpuMask,
    /// Smallest range of words that contains all CPUs.
    words: Range<usize>,
    /// Index of the only word with CPUs, if there is only one such word.
    only: Option<u8>,
    /// Range of the CPUs if their numbers are consecutive, otherwise empty.
    dense: Range<usize>,
}

impl Span {
    pub fn new(mask: CpuMask) -> Self {
        let occupied = |word: &u64| *word != 0;
        let first = mask.0.iter().position(occupied).unwrap_or(0);
        let last = mask.0.iter().rposition(occupied).map_or(0, |last| last + 1);
        let only = (first + 1 == last).then_some(first as u8);
        let dense = mask.lowest().map_or(0..0, |lowest| lowest..lowest + mask.count());
        let dense = if mask.count_between(dense.start, dense.end) == dense.len() { dense } else { 0..0 };
        Self { mask, words: first..last, only, dense }
    }

    /// The set as a mask.
    pub fn mask(&self) -> &CpuMask {
        &self.mask
    }

    /// Intersection with another set, as indices and words.
    #[inline]
    fn both<'a>(&'a self, other: &'a CpuMask) -> impl Iterator<Item = (usize, u64)> + 'a {
        self.words.clone().map(|at| (at, self.mask.0[at] & other.0[at]))
    }

    /// Whether the sets have a common CPU.
    #[inline]
    pub fn meets(&self, other: &CpuMask) -> bool {
        self.both(other).any(|(_, word)| word != 0)
    }

    /// Number of CPUs in both sets.
    #[inline]
    pub fn common(&self, other: &CpuMask) -> usize {
        self.both(other).map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// Lowest CPU in both sets.
    #[inline]
    pub fn first_common(&self, other: &CpuMask) -> Option<usize> {
        let (at, word) = self.both(other).find(|(_, word)| *word != 0)?;
        Some(at * 64 + word.trailing_zeros() as usize)
    }

    /// First CPU in both sets from `start` on, wrapping around.
    #[inline(always)]
    pub fn first_common_from(&self, other: &CpuMask, start: usize) -> Option<usize> {
        if let Some(at) = self.only.map(usize::from).filter(|at| *at == start / 64) {
            let both = self.mask.0[at] & other.0[at];
            let later = both & (u64::MAX << (start % 64));
            let word = if later != 0 { later } else { both };
            return (word != 0).then(|| at * 64 + word.trailing_zeros() as usize);
        }
        self.first_common_in_words(other, start)
    }

    /// [`Span::first_common_from`] for sets of several words. Out of line, so that the common case is inlined.
    #[inline(never)]
    fn first_common_in_words(&self, other: &CpuMask, start: usize) -> Option<usize> {
        let from = self.both(other).find_map(|(at, word)| {
            let word = match at.cmp(&(start / 64)) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => word & (u64::MAX << (start % 64)),
                std::cmp::Ordering::Greater => word,
            };
            (word != 0).then(|| at * 64 + word.trailing_zeros() as usize)
        });
        from.or_else(|| self.first_common(other))
    }

    /// Number of CPUs of the set from `start` up to `cpu`, exclusive, wrapping around.
    #[inline]
    pub fn rank(&self, start: usize, cpu: usize) -> usize {
        if self.dense.contains(&start) && self.dense.contains(&cpu) {
            return if cpu >= start { cpu - start } else { self.dense.len() - (start - cpu) };
        }
        if cpu >= start {
            self.mask.count_between(start, cpu)
        } else {
            self.mask.count_between(start, self.words.end * 64)
                + self.mask.count_between(self.words.start * 64, cpu)
        }
    }

    /// Call `visit` for each CPU in both sets, ascending.
    #[inline]
    pub fn each_common(&self, other: &CpuMask, mut visit: impl FnMut(usize)) {
        for (at, mut left) in self.both(other) {
            while left != 0 {
                visit(at * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

impl Deref for Span {
    type Target = CpuMask;

    fn deref(&self) -> &CpuMask {
        &self.mask
    }
}

#[cfg(test)]
#[path = "../../tests/unit/machine/span.rs"]
mod tests;
