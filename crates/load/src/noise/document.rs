//! The JSON document of a measurement.

use std::collections::BTreeMap;

use serde::Serialize;

use super::observed::Increase;
use super::windows::Windows;

/// Version of the document's layout.
pub const SCHEMA: u32 = 1;
/// One measurement.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the layout.
    pub schema: u32,
    /// Requested seconds.
    pub seconds: f64,
    /// SCHED_FIFO priority of the loop; `None` for SCHED_OTHER.
    pub fifo: Option<u32>,
    /// Whether the memory of the loop was locked.
    pub memory_locked: bool,
    /// The counter.
    pub counter: Counter,
    /// The trace.
    pub tracing: Tracing,
    /// Each CPU.
    pub cpus: Vec<Cpu>,
    /// Causes of all CPUs, the largest total first; their shares sum to 1.
    pub causes: Vec<Cause>,
    /// Senders of the interrupts that other CPUs requested, the most frequent first.
    pub senders: Vec<SenderRow>,
    /// Longest gaps of all CPUs, the longest first.
    pub worst: Vec<Worst>,
    /// Gaps as (CPU, start in ns since the start of the CPU's loop, length in ns, index of the main cause in `causes`).
    pub timeline: Vec<(usize, u64, u64, usize)>,
    /// Whether `timeline` contains every gap.
    pub timeline_is_complete: bool,
    /// Counters of the kernel that grew during the measurement.
    pub counters: Vec<Increase>,
    /// Counters and gaps in windows; `None` with a trace, and if all CPUs are under test.
    pub windows: Option<Windows>,
    /// The gaps of `timeline` with their parts, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<Gap>>,
}

/// The counter and its calibration.
#[derive(Debug, Serialize)]
pub struct Counter {
    /// Name.
    pub name: &'static str,
    /// Counts per second.
    pub hz: f64,
    /// Whether the rate is constant.
    pub invariant: bool,
    /// Uncertainty of an instant of the counter on CLOCK_MONOTONIC_RAW.
    pub error_ns: f64,
    /// Largest difference between the counters of two CPUs; `None` with one CPU, and if the clock is the counter.
    pub difference_ns: Option<f64>,
    /// How often the counter jumped ahead of CLOCK_MONOTONIC_RAW.
    pub jumps: usize,
}

/// The trace.
#[derive(Debug, Default, Serialize)]
pub struct Tracing {
    /// Whether causes are from the trace.
    pub traced: bool,
    /// Why there is no trace.
    pub reason: Option<String>,
    /// Clock of the trace.
    pub clock: Option<&'static str>,
    /// Uncertainty of an event's time on the counter.
    pub error_ns: f64,
    /// Recorded kinds of events.
    pub events: Vec<String>,
    /// Number of recorded events.
    pub recorded: u64,
    /// Number of events that were lost.
    pub lost: u64,
    /// How often the tick stopped, or what kept it.
    pub tick_stops: BTreeMap<String, u64>,
    /// Why requests of other CPUs were not recorded.
    pub no_senders: Option<String>,
    /// Number of recorded requests; `None` if they were not recorded.
    pub requests: Option<u64>,
    /// Number of requests that were lost.
    pub requests_lost: u64,
    /// Instances of killed measurements that were removed first.
    pub removed: Vec<String>,
}

