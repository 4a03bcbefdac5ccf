//! Timers of one CPU.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{NEVER, Ns};

/// An armed timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// When it fires.
    pub at: Ns,
    /// Whom it is for.
    pub owner: u32,
}

/// A heap of timers; those of one moment fire in the order in which they were armed. `benches/queues.rs` compares it
/// with other queues.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    /// `at << 64 | order << 32 | owner`.
    heap: BinaryHeap<Reverse<u128>>,
    armed: u32,
}

impl Timers {
    /// Arms a timer for `owner` at `at`. Nothing is cancelled: whoever has changed plans ignores the call.
    #[inline]
    pub fn arm(&mut self, at: Ns, owner: u32) {
        let key = u128::from(at) << 64 | u128::from(self.armed) << 32 | u128::from(owner);
        self.armed = self.armed.wrapping_add(1);
        self.heap.push(Reverse(key));
    }

    /// When the first timer fires; [`NEVER`] without timers.
    #[inline]
    pub fn next(&self) -> Ns {
        self.heap.peek().map_or(NEVER, |Reverse(key)| (key >> 64) as Ns)
    }

    /// The first timer.
    #[inline]
    pub fn first(&self) -> Option<Timer> {
        self.heap.peek().map(|Reverse(key)| Timer { at: (key >> 64) as Ns, owner: *key as u32 })
    }

    /// Takes the first timer off.
    #[inline]
    pub fn pop(&mut self) -> Option<Timer> {
        self.heap.pop().map(|Reverse(key)| Timer { at: (key >> 64) as Ns, owner: key as u32 })
    }

    /// Number of armed timers.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no timer is armed.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Timers;

    proptest! {
        #[test]
        fn timers_fire_by_time_and_then_in_the_order_of_arming(times in prop::collection::vec(0u64..40, 0..200)) {
            let mut timers = Timers::default();
            times.iter().enumerate().for_each(|(owner, at)| timers.arm(*at, owner as u32));
            let mut expected: Vec<_> = times.iter().enumerate().map(|(owner, at)| (*at, owner as u32)).collect();
            expected.sort();
            let fired: Vec<_> = std::iter::from_fn(|| timers.pop()).map(|timer| (timer.at, timer.owner)).collect();
            prop_assert_eq!(fired, expected);
        }
    }
}
