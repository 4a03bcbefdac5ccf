//! Recorded samples, in shared memory, one buffer for each task and series.
//!
//! A full buffer is a reservoir: of all samples offered so far it contains a uniform random selection, whatever rhythm the
//! workload has (Vitter, "Random Sampling with a Reservoir", ACM TOMS 11 (1985), algorithm R). Each sample costs the same
//! few operations, so that recording one sample never delays the next. Samples carry their number, which restores the
//! order of recording.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use schedlab_workload::check::samples;
use schedlab_workload::{Plan, TaskId};

use super::arena::{Arena, LINE};
use super::sync;

/// Least capacity of a buffer.
const LEAST: u64 = 64;

/// Bytes of a sample: its number and its value.
const SAMPLE: usize = 16;

// Offsets in a buffer's header, in bytes.
const OFFERED: usize = 0;
const LOCK: usize = 8;
const RANDOM: usize = 16;

/// Offsets of the buffers in shared memory.
#[derive(Debug)]
pub struct Layout {
    /// For each task and series: offset and capacity; capacity 0 where the task does not record.
    buffers: Vec<(usize, u64)>,
    series: usize,
    end: usize,
}

/// Samples of one series over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// The samples in nanoseconds, task by task, in the order of recording.
    pub samples: Vec<u64>,
    /// Samples offered for each sample kept, rounded up.
    pub one_in: u64,
}

impl Layout {
    /// Lays out the buffers of `plan` from offset `start`, with room for `most` samples of each series.
    pub(super) fn new(plan: &Plan, start: usize, most: u64) -> Self {
        let series = plan.program().series.len();
        let bounds: Vec<Vec<u64>> = plan.tasks().map(|task| samples::bounds(plan, task)).collect();
        let writers = |series: usize| bounds.iter().filter(|task| task[series] > 0).count() as u64;
        let shares: Vec<u64> = (0..series).map(|each| (most / writers(each).max(1)).max(LEAST)).collect();
        let mut end = start;
        let mut place = |(bound, share): (&u64, &u64)| {
            let capacity = (*bound).min(*share);
            let buffer = (end, capacity);
            if capacity > 0 {
                end = (end + LINE + capacity as usize * SAMPLE).next_multiple_of(LINE);
            }
            buffer
        };
        let buffers = bounds.iter().flat_map(|task| task.iter().zip(&shares)).map(&mut place).collect();
        Self { buffers, series, end }
    }

    /// First offset after all buffers.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    fn buffer(&self, task: u32, series: u32) -> (usize, u64) {
        self.buffers[task as usize * self.series + series as usize]
    }
}

/// A buffer in use.
struct Buffer<'a> {
    arena: &'a Arena,
    offset: usize,
    capacity: u64,
}

impl Buffer<'_> {
    fn word(&self, at: usize) -> &AtomicU64 {
        self.arena.mapping.double(self.offset + at)
    }

    fn lock(&self) -> &AtomicU32 {
        self.arena.mapping.word(self.offset + LOCK)
    }

    fn offered(&self) -> u64 {
        self.word(OFFERED).load(Ordering::Relaxed)
    }

    fn kept(&self) -> u64 {
        self.offered().min(self.capacity)
    }

    /// A uniform random number below `bound`.
    fn random_below(&self, bound: u64) -> u64 {
        // Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003), the 64-bit generator (13, 7, 17).
        let mut state = self.word(RANDOM).load(Ordering::Relaxed).max(1);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.word(RANDOM).store(state, Ordering::Relaxed);
        // The high half of the product depends on the generator's high bits, which are its better ones.
        ((u128::from(state) * u128::from(bound)) >> 64) as u64
    }

    fn record(&self, ns: u64) {
        let number = self.offered();
        self.word(OFFERED).store(number + 1, Ordering::Relaxed);
        let slot = if number < self.capacity { number } else { self.random_below(number + 1) };
        if slot < self.capacity {
            let at = LINE + slot as usize * SAMPLE;
            self.word(at).store(number, Ordering::Relaxed);
            self.word(at + 8).store(ns, Ordering::Relaxed);
        }
    }

    /// The kept samples in the order of recording.
    fn samples(&self) -> Vec<u64> {
        let pair = |slot: u64| {
            let at = LINE + slot as usize * SAMPLE;
            (self.word(at).load(Ordering::Relaxed), self.word(at + 8).load(Ordering::Relaxed))
        };
        let mut numbered: Vec<_> = (0..self.kept()).map(pair).collect();
        numbered.sort_unstable();
        numbered.into_iter().map(|(_, ns)| ns).collect()
    }
}

