//! The next event's data, brought near while the present one is worked on.
//!
//! On a large machine what an event needs of its CPU and task has left the first-level cache since their last event: some
//! fifteen lines, each of which is waited for where it is first used. Which CPU is next is nearly always known before.

use std::mem::size_of;

use super::{Engine, NOBODY};
use crate::observe::Observer;
use crate::sched::Policy;

/// CPUs from which on a machine does not fit into a first-level cache with its tasks: each takes about a KiB.
const LARGE: usize = 32;

/// Bytes of a cache line.
const LINE: usize = 64;

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// Brings near what the event after the present one will probably need.
    #[inline]
    pub(super) fn foresee(&self) {
        if self.cpus.len() < LARGE {
            return;
        }
        let Some((at, cpu)) = self.agenda.second().filter(|(_, slot)| *slot < self.cpus.len()) else {
            return;
        };
        let it = &self.cpus[cpu];
        lines(it, 3);
        lines(&self.queues[cpu], size_of::<P::Queue>() / LINE);
        line(self.ledger.place(cpu));
        let (current, woken) = (it.current, if it.timer_at <= at { it.timer_owner } else { NOBODY });
        for task in [current, woken].into_iter().filter(|task| *task != NOBODY) {
            let task = task as usize;
            lines(&self.tasks[task], 2);
            lines(&self.entities[task], 1);
        }
        // A sleeper that finds its CPU idle goes on at once.
        let goes_on = if current == NOBODY { woken } else { current };
        if goes_on != NOBODY {
            lines(&self.scripts[goes_on as usize], 1);
            lines(&self.latencies[goes_on as usize], 1);
        }
    }
}

/// The first `count` lines of something.
#[inline(always)]
fn lines<T>(it: &T, count: usize) {
    let start: *const u8 = std::ptr::from_ref(it).cast();
    (0..count).for_each(|at| line(start.wrapping_add(at * LINE)));
}

/// A line; nothing where there is no such instruction in the stable language.
#[inline(always)]
fn line(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is of SSE, which all CPUs of this architecture have, and changes nothing but caches, whatever
    // the address is.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
