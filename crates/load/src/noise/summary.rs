//! The JSON document of a measurement.

use std::collections::BTreeMap;

use serde::Serialize;

use super::join::{ENTRY, Explained, HARDWARE, HYPERVISOR, UNEXPLAINED};
use super::observed::Increase;
use crate::sys::counter::Rate;

/// Version of the document's layout.
pub const SCHEMA: u32 = 1;
/// Longest gaps with their parts.
const WORST: usize = 10;
/// Gaps of the time line; the longest remain.
const TIMELINE: usize = 50_000;
/// Classes of the histogram in each doubling of the length.
const CLASSES_PER_DOUBLING: f64 = 4.0;

/// One measurement.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the layout.
    pub schema: u32,
    /// Seconds that were asked for.
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
    /// Longest gaps of all CPUs, the longest first.
    pub worst: Vec<Worst>,
    /// Gaps as (CPU, start in ns since the start of the CPU's loop, length in ns, index of the main cause in `causes`).
    pub timeline: Vec<(usize, u64, u64, usize)>,
    /// Whether `timeline` contains every gap.
    pub timeline_is_complete: bool,
    /// Counters of the kernel that grew during the measurement.
    pub counters: Vec<Increase>,
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
    /// Largest difference between the counters of two CPUs, `None` with one CPU.
    pub difference_ns: Option<f64>,
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
    /// Number of occurrences in gaps. A task that was preempted, and goes on, is one occurrence.
    pub count: u64,
    /// Occurrences per second and CPU.
    pub rate: f64,
    /// Longest occurrence.
    pub worst_ns: f64,
    /// Time of all occurrences.
    pub total_ns: f64,
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
}

/// The gaps of one CPU.
#[derive(Debug)]
pub struct Gaps {
    /// CPU.
    pub cpu: usize,
    /// First reading.
    pub start: u64,
    /// Gaps with their parts.
    pub gaps: Vec<Explained>,
}

/// The table of causes: totals over all CPUs, which together ran for `seconds`.
pub fn causes(all: &[Gaps], rate: Rate, seconds: f64) -> Vec<Cause> {
    let mut totals: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for part in all.iter().flat_map(|cpu| &cpu.gaps).flat_map(|gap| &gap.parts) {
        let (count, worst, total) = totals.entry(&part.name).or_default();
        *count += u64::from(!part.is_rest);
        *worst = part.own.max(*worst);
        *total += part.own;
    }
    let sum: u64 = totals.values().map(|(.., total)| total).sum();
    let mut causes: Vec<Cause> = totals
        .into_iter()
        .map(|(name, (count, worst, total))| Cause {
            name: name.to_owned(),
            count,
            rate: count as f64 / seconds,
            worst_ns: rate.ns(worst),
            total_ns: rate.ns(total),
            share: if sum == 0 { 0.0 } else { total as f64 / sum as f64 },
        })
        .collect();
    // What is not a cause of the kernel's comes last among equals, and equals are in the order of their names.
    let is_rest = |cause: &Cause| [ENTRY, HARDWARE, HYPERVISOR, UNEXPLAINED].contains(&cause.name.as_str());
    causes.sort_by(|one, other| {
        let order = other.total_ns.total_cmp(&one.total_ns);
        order.then_with(|| is_rest(one).cmp(&is_rest(other))).then_with(|| one.name.cmp(&other.name))
    });
    causes
}

/// The longest gaps of all CPUs.
pub fn worst(all: &[Gaps], rate: Rate) -> Vec<Worst> {
    let mut order: Vec<(&Gaps, &Explained)> =
        all.iter().flat_map(|cpu| cpu.gaps.iter().map(move |gap| (cpu, gap))).collect();
    order.sort_by_key(|(cpu, gap)| (std::cmp::Reverse(gap.length), cpu.cpu, gap.start));
    order.truncate(WORST);
    let show = |(cpu, gap): (&Gaps, &Explained)| Worst {
        cpu: cpu.cpu,
        at_ns: rate.ns(gap.start - cpu.start) as u64,
        length_ns: rate.ns(gap.length),
        parts: (0..gap.parts.len())
            .filter(|at| gap.parts[*at].own > 0)
            .map(|at| piece(gap, at, rate))
            .collect(),
    };
    order.into_iter().map(show).collect()
}

fn piece(gap: &Explained, at: usize, rate: Rate) -> Piece {
    let part = &gap.parts[at];
    let mut within = Vec::new();
    let mut around = part.within;
    while let Some(outer) = around {
        within.insert(0, gap.parts[outer].name.clone());
        around = gap.parts[outer].within;
    }
    Piece { name: part.name.clone(), ns: rate.ns(part.own), within, woken_in: part.woken_in.clone() }
}

/// The time line, and whether it is complete.
pub fn timeline(all: &[Gaps], causes: &[Cause], rate: Rate) -> (Vec<(usize, u64, u64, usize)>, bool) {
    let places: BTreeMap<&str, usize> =
        causes.iter().enumerate().map(|(at, cause)| (cause.name.as_str(), at)).collect();
    let mut points: Vec<(usize, u64, u64, usize)> = Vec::new();
    for cpu in all {
        points.extend(cpu.gaps.iter().map(|gap| {
            let at = rate.ns(gap.start - cpu.start) as u64;
            (cpu.cpu, at, rate.ns(gap.length) as u64, places.get(gap.main()).copied().unwrap_or_default())
        }));
    }
    let is_complete = points.len() <= TIMELINE;
    if !is_complete {
        points.sort_by_key(|point| std::cmp::Reverse(point.2));
        points.truncate(TIMELINE);
        points.sort_unstable();
    }
    (points, is_complete)
}

/// Number of lengths in classes whose limits grow by a constant factor.
pub fn histogram(lengths: &[u64], rate: Rate) -> Vec<(f64, u64, u64)> {
    let mut classes: BTreeMap<i32, u64> = BTreeMap::new();
    for length in lengths {
        let class = ((*length).max(1) as f64).log2() * CLASSES_PER_DOUBLING;
        *classes.entry(class.floor() as i32).or_default() += 1;
    }
    let least = |class: i32| (f64::from(class) / CLASSES_PER_DOUBLING).exp2();
    classes
        .into_iter()
        .map(|(class, count)| (least(class) / rate.per_ns, least(class).ceil() as u64, count))
        .collect()
}

/// The least length that `share` of the lengths do not exceed; 0 without lengths.
pub fn quantile(lengths: &[u64], share: f64) -> u64 {
    if lengths.is_empty() {
        return 0;
    }
    let mut sorted = lengths.to_vec();
    let rank = ((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
    *sorted.select_nth_unstable(rank - 1).1
}
