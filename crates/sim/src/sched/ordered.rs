//! Tasks in an order of keys: short arrays, sorted.
//!
//! A runqueue holds a few tasks, for which nothing beats a sorted array. So that a hundred thousand tasks on one queue
//! cost no more than a few hundred moves each, the array is cut into chunks:
//!
//! ```text
//! chunks  [ 3 5 5 9 … ] [ 40 41 … ] [ 77 … ]      each at most 128 long, none empty but an only one
//! least   [ 2 ]         [ 38 ]      [ 80 ]        smallest value of a chunk, for searches by value
//! ```
//! It is the leaf level of a B+ tree with a flat index (Bayer and McCreight, 1972).

/// Longest chunk.
const LONGEST: usize = 128;

/// Entries that are moved faster one by one than by a call of the library.
const SHORT: usize = 6;

/// A task in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What the order is by.
    pub key: i64,
    /// What searches ask for besides.
    pub value: i64,
    /// Who.
    pub task: u32,
}

/// Tasks by ascending key; equal keys in the order of insertion.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// The first chunk, which nearly always is the only one, spares a hop through memory.
    head: Chunk,
    rest: Vec<Chunk>,
    length: usize,
}

#[derive(Debug, Clone)]
struct Chunk {
    entries: Vec<Entry>,
    least: i64,
}

impl Chunk {
    fn new(entries: Vec<Entry>) -> Self {
        let least = least(&entries);
        Self { entries, least }
    }

    fn remove(&mut self, at: usize) {
        let entries = &mut self.entries;
        let value = entries[at].value;
        if entries.len() - at > SHORT {
            entries.remove(at);
        } else {
            (at + 1..entries.len()).for_each(|next| entries.swap(next - 1, next));
            entries.pop();
        }
        // Where values are not used all are the greatest, and there is nothing to look for.
        if value == self.least && value != i64::MAX {
            self.least = least(entries);
        }
    }

    /// Position of a task with a key.
    fn find(&self, key: i64, task: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.task == task && entry.key == key)
    }

    fn first_key(&self) -> i64 {
        self.entries[0].key
    }
}

fn least(entries: &[Entry]) -> i64 {
    entries.iter().map(|entry| entry.value).min().unwrap_or(i64::MAX)
}

impl Default for Ordered {
    fn default() -> Self {
        Self { head: Chunk::new(Vec::new()), rest: Vec::new(), length: 0 }
    }
}

impl Ordered {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Puts a task in its place, behind equal keys.
    #[inline]
    pub fn insert(&mut self, entry: Entry) {
        self.length += 1;
        let mut chunk = &mut self.head;
        let mut at = 0;
        if !self.rest.is_empty() {
            at = self.rest.partition_point(|chunk| chunk.first_key() <= entry.key);
            if at > 0 {
                chunk = &mut self.rest[at - 1];
            }
        }
        // Most tasks go to the end or near it.
        let entries = &mut chunk.entries;
        let mut place = entries.len();
        entries.push(entry);
        while place > 0 && entries[place - 1].key > entry.key {
            entries[place] = entries[place - 1];
            place -= 1;
        }
        entries[place] = entry;
        chunk.least = chunk.least.min(entry.value);
        if chunk.entries.len() > LONGEST {
            self.split(at);
        }
    }

    /// Cuts the chunk at `at`, 0 being the head, in two.
    #[cold]
    fn split(&mut self, at: usize) {
        let chunk = if at == 0 { &mut self.head } else { &mut self.rest[at - 1] };
        let upper = chunk.entries.split_off(LONGEST / 2);
        chunk.least = least(&chunk.entries);
        self.rest.insert(at, Chunk::new(upper));
    }

    /// Takes the task with a key out; whether it was there.
    #[inline]
    pub fn remove(&mut self, key: i64, task: u32) -> bool {
        if let Some(place) = self.head.find(key, task) {
            self.length -= 1;
            self.head.remove(place);
            if self.head.entries.is_empty() && !self.rest.is_empty() {
                self.head = self.rest.remove(0);
            }
            return true;
        }
        !self.rest.is_empty() && self.remove_from_rest(key, task)
    }

    fn remove_from_rest(&mut self, key: i64, task: u32) -> bool {
        // The first chunk that can hold the key: equal keys may reach over several.
        let mut at = self.rest.partition_point(|chunk| chunk.first_key() < key).saturating_sub(1);
        while at < self.rest.len() && self.rest[at].first_key() <= key {
            if let Some(place) = self.rest[at].find(key, task) {
                self.length -= 1;
                self.rest[at].remove(place);
                if self.rest[at].entries.is_empty() {
                    self.rest.remove(at);
                }
                return true;
            }
            at += 1;
        }
        false
    }

    /// The only task, if there is one and no other.
    #[inline]
    pub fn only(&self) -> Option<&Entry> {
        if self.length == 1 { self.head.entries.first() } else { None }
    }

    /// The task with the smallest key.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.head.entries.first()
    }

    /// The task after the first.
    pub fn second(&self) -> Option<&Entry> {
        self.head.entries.get(1).or_else(|| self.rest.first()?.entries.first())
    }

    /// The smallest value of all; the greatest number there is without any.
    #[inline]
    pub fn least_value(&self) -> i64 {
        if self.rest.is_empty() {
            return self.head.least;
        }
        self.rest.iter().fold(self.head.least, |least, chunk| least.min(chunk.least))
    }

    /// The first task whose value satisfies `fits`, which holds for every value below one that it holds for.
    #[inline]
    pub fn first_that(&self, fits: impl Fn(i64) -> bool) -> Option<&Entry> {
        let mut chunk = &self.head;
        if chunk.entries.is_empty() || !fits(chunk.least) {
            chunk = self.rest.iter().find(|chunk| fits(chunk.least))?;
        }
        chunk.entries.iter().find(|entry| fits(entry.value))
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        std::iter::once(&self.head).chain(&self.rest)
    }

    /// Shows tasks by ascending key until `visit` says `false`.
    #[inline]
    pub fn visit(&self, mut visit: impl FnMut(u32) -> bool) {
        if self.head.entries.iter().all(|entry| visit(entry.task)) {
            let _ = self.rest.iter().flat_map(|chunk| &chunk.entries).all(|entry| visit(entry.task));
        }
    }

    /// All tasks by ascending key.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.chunks().flat_map(|chunk| &chunk.entries)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Entry, Ordered};

    proptest! {
        #[test]
        fn order_and_searches_are_those_of_a_plain_list(
            steps in prop::collection::vec((0i64..60, -40i64..40, any::<bool>()), 1..900), bound in -45i64..45,
        ) {
            let (mut ordered, mut plain) = (Ordered::default(), Vec::<Entry>::new());
            for (task, (key, value, keep)) in steps.into_iter().enumerate() {
                if keep || plain.is_empty() {
                    let entry = Entry { key, value, task: task as u32 };
                    ordered.insert(entry);
                    plain.insert(plain.partition_point(|other| other.key <= key), entry);
                } else {
                    let gone = plain.remove(key as usize % plain.len());
                    prop_assert!(ordered.remove(gone.key, gone.task));
                    prop_assert!(!ordered.remove(gone.key, gone.task));
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
            prop_assert_eq!(ordered.iter().copied().collect::<Vec<_>>(), plain);
        }
    }
}
