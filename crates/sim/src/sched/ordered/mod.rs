//! Tasks in order: the first few in place, the others in short sorted arrays.
//!
//! A runqueue holds a few tasks, for which nothing beats a sorted array inside it: no hop through memory, no call. So that
//! a hundred thousand tasks on one queue cost no more than a few hundred moves each, what does not fit is cut into chunks:
//!
//! ```text
//! head    [ 3 5 5 9 12 ]                           in the queue itself
//! chunks  [ 12 14 … ] [ 40 41 … ] [ 77 … ]         each at most 128 long, none empty
//! least   [ 2 ]       [ 38 ]      [ 80 ]           smallest value of a chunk, for searches by value
//! ```
//! The chunks are the leaf level of a B+ tree with a flat index (Bayer and McCreight, 1972).

mod rest;

use std::fmt::Debug;

use rest::Rest;

/// A task in its place.
pub trait Item: Copy + Debug + PartialEq {
    /// What an unused place holds.
    const NOBODY: Self;

    /// Who.
    fn task(&self) -> u32;

    /// Whether it comes before another, whichever was there first.
    fn before(&self, other: &Self) -> bool;

    /// What searches ask for besides; the greatest number where they ask for nothing.
    fn value(&self) -> i64 {
        i64::MAX
    }
}

/// Tasks in ascending order, equal ones in the order of insertion; the first `HEAD` lie in place.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Ordered<I, const HEAD: usize> {
    /// How many lie in place: none only if there is none at all.
    length: usize,
    /// All after those in place.
    rest: Option<Box<Rest<I>>>,
    head: [I; HEAD],
}

impl<I: Item, const HEAD: usize> Default for Ordered<I, HEAD> {
    fn default() -> Self {
        Self { length: 0, rest: None, head: [I::NOBODY; HEAD] }
    }
}

impl<I: Item, const HEAD: usize> Ordered<I, HEAD> {
    /// Those in place.
    #[inline(always)]
    fn head(&self) -> &[I] {
        debug_assert!(self.length <= HEAD);
        // SAFETY: only `insert`, which looks whether there is room, makes `length` greater.
        unsafe { self.head.get_unchecked(..self.length) }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Puts a task in its place, behind equal ones.
    #[inline]
    pub fn insert(&mut self, item: I) {
        if self.length == HEAD || self.rest.is_some() {
            return self.insert_far(item);
        }
        // Most tasks go to the end or near it.
        let mut place = self.length;
        self.length += 1;
        // SAFETY: there is room for one more, see above.
        let head = unsafe { self.head.get_unchecked_mut(..place + 1) };
        while place > 0 && item.before(&head[place - 1]) {
            head[place] = head[place - 1];
            place -= 1;
        }
        head[place] = item;
    }

    #[cold]
    #[inline(never)]
    fn insert_far(&mut self, item: I) {
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

    /// Takes a task out that stands where `item` would; whether it was there.
    #[inline]
    pub fn remove(&mut self, item: &I) -> bool {
        let task = item.task();
        match self.head().iter().position(|other| other.task() == task) {
            Some(place) => {
                self.remove_at(place);
                true
            }
            None => self.rest.is_some() && self.remove_far(item),
        }
    }

    /// Takes the first task out.
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
        // They are few, and moved faster one by one than by a call of the library.
        (place + 1..head.len()).for_each(|next| head.swap(next - 1, next));
        self.length -= 1;
        if self.length == 0 && self.rest.is_some() {
            self.refill();
        }
    }

    /// The first of the rest move up.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        // Half of the places, so that who comes next finds one.
        self.length = rest.take_first(&mut self.head[..HEAD.div_ceil(2)]);
        if rest.is_empty() {
            self.rest = None;
        }
    }

    #[cold]
    #[inline(never)]
    fn remove_far(&mut self, item: &I) -> bool {
        let Some(rest) = &mut self.rest else { return false };
        let there = rest.remove(item);
        if rest.is_empty() {
            self.rest = None;
        }
        there
    }

    /// The only task, if there is one and no other.
    #[inline]
    pub fn only(&self) -> Option<&I> {
        if self.length == 1 && self.rest.is_none() { self.first() } else { None }
    }

    /// The first task.
    #[inline]
    pub fn first(&self) -> Option<&I> {
        self.head().first()
    }

    /// The task after the first.
    pub fn second(&self) -> Option<&I> {
        self.iter().nth(1)
    }

    /// The smallest value of all; the greatest number there is without any.
    #[inline]
    pub fn least_value(&self) -> i64 {
        let rest = self.rest.as_ref().map_or(i64::MAX, |rest| rest.least_value());
        self.head().iter().fold(rest, |least, item| least.min(item.value()))
    }

    /// The first task whose value satisfies `fits`, which holds for every value below one that it holds for.
    #[inline]
    pub fn first_that(&self, fits: impl Fn(i64) -> bool) -> Option<&I> {
        match self.head().iter().find(|item| fits(item.value())) {
            None => self.rest.as_ref()?.first_that(fits),
            found => found,
        }
    }

    /// Shows tasks in their order until `visit` says `false`.
    #[inline]
    pub fn visit(&self, mut visit: impl FnMut(&I) -> bool) {
        // One loop with one call, so that what visits becomes a part of it.
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

    /// All tasks in their order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &I> {
        self.head().iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Item, Ordered};

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Entry {
        key: i64,
        value: i64,
        task: u32,
    }

    impl Item for Entry {
        const NOBODY: Self = Self { key: 0, value: 0, task: u32::MAX };

        fn task(&self) -> u32 {
            self.task
        }

        fn before(&self, other: &Self) -> bool {
            self.key < other.key
        }

        fn value(&self) -> i64 {
            self.value
        }
    }

    proptest! {
        #[test]
        fn order_and_searches_are_those_of_a_plain_list(
            steps in prop::collection::vec((0i64..60, -40i64..40, any::<bool>()), 1..900), bound in -45i64..45,
            most in 1usize..400,
        ) {
            let (mut ordered, mut plain) = (Ordered::<Entry, 4>::default(), Vec::<Entry>::new());
            for (task, (key, value, keep)) in steps.into_iter().enumerate() {
                if plain.is_empty() || (keep && plain.len() < most) {
                    let entry = Entry { key, value, task: task as u32 };
                    ordered.insert(entry);
                    plain.insert(plain.partition_point(|other| other.key <= key), entry);
                } else if value > 20 {
                    prop_assert_eq!(ordered.pop(), Some(plain.remove(0)));
                } else {
                    let gone = plain.remove(key as usize % plain.len());
                    prop_assert!(ordered.remove(&gone));
                    prop_assert!(!ordered.remove(&gone));
                }
                prop_assert_eq!(ordered.is_empty(), plain.is_empty());
                prop_assert_eq!(ordered.first(), plain.first());
                prop_assert_eq!(ordered.only(), plain.first().filter(|_| plain.len() == 1));
                prop_assert_eq!(ordered.second(), plain.get(1));
                let least = plain.iter().map(|entry| entry.value).min();
                prop_assert_eq!(ordered.least_value(), least.unwrap_or(i64::MAX));
                let fitting = plain.iter().find(|entry| entry.value <= bound);
                prop_assert_eq!(ordered.first_that(|value| value <= bound), fitting);
            }
            let mut seen = Vec::new();
            ordered.visit(|entry| {
                seen.push(*entry);
                seen.len() < most
            });
            prop_assert_eq!(&seen[..], &plain[..most.min(plain.len())]);
            prop_assert_eq!(ordered.iter().copied().collect::<Vec<_>>(), plain);
        }
    }
}
