//! Scheduling attributes: applied, read back, and explained when the kernel refuses.

use std::fs;
use std::io;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use nix::sys::resource::{Resource, getrlimit};
use schedlab_workload::cpulist::{parse, show};
use schedlab_workload::duration::nanoseconds;
use schedlab_workload::program::Policy;
use serde::{Deserialize, Serialize};

use crate::limits::cgroup_file;
use crate::sys::sched::{self, Attributes};

/// Attributes to apply. `None` leaves an attribute unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Wanted {
    /// Scheduling policy.
    #[arg(long, value_parser = policies())]
    pub policy: Option<Policy>,
    /// Real-time priority, 1 to 99 (with fifo and rr; default 1).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub priority: Option<u32>,
    /// Nice value, -20 to 19.
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// EEVDF slice, 0.1ms to 100ms (Linux 6.12 and later).
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub slice: Option<Duration>,
    /// CPUs to run on, such as 0-1,3.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub cpus: Option<Box<[usize]>>,
}

/// Attributes as read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InEffect {
    /// Policy by name, or its number.
    pub policy: String,
    /// Nice value.
    pub nice: i32,
    /// Real-time priority; 0 for the other policies.
    pub priority: u32,
    /// Slice in nanoseconds, where the kernel reports it (Linux 6.12 and later).
    pub slice_ns: Option<u64>,
    /// CPUs that may be used.
    pub cpus: Vec<usize>,
}

/// Range of the slice that the kernel accepts without clamping (sched_setattr(2), Linux 6.12).
pub const SLICE: std::ops::RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_millis(100);

/// Policies that a command can start under. A deadline task would need a budget.
fn policies() -> impl TypedValueParser<Value = Policy> {
    let policies = || Policy::ALL.into_iter().filter(|policy| *policy != Policy::Deadline);
    let parse = move |name: String| policies().find(|policy| policy.name() == name);
    PossibleValuesParser::new(policies().map(Policy::name))
        .map(move |name| parse(name).expect("clap accepts these names only"))
}

/// Parse a duration of the command line, such as `0.1ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    nanoseconds(text).map(Duration::from_nanos)
}

/// Parse a CPU list.
pub fn cpu_list(text: &str) -> Result<Box<[usize]>, String> {
    Ok(parse(text, None)?.into())
}