/// One CPU.
#[derive(Debug, Serialize)]
pub struct Cpu {
    /// Number.
    pub cpu: usize,
    /// First reading on CLOCK_MONOTONIC_RAW in ns.
    pub start_ns: u64,
    /// Seconds from the first to the last reading.
    pub seconds: f64,
    /// Turns of the loop.
    pub turns: u64,
    /// Least time of a turn in counts.
    pub minimum_cycles: u64,
    /// Least time of a turn in ns.
    pub minimum_ns: f64,
    /// Length from which an interruption counts as a gap, in ns beyond the minimum.
    pub threshold_ns: f64,
    /// Number of gaps.
    pub gaps: u64,
    /// Number of gaps that the buffer had no room for; `worst_ns` and `stolen_ns` include them.
    pub lost: u64,
    /// Longest gap.
    pub worst_ns: f64,
    /// 99.9th percentile of the lengths; 0 without gaps.
    pub p999_ns: f64,
    /// Time in gaps.
    pub stolen_ns: f64,
    /// Time that the hypervisor reports as stolen, in steps of a tick of /proc/stat.
    pub steal_ns: u64,
    /// Firmware interrupts, where the processor shows their number.
    pub firmware_interrupts: Option<u64>,
    /// Path into and out of the kernel up to which it counts as explained.
    pub usual_entry_ns: f64,
    /// Number of gaps by length: (least length of the class in ns, the same in cycles, count).
    pub histogram: Vec<(f64, u64, u64)>,
}

/// One cause.
#[derive(Debug, Serialize)]
pub struct Cause {
    /// Name.
    pub name: String,
    /// Number of occurrences that have a part in a gap.
    pub count: u64,
    /// Occurrences per second and CPU.
    pub rate: f64,
    /// Longest occurrence, without the causes inside it.
    pub worst_ns: f64,
    /// Time of all occurrences, without the causes inside them.
    pub total_ns: f64,
    /// Longest occurrence, with the causes inside it.
    pub inclusive_worst_ns: f64,
    /// Time of all occurrences, with the causes inside them.
    pub inclusive_total_ns: f64,
    /// Share of the time of all gaps, 0 to 1.
    pub share: f64,
}

/// One of the longest gaps.
#[derive(Debug, Serialize)]
pub struct Worst {
    /// CPU.
    pub cpu: usize,
    /// Start in ns since the start of the CPU's loop.
    pub at_ns: u64,
    /// Length.
    pub length_ns: f64,
    /// Parts, which sum to the length.
    pub parts: Vec<Piece>,
}

/// A part of a gap.
#[derive(Debug, Serialize)]
pub struct Piece {
    /// Cause.
    pub name: String,
    /// Time of this cause alone.
    pub ns: f64,
    /// Names of the parts around it, the outermost first.
    pub within: Vec<String>,
    /// For a task: the part in which it was woken on this CPU.
    pub woken_in: Option<String>,
    /// For an interrupt from another CPU: its sender, where the kernel records it.
    pub sender: Option<From>,
}

/// The sender of an interrupt.
#[derive(Debug, Serialize)]
pub struct From {
    /// Task that ran on the CPU.
    pub task: String,
    /// The CPU.
    pub cpu: usize,
    /// Function that wanted the interrupt.
    pub function: String,
    /// Return address of the function that requested it, as a symbol.
    pub callsite: String,
    /// Functions of its stack, the innermost first.
    pub stack: Vec<String>,
}

/// Interrupts from one task and function.
#[derive(Debug, Serialize)]
pub struct SenderRow {
    /// The interrupt, a cause.
    pub interrupt: String,
    /// Task that sent it; `None`: no request was recorded.
    pub task: Option<String>,
    /// Function that wanted it.
    pub function: Option<String>,
    /// Interrupts in gaps.
    pub count: u64,
    /// Interrupts per second and CPU.
    pub rate: f64,
}

/// A gap with its parts, for a time line. Times are in ns since the start of the CPU's loop, causes are indices in `causes`.
#[derive(Debug, Serialize)]
pub struct Gap {
    /// CPU.
    pub cpu: usize,
    /// Start.
    pub at_ns: f64,
    /// Length.
    pub length_ns: f64,
    /// Main cause.
    pub main: usize,
    /// Intervals as (cause, start, end), an interval before the intervals inside it.
    pub parts: Vec<(usize, f64, f64)>,
    /// Time outside all intervals as (cause, length).
    pub rest: Vec<(usize, f64)>,
    /// Senders of interrupts as (index in `parts`, sender).
    pub senders: Vec<(usize, String)>,
}
