//! How the program's locks were used: who had to wait, and for how long.
//!
//! A waiting task sleeps, so that its waiting is in no CPU's ledger: it is told here, lock by lock.

use crate::machine::Distance;
use crate::observe::ByDistance;
use crate::sched::TaskIx;
use crate::time::Ns;

/// The use of a lock, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockUse {
    /// Times that it was acquired.
    pub acquired: u64,
    /// Of these, times that it had to be waited for.
    pub contended: u64,
    /// Time from beginning to wait to being handed the lock, summed over those who were; their way back onto a CPU
    /// comes on top, and is in the wake-up latencies.
    pub waited_ns: Ns,
    /// The longest such time.
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

/// The locks of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockReport {
    /// The name in the program.
    pub name: String,
    /// How many locks there are of it.
    pub locks: u32,
    /// The use of all of them.
    pub all: LockUse,
    /// Of the one that was waited for longest in sum.
    pub worst: LockUse,
}

/// Keeps the books while the simulation runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockUses {
    of: Vec<LockUse>,
    /// By task: since when it waits for a lock.
    since: Vec<Ns>,
}

impl LockUses {
    pub fn new(locks: usize) -> Self {
        Self { of: vec![LockUse::default(); locks], since: Vec::new() }
    }

    #[inline]
    pub fn acquired(&mut self, lock: u32, distance: Distance) {
        let it = &mut self.of[lock as usize];
        it.acquired += 1;
        it.distances[distance as usize] += 1;
    }

    pub fn waits(&mut self, task: TaskIx, at: Ns) {
        let task = task as usize;
        if self.since.len() <= task {
            self.since.resize(task + 1, 0);
        }
        self.since[task] = at;
    }

    /// A waiting task is handed the lock. CPUs' clocks may be a kernel entry apart: then it did not wait.
    pub fn handed_over(&mut self, lock: u32, task: TaskIx, at: Ns, distance: Distance) {
        let waited = at.saturating_sub(self.since[task as usize]);
        self.acquired(lock, distance);
        let it = &mut self.of[lock as usize];
        it.contended += 1;
        it.waited_ns += waited;
        it.longest_ns = it.longest_ns.max(waited);
    }

    /// Sums by name: `name_of` tells which of `names` a lock has.
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
        for (lock, used) in self.of.iter().enumerate() {
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
