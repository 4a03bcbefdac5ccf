//! Tables by CPU and by task.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector whose indices are numbers that the engine has given out itself: CPUs of the machine, or places in the table
/// of tasks, which never shrinks. They are checked in debug builds. An event makes some hundred such accesses, and the
/// checks were a tenth of its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table<T>(Vec<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    /// The entries of a range, checked.
    #[inline]
    pub fn part(&self, range: std::ops::Range<usize>) -> &[T] {
        &self.0[range]
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(entries: Vec<T>) -> Self {
        Self(entries)
    }
}

impl<T> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<T> Deref for Table<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: usize) -> &T {
        debug_assert!(at < self.0.len(), "{at} is a number that the engine has given out");
        // SAFETY: see the type; debug builds, in which all tests run, check it.
        unsafe { self.0.get_unchecked(at) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(at < self.0.len(), "{at} is a number that the engine has given out");
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(at) }
    }
}
