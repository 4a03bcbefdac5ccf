//! The mutex of a pipe.
//!
//! ```text
//! write() on CPU 0   entry │ copy, under the mutex │ wake-up
//! write() on CPU 1   entry │ spins ··············· │ copy, under the mutex │ wake-up
//! ```
//! Each read and write copies its bytes under the pipe's mutex (`pipe_read()`, `pipe_write()`, fs/pipe.c, v3.10 to v6.18; under the
//! inode's before). A task that finds the mutex taken spins as long as the owner runs and nobody else needs the CPU
//! (`mutex_spin_on_owner()`, kernel/locking/mutex.c, since 2.6.30). Owners run nearly always, and a wait takes less than a tick, so that
//! the model's tasks never sleep for the mutex. They get the mutex in the order in which they would end without waiting.

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
    owner_cpu: u16,
    free_at: Ns,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Take a pipe's mutex for a read or a write of `bytes`, whose segment ends now. Return a wait if another CPU's task had the mutex
    /// meanwhile; the effect follows after the wait. Fast path for a mutex that was free, or released on this CPU.
    #[inline]
    pub(super) fn mutex_lock(&mut self, cpu: usize, at: usize, bytes: u64) -> Option<Segment> {
        if !P::SPINS_FOR_MUTEXES {
            return None;
        }
        let (now, longest_ns) = (self.time.now, self.program.longest_mutex);
        let mutex = self.program.flows[at].mutex()?;
        let released_here = usize::from(mutex.owner_cpu) == cpu && mutex.free_at <= now;
        if released_here || (bytes <= PIPE_PAGE && mutex.free_at + longest_ns <= now) {
            *mutex = Mutex { owner_cpu: cpu as u16, free_at: now };
            return None;
        }
        self.mutex_lock_slowpath(cpu, at, bytes)
    }

    #[inline(never)]
    fn mutex_lock_slowpath(&mut self, cpu: usize, at: usize, bytes: u64) -> Option<Segment> {
        if self.cpus[cpu].segment.account == Account::LockWait {
            // The task has waited.
            return None;
        }
        let now = self.time.now;
        let Mutex { owner_cpu, free_at } = *self.program.flows[at].mutex()?;
        let owner_cpu = usize::from(owner_cpu);
        let copy = self.costs.copying(bytes)
            + self.costs.pipe_pages(ChannelKind::Pipe, bytes, self.world.kernel.pipes.spare_pages);
        let hold_ns = if owner_cpu == cpu {
            0
        } else {
            hold_time(&self.costs, self.topology.distance(owner_cpu, cpu)) + copy
        };
        let free_at = now.max(free_at + hold_ns);
        *self.program.flows[at].mutex()? = Mutex { owner_cpu: cpu as u16, free_at };
        (free_at > now).then(|| Segment::new(Account::LockWait, free_at - now))
    }
}

/// Time for which a task has the mutex after an owner at a distance, without the copy.
fn hold_time(costs: &Costs, distance: Distance) -> Ns {
    let lines = if distance == Distance::Core { 0 } else { QUEUE_LINES * costs.line.at(distance) };
    Ns::from(costs.pipe) + costs.lock_handoff.at(distance) + lines
}

/// Longest time for which a task has the mutex for at most a page.
pub(super) fn longest(costs: &Costs) -> Ns {
    let longest = Distance::ALL.iter().map(|distance| hold_time(costs, *distance)).max();
    longest.unwrap_or(0) + costs.copying(PIPE_PAGE) + Ns::from(costs.pipe_page)
}
