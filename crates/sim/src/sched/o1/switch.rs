//! The lock of a runqueue during a context switch, which 2.5.59 holds and later kernels do not wait for here.

use crate::time::Ns;

/// How long a CPU's last context switch held the lock of its runqueue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SwitchLock {
    from: Ns,
    to: Ns,
    /// The next switch is from the idle task.
    leaves_idle: bool,
}

impl SwitchLock {
    /// When the lock is free that a switch holds at `at`; 0 if no switch holds it.
    #[inline]
    pub fn free_at(&self, at: Ns) -> Ns {
        if self.from <= at && at < self.to { self.to } else { 0 }
    }

    /// The next switch is from the idle task.
    #[inline]
    pub fn leave_idle(&mut self) {
        self.leaves_idle = true;
    }

    /// A switch has lasted from `from` to `to`. Returns how long dropping an address space takes after that.
    ///
    /// The idle task runs on the address space of the task before it. The reference to that is dropped (`mmdrop()`) after
    /// the switch from the idle task: under the lock, or after it is released with patch 04 (`drops_unlocked`).
    pub fn switch(&mut self, from: Ns, to: Ns, mmdrop_ns: u32, drops_unlocked: bool) -> Ns {
        let mmdrop = if self.leaves_idle { mmdrop_ns.into() } else { 0 };
        let held_to = if drops_unlocked { to } else { to + mmdrop };
        *self = Self { from, to: held_to, leaves_idle: false };
        mmdrop
    }
}

#[cfg(test)]
mod tests {
    use super::SwitchLock;

    #[test]
    fn a_waker_waits_only_while_a_switch_holds_the_lock() {
        let mut lock = SwitchLock::default();
        assert_eq!(lock.free_at(1000), 0);
        assert_eq!(lock.switch(1000, 3760, 20, false), 0);
        assert_eq!([999, 1000, 3759, 3760].map(|at| lock.free_at(at)), [0, 3760, 3760, 0]);
    }

    #[test]
    fn only_the_switch_after_idling_drops_an_address_space() {
        let mut lock = SwitchLock::default();
        lock.leave_idle();
        assert_eq!(lock.switch(0, 10, 20, false), 20);
        assert_eq!((lock.free_at(29), lock.free_at(30)), (30, 0));
        assert_eq!(lock.switch(40, 50, 20, false), 0);
        lock.leave_idle();
        assert_eq!(lock.switch(60, 70, 20, true), 20);
        assert_eq!((lock.free_at(69), lock.free_at(70)), (70, 0));
    }
}
