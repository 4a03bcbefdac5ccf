//! Tables by CPU and by task, whose indices release builds do not check.

use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

/// A vector whose indices are not checked in release builds. An event makes about a hundred accesses by a CPU's or task's
/// index, and bounds checks take a tenth of its time. The creator of a table guarantees its indices. Debug builds, which all
/// tests and fuzzers use, and builds with the feature `check` check indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table<T>(Vec<T>);

impl<T> Table<T> {
    /// Create a table of these entries. Entries are never removed.
    ///
    /// # Safety
    ///
    /// Every index of the table must be less than the number of its entries. Indices of CPUs, cores and caches come from the
    /// topology of the machine. Indices of tasks come from the table of tasks, which adds an entry before it returns a new
    /// index.
    pub unsafe fn trusted(entries: Vec<T>) -> Self {
        Self(entries)
    }

    /// Add an entry.
    pub fn push(&mut self, entry: T) {
        self.0.push(entry);
    }

    #[inline(always)]
    fn check(&self, at: usize) {
        if cfg!(any(debug_assertions, feature = "check")) {
            assert!(at < self.0.len(), "{at} of {}", self.0.len());
        }
    }

    /// The entries of a range, which is checked in all builds.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> &[T] {
        &self.0[range]
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        self.check(at);
        // SAFETY: the creator of the table guarantees its indices, see `trusted`.
        unsafe { self.0.get_unchecked(at) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        self.check(at);
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(at) }
    }
}

#[cfg(test)]
#[path = "../tests/unit/table.rs"]
mod tests;
