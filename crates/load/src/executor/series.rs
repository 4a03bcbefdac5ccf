//! Recorded samples, in shared memory, one buffer for each task and series.
//!
//! A buffer that fills up keeps every second of its samples and from then on records every second new one, again and
//! again: what is kept is always an even selection of everything that was recorded.

use std::sync::atomic::Ordering;

use schedlab_workload::check::samples;
use schedlab_workload::{Plan, TaskId};

use super::arena::{Arena, LINE};

/// Samples that all buffers of a run hold together (64 MiB of them).
const BUDGET: u64 = 8 << 20;

/// Least capacity of a buffer.
const LEAST: u64 = 256;

// Words of a buffer's header.
const SEEN: usize = 0;
const KEPT: usize = 8;
const STRIDE: usize = 16;
const BUSY: usize = 24;

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
    /// One in so many was kept.
    pub one_in: u64,
}

impl Layout {
    /// Places the buffers of `plan` from `start` on.
    pub(super) fn new(plan: &Plan, start: usize) -> Self {
        let bounds: Vec<Vec<u64>> = plan.tasks().map(|task| samples::bounds(plan, task)).collect();
        let writers = bounds.iter().flatten().filter(|bound| **bound > 0).count() as u64;
        let share = BUDGET.checked_div(writers).unwrap_or(0).max(LEAST);
        let mut end = start;
        let place = |bound: &u64| {
            let capacity = (*bound).min(share);
            let buffer = (end, capacity);
            if capacity > 0 {
                end = (end + LINE + capacity as usize * 8).next_multiple_of(LINE);
            }
            buffer
        };
        let buffers = bounds.iter().flatten().map(place).collect();
        Self { buffers, series: plan.program().series.len(), end }
    }

    /// First offset after all buffers.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    fn buffer(&self, task: u32, series: u32) -> (usize, u64) {
        self.buffers[task as usize * self.series + series as usize]
    }
}

impl Arena {
    /// Brings a task's buffers into the page table of the calling process, so that recording does not fault.
    pub fn prefault(&self, task: TaskId) {
        for series in 0..self.layout.series as u32 {
            let (offset, capacity) = self.layout.buffer(task.ordinal, series);
            if capacity > 0 {
                self.mapping.prefault(offset, LINE + capacity as usize * 8);
            }
        }
    }

    /// Records a sample of a task.
    pub fn record(&self, task: u32, series: u32, ns: u64) {
        let (offset, capacity) = self.layout.buffer(task, series);
        let word = |at: usize| self.mapping.double(offset + at);
        // The task's forked children may record at the same time.
        while word(BUSY).swap(1, Ordering::Acquire) != 0 {
            std::hint::spin_loop();
        }
        let seen = word(SEEN).load(Ordering::Relaxed);
        let stride = word(STRIDE).load(Ordering::Relaxed).max(1);
        word(SEEN).store(seen + 1, Ordering::Relaxed);
        if seen.is_multiple_of(stride) {
            let sample = |index: u64| word(LINE + index as usize * 8);
            let mut kept = word(KEPT).load(Ordering::Relaxed);
            if kept == capacity {
                kept = kept.div_ceil(2);
                for index in 0..kept {
                    sample(index).store(sample(index * 2).load(Ordering::Relaxed), Ordering::Relaxed);
                }
                word(STRIDE).store(stride * 2, Ordering::Relaxed);
            }
            // After thinning, the new sample is kept only if it belongs to the new selection.
            if seen.is_multiple_of(word(STRIDE).load(Ordering::Relaxed).max(1)) {
                sample(kept).store(ns, Ordering::Relaxed);
                kept += 1;
            }
            word(KEPT).store(kept, Ordering::Relaxed);
        }
        word(BUSY).store(0, Ordering::Release);
    }

    /// Collects a series over all tasks. Where tasks kept different selections, all are brought to the sparsest, so
    /// that no task counts for more than another.
    pub fn collect(&self, tasks: u32, series: u32) -> Collected {
        let header = |task: u32| {
            let (offset, capacity) = self.layout.buffer(task, series);
            let load = |at: usize| self.mapping.double(offset + at).load(Ordering::Relaxed);
            (capacity > 0).then(|| (offset, load(KEPT), load(STRIDE).max(1)))
        };
        let one_in = (0..tasks).filter_map(header).map(|(_, _, stride)| stride).max().unwrap_or(1);
        let mut samples = Vec::new();
        for (offset, kept, stride) in (0..tasks).filter_map(header) {
            let step = (one_in / stride) as usize;
            let load = |index: usize| self.mapping.double(offset + LINE + index * 8).load(Ordering::Relaxed);
            samples.extend((0..kept as usize).step_by(step).map(load));
        }
        Collected { samples, one_in }
    }
}
