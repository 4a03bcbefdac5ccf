//! The runqueue lock during a context switch. Only the model of 2.5.59 makes wakers wait for this lock.

use crate::time::Ns;

/// The time span in which a CPU's last context switch had the lock of its runqueue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SwitchLock {
    from: Ns,
    to: Ns,
    /// Whether the next switch is from the idle task.
    leaves_idle: bool,
}

impl SwitchLock {
    /// Time at which a switch that has the lock at `at` releases it; 0 if no switch has the lock.
    #[inline]
    pub fn free_at(&self, at: Ns) -> Ns {
        if self.from <= at && at < self.to { self.to } else { 0 }
    }

    /// Note that the next switch is from the idle task.
    #[inline]
    pub fn leave_idle(&mut self) {
        self.leaves_idle = true;
    }

    /// Note that a switch lasts from `from` to `to`. Return the time that dropping an address space takes after `to`.
    ///
    /// The idle task borrows the address space of the previous task. After the switch from the idle task the kernel
    /// drops the reference to the address space (`mmdrop()`) with the lock, or under patch 04 (`drops_unlocked`) after
    /// releasing the lock.
    pub fn switch(&mut self, from: Ns, to: Ns, mmdrop_ns: u32, drops_unlocked: bool) -> Ns {
        let mmdrop = if self.leaves_idle { mmdrop_ns.into() } else { 0 };
        let released_at = if drops_unlocked { to } else { to + mmdrop };
        *self = Self { from, to: released_at, leaves_idle: false };
        mmdrop
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/sched/o1/switch.rs"]
mod tests;
