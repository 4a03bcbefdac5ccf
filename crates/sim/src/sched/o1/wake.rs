//! What 2.5.59 does with wake-ups and locks otherwise than later kernels.

use crate::engine::Engine;
use crate::kernel::{PolicyKind, Tunable};
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{Policy, TaskIx};
use crate::time::Ns;

/// How long a CPU's last switch held the lock of its runqueue.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    from: Ns,
    to: Ns,
    /// The idle task is about to be switched away from.
    idle: bool,
}

/// The locks held by switches; of no CPU under other kernels.
#[derive(Debug, Clone, Default)]
pub(crate) struct SwitchLocks(Vec<Held>);

impl SwitchLocks {
    pub fn new(policy: PolicyKind, cpus: usize) -> Self {
        Self(if policy == PolicyKind::O1 { vec![Held::default(); cpus] } else { Vec::new() })
    }

    /// When a lock that is held by a switch at `at` will be free.
    #[inline]
    pub fn free_at(&self, cpu: usize, at: Ns) -> Option<Ns> {
        let held = self.0.get(cpu)?;
        (held.from <= at && at < held.to).then_some(held.to)
    }

    /// A switch holds the lock of its CPU's runqueue.
    #[inline]
    fn hold(&mut self, cpu: usize, from: Ns, to: Ns) {
        if let Some(held) = self.0.get_mut(cpu) {
            *held = Held { from, to, idle: false };
        }
    }

    /// Whether a CPU's switch is one from the idle task.
    #[inline]
    fn leaves_idle(&self, cpu: usize) -> bool {
        self.0.get(cpu).is_some_and(|held| held.idle)
    }

    /// A CPU's next switch will be one from the idle task.
    #[inline]
    pub fn note_idle(&mut self, cpu: usize) {
        if let Some(held) = self.0.get_mut(cpu) {
            held.idle = true;
        }
    }
}

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// Whether this is the O(1) scheduler with its own balancing.
    #[inline]
    pub(crate) fn is_o1(&self) -> bool {
        debug_assert_eq!(P::O1, self.world.kernel.policy == PolicyKind::O1);
        P::O1
    }

    /// Whether a message's waker announces that it will sleep. Before 2.6.30 only pipes did, and only of a writer or
    /// reader that had to wait itself (fs/pipe.c); sockets woke without (`sock_def_readable()`).
    #[inline]
    pub(crate) fn announces_sleep(&self, pipe: bool, waits: bool) -> bool {
        !self.is_o1() || (pipe && waits)
    }

    /// A switch that began at `from` has been booked. 2.5.59 holds the runqueue's lock over it. A kernel thread, here the
    /// idle one, runs on the address space of whoever ran before; the reference to that is dropped under the lock, or
    /// behind it with patch 04 (`context_switch()`, `schedule()`).
    #[inline]
    pub(crate) fn hold_for_switch(&mut self, cpu: usize, from: Ns) {
        if !self.is_o1() {
            return;
        }
        let switched = self.cpus[cpu].clock;
        if self.switch_locks.leaves_idle(cpu) {
            // mmdrop() of somebody who still lives: an atomic decrement.
            self.book(cpu, Account::Switch, self.costs.atomic);
        }
        let behind = self.tunables.on(Tunable::D7OldMm);
        self.switch_locks.hold(cpu, from, if behind { switched } else { self.cpus[cpu].clock });
    }

    /// `try_to_wake_up()` of 2.5.59: a sleeper stays on its CPU, but comes to its waker's if that is about to sleep.
    pub(crate) fn select_wake_o1(&self, cpu: usize, task: TaskIx, sync: bool) -> usize {
        let previous = usize::from(self.tasks[task as usize].cpu);
        let heeded =
            sync && (!self.tunables.on(Tunable::D7ActivateTask) || self.tunables.on(Tunable::SyncWakeups));
        if heeded && self.allowed(task).contains(cpu) { cpu } else { previous }
    }
}

#[cfg(test)]
mod tests {
    use super::SwitchLocks;
    use crate::kernel::PolicyKind;

    #[test]
    fn a_waker_waits_for_a_lock_that_a_switch_holds_and_for_no_other() {
        let mut locks = SwitchLocks::new(PolicyKind::O1, 2);
        locks.hold(1, 1000, 3760);
        let free_at = |at| locks.free_at(1, at);
        assert_eq!([999, 1000, 3759, 3760].map(free_at), [None, Some(3760), Some(3760), None]);
        assert_eq!(locks.free_at(0, 1000), None);
        assert_eq!(SwitchLocks::new(PolicyKind::Cfs, 2).free_at(1, 1000), None);
    }

    #[test]
    fn only_the_switch_after_idling_leaves_the_idle_task() {
        let mut locks = SwitchLocks::new(PolicyKind::O1, 1);
        assert!(!locks.leaves_idle(0));
        locks.note_idle(0);
        assert!(locks.leaves_idle(0));
        locks.hold(0, 0, 10);
        assert!(!locks.leaves_idle(0));
    }
}
