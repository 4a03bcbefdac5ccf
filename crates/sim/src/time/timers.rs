//! Timers of one CPU.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{NEVER, Ns};

/// An armed timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// Time at which the timer fires.
    pub at: Ns,
    /// Index chosen by the caller of [`Timers::arm`].
    pub owner: u32,
}

/// Timers in the order of their times. Simultaneous timers fire in the order of arming. `benches/queues.rs` compares
/// the implementation with other queues.
///
/// A CPU has a few timers, and the newest is mostly among the last: it moves up one or two places in a short sorted array,
/// which has fewer unpredictable branches than a heap. Timers that do not fit wait in a heap until the array is empty.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Timers {
    first: u32,
    length: u32,
    armed: u32,
    /// Whether `heap` contains timers.
    many: bool,
    /// Ring of the earliest timers, ascending; empty only if there are no timers. The first entries share a cache line with
    /// the fields above.
    ring: [Armed; RING],
    /// The other timers, all after the last timer of the ring.
    heap: BinaryHeap<Reverse<Armed>>,
}

/// Length of the ring, a power of two.
const RING: usize = 16;

/// A timer and its rank among all armed timers, compared in the order of the fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Armed {
    at: Ns,
    order: u32,
    owner: u32,
}

impl Timers {
    /// Arm a timer for `owner` at `at`. Timers are never cancelled: an owner ignores timers that it does not need.
    #[inline]
    pub fn arm(&mut self, at: Ns, owner: u32) {
        let timer = Armed { at, order: self.armed, owner };
        self.armed = self.armed.wrapping_add(1);
        if self.length as usize == RING || self.many {
            return self.arm_among_many(timer);
        }
        self.insert(timer);
    }

    /// Insert the newest timer into the ring.
    #[inline]
    fn insert(&mut self, timer: Armed) {
        let mut place = self.first + self.length;
        self.length += 1;
        while place > self.first && self.at(place - 1).at > timer.at {
            *self.at(place) = *self.at(place - 1);
            place -= 1;
        }
        *self.at(place) = timer;
    }

    #[cold]
    #[inline(never)]
    fn arm_among_many(&mut self, timer: Armed) {
        let last = *self.at(self.first + self.length - 1);
        self.many = true;
        if timer > last {
            return self.heap.push(Reverse(timer));
        }
        if self.length as usize == RING {
            self.heap.push(Reverse(last));
            self.length -= 1;
        }
        self.insert(timer);
    }

    #[inline]
    fn at(&mut self, place: u32) -> &mut Armed {
        &mut self.ring[place as usize % RING]
    }

    /// Time at which the first timer fires; [`NEVER`] without timers.
    #[inline]
    pub fn next(&self) -> Ns {
        self.first().map_or(NEVER, |timer| timer.at)
    }

    /// The first timer.
    #[inline]
    pub fn first(&self) -> Option<Timer> {
        let Armed { at, owner, .. } = self.ring[self.first as usize % RING];
        (self.length > 0).then_some(Timer { at, owner })
    }

    /// Remove and return the first timer.
    #[inline]
    pub fn pop(&mut self) -> Option<Timer> {
        let first = self.first()?;
        self.first = (self.first + 1) % RING as u32;
        self.length -= 1;
        if self.length == 0 && self.many {
            self.refill();
        }
        Some(first)
    }

    /// Fill half of the ring from the heap.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let timers = std::iter::from_fn(|| self.heap.pop()).take(RING / 2);
        for (place, Reverse(timer)) in timers.enumerate() {
            self.ring[place] = timer;
            self.length = place as u32 + 1;
        }
        self.first = 0;
        self.many = !self.heap.is_empty();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/time/timers.rs"]
mod tests;
