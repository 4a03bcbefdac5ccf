//! A set-associative cache of line numbers.

/// Bytes of a cache line of x86-64.
pub(crate) const LINE: u64 = 64;

/// Ways of a set: the associativity of the private caches of Intel's Haswell (L2, 8 ways; Intel 64 and IA-32
/// Architectures Optimization Reference Manual, "Cache Parameters of the Haswell Microarchitecture").
const WAYS: usize = 8;

/// No line: numbers of lines are physical addresses without their lowest bits.
const FREE: u64 = u64::MAX;

/// A cached line, and whether this cache may write to the line without asking other caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) line: u64,
    pub(crate) modified: bool,
}

/// A cache with eight ways. The least recently used line of a set is replaced.
pub(crate) struct Lines {
    /// The ways of each set, the most recently used first.
    ways: Vec<Way>,
    sets: u64,
}

impl Lines {
    /// A cache of this size; a set has at least one line.
    pub(crate) fn new(kib: u32) -> Self {
        let sets = (u64::from(kib) * 1024 / LINE / WAYS as u64).max(1);
        Self { ways: vec![Way { line: FREE, modified: false }; sets as usize * WAYS], sets }
    }

    fn set(&mut self, line: u64) -> &mut [Way] {
        let first = (line % self.sets) as usize * WAYS;
        &mut self.ways[first..first + WAYS]
    }

    /// Finds a line, which becomes the most recently used line of its set.
    pub(crate) fn find(&mut self, line: u64) -> Option<&mut Way> {
        let set = self.set(line);
        let place = set.iter().position(|way| way.line == line)?;
        set[..=place].rotate_right(1);
        set.first_mut()
    }

    /// Adds a line that the cache lacks, as the most recently used. Returns the replaced line.
    pub(crate) fn insert(&mut self, way: Way) -> Option<Way> {
        let set = self.set(way.line);
        set.rotate_right(1);
        let replaced = std::mem::replace(&mut set[0], way);
        (replaced.line != FREE).then_some(replaced)
    }

    /// Removes a line, if the cache has the line.
    pub(crate) fn remove(&mut self, line: u64) {
        let set = self.set(line);
        if let Some(place) = set.iter().position(|way| way.line == line) {
            set[place..].rotate_left(1);
            set[WAYS - 1] = Way { line: FREE, modified: false };
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/cache/lines.rs"]
mod tests;
