//! What the CPUs under each last-level cache carry together, kept as tasks come and go.
//!
//! Passes over wide domains compare groups of many CPUs, which are caches or sets of them; they add up a few sums instead
//! of asking each CPU.

use crate::engine::{Engine, Table};
use crate::machine::{CpuMask, Topology};
use crate::observe::Observer;
use crate::sched::Policy;

/// Of some CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// CPUs that take part in balancing.
    pub width: u64,
    /// Tasks, and their weights, real-time tasks aside.
    pub number: u64,
    pub load: u64,
    /// CPUs without a task.
    pub idle: u64,
}

impl Sum {
    pub fn add(&mut self, other: &Self) {
        self.width += other.width;
        self.number += other.number;
        self.load += other.load;
        self.idle += other.idle;
    }

    /// Load per CPU, times 1024.
    pub fn per_cpu(&self) -> u64 {
        self.load * 1024 / self.width.max(1)
    }

    pub fn overloaded(&self) -> bool {
        self.number > self.width
    }
}

/// The sums of all caches.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    /// By cache, and one more for CPUs that do not take part.
    caches: Table<Sum>,
    of_cpu: Table<u16>,
    /// The greatest weight that a task has had.
    heaviest: u64,
}

impl Sums {
    /// Nobody has a task yet; CPUs in `open` take part.
    pub fn new(topology: &Topology, open: &CpuMask) -> Self {
        let none = topology.caches.len();
        let of_cpu = |cpu| if open.contains(cpu) { topology.cache(cpu) as u16 } else { none as u16 };
        let of_cpu: Table<u16> = (0..topology.cpus()).map(of_cpu).collect();
        let mut caches: Table<Sum> = vec![Sum::default(); none + 1].into();
        for cache in of_cpu.iter() {
            caches[usize::from(*cache)].width += 1;
            caches[usize::from(*cache)].idle += 1;
        }
        Self { caches, of_cpu, heaviest: 0 }
    }

    #[inline]
    pub fn cache(&self, cache: u16) -> &Sum {
        &self.caches[usize::from(cache)]
    }

    /// A task gets this weight.
    pub fn note_weight(&mut self, weight: u32) {
        self.heaviest = self.heaviest.max(weight.into());
    }

    /// No CPU with a single task has a greater load.
    pub fn heaviest(&self) -> u64 {
        self.heaviest
    }
}

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// A CPU's queue has changed; its cache's sums, of which the number of tasks is the caller's to change.
    #[inline(always)]
    pub(crate) fn note_load(&mut self, cpu: usize) -> &mut Sum {
        let load = P::load(&self.queues[cpu]);
        let before = std::mem::replace(&mut self.loads[cpu], load);
        let sum = &mut self.sums.caches[usize::from(self.sums.of_cpu[cpu])];
        sum.load = sum.load.wrapping_add(load.wrapping_sub(before));
        sum
    }

    /// Panics if a sum is not that of its CPUs.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub(crate) fn check_sums(&self) {
        let mut caches = vec![Sum::default(); self.sums.caches.len()];
        for cpu in 0..self.cpus.len() {
            let (number, load) = (self.running[cpu].into(), self.loads[cpu]);
            let cache = if self.open.contains(cpu) { self.topology.cache(cpu) } else { caches.len() - 1 };
            caches[cache].add(&Sum { width: 1, number, load, idle: u64::from(number == 0) });
            let crowded = self.crowded.contains(cpu);
            assert!(self.is_o1() || crowded || load <= self.sums.heaviest, "no task weighs so much: {load}");
        }
        assert_eq!(*self.sums.caches, caches, "caches know what their CPUs carry");
    }
}