impl Arena {
    fn buffer(&self, task: u32, series: u32) -> Option<Buffer<'_>> {
        let (offset, capacity) = self.layout.buffer(task, series);
        (capacity > 0).then_some(Buffer { arena: self, offset, capacity })
    }

    /// Brings a task's buffers into the page table of the calling process, so that recording does not fault.
    pub fn prefault(&self, task: TaskId) {
        for series in 0..self.layout.series as u32 {
            if let Some(buffer) = self.buffer(task.ordinal, series) {
                buffer.word(RANDOM).store(u64::from(task.ordinal) + 1, Ordering::Relaxed);
                self.mapping.prefault(buffer.offset, LINE + buffer.capacity as usize * SAMPLE);
            }
        }
    }

    /// Records a sample of a task.
    pub fn record(&self, task: u32, series: u32, ns: u64) {
        let Some(buffer) = self.buffer(task, series) else { return };
        // The task's forked children may record at the same time. The lock sleeps: a spinning task of a real-time policy
        // would keep the owner of the lock from its CPU.
        sync::lock(buffer.lock());
        buffer.record(ns);
        sync::unlock(buffer.lock());
    }

    /// Collects a series over all tasks. Where tasks kept different shares of their samples, all are reduced to the
    /// smallest share, so that no task counts for more than another.
    pub fn collect(&self, tasks: u32, series: u32) -> Collected {
        let buffers: Vec<_> = (0..tasks).filter_map(|task| self.buffer(task, series)).collect();
        let share = |buffer: &Buffer<'_>| buffer.kept() as f64 / buffer.offered().max(1) as f64;
        let used = buffers.iter().filter(|buffer| buffer.offered() > 0);
        let smallest = used.clone().map(share).fold(1.0, f64::min);
        let one_in = used.clone().map(|buffer| buffer.offered().div_ceil(buffer.kept())).max().unwrap_or(1);
        let mut samples = Vec::new();
        for buffer in used {
            // Resolution of the chance with which a sample stays.
            const SCALE: u64 = 1 << 32;
            let chance = (smallest / share(buffer) * SCALE as f64).round() as u64;
            samples.extend(buffer.samples().into_iter().filter(|_| buffer.random_below(SCALE) < chance));
        }
        Collected { samples, one_in }
    }
}

#[cfg(test)]
mod tests {
    use schedlab_workload::library::pipetest::Pipetest;
    use schedlab_workload::library::rr::Rr;

    use super::{Arena, Plan};

    fn arena(loops: u64, most: u64) -> Arena {
        let plan = Plan::new(Pipetest { loops, ..Pipetest::default() }.program().unwrap()).unwrap();
        let arena = Arena::new(&plan, most).unwrap();
        arena.prefault(plan.task(0));
        arena
    }

    #[test]
    fn all_samples_are_kept_in_order_while_there_is_room() {
        let arena = arena(1000, 1000);
        (0..1000).for_each(|ns| arena.record(0, 0, ns));
        let collected = arena.collect(2, 0);
        assert_eq!(collected.one_in, 1);
        assert_eq!(collected.samples, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_full_buffer_keeps_a_uniform_selection_in_order() {
        let arena = arena(1 << 20, 1 << 12);
        (0..1 << 20).for_each(|ns| arena.record(0, 0, ns));
        let collected = arena.collect(2, 0);
        assert!(collected.samples.is_sorted());
        assert_eq!((collected.samples.len(), collected.one_in), (1 << 12, 1 << 8));
        let mean = collected.samples.iter().sum::<u64>() as f64 / collected.samples.len() as f64;
        let middle = f64::from(1 << 19);
        assert!((mean - middle).abs() < middle * 0.06, "{mean}");
        // A rhythm in the workload does not decide what is kept.
        let odd = collected.samples.iter().filter(|ns| **ns % 2 == 1).count() as f64;
        assert!((odd / collected.samples.len() as f64 - 0.5).abs() < 0.06);
    }

    #[test]
    fn tasks_that_kept_different_shares_count_alike() {
        let plan = Plan::new(Rr { pairs: 2, ..Rr::default() }.program().unwrap()).unwrap();
        let arena = Arena::new(&plan, 2 << 12).unwrap();
        plan.tasks().for_each(|task| arena.prefault(task));
        let tasks = plan.task_count();
        let clients: Vec<_> = (0..tasks).filter(|task| arena.buffer(*task, 0).is_some()).collect();
        let [busy, calm] = clients[..] else { panic!("two clients record: {clients:?}") };
        (0..100 << 12).for_each(|_| arena.record(busy, 0, 1));
        (0..10 << 12).for_each(|_| arena.record(calm, 0, 2));
        let collected = arena.collect(tasks, 0);
        let of = |value: u64| collected.samples.iter().filter(|ns| **ns == value).count();
        assert_eq!((of(1), collected.one_in), (1 << 12, 100));
        // A tenth of the other's, with a standard deviation of 19.
        assert!(of(2).abs_diff((1 << 12) / 10) < 100, "{}", of(2));
    }

    #[test]
    fn a_sample_costs_a_full_buffer_no_more_than_one_replacement() {
        let arena = arena(1 << 20, 1 << 8);
        (0..1 << 8).for_each(|ns| arena.record(0, 0, ns));
        for ns in 1 << 8..(1 << 8) + 500 {
            let before = arena.collect(2, 0).samples;
            arena.record(0, 0, ns);
            let after = arena.collect(2, 0).samples;
            assert_eq!(after.len(), before.len());
            let gone = before.iter().filter(|sample| after.binary_search(sample).is_err()).count();
            assert!(gone <= 1, "{gone} samples left the buffer at once");
        }
    }
}
