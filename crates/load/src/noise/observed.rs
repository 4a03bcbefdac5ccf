//! What the kernel counts of a CPU: interrupts, soft interrupts, time taken by the hypervisor, and firmware interrupts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;

use serde::Serialize;

/// Increase of a counter during a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Increase {
    /// CPU; `None` for a counter of the whole machine.
    pub cpu: Option<usize>,
    /// File and name.
    pub name: String,
    /// Increase.
    pub count: u64,
}

/// Counters of the CPUs by CPU and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<(Option<usize>, String), u64>);

impl Counters {
    /// Read the counters of `cpus`.
    pub fn read(cpus: &[usize]) -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let mut counters = Self::default();
        counters.add_table(cpus, &text("/proc/interrupts"), "interrupt");
        counters.add_table(cpus, &text("/proc/softirqs"), "softirq");
        counters.add_schedstat(cpus, &text("/proc/schedstat"));
        counters.add_machine(&text("/proc/stat"), &text("/proc/vmstat"));
        counters
    }

    /// Add a table with a column for each CPU, as in /proc/interrupts.
    pub fn add_table(&mut self, cpus: &[usize], table: &str, kind: &str) {
        let mut lines = table.lines();
        let heading = lines.next().unwrap_or_default();
        let columns: Vec<usize> = heading
            .split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
            .collect();
        for line in lines {
            let Some((label, rest)) = line.trim_start().split_once(':') else { continue };
            let mut words = rest.split_ascii_whitespace();
            let values: Vec<Option<u64>> =
                words.by_ref().take(columns.len()).map(|word| word.parse().ok()).collect();
            let name = match words.collect::<Vec<_>>().join(" ") {
                device if device.is_empty() => format!("{kind} {label}"),
                device => format!("{kind} {label} {device}"),
            };
            for (cpu, value) in columns.iter().zip(values).filter(|(cpu, _)| cpus.contains(cpu)) {
                if let Some(value) = value {
                    self.0.insert((Some(*cpu), name.clone()), value);
                }
            }
        }
    }

    /// Add the switches of each CPU (Documentation/scheduler/sched-stats.rst: fields 3 and 9 of a line).
    fn add_schedstat(&mut self, cpus: &[usize], text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let Some(cpu) = words[0].strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()) else { continue };
            for (at, name) in [(3, "calls of schedule()"), (9, "timeslices")] {
                let value = words.get(at).and_then(|word| word.parse().ok());
                if let (true, Some(value)) = (cpus.contains(&cpu), value) {
                    self.0.insert((Some(cpu), format!("schedstat {name}")), value);
                }
            }
        }
    }

    /// Add the counters of the machine that name causes.
    fn add_machine(&mut self, stat: &str, vmstat: &str) {
        let wanted = |name: &str| {
            ["ctxt", "pgfault", "pgmigrate_success", "numa_pte_updates", "compact_stall", "drop_pagecache"]
                .contains(&name)
        };
        for (file, text) in [("stat", stat), ("vmstat", vmstat)] {
            for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
                if let (true, Ok(value)) = (wanted(name), value.parse()) {
                    self.0.insert((None, format!("{file} {name}")), value);
                }
            }
        }
    }

    /// Counters that grew since `before`.
    pub fn since(&self, before: &Self) -> Vec<Increase> {
        let increase = |((cpu, name), value): (&(Option<usize>, String), &u64)| {
            let count =
                value.checked_sub(*before.0.get(&(*cpu, name.clone()))?).filter(|count| *count > 0)?;
            Some(Increase { cpu: *cpu, name: name.clone(), count })
        };
        self.0.iter().filter_map(increase).collect()
    }
}

/// Time that the hypervisor took from each of `cpus` since boot, in ticks of /proc/stat (proc_stat(5), column 8).
pub fn steal_ticks(cpus: &[usize]) -> Vec<u64> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let of = |cpu: &usize| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
        line.split_ascii_whitespace().nth(7)?.parse().ok()
    };
    cpus.iter().map(|cpu| of(cpu).unwrap_or(0)).collect()
}

/// Ticks of /proc/stat per second.
pub fn ticks_per_second() -> u64 {
    let ticks = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten();
    ticks.and_then(|ticks| u64::try_from(ticks).ok()).unwrap_or(100)
}

/// Firmware interrupts of an Intel CPU since its reset (MSR_SMI_COUNT, Intel SDM volume 4); `None` where /dev/cpu/N/msr
/// cannot be read, or the processor lacks the counter.
pub fn firmware_interrupts(cpu: usize) -> Option<u64> {
    const MSR_SMI_COUNT: u64 = 0x34;
    let mut bytes = [0; 8];
    fs::File::open(format!("/dev/cpu/{cpu}/msr")).ok()?.read_exact_at(&mut bytes, MSR_SMI_COUNT).ok()?;
    Some(u64::from_le_bytes(bytes) & u64::from(u32::MAX))
}

#[cfg(test)]
#[path = "../../tests/unit/noise/observed.rs"]
mod tests;
