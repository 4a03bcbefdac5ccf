//! When each CPU next needs attention.

use super::{NEVER, Ns};

/// Bits of a key that name the slot.
pub(super) const SLOT_BITS: u32 = 10;

/// Most slots: CPUs and one for events that belong to no CPU.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// Where each level of the tree begins, in keys: leaves first, each level above a quarter as long.
const LEVELS: [usize; 6] = [0, 1024, 1280, 1344, 1360, 1364];

/// Fours of keys, a power of two that has room for all levels, so that masked positions need no check.
const FOURS: usize = 512;

/// A winner tree over slots, each with the time of its next event, in which every node is the least of four below it. Events
/// at one time come in the order of slots.
///
/// Keys are `time << 10 | slot` in 64 bits, so time reaches 2⁵⁴ ns, 208 days.
#[derive(Debug, Clone)]
pub struct Agenda {
    tree: Box<[[u64; 4]; FOURS]>,
    /// Levels above the leaves.
    height: usize,
}

impl Agenda {
    /// An agenda of `slots` slots, at most [`MAX_SLOTS`], in which nothing is planned.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "a machine has fewer CPUs");
        let height = (1..).find(|height| slots <= 1 << (2 * height)).expect("four to the fifth are enough");
        Self { tree: Box::new([[u64::MAX; 4]; FOURS]), height }
    }

    /// Plans the next event of a slot; [`NEVER`] takes it off the agenda.
    #[inline]
    pub fn set(&mut self, mut slot: usize, at: Ns) {
        let key = if at >= NEVER { u64::MAX } else { at << SLOT_BITS | slot as u64 };
        let tree = &mut *self.tree;
        let mut node = slot;
        tree[node / 4 % FOURS][node % 4] = key;
        for below in &LEVELS[1..=self.height] {
            let [a, b, c, d] = tree[node / 4 % FOURS];
            let best = a.min(b).min(c.min(d));
            // The place of the four among those of its level is that of their node on the next.
            slot /= 4;
            node = below + slot;
            let known = &mut tree[node / 4 % FOURS][node % 4];
            if *known == best {
                return;
            }
            *known = best;
        }
    }

    /// The earliest event, as time and slot.
    #[inline]
    pub fn first(&self) -> Option<(Ns, usize)> {
        let key = self.tree[LEVELS[self.height] / 4 % FOURS][0];
        (key != u64::MAX).then_some((key >> SLOT_BITS, (key & (MAX_SLOTS as u64 - 1)) as usize))
    }

    /// When a slot's next event is.
    pub fn at(&self, slot: usize) -> Ns {
        let key = self.tree[slot / 4][slot % 4];
        if key == u64::MAX { NEVER } else { key >> SLOT_BITS }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Agenda, MAX_SLOTS, NEVER};

    proptest! {
        #[test]
        fn the_first_event_is_the_earliest_of_all(
            slots in 1usize..=MAX_SLOTS, changes in prop::collection::vec((0usize..MAX_SLOTS, 0u64..50), 1..300),
        ) {
            let mut agenda = Agenda::new(slots);
            let mut plain = vec![NEVER; slots];
            for (slot, at) in changes {
                let at = if at > 40 { NEVER } else { at };
                agenda.set(slot % slots, at);
                plain[slot % slots] = at;
                let first = plain.iter().enumerate().map(|(slot, at)| (*at, slot)).min();
                prop_assert_eq!(agenda.first(), first.filter(|(at, _)| *at < NEVER));
                prop_assert_eq!(agenda.at(slot % slots), at);
            }
        }
    }
}
