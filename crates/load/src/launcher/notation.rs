//! How durations and CPU lists are written on the command line.

use std::time::Duration;

use crate::sys::sched::MAX_CPUS;

/// Parses a duration: a decimal number and a unit (`ns`, `us`, `ms`, `s`, `min` or `m`), such as `0.1ms`. The error
/// says what was expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let expected =
        || format!("`{text}` is not a duration: write a number and ns, us, ms, s or min, such as 0.1ms");
    let nanoseconds = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let total = number * nanoseconds;
    if total > u64::MAX as f64 / 2.0 {
        return Err(format!("`{text}` is too long"));
    }
    Ok(Duration::from_nanos(total.round() as u64))
}

/// Parses a CPU list in the kernel's notation, such as `0-1,3`; the result is ascending and not empty.
pub fn cpus(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let expected = || format!("`{text}` is not a CPU list: write numbers and ranges, such as 0-1,3");
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| expected())?;
        let last: usize = last.trim().parse().map_err(|_| expected())?;
        if first > last {
            return Err(expected());
        }
        if last >= MAX_CPUS {
            return Err(format!(
                "CPU {last} is above the largest number that can be named, {}",
                MAX_CPUS - 1
            ));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Writes a CPU list in the kernel's notation.
pub fn show_cpus(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let show = |(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(show).collect::<Vec<_>>().join(",")
}
