//! How durations and CPU lists are written on the command line.

use std::time::Duration;

use serde::de::DeserializeOwned;

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

/// Parses one of the names of a choice; the error lists them.
pub fn choice<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{cpus, duration, show_cpus};

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(duration("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(duration("0.1ms"), Ok(Duration::from_micros(100)));
        assert_eq!(duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2min"), Ok(Duration::from_secs(120)));
        for wrong in ["", "5", "ms", "1.2.3s", "-1s", "5 parsecs", "1e3s"] {
            assert!(duration(wrong).is_err_and(|text| text.contains("is not a duration")), "{wrong}");
        }
        assert!(duration("99999999999999s").is_err_and(|text| text.contains("too long")));
    }

    #[test]
    fn cpu_lists_are_the_kernels() {
        assert_eq!(cpus("0-2,5"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(cpus("3,1,1-2"), Ok(vec![1, 2, 3]));
        assert_eq!(show_cpus(&[0, 1, 2, 5]), "0-2,5");
        for wrong in ["", "a", "2-1", "1-", "-1", "1;2"] {
            assert!(cpus(wrong).is_err_and(|text| text.contains("is not a CPU list")), "{wrong}");
        }
        assert!(cpus("0-5000").is_err_and(|text| text.contains("largest number")));
    }
}
