//! The document in rt-app's terms.

use super::error::Place;
use crate::program::{Attributes, Policy, TimerMode};

/// A complete document.
#[derive(Debug, Clone)]
pub struct Document {
    pub global: Global,
    pub tasks: Vec<Task>,
    /// Place of the tasks.
    pub place: Place,
}

/// Settings of all tasks.
#[derive(Debug, Clone)]
pub struct Global {
    /// Duration of the run; `None` for a run that ends with its last task.
    pub duration_ns: Option<u64>,
    pub default_policy: Option<Policy>,
    pub io_device: String,
    pub mem_buffer_bytes: u64,
    pub notes: Vec<String>,
}

/// A thread object: `instances` threads with the same phases.
#[derive(Debug, Clone)]
pub struct Task {
    /// Unique name: repeated names are numbered.
    pub name: String,
    pub place: Place,
    pub instances: u32,
    pub delay_ns: u64,
    /// Number of repetitions of all phases; `None` repeats without end.
    pub loops: Option<u64>,
    pub attributes: Attributes,
    pub phases: Vec<Phase>,
}

#[derive(Debug, Clone)]
pub struct Phase {
    /// Number of repetitions; `None` repeats without end.
    pub loops: Option<u64>,
    pub attributes: Attributes,
    pub events: Vec<Event>,
}

#[derive(Debug, Clone)]
pub struct Event {
    pub kind: Kind,
    pub place: Place,
    /// Path of the event in the document.
    pub path: String,
}

/// Action of an event. Times are in nanoseconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Run(u64),
    Runtime(u64),
    Sleep(u64),
    Mem(u64),
    IoRun(u64),
    MemRun(MemRun),
    Lock(String),
    Unlock(String),
    Wait { condition: String, mutex: String },
    Signal(String),
    Broadcast(String),
    Sync { condition: String, mutex: String },
    Barrier(String),
    Timer { reference: String, period_ns: u64, mode: TimerMode },
    Suspend,
    Resume(String),
    SemPost(String),
    SemWait(String),
    Fork(String),
    Yield,
}

/// Accesses of a `memrun` event.
#[derive(Debug, Clone, PartialEq)]
pub struct MemRun {
    pub access: Access,
    pub bytes: u64,
    pub count: u64,
    pub shared: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Chase { stride: u32, random: bool },
}
