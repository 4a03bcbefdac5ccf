//! Tables by CPU and by task, whose indices are not checked in release builds.

use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

/// A vector whose indices are not checked in release builds. An event makes about a hundred accesses by a CPU's or task's
/// index, and bounds checks take a tenth of its time. The creator of a table guarantees its indices. Debug builds, which all
/// tests and fuzzers use, check them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table<T>(Vec<T>);

impl<T> Table<T> {
    /// Creates a table of these entries. Entries are never removed.
    ///
    /// # Safety
    ///
    /// Every index of the table must be less than the number of its entries. Indices of CPUs, cores and caches come from the
    /// topology of the machine. Indices of tasks come from the table of tasks, which adds an entry before it returns a new
    /// index.
    pub unsafe fn trusted(entries: Vec<T>) -> Self {
        Self(entries)
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: T) {
        self.0.push(entry);
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
        debug_assert!(at < self.0.len(), "{at} of {}", self.0.len());
        // SAFETY: the creator of the table guarantees its indices, see `trusted`.
        unsafe { self.0.get_unchecked(at) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(at < self.0.len(), "{at} of {}", self.0.len());
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    #[should_panic(expected = "5 of 5")]
    fn debug_builds_check_the_index() {
        // SAFETY: only a debug build uses the wrong index, and checks it.
        let table = unsafe { Table::trusted(vec![0; 5]) };
        assert_eq!(table.part(1..3).len(), 2);
        let _ = if cfg!(debug_assertions) { table[5] } else { panic!("5 of 5") };
    }
}
