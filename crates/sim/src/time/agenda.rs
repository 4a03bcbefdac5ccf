//! The next event of each CPU.

use super::Ns;

/// Number of bits of a key that contain the slot.
const SLOT_BITS: u32 = 10;

/// A time after all events.
pub const NEVER: Ns = u64::MAX >> SLOT_BITS;

/// Maximum number of slots: one slot for each CPU, and a slot for events that belong to no CPU.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

const NODES: usize = 2 * MAX_SLOTS;

/// A winner tree over slots, each with the time of its next event. Simultaneous events come in the order of slots.
///
/// Keys are `time << 10 | slot` in 64 bits, so time reaches 2⁵⁴ ns, 208 days.
#[derive(Debug, Clone)]
pub struct Agenda {
    /// Node 1 is the root, and node n has the children 2n and 2n + 1. The number of leaves is a power of two, so that all
    /// paths to the root have the same length and are predicted well. The last slot, which rarely changes, is in node 0
    /// outside of the tree: in the tree this slot would double the leaves of a machine whose number of CPUs is a power
    /// of two. The fixed size makes bounds checks of masked indices unnecessary.
    tree: Box<[u64; NODES]>,
    leaves: usize,
    last: usize,
}

impl Agenda {
    /// Create an agenda of `slots` slots, at most [`MAX_SLOTS`], without events.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "a machine has fewer CPUs");
        let last = slots.max(1) - 1;
        Self { tree: Box::new([u64::MAX; NODES]), leaves: last.max(1).next_power_of_two(), last }
    }

    /// Set the time of a slot's next event; [`NEVER`] removes the event.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Ns) {
        self.set_node(self.node(slot), at.min(NEVER) << SLOT_BITS | slot as u64);
    }

    /// As [`Agenda::set`], for any slot but the last.
    #[inline]
    pub fn set_but_last(&mut self, slot: usize, at: Ns) {
        debug_assert!(slot != self.last);
        self.set_node((self.leaves + slot) % NODES, at.min(NEVER) << SLOT_BITS | slot as u64);
    }

    #[inline(always)]
    fn set_node(&mut self, mut node: usize, key: u64) {
        let tree = &mut *self.tree;
        if tree[node] == key {
            return;
        }
        tree[node] = key;
        let mut best = key;
        let mut climb = |node: usize| {
            best = best.min(tree[node ^ 1]);
            tree[node >> 1] = best;
        };
        // Two levels per iteration, which needs fewer instructions.
        while node > 3 {
            climb(node);
            climb(node >> 1);
            node >>= 2;
        }
        if node > 1 {
            climb(node);
        }
    }

    #[inline]
    fn node(&self, slot: usize) -> usize {
        if slot == self.last { 0 } else { (self.leaves + slot) % NODES }
    }

    /// The earliest event, as time and slot.
    #[inline]
    pub fn first(&self) -> Option<(Ns, usize)> {
        let key = self.tree[1].min(self.tree[0]);
        let at = key >> SLOT_BITS;
        (at < NEVER).then_some((at, (key & (MAX_SLOTS as u64 - 1)) as usize))
    }

    /// Time of a slot's next event.
    pub fn at(&self, slot: usize) -> Ns {
        self.tree[self.node(slot)] >> SLOT_BITS
    }
}

#[cfg(test)]
#[path = "../../tests/unit/time/agenda.rs"]
mod tests;
