//! CPU lists in the kernel's notation (`bitmap_parselist()` in lib/bitmap-str.c, Linux 6.12; cpuset(7)).
//!
//! | part | meaning | accepted in |
//! |---|---|---|
//! | `8` | a CPU | everywhere |
//! | `0-3` | CPUs from the first to the last | everywhere |
//! | `0-15:2/4` | the first 2 of each 4 CPUs of the range | everywhere |
//! | `N` | the last CPU, also as an end of a range | texts with a known number of CPUs: simulated command lines |
//! | `all` | every CPU, also with `:2/4` | as `N` |
//!
//! Commas or white space separate the parts. The kernel reads an empty list as no CPU. Here an empty list is
//! an error. Python's `schedlab.notation.cpulist` has the same grammar; `tests/cpulists.json` lists texts
//! that both parsers must accept or refuse alike.

/// The largest number of CPUs of any Linux (CONFIG_NR_CPUS of x86 with MAXSMP).
pub const MOST_CPUS: usize = 8192;

/// Parse a CPU list for a machine with `cpus` CPUs, `None` where their number is unknown. The result is ascending and not
/// empty. The error describes the expected notation.
pub fn parse(text: &str, cpus: Option<usize>) -> Result<Vec<usize>, String> {
    let mut listed = vec![false; cpus.unwrap_or(MOST_CPUS)];
    for part in text.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty()) {
        let Region { first, last, used, group } = region(text, part, cpus)?;
        if last >= listed.len() {
            let limit = cpus.map_or(format!("Linux has at most {MOST_CPUS}"), |cpus| {
                format!("the CPUs are 0 to {}", cpus - 1)
            });
            return Err(format!("'{part}' names CPU {last}: {limit}"));
        }
        if first > last {
            return Err(format!("'{part}' runs backwards"));
        }
        if group == 0 || used > group {
            return Err(format!("'{part}' takes {used} CPUs of each {group}: write a list such as 0-15:2/4"));
        }
        (first..=last).filter(|cpu| (cpu - first) % group < used).for_each(|cpu| listed[cpu] = true);
    }
    let listed: Vec<usize> = (0..listed.len()).filter(|cpu| listed[*cpu]).collect();
    if listed.is_empty() {
        Err(format!("'{text}' names no CPU: write a list like 0-3,8"))
    } else {
        Ok(listed)
    }
}

/// Write ascending CPU numbers as a list.
pub fn show(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|cpu, next| cpu + 1 == *next);
    let show = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run[0].to_string(),
    };
    runs.map(show).collect::<Vec<_>>().join(",")
}

/// The first `used` of each `group` CPUs from `first` to `last`.
struct Region {
    first: usize,
    last: usize,
    used: usize,
    group: usize,
}

fn region(text: &str, part: &str, cpus: Option<usize>) -> Result<Region, String> {
    let wrong = || format!("'{text}' is not a CPU list: write a list such as 0-3,8");
    let last_cpu = || {
        let unknown = || format!("'{part}' needs the number of CPUs, which is unknown here: write numbers");
        cpus.map(|cpus| cpus - 1).ok_or_else(unknown)
    };
    let number = |digits: &str| {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        // A number that is too large for the type is too large for a CPU.
        Ok(digits.parse().unwrap_or(usize::MAX))
    };
    let cpu = |text: &str| if text == "N" { last_cpu() } else { number(text) };
    let (range, pattern) =
        part.split_once(':').map_or((part, None), |(range, pattern)| (range, Some(pattern)));
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (cpu(first)?, cpu(last)?),
        None if range.eq_ignore_ascii_case("all") => (0, last_cpu()?),
        None if pattern.is_some() => return Err(wrong()),
        None => (cpu(range)?, cpu(range)?),
    };
    let (used, group) = match pattern {
        Some(pattern) => {
            let (used, group) = pattern.split_once('/').ok_or_else(wrong)?;
            (number(used)?, number(group)?)
        }
        None => (1, 1),
    };
    Ok(Region { first, last, used, group })
}

#[cfg(test)]
#[path = "../tests/unit/cpulist.rs"]
mod tests;
