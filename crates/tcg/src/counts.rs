//! Numbers of instructions and calls by function.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lowest address of the kernel's half of the address space with four-level and five-level page tables
/// (Documentation/arch/x86/x86_64/mm.rst).
const KERNEL: u64 = 0xff00_0000_0000_0000;

/// Lowest address of modules and generated code (BPF) in kernels whose addresses can be randomized
/// (Documentation/arch/x86/x86_64/mm.rst; `MODULES_VADDR` with a kernel image of up to 1 GiB).
const MODULES: u64 = 0xffff_ffff_c000_0000;

/// Number of the counter of all instructions outside of the kernel.
const USER: usize = 0;

/// The functions of a kernel. User code has number 0, the functions have numbers from 1, and kernel code below the first
/// function, in modules and generated code has the number after the last.
pub(crate) struct Functions {
    starts: Vec<u64>,
}

impl Functions {
    /// Reads ascending addresses of functions, a hexadecimal number in each line.
    pub(crate) fn new(symbols: &str) -> Result<Self, String> {
        let number =
            |line: &str| u64::from_str_radix(line, 16).map_err(|_| format!("{line:?} is not an address"));
        let starts = symbols.lines().map(number).collect::<Result<Vec<u64>, String>>()?;
        if !starts.is_sorted() {
            return Err("the addresses do not ascend".to_owned());
        }
        Ok(Self { starts })
    }

    /// Number of counters.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() + 2
    }

    /// Number of the function that contains this address.
    pub(crate) fn number(&self, address: u64) -> usize {
        match self.starts.partition_point(|start| *start <= address) {
            _ if address < KERNEL => USER,
            _ if address >= MODULES => self.starts.len() + 1,
            0 => self.starts.len() + 1,
            number => number,
        }
    }

    /// Whether a function begins at this address, so that executing it is a call.
    pub(crate) fn begins(&self, address: u64) -> bool {
        self.starts.binary_search(&address).is_ok()
    }
}

/// Name of the counts of calls.
pub(crate) const CALLS: &str = "calls";

/// Counters of executed instructions, or of calls, by function.
///
/// QEMU's generated code adds to the counters through their addresses, which never change.
pub(crate) struct Counters(Box<[AtomicU64]>);

impl Counters {
    /// This many counters of 0.
    pub(crate) fn new(number: usize) -> Self {
        Self((0..number).map(|_| AtomicU64::new(0)).collect())
    }

    /// The address of the counter of a function.
    pub(crate) fn address(&self, number: usize) -> *mut u64 {
        self.0[number].as_ptr()
    }

    /// Sets all counters to 0, and adds the previous values to the counts of this kind (empty for instructions).
    pub(crate) fn take(&self, kind: &'static str, counts: &mut Counts) {
        for (number, counter) in self.0.iter().enumerate() {
            let count = counter.load(Ordering::Relaxed);
            if count > 0 {
                counter.store(0, Ordering::Relaxed);
                counts.add(number, kind, count);
            }
        }
    }
}

/// Counts by function and kind: instructions (empty), calls, or a source of cache lines.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<(usize, &'static str), u64>);

impl Counts {
    /// Adds to the count of a function and kind.
    pub(crate) fn add(&mut self, number: usize, kind: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry((number, kind)).or_default() += count;
        }
    }

    /// Adds all counts of another.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for ((number, kind), count) in &other.0 {
            self.add(*number, kind, *count);
        }
    }

    /// The counts as text: `0:12 7:340 7.calls:3 7.llc:2`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for ((number, kind), count) in &self.0 {
            let separator = if text.is_empty() { "" } else { " " };
            let dot = if kind.is_empty() { "" } else { "." };
            write!(text, "{separator}{number}{dot}{kind}:{count}").expect("a String takes any text");
        }
        text
    }
}

#[cfg(test)]
#[path = "../tests/unit/counts.rs"]
mod tests;
