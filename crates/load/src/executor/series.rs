//! Recorded samples, in shared memory, one buffer for each task and series.
//!
//! A buffer that fills up drops each of its samples with probability one half and from then on records each new one
//! with half the probability as before, again and again. What is kept is a uniform random selection in the order of
//! recording; a selection at even distances would follow any rhythm in the workload.

use std::sync::atomic::{AtomicU64, Ordering};

use schedlab_workload::check::samples;
use schedlab_workload::{Plan, TaskId};

use super::arena::{Arena, LINE};

/// Least capacity of a buffer.
const LEAST: u64 = 64;

// Words of a buffer's header.
const KEPT: usize = 0;
const STRIDE: usize = 8;
const BUSY: usize = 16;
const RANDOM: usize = 24;

/// Where the buffers lie.
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
    /// The samples in nanoseconds, task by task.
    pub samples: Vec<u64>,
    /// About one in so many was kept.
    pub one_in: u64,
}

impl Layout {
    /// Places the buffers of `plan` from `start` on, with room for `most` samples of each series.
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
                end = (end + LINE + capacity as usize * 8).next_multiple_of(LINE);
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

    fn sample(&self, index: u64) -> &AtomicU64 {
        self.word(LINE + index as usize * 8)
    }

    fn random(&self) -> u64 {
        // Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003), the 64-bit generator (13, 7, 17).
        let mut state = self.word(RANDOM).load(Ordering::Relaxed).max(1);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.word(RANDOM).store(state, Ordering::Relaxed);
        // The high bits are the better ones.
        state >> 32
    }

    fn record(&self, ns: u64) {
        let stride = self.word(STRIDE).load(Ordering::Relaxed).max(1);
        if stride > 1 && self.random() & (stride - 1) != 0 {
            return;
        }
        let kept = self.word(KEPT).load(Ordering::Relaxed);
        if kept < self.capacity {
            self.sample(kept).store(ns, Ordering::Relaxed);
            self.word(KEPT).store(kept + 1, Ordering::Relaxed);
            return;
        }
        let mut left = 0;
        for index in 0..kept {
            if self.random() & 1 == 0 {
                self.sample(left).store(self.sample(index).load(Ordering::Relaxed), Ordering::Relaxed);
                left += 1;
            }
        }
        self.word(KEPT).store(left, Ordering::Relaxed);
        self.word(STRIDE).store(stride * 2, Ordering::Relaxed);
        // The new sample runs the same risk as the kept ones did.
        if left < self.capacity && self.random() & 1 == 0 {
            self.sample(left).store(ns, Ordering::Relaxed);
            self.word(KEPT).store(left + 1, Ordering::Relaxed);
        }
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
                self.mapping.prefault(buffer.offset, LINE + buffer.capacity as usize * 8);
            }
        }
    }

    /// Records a sample of a task.
    pub fn record(&self, task: u32, series: u32, ns: u64) {
        let Some(buffer) = self.buffer(task, series) else { return };
        // The task's forked children may record at the same time.
        while buffer.word(BUSY).swap(1, Ordering::Acquire) != 0 {
            std::hint::spin_loop();
        }
        buffer.record(ns);
        buffer.word(BUSY).store(0, Ordering::Release);
    }

    /// Collects a series over all tasks. Where tasks kept different parts, all are brought to the smallest, so that no
    /// task counts for more than another.
    pub fn collect(&self, tasks: u32, series: u32) -> Collected {
        let stride = |buffer: &Buffer<'_>| buffer.word(STRIDE).load(Ordering::Relaxed).max(1);
        let buffers: Vec<_> = (0..tasks).filter_map(|task| self.buffer(task, series)).collect();
        let one_in = buffers.iter().map(stride).max().unwrap_or(1);
        let mut samples = Vec::new();
        for buffer in &buffers {
            let part = one_in / stride(buffer);
            for index in 0..buffer.word(KEPT).load(Ordering::Relaxed) {
                if part == 1 || buffer.random() & (part - 1) == 0 {
                    samples.push(buffer.sample(index).load(Ordering::Relaxed));
                }
            }
        }
        Collected { samples, one_in }
    }
}

#[cfg(test)]
mod tests {
    use schedlab_workload::library::pipetest::Pipetest;

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
        assert!((1 << 10..=1 << 12).contains(&collected.samples.len()), "{}", collected.samples.len());
        let expected = (1 << 20) / collected.one_in;
        assert!(collected.samples.len().abs_diff(expected as usize) < expected as usize / 5);
        let mean = collected.samples.iter().sum::<u64>() as f64 / collected.samples.len() as f64;
        let middle = f64::from(1 << 19);
        assert!((mean - middle).abs() < middle * 0.06, "{mean}");
        // A rhythm in the workload does not decide what is kept.
        let odd = collected.samples.iter().filter(|ns| **ns % 2 == 1).count() as f64;
        assert!((odd / collected.samples.len() as f64 - 0.5).abs() < 0.06);
    }
}
