//! Gaps with their parts.

/// Cause of the time outside all intervals, in a gap with events.
pub const ENTRY: &str = "kernel entry and exit";
/// Cause of the time that the trace does not explain.
pub const UNEXPLAINED: &str = "unexplained";
/// Cause of unexplained time that the hypervisor reports as stolen.
pub const HYPERVISOR: &str = "hypervisor";
/// Cause of unexplained time in which the processor ran its firmware.
pub const HARDWARE: &str = "hardware";

/// A part of a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Cause.
    pub name: String,
    /// First and last instant of an interval; `None` for time outside all intervals.
    pub span: Option<(u64, u64)>,
    /// Time in counts of this cause alone, without the parts inside it.
    pub own: u64,
    /// Index of the part around it.
    pub within: Option<usize>,
    /// For a task: the part in which it was woken on this CPU.
    pub woken_in: Option<String>,
    /// Number of the occurrence on this CPU. Parts between which a switch interrupted the occurrence have the same number.
    pub occurrence: u64,
    /// For an interrupt from another CPU: index of the request in the list of requests.
    pub request: Option<usize>,
}

impl Part {
    /// A part without its surroundings.
    pub fn new(name: &str, own: u64, occurrence: u64) -> Self {
        let name = name.to_owned();
        Self { name, span: None, own, within: None, woken_in: None, occurrence, request: None }
    }
}

/// A gap with its parts, whose times sum to `length`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Start in counts.
    pub start: u64,
    /// Counts beyond the loop's minimum.
    pub length: u64,
    /// Parts in the order of their beginnings.
    pub parts: Vec<Part>,
    /// Times in counts outside all intervals.
    pub bare: Vec<u64>,
    /// Whether the trace has an event in this gap.
    pub is_traced: bool,
}

impl Explained {
    /// The name of the largest part, and of a real cause rather than of the path into the kernel if there is one.
    pub fn main(&self) -> &str {
        let largest = |all: bool| {
            let parts = self.parts.iter().filter(|part| all || part.name != ENTRY);
            parts.max_by_key(|part| part.own).map(|part| part.name.as_str())
        };
        largest(false).or_else(|| largest(true)).unwrap_or(UNEXPLAINED)
    }

    /// The time in counts of a part with all parts inside it.
    pub fn inclusive(&self, at: usize) -> u64 {
        let is_inside = |mut part: usize| {
            while part != at {
                let Some(outer) = self.parts[part].within else { return false };
                part = outer;
            }
            true
        };
        (0..self.parts.len()).filter(|part| is_inside(*part)).map(|part| self.parts[part].own).sum()
    }

    /// The time in counts of the unexplained part.
    pub fn unexplained(&self) -> u64 {
        self.parts.iter().filter(|part| part.name == UNEXPLAINED).map(|part| part.own).sum()
    }

    /// Give the unexplained time another cause.
    pub fn rename_unexplained(&mut self, cause: &str) {
        for part in self.parts.iter_mut().filter(|part| part.name == UNEXPLAINED) {
            cause.clone_into(&mut part.name);
        }
    }
}

/// The gaps of one CPU.
#[derive(Debug)]
pub struct Gaps {
    /// CPU.
    pub cpu: usize,
    /// First reading.
    pub start: u64,
    /// Last reading.
    pub end: u64,
    /// Gaps with their parts.
    pub gaps: Vec<Explained>,
}