impl Wanted {
    /// Refuse combinations of attributes that the kernel would ignore or reject. The error states the reason.
    pub fn check(&self) -> Result<(), String> {
        let real_time = self.policy.is_some_and(Policy::real_time);
        match self {
            Self { priority: Some(_), .. } if !real_time => {
                Err("--priority needs --policy fifo or rr".to_owned())
            }
            Self { slice: Some(_), policy: Some(policy), .. }
                if !matches!(policy, Policy::Other | Policy::Batch) =>
            {
                Err("--slice needs --policy other or batch: no other policy has slices".to_owned())
            }
            Self { slice: Some(slice), .. } if !SLICE.contains(slice) => {
                Err(format!("--slice {slice:?} is out of range: 0.1ms to 100ms"))
            }
            Self { nice: Some(_), .. } if real_time => {
                Err("--nice has no effect under --policy fifo and rr".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Apply the attributes to the calling thread and read the attributes back. The error names the limit
    /// that prevents the change.
    pub fn apply(&self) -> Result<InEffect, String> {
        if let Some(wanted) = &self.cpus {
            sched::set_affinity(wanted).map_err(|error| self.refused_cpus(wanted, &error.to_string()))?;
        }
        let before = sched::attributes().map_err(|error| format!("sched_getattr: {error}"))?;
        if self.policy.is_some() || self.nice.is_some() || self.slice.is_some() {
            let attributes = self.over(before);
            sched::set_attributes(attributes).map_err(|error| self.refused(&error, before.nice))?;
        }
        let after = in_effect().map_err(|error| format!("reading attributes back: {error}"))?;
        self.compare(&after)?;
        Ok(after)
    }

    fn over(&self, before: Attributes) -> Attributes {
        let policy = self.policy.map_or(before.policy, sched::number);
        let real_time = self.policy.is_some_and(Policy::real_time);
        let priority = if real_time { self.priority.unwrap_or(1) } else { 0 };
        let slice_ns = self.slice.map_or(0, |slice| slice.as_nanos() as u64);
        Attributes::new(policy, self.nice.unwrap_or(before.nice), priority, slice_ns)
    }

    fn compare(&self, after: &InEffect) -> Result<(), String> {
        let differs = |attribute: &str, wanted: String, got: String| {
            Err(format!("{attribute}: {wanted} was set without an error, but {got} is in effect"))
        };
        if let Some(policy) = self.policy
            && policy.name() != after.policy
        {
            return differs("policy", policy.name().to_owned(), after.policy.clone());
        }
        if let Some(nice) = self.nice
            && nice != after.nice
        {
            return differs("nice", nice.to_string(), after.nice.to_string());
        }
        if let Some(slice) = self.slice {
            let wanted = slice.as_nanos() as u64;
            match after.slice_ns {
                None => {
                    return Err("slice: this kernel has no slices for each task (Linux 6.12 has)".to_owned());
                }
                Some(got) if got != wanted => {
                    return differs("slice", format!("{wanted} ns"), format!("{got} ns"));
                }
                Some(_) => {}
            }
        }
        match &self.cpus {
            Some(wanted) if **wanted != after.cpus[..] => {
                Err(self.refused_cpus(wanted, &format!("only {} can be used", show(&after.cpus))))
            }
            _ => Ok(()),
        }
    }

    fn refused(&self, error: &io::Error, nice_before: i32) -> String {
        let limit = |resource| getrlimit(resource).map_or(0, |(soft, _)| soft);
        let mut reasons = Vec::new();
        if error.raw_os_error() == Some(libc::EPERM) {
            if self.policy.is_some_and(Policy::real_time) {
                let rtprio = limit(Resource::RLIMIT_RTPRIO);
                reasons.push(format!("RLIMIT_RTPRIO is {rtprio} and CAP_SYS_NICE may be missing"));
                if let Some((path, budget)) = cgroup_file("cpu", "cpu.rt_runtime_us")
                    && budget == "0"
                {
                    reasons.push(format!("the control group has no real-time budget ({path} = 0)"));
                }
            }
            if self.nice.is_some_and(|nice| nice < nice_before) {
                let lowest = 20 - limit(Resource::RLIMIT_NICE).min(40) as i64;
                reasons.push(format!("RLIMIT_NICE allows {lowest} at best and CAP_SYS_NICE is missing"));
            }
            if reasons.is_empty() {
                reasons.push("CAP_SYS_NICE is missing".to_owned());
            }
        }
        let mut wanted = Vec::new();
        wanted.extend(self.policy.map(|policy| format!("policy {}", policy.name())));
        wanted.extend(self.priority.map(|priority| format!("priority {priority}")));
        wanted.extend(self.nice.map(|nice| format!("nice {nice}")));
        wanted.extend(self.slice.map(|slice| format!("slice {slice:?}")));
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        format!("the kernel refuses {}: {error}{reasons}", wanted.join(", "))
    }

    fn refused_cpus(&self, wanted: &[usize], trouble: &str) -> String {
        let mut reasons = Vec::new();
        let list = |text: Option<String>| text.and_then(|text| parse(&text, None).ok());
        let online = list(fs::read_to_string("/sys/devices/system/cpu/online").ok());
        let missing = |allowed: &[usize]| -> Vec<usize> {
            wanted.iter().copied().filter(|cpu| !allowed.contains(cpu)).collect()
        };
        if let Some(online) = &online
            && !missing(online).is_empty()
        {
            let (missing, online) = (show(&missing(online)), show(online));
            reasons.push(format!("CPU {missing} is not online (online: {online})"));
        }
        for file in ["cpuset.effective_cpus", "cpuset.cpus.effective"] {
            let limit = cgroup_file("cpuset", file).and_then(|(path, text)| Some((path, list(Some(text))?)));
            if let Some((path, allowed)) = limit
                && !missing(&allowed).is_empty()
            {
                reasons.push(format!("the control group allows {} ({path})", show(&allowed)));
            }
        }
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        format!("CPU set {}: {trouble}{reasons}", show(wanted))
    }
}

fn policy_name(number: u32) -> String {
    let policy = Policy::ALL.into_iter().find(|policy| sched::number(*policy) == number);
    policy.map_or_else(|| number.to_string(), |policy| policy.name().to_owned())
}

/// Attributes of the calling thread.
pub fn in_effect() -> io::Result<InEffect> {
    let attributes = sched::attributes()?;
    Ok(InEffect {
        policy: policy_name(attributes.policy),
        nice: attributes.nice,
        priority: attributes.priority,
        slice_ns: Some(attributes.runtime).filter(|ns| *ns > 0),
        cpus: sched::affinity()?,
    })
}
