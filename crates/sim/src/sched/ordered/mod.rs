//! An ordered list of tasks: the first few tasks inside the queue, the other tasks in short sorted arrays.
//!
//! Most runqueues contain a few tasks, for which a sorted array inside the queue is fastest: no pointer is followed and no
//! function called. Further tasks are in chunks, so that an operation on a queue of 100,000 tasks moves only a few hundred entries:
//!
//! ```text
//! head    [ 3 5 5 9 12 ]                           in the queue itself
//! chunks  [ 12 14 … ] [ 40 41 … ] [ 77 … ]         each at most 128 long, none empty
//! least   [ 2 ]       [ 38 ]      [ 80 ]           least value of each chunk, for searches by value
//! ```
//! The chunks are the leaf level of a B+ tree with a flat index (Bayer and McCreight, 1972).

mod rest;

pub use rest::Item;
use rest::Rest;

/// Entries in ascending order, equal entries in the order of insertion. Up to `HEAD` entries are inside the struct.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Ordered<I, const HEAD: usize> {
    /// Number of entries in `head`; 0 only if the list is empty.
    length: usize,
    /// All entries after the entries in `head`.
    rest: Option<Box<Rest<I>>>,
    head: [I; HEAD],
}

impl<I: Item, const HEAD: usize> Default for Ordered<I, HEAD> {
    fn default() -> Self {
        Self { length: 0, rest: None, head: [I::NOBODY; HEAD] }
    }
}

impl<I: Item, const HEAD: usize> Ordered<I, HEAD> {
    /// The entries inside the struct.
    #[inline(always)]
    fn head(&self) -> &[I] {
        debug_assert!(self.length <= HEAD);
        // SAFETY: `length` grows only in `insert`, which compares it with `HEAD`, and in `refill`, by at most `HEAD`.
        unsafe { self.head.get_unchecked(..self.length) }
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Insert an entry behind equal entries.
    #[inline]
    pub fn insert(&mut self, item: I) {
        if self.length == HEAD || self.rest.is_some() {
            return self.insert_slow(item);
        }
        // Search from the end, because most new entries belong near the end.
        let mut place = self.length;
        self.length += 1;
        // SAFETY: `length` was less than `HEAD`, see above.
        let head = unsafe { self.head.get_unchecked_mut(..place + 1) };
        while place > 0 && item.before(&head[place - 1]) {
            head[place] = head[place - 1];
            place -= 1;
        }
        head[place] = item;
    }

    #[cold]
    #[inline(never)]
    fn insert_slow(&mut self, item: I) {
        let length = self.length;
        if !item.before(&self.head[length - 1]) {
            return self.rest.get_or_insert_default().insert(item);
        }
        let place = self.head[..length].partition_point(|other| !item.before(other));
        if length == HEAD {
            self.rest.get_or_insert_default().push_first(self.head[HEAD - 1]);
        } else {
            self.length += 1;
        }
        self.head[place..self.length].rotate_right(1);
        self.head[place] = item;
    }

    /// Remove the entry of `item`'s task, which is at the place of `item`. Return whether the entry was in the list.
    #[inline]
    pub fn remove(&mut self, item: &I) -> bool {
        let task = item.task();
        match self.head().iter().position(|other| other.task() == task) {
            Some(place) => {
                self.remove_at(place);
                true
            }
            None => self.rest.is_some() && self.remove_slow(item),
        }
    }

    /// Remove and return the first entry.
    #[inline]
    pub fn pop(&mut self) -> Option<I> {
        let first = *self.first()?;
        self.remove_at(0);
        Some(first)
    }

    #[inline]
    fn remove_at(&mut self, place: usize) {
        // SAFETY: as in `head`.
        let head = unsafe { self.head.get_unchecked_mut(..self.length) };
        // For so few entries a loop is faster than a call of memmove().
        (place + 1..head.len()).for_each(|next| head.swap(next - 1, next));
        self.length -= 1;
        if self.length == 0 && self.rest.is_some() {
            self.refill();
        }
    }

    /// Move the first entries of the chunks to `head`.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        // Fill half of the places, so that there is room for the next insertions.
        self.length = rest.take_first(&mut self.head[..HEAD.div_ceil(2)]);
        if rest.is_empty() {
            self.rest = None;
        }
    }

    #[cold]
    #[inline(never)]
    fn remove_slow(&mut self, item: &I) -> bool {
        let Some(rest) = &mut self.rest else { return false };
        let removed = rest.remove(item);
        if rest.is_empty() {
            self.rest = None;
        }
        removed
    }

    /// The entry of a list of length 1.
    #[inline]
    pub fn only(&self) -> Option<&I> {
        if self.length == 1 && self.rest.is_none() { self.first() } else { None }
    }

    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<&I> {
        self.head().first()
    }

    /// The second entry.
    pub fn second(&self) -> Option<&I> {
        self.iter().nth(1)
    }

    /// The least value of all entries; `i64::MAX` for an empty list.
    #[inline]
    pub fn least_value(&self) -> i64 {
        let rest = self.rest.as_ref().map_or(i64::MAX, |rest| rest.least_value());
        self.head().iter().fold(rest, |least, item| least.min(item.value()))
    }

    /// The first entry whose value satisfies `fits`. If `fits` is true for a value, `fits` must be true for all lesser
    /// values.
    #[inline]
    pub fn first_that(&self, fits: impl Fn(i64) -> bool) -> Option<&I> {
        match self.head().iter().find(|item| fits(item.value())) {
            None => self.rest.as_ref()?.first_that(fits),
            first => first,
        }
    }

    /// Call `visit` for each entry in order, until it returns `false`.
    #[inline]
    pub fn visit(&self, mut visit: impl FnMut(&I) -> bool) {
        // A loop with a single call site, so that `visit` is inlined.
        let (mut part, mut next) = (self.head(), 0);
        loop {
            for item in part {
                if !visit(item) {
                    return;
                }
            }
            match self.rest.as_ref().and_then(|rest| rest.chunk(next)) {
                Some(chunk) => (part, next) = (chunk, next + 1),
                None => return,
            }
        }
    }

    /// All entries in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &I> {
        self.head().iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/sched/ordered/mod.rs"]
mod tests;
