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

/// Timers in order; those of one moment fire in the order in which they were armed. `benches/queues.rs` compares them with
/// other queues.
///
/// A CPU has a few timers, and the newest is mostly among the last: it moves one or two places up in a short sorted array,
/// which is a guess of a branch less than a heap takes. What does not fit waits in a heap until the array is empty.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Timers {
    first: u32,
    length: u32,
    armed: u32,
    /// Whether there are others.
    many: bool,
    /// The earliest timers, ascending, in a ring; empty only if there are none at all. With what is above it in the first
    /// cache line.
    near: [Armed; NEAR],
    /// The others, none before the last of the ring.
    far: BinaryHeap<Reverse<Armed>>,
}

/// Places of the ring, a power of two.
const NEAR: usize = 16;

/// A timer and when it was armed: in the order of its fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Armed {
    at: Ns,
    order: u32,
    owner: u32,
}

impl Timers {
    /// Arms a timer for `owner` at `at`. Nothing is cancelled: whoever has changed plans ignores the call.
    #[inline]
    pub fn arm(&mut self, at: Ns, owner: u32) {
        let timer = Armed { at, order: self.armed, owner };
        self.armed = self.armed.wrapping_add(1);
        if self.length as usize == NEAR || self.many {
            return self.arm_among_many(timer);
        }
        self.insert(timer);
    }

    /// Puts the newest timer in its place.
    #[inline]
    fn insert(&mut self, timer: Armed) {
        let mut place = self.first + self.length;
        self.length += 1;
        while place > self.first && self.near(place - 1).at > timer.at {
            *self.near(place) = *self.near(place - 1);
            place -= 1;
        }
        *self.near(place) = timer;
    }

    #[cold]
    #[inline(never)]
    fn arm_among_many(&mut self, timer: Armed) {
        let last = *self.near(self.first + self.length - 1);
        self.many = true;
        if timer > last {
            return self.far.push(Reverse(timer));
        }
        if self.length as usize == NEAR {
            self.far.push(Reverse(last));
            self.length -= 1;
        }
        self.insert(timer);
    }

    #[inline]
    fn near(&mut self, place: u32) -> &mut Armed {
        &mut self.near[place as usize % NEAR]
    }

    /// When the first timer fires; [`NEVER`] without timers.
    #[inline]
    pub fn next(&self) -> Ns {
        self.first().map_or(NEVER, |timer| timer.at)
    }

    /// The first timer.
    #[inline]
    pub fn first(&self) -> Option<Timer> {
        let Armed { at, owner, .. } = self.near[self.first as usize % NEAR];
        (self.length > 0).then_some(Timer { at, owner })
    }

    /// Takes the first timer off.
    #[inline]
    pub fn pop(&mut self) -> Option<Timer> {
        let first = self.first()?;
        self.first = (self.first + 1) % NEAR as u32;
        self.length -= 1;
        if self.length == 0 && self.many {
            self.refill();
        }
        Some(first)
    }

    /// Half of the ring is taken from the heap.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let timers = std::iter::from_fn(|| self.far.pop()).take(NEAR / 2);
        for (place, Reverse(timer)) in timers.enumerate() {
            self.near[place] = timer;
            self.length = place as u32 + 1;
        }
        self.first = 0;
        self.many = !self.far.is_empty();
    }

    /// Number of armed timers.
    pub fn len(&self) -> usize {
        self.length as usize + self.far.len()
    }

    /// Whether no timer is armed.
    pub fn is_empty(&self) -> bool {
        self.length == 0
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

        #[test]
        fn timers_are_in_order_however_arming_and_firing_take_turns(
            turns in prop::collection::vec(prop::option::weighted(0.6, 0u64..1000), 0..400),
        ) {
            let (mut timers, mut plain, mut armed) = (Timers::default(), std::collections::BTreeSet::new(), 0);
            for turn in turns {
                if let Some(at) = turn {
                    timers.arm(at, armed);
                    plain.insert((at, armed));
                    armed += 1;
                } else {
                    prop_assert_eq!(timers.pop().map(|timer| (timer.at, timer.owner)), plain.pop_first());
                }
                prop_assert_eq!(timers.first().map(|timer| (timer.at, timer.owner)), plain.first().copied());
                prop_assert_eq!(timers.len(), plain.len());
            }
        }
    }
}
