//! Recorded samples, in shared memory, one buffer for each task and series.
//!
//! A full buffer is a reservoir: a uniform random selection of all samples offered so far, even if the workload has a
//! rhythm (Vitter, "Random Sampling with a Reservoir", ACM TOMS 11 (1985), algorithm R). Each sample costs the same
//! few operations, so that recording one sample never delays the next. Samples carry their number, which restores the
//! order of recording. The largest sample is known in any case: a worst case must not depend on the selection.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use schedlab_workload::check::samples::{self, SAMPLE_BYTES as SAMPLE};
use schedlab_workload::{Plan, TaskId};

use super::spin::xorshift;
use super::sync;
use crate::sys::memory::{LINE, Mapping};

// Offsets in a buffer's header, in bytes.
const OFFERED: usize = 0;
const LOCK: usize = 8;
const RANDOM: usize = 16;
const LARGEST: usize = 24;

/// Offsets of the buffers in shared memory, and access to them.
#[derive(Debug)]
pub struct Series {
    /// For each task and series: offset and capacity; capacity 0 where the task does not record.
    buffers: Vec<(usize, u64)>,
    count: usize,
    end: usize,
}

/// Samples of one series over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// The samples in nanoseconds, task by task, in the order of recording.
    pub samples: Vec<u64>,
    /// Samples offered for each sample kept, rounded up.
    pub one_in: u64,
    /// The largest sample offered, also if the sample was not kept; 0 without samples.
    pub largest: u64,
}

impl Series {
    /// Lays out the buffers of `plan` from offset `start`, with room for `most` samples of each series.
    pub fn new(plan: &Plan, start: usize, most: u64) -> Self {
        let mut end = start;
        let mut place = |capacity: u64| {
            let buffer = (end, capacity);
            if capacity > 0 {
                end = (end + LINE + capacity as usize * SAMPLE).next_multiple_of(LINE);
            }
            buffer
        };
        let buffers = samples::capacities(plan, most).into_iter().flatten().map(&mut place).collect();
        Self { buffers, count: plan.program().series.len(), end }
    }

    /// First offset after all buffers.
    pub fn end(&self) -> usize {
        self.end
    }

    fn buffer<'m>(&self, mapping: &'m Mapping, task: u32, series: u32) -> Option<Buffer<'m>> {
        let (offset, capacity) = self.buffers[task as usize * self.count + series as usize];
        (capacity > 0).then_some(Buffer { mapping, offset, capacity })
    }

    /// Bring a task's buffers into the page table of the calling process, so that recording does not fault.
    pub fn prefault(&self, mapping: &Mapping, task: TaskId) {
        for series in 0..self.count as u32 {
            if let Some(buffer) = self.buffer(mapping, task.ordinal, series) {
                mapping.prefault(buffer.offset, LINE + buffer.capacity as usize * SAMPLE);
                buffer.word(RANDOM).store(u64::from(task.ordinal) + 1, Ordering::Relaxed);
            }
        }
    }

    /// Record a sample of a task.
    pub fn record(&self, mapping: &Mapping, task: u32, series: u32, ns: u64) {
        let Some(buffer) = self.buffer(mapping, task, series) else { return };
        // The task's forked children may record at the same time. The lock sleeps: a spinning task of a real-time policy
        // would keep the owner of the lock from its CPU.
        sync::lock(buffer.lock());
        buffer.record(ns);
        sync::unlock(buffer.lock());
    }

    /// Collect a series over all tasks. Where tasks kept different shares of their samples, all samples are
    /// reduced to the smallest share, so that no task counts for more than another.
    pub fn collect(&self, mapping: &Mapping, tasks: u32, series: u32) -> Collected {
        let buffers: Vec<_> = (0..tasks).filter_map(|task| self.buffer(mapping, task, series)).collect();
        let share = |buffer: &Buffer<'_>| buffer.kept() as f64 / buffer.offered().max(1) as f64;
        let used = buffers.iter().filter(|buffer| buffer.offered() > 0);
        let smallest = used.clone().map(share).fold(1.0, f64::min);
        let one_in = used.clone().map(|buffer| buffer.offered().div_ceil(buffer.kept())).max().unwrap_or(1);
        let largest = used.clone().map(Buffer::largest).max().unwrap_or(0);
        let mut samples = Vec::new();
        for buffer in used {
            // Resolution of the probability that a sample is kept.
            const SCALE: u64 = 1 << 32;
            let chance = (smallest / share(buffer) * SCALE as f64).round() as u64;
            samples.extend(buffer.samples().into_iter().filter(|_| buffer.random_below(SCALE) < chance));
        }
        Collected { samples, one_in, largest }
    }
}

/// A buffer in use.
struct Buffer<'a> {
    mapping: &'a Mapping,
    offset: usize,
    capacity: u64,
}

impl Buffer<'_> {
    fn word(&self, at: usize) -> &AtomicU64 {
        self.mapping.double(self.offset + at)
    }

    fn lock(&self) -> &AtomicU32 {
        self.mapping.word(self.offset + LOCK)
    }

    fn offered(&self) -> u64 {
        self.word(OFFERED).load(Ordering::Relaxed)
    }

    fn largest(&self) -> u64 {
        self.word(LARGEST).load(Ordering::Relaxed)
    }

    fn kept(&self) -> u64 {
        self.offered().min(self.capacity)
    }

    /// A uniform random number below `bound`.
    fn random_below(&self, bound: u64) -> u64 {
        let state = xorshift(self.word(RANDOM).load(Ordering::Relaxed).max(1));
        self.word(RANDOM).store(state, Ordering::Relaxed);
        // The high half of the product depends on the generator's high bits, which are more random than the low bits.
        ((u128::from(state) * u128::from(bound)) >> 64) as u64
    }

    fn record(&self, ns: u64) {
        let number = self.offered();
        self.word(OFFERED).store(number + 1, Ordering::Relaxed);
        if ns > self.largest() {
            self.word(LARGEST).store(ns, Ordering::Relaxed);
        }
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

#[cfg(test)]
#[path = "../../tests/unit/executor/series.rs"]
mod tests;
