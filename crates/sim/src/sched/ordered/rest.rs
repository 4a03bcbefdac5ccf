//! Entries, and chunks of the entries that do not fit inside a queue.

use std::fmt::Debug;

/// An entry of the list.
pub trait Item: Copy + Debug + PartialEq {
    /// Content of an unused place.
    const NOBODY: Self;

    /// Index of the task.
    fn task(&self) -> u32;

    /// Whether the entry comes before another, independent of the order of insertion.
    fn before(&self, other: &Self) -> bool;

    /// Value for searches; `i64::MAX` if the type has no such value.
    fn value(&self) -> i64 {
        i64::MAX
    }
}

/// Maximum length of a chunk.
const MAX_CHUNK: usize = 128;

/// Chunks in ascending order.
#[derive(Debug, Clone)]
pub(super) struct Rest<I> {
    chunks: Vec<Chunk<I>>,
}

/// Entries in ascending order; never empty.
#[derive(Debug, Clone)]
struct Chunk<I> {
    items: Vec<I>,
    least: i64,
}

impl<I: Item> Chunk<I> {
    fn new(items: Vec<I>) -> Self {
        let least = least(&items);
        Self { items, least }
    }

    fn first(&self) -> &I {
        &self.items[0]
    }

    fn remove(&mut self, at: usize) {
        let removed = self.items.remove(at);
        // Types without values have `i64::MAX` everywhere, which needs no search.
        if removed.value() == self.least && self.least != i64::MAX {
            self.least = least(&self.items);
        }
    }
}

fn least<I: Item>(items: &[I]) -> i64 {
    items.iter().map(Item::value).min().unwrap_or(i64::MAX)
}

impl<I> Default for Rest<I> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<I: Item> Rest<I> {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Insert an entry behind equal entries.
    pub fn insert(&mut self, item: I) {
        let at = self.chunks.partition_point(|chunk| !item.before(chunk.first())).saturating_sub(1);
        match self.chunks.get(at) {
            None => self.chunks.push(Chunk::new(vec![item])),
            Some(chunk) => {
                let place = chunk.items.partition_point(|other| !item.before(other));
                self.insert_at(at, place, item);
            }
        }
    }

    /// Insert an entry before all other entries, including equal entries.
    pub fn push_first(&mut self, item: I) {
        match self.chunks.is_empty() {
            true => self.chunks.push(Chunk::new(vec![item])),
            false => self.insert_at(0, 0, item),
        }
    }

    fn insert_at(&mut self, at: usize, place: usize, item: I) {
        let chunk = &mut self.chunks[at];
        chunk.items.insert(place, item);
        chunk.least = chunk.least.min(item.value());
        if chunk.items.len() > MAX_CHUNK {
            let upper = chunk.items.split_off(MAX_CHUNK / 2);
            chunk.least = least(&chunk.items);
            self.chunks.insert(at + 1, Chunk::new(upper));
        }
    }

    /// Remove the entry of `item`'s task, which is at the place of `item`. Return whether the entry was in a chunk.
    pub fn remove(&mut self, item: &I) -> bool {
        // The first chunk that can contain the entry: equal entries may fill several chunks.
        let mut at = self.chunks.partition_point(|chunk| chunk.first().before(item)).saturating_sub(1);
        while at < self.chunks.len() && !item.before(self.chunks[at].first()) {
            let chunk = &mut self.chunks[at];
            if let Some(place) = chunk.items.iter().position(|other| other.task() == item.task()) {
                chunk.remove(place);
                if chunk.items.is_empty() {
                    self.chunks.remove(at);
                }
                return true;
            }
            at += 1;
        }
        false
    }

    /// Move as many of the first entries as fit to `places`. Return their number, at least 1.
    pub fn take_first(&mut self, places: &mut [I]) -> usize {
        let chunk = &mut self.chunks[0];
        let number = places.len().min(chunk.items.len());
        places[..number].copy_from_slice(&chunk.items[..number]);
        chunk.items.drain(..number);
        if chunk.items.is_empty() {
            self.chunks.remove(0);
        } else if places[..number].iter().any(|item| item.value() == chunk.least) && chunk.least != i64::MAX {
            chunk.least = least(&chunk.items);
        }
        number
    }

    pub fn least_value(&self) -> i64 {
        self.chunks.iter().fold(i64::MAX, |least, chunk| least.min(chunk.least))
    }

    pub fn first_that(&self, fits: impl Fn(i64) -> bool) -> Option<&I> {
        let chunk = self.chunks.iter().find(|chunk| fits(chunk.least))?;
        chunk.items.iter().find(|item| fits(item.value()))
    }

    /// The entries of a chunk.
    #[cold]
    pub fn chunk(&self, at: usize) -> Option<&[I]> {
        self.chunks.get(at).map(|chunk| &chunk.items[..])
    }

    pub fn iter(&self) -> impl Iterator<Item = &I> {
        self.chunks.iter().flat_map(|chunk| &chunk.items)
    }
}
