//! The mutex of a pipe.
//!
//! ```text
//! write() on CPU 0   entry │ copy, under the mutex │ wake-up
//! write() on CPU 1   entry │ spins ··············· │ copy, under the mutex │ wake-up
//! ```
//! Each read and write copies its bytes under the pipe's mutex (`pipe_read()`, `pipe_write()`, fs/pipe.c, v4.5 to v6.18). A task that
//! finds the mutex taken spins as long as the owner runs (`mutex_optimistic_spin()`, kernel/locking/mutex.c). An owner runs nearly always,
//! so that the model's tasks never sleep for the mutex. They get the mutex in the order in which they would end without waiting.

use schedlab_workload::program::ChannelKind;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::{Costs, Distance, PIPE_PAGE};
use crate::observe::Observer;
use crate::tasks::Segment;
use crate::tasks::fetch::QUEUE_LINES;
use crate::time::Ns;

/// A pipe's mutex.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mutex {
    /// CPU of the last owner, and the time at which the owner releases the mutex.
    owner: u16,
    free_at: Ns,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Take a pipe's mutex for a read or a write of `bytes`, whose segment ends now. Return a wait if another CPU's task had the mutex
    /// meanwhile; the effect follows after the wait. Fast path for a mutex that was free, or released on this CPU.
    #[inline]
    pub(super) fn take_mutex(&mut self, cpu: usize, at: usize, bytes: u64) -> Option<Segment> {
        let (now, most) = (self.time.now, self.program.longest_mutex);
        let mutex = self.program.flows[at].mutex()?;
        let here = usize::from(mutex.owner) == cpu && mutex.free_at <= now;
        if here || (bytes <= PIPE_PAGE && mutex.free_at + most <= now) {
            *mutex = Mutex { owner: cpu as u16, free_at: now };
            return None;
        }
        self.queue_for_mutex(cpu, at, bytes)
    }

    #[inline(never)]
    fn queue_for_mutex(&mut self, cpu: usize, at: usize, bytes: u64) -> Option<Segment> {
        if self.cpus[cpu].segment.account == Account::LockWait {
            // The task has waited.
            return None;
        }
        let now = self.time.now;
        let Mutex { owner, free_at } = *self.program.flows[at].mutex()?;
        let owner = usize::from(owner);
        let copy = self.costs.copying(bytes)
            + self.costs.pipe_pages(ChannelKind::Pipe, bytes, self.world.kernel.pipes.spare_pages);
        let held =
            if owner == cpu { 0 } else { held(&self.costs, self.topology.distance(owner, cpu)) + copy };
        let free_at = now.max(free_at + held);
        *self.program.flows[at].mutex()? = Mutex { owner: cpu as u16, free_at };
        (free_at > now).then(|| Segment::new(Account::LockWait, free_at - now))
    }
}

/// Time for which a task has the mutex after an owner at a distance, without the copy.
fn held(costs: &Costs, distance: Distance) -> Ns {
    let lines = if distance == Distance::Core { 0 } else { QUEUE_LINES * costs.line.at(distance) };
    Ns::from(costs.pipe) + costs.lock_handoff.at(distance) + lines
}

/// Longest time for which a task has the mutex for at most a page.
pub(super) fn longest(costs: &Costs) -> Ns {
    let longest = Distance::ALL.iter().map(|distance| held(costs, *distance)).max();
    longest.unwrap_or(0) + costs.copying(PIPE_PAGE) + Ns::from(costs.pipe_page)
}
