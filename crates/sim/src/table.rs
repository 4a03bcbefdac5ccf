//! Tables by CPU and by task, whose indexing is safe without a branch.
//!
//! An event makes some hundred accesses by a CPU's or task's number; bounds checks take 5 to 10 % of its time. Here the
//! number of entries is a power of two, and an index is masked: a wrong index reaches a wrong entry, never memory outside
//! of the table. Debug builds, in which all tests run, check the index.

use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

use crate::time::MAX_SLOTS;

/// A table with an entry for each CPU, core or cache. Its size is fixed, so that the compiler knows the mask.
#[derive(Debug, Clone)]
pub(crate) struct PerCpu<T> {
    entries: Box<[T; MAX_SLOTS]>,
    len: usize,
}

impl<T> PerCpu<T> {
    /// The entries of a range, checked.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> &[T] {
        &self.entries[range]
    }
}

impl<T: Default> From<Vec<T>> for PerCpu<T> {
    fn from(mut entries: Vec<T>) -> Self {
        let len = entries.len();
        assert!(len <= MAX_SLOTS, "a machine has at most {MAX_SLOTS} CPUs");
        entries.resize_with(MAX_SLOTS, T::default);
        Self { entries: entries.into_boxed_slice().try_into().ok().expect("just resized"), len }
    }
}

impl<T: Default> FromIterator<T> for PerCpu<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        entries.into_iter().collect::<Vec<_>>().into()
    }
}

impl<T: PartialEq> PartialEq for PerCpu<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for PerCpu<T> {}

impl<T> Deref for PerCpu<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries[..self.len]
    }
}

impl<T> DerefMut for PerCpu<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries[..self.len]
    }
}

impl<T> Index<usize> for PerCpu<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        debug_assert!(at < self.len, "{at} of {}", self.len);
        &self.entries[at % MAX_SLOTS]
    }
}

impl<T> IndexMut<usize> for PerCpu<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(at < self.len, "{at} of {}", self.len);
        &mut self.entries[at % MAX_SLOTS]
    }
}

/// A table that grows, with an entry for each task.
#[derive(Debug)]
pub(crate) struct Table<T> {
    /// The entries, and as many defaults as make a power of two.
    padded: Vec<T>,
    /// Invariant: less than the number of padded entries, which never shrinks.
    mask: usize,
    len: usize,
}

impl<T: Default> Default for Table<T> {
    fn default() -> Self {
        Self { padded: vec![T::default()], mask: 0, len: 0 }
    }
}

impl<T: Default> Table<T> {
    /// Adds an entry.
    pub fn push(&mut self, entry: T) {
        if self.len == self.padded.len() {
            self.padded.resize_with(2 * self.len, T::default);
            self.mask = self.padded.len() - 1;
        }
        self.padded[self.len] = entry;
        self.len += 1;
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.padded[..self.len]
    }
}

impl<T> DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.padded[..self.len]
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        debug_assert!(at < self.len, "{at} of {}", self.len);
        // SAFETY: by the invariant of `mask`.
        unsafe { self.padded.get_unchecked(at & self.mask) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(at < self.len, "{at} of {}", self.len);
        // SAFETY: by the invariant of `mask`.
        unsafe { self.padded.get_unchecked_mut(at & self.mask) }
    }
}

#[cfg(test)]
mod tests {
    use super::{PerCpu, Table};

    #[test]
    fn tables_keep_their_entries_and_show_no_padding() {
        let mut by_task = Table::default();
        assert!(by_task.is_empty());
        (0..100u32).for_each(|entry| by_task.push(entry));
        assert!((0..100).all(|at| by_task[at] == at as u32));
        by_task[99] = 7;
        assert_eq!((by_task.len(), by_task.last()), (100, Some(&7)));
        let by_cpu: PerCpu<u32> = (0..5).collect();
        assert_eq!((&*by_cpu, by_cpu.part(1..3)), (&[0, 1, 2, 3, 4][..], &[1, 2][..]));
        assert_eq!(by_cpu, vec![0, 1, 2, 3, 4].into());
    }

    #[test]
    #[should_panic(expected = "5 of 5")]
    fn debug_builds_check_the_index() {
        let by_cpu: PerCpu<u32> = (0..5).collect();
        let _ = by_cpu[5];
    }
}
