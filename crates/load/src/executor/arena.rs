//! Shared memory of a run: the state that tasks share outside of channels, and their recorded samples.
//!
//! ```text
//! control │ failure text │ locks │ semaphores │ barriers │ conditions │ slots │ holders │ counters by task │ series by task
//! ```
//! Words that different tasks write lie on different cache lines.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use schedlab_workload::check::ends::End;
use schedlab_workload::{Plan, TaskId};

use super::series::{Collected, Series};
use crate::sys::memory::{LINE, Mapping};

/// Room for the text of the first failure.
const FAILURE_ROOM: usize = 1024;

// Words of the control block, each on a separate cache line.
const RELEASED: usize = 0;
const FAILED: usize = LINE;
const FINISHED: usize = 2 * LINE;
const FAILURE_LENGTH: usize = 3 * LINE;
const FINISHING: usize = 4 * LINE;
const FAILURE_TEXT: usize = 5 * LINE;

/// The mapping and the offsets of its sections.
#[derive(Debug)]
pub struct Arena {
    pub(super) mapping: Mapping,
    locks: usize,
    semaphores: usize,
    barriers: usize,
    conditions: usize,
    slots: usize,
    holders: usize,
    counters: usize,
    counters_stride: usize,
    counter_count: usize,
    pub(super) series: Series,
}

impl Arena {
    /// Map and initialise the shared memory of a run of `plan`, with room for `samples` samples of each series.
    pub fn new(plan: &Plan, samples: u64) -> io::Result<Self> {
        let mut end = FAILURE_TEXT + FAILURE_ROOM;
        let mut section = |bytes: usize| {
            let start = end.next_multiple_of(LINE);
            end = start + bytes;
            start
        };
        let lines = |count: u32| count as usize * LINE;
        let tasks = plan.task_count() as usize;
        let counter_count = plan.program().counters.len();
        let counters_stride = (counter_count * 8).next_multiple_of(LINE);
        let (locks, semaphores) =
            (section(lines(plan.locks().total())), section(lines(plan.semaphores().total())));
        let conditions = section(lines(plan.conditions().total()));
        let (barriers, slots) =
            (section(lines(plan.barriers().total())), section(lines(plan.slots().total())));
        let holders = section(plan.channels().total() as usize * 8);
        let counters = section(tasks * counters_stride);
        let series = Series::new(plan, end.next_multiple_of(LINE), samples);
        let mapping = Mapping::shared(series.end())?;
        let arena = Self {
            mapping,
            locks,
            semaphores,
            barriers,
            conditions,
            slots,
            holders,
            counters,
            counters_stride,
            counter_count,
            series,
        };
        for instance in 0..plan.semaphores().total() {
            let definition = &plan.program().resources.semaphores[plan.semaphores().position(instance)];
            arena.semaphore(instance).store(definition.initial, Ordering::Relaxed);
        }
        Ok(arena)
    }

    /// The word of a lock.
    pub fn lock(&self, lock: u32) -> &AtomicU32 {
        self.mapping.word(self.locks + lock as usize * LINE)
    }

    /// The value of a semaphore; the next word counts its waiters.
    pub fn semaphore(&self, semaphore: u32) -> &AtomicU32 {
        self.mapping.word(self.semaphores + semaphore as usize * LINE)
    }

    /// Tasks that sleep on a semaphore.
    pub fn semaphore_waiters(&self, semaphore: u32) -> &AtomicU32 {
        self.mapping.word(self.semaphores + semaphore as usize * LINE + 4)
    }

    /// (arrivals, generation) of a barrier.
    pub fn barrier(&self, barrier: u32) -> (&AtomicU32, &AtomicU32) {
        let at = self.barriers + barrier as usize * LINE;
        (self.mapping.word(at), self.mapping.word(at + 4))
    }

    /// (tickets issued to waiters, tickets served) of a condition.
    pub fn condition(&self, condition: u32) -> (&AtomicU32, &AtomicU32) {
        let at = self.conditions + condition as usize * LINE;
        (self.mapping.word(at), self.mapping.word(at + 4))
    }

    /// The time stamp in a slot.
    pub fn slot(&self, slot: u32) -> &AtomicU64 {
        self.mapping.double(self.slots + slot as usize * LINE)
    }

    /// Tasks that still use an end of a channel.
    pub fn holders(&self, channel: u32, end: End) -> &AtomicU32 {
        self.mapping.word(self.holders + channel as usize * 8 + if end == End::Near { 0 } else { 4 })
    }

    /// A counter of a task.
    pub fn counter(&self, task: u32, counter: u32) -> &AtomicU64 {
        self.mapping.double(self.counters + task as usize * self.counters_stride + counter as usize * 8)
    }

    /// Totals of all counters over all tasks.
    pub fn counter_totals(&self, tasks: u32) -> Vec<u64> {
        let total =
            |counter| (0..tasks).map(|task| self.counter(task, counter).load(Ordering::Relaxed)).sum();
        (0..self.counter_count as u32).map(total).collect()
    }

    /// Bring a task's buffers of samples into the page table of the calling process, so that recording does not fault.
    pub fn prefault(&self, task: TaskId) {
        self.series.prefault(&self.mapping, task);
    }

    /// Record a sample of a task.
    pub fn record(&self, task: u32, series: u32, ns: u64) {
        self.series.record(&self.mapping, task, series, ns);
    }

    /// Collect a series over all tasks.
    pub fn collect(&self, tasks: u32, series: u32) -> Collected {
        self.series.collect(&self.mapping, tasks, series)
    }

    /// `CLOCK_MONOTONIC` at the opening of the gate.
    pub fn released_ns(&self) -> &AtomicU64 {
        self.mapping.double(RELEASED)
    }

    /// Threads that have finished; the main thread waits on this word.
    pub fn finished(&self) -> &AtomicU32 {
        self.mapping.word(FINISHED)
    }

    /// Requests the end of the run. The main thread acts on the request when the calling task has ended.
    pub fn finish(&self) {
        self.mapping.word(FINISHING).store(1, Ordering::Release);
    }

    /// Whether a task has requested the end of the run.
    pub fn finishing(&self) -> bool {
        self.mapping.word(FINISHING).load(Ordering::Acquire) != 0
    }

    /// Record a failure. Later failures are dropped.
    pub fn fail(&self, text: &str) {
        if self.mapping.word(FAILED).swap(1, Ordering::AcqRel) == 0 {
            let length = self.mapping.put(FAILURE_TEXT, text.as_bytes(), FAILURE_ROOM);
            self.mapping.word(FAILURE_LENGTH).store(length as u32, Ordering::Release);
        }
    }

    /// The first failure's text.
    pub fn failure(&self) -> Option<String> {
        let length = self.mapping.word(FAILURE_LENGTH).load(Ordering::Acquire) as usize;
        (length > 0).then(|| String::from_utf8_lossy(&self.mapping.get(FAILURE_TEXT, length)).into_owned())
    }
}
