//! How durations and CPU lists are written on the command line.

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::sys::sched::MAX_CPUS;

/// Parses a duration such as `0.1ms`, see [`schedlab_workload::duration`]. The error says what was expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    schedlab_workload::duration::nanoseconds(text).map(Duration::from_nanos)
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

/// Parses one of the names of a choice; the error lists them.
pub fn choice<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{cpus, show_cpus};

    #[test]
    fn cpu_lists_have_the_notation_of_the_kernel() {
        assert_eq!(cpus("0-2,5"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(cpus("3,1,1-2"), Ok(vec![1, 2, 3]));
        assert_eq!(show_cpus(&[0, 1, 2, 5]), "0-2,5");
        for wrong in ["", "a", "2-1", "1-", "-1", "1;2"] {
            assert!(cpus(wrong).is_err_and(|text| text.contains("is not a CPU list")), "{wrong}");
        }
        assert!(cpus("0-5000").is_err_and(|text| text.contains("largest number")));
    }
}
