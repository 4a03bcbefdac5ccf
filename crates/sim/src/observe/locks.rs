//! Use of the program's locks: acquisitions, contention and waiting times.
//!
//! A task that waits for a lock sleeps, so that no CPU's ledger contains its waiting time. This module accounts the
//! waiting time per lock.

use crate::machine::Distance;
use crate::observe::ByDistance;
use crate::sched::TaskIx;
use crate::time::Ns;

/// Use of one lock, or the sum over several locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockUse {
    /// Acquisitions.
    pub acquired: u64,
    /// Acquisitions after a wait.
    pub contended: u64,
    /// Sum of the times from the beginning of a wait to the handover of the lock. The time until the task runs again is
    /// not included: the wake-up latencies include this time.
    pub waited_ns: Ns,
    /// Longest such time.
    pub longest_ns: Ns,
    /// Acquisitions by the distance from the CPU that had the lock's line.
    pub distances: ByDistance,
}

impl LockUse {
    fn add(&mut self, other: &Self) {
        self.acquired += other.acquired;
        self.contended += other.contended;
        self.waited_ns += other.waited_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.distances.iter_mut().zip(other.distances).for_each(|(sum, each)| *sum += each);
    }
}

/// Report on the locks of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockReport {
    /// The name in the program.
    pub name: String,
    /// Number of locks with this name.
    pub locks: u32,
    /// Sum over these locks.
    pub all: LockUse,
    /// Use of the lock with the largest sum of waiting times.
    pub worst: LockUse,
}

/// Use of all locks while the simulation runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockUses {
    uses: Vec<LockUse>,
    /// By task: beginning of its wait for a lock.
    since: Vec<Ns>,
}

impl LockUses {
    pub fn new(locks: usize) -> Self {
        Self { uses: vec![LockUse::default(); locks], since: Vec::new() }
    }

    /// Count an acquisition by a CPU at `distance` from the lock's line.
    #[inline]
    pub fn acquired(&mut self, lock: u32, distance: Distance) {
        let lock_use = &mut self.uses[lock as usize];
        lock_use.acquired += 1;
        lock_use.distances[distance as usize] += 1;
    }

    /// Note that a task begins to wait for a lock.
    pub fn waits(&mut self, task: TaskIx, at: Ns) {
        let task = task as usize;
        if self.since.len() <= task {
            self.since.resize(task + 1, 0);
        }
        self.since[task] = at;
    }

    /// Count the handover of a lock to a waiting task.
    ///
    /// CPUs' clocks may differ by a kernel entry, so that the handover can precede the wait. The waiting time is then 0.
    pub fn handed_over(&mut self, lock: u32, task: TaskIx, at: Ns, distance: Distance) {
        let waited = at.saturating_sub(self.since[task as usize]);
        self.acquired(lock, distance);
        let lock_use = &mut self.uses[lock as usize];
        lock_use.contended += 1;
        lock_use.waited_ns += waited;
        lock_use.longest_ns = lock_use.longest_ns.max(waited);
    }

    /// Sums by name. `name_of` returns the index in `names` of a lock's name.
    pub fn report<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        name_of: impl Fn(u32) -> usize,
    ) -> Vec<LockReport> {
        let empty = |name: &str| LockReport {
            name: name.to_owned(),
            locks: 0,
            all: LockUse::default(),
            worst: LockUse::default(),
        };
        let mut reports: Vec<_> = names.map(empty).collect();
        for (lock, used) in self.uses.iter().enumerate() {
            let report = &mut reports[name_of(lock as u32)];
            report.locks += 1;
            report.all.add(used);
            if used.waited_ns > report.worst.waited_ns || report.locks == 1 {
                report.worst = *used;
            }
        }
        reports
    }
}
