//! Scheduling attributes: applied, read back, and explained when the kernel refuses.

use std::io;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::sys::resource::{Resource, getrlimit};
use schedlab_workload::cpulist::{parse, show};
use schedlab_workload::duration::nanoseconds;
use schedlab_workload::program::Policy;
use serde::{Deserialize, Serialize};

use super::memory::MemoryPolicy;
use super::{deadline, memory};
use crate::limits::{cgroup_file, online_cpus};
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
    /// CPU time in each period (with deadline).
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub runtime: Option<Duration>,
    /// Time from the beginning of a period by which the runtime is granted (with deadline; default: the period).
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub deadline: Option<Duration>,
    /// Period (with deadline).
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub period: Option<Duration>,
    /// Least utilisation that the kernel assumes, such as 20% (kernels with CONFIG_UCLAMP_TASK).
    #[arg(long, value_parser = utilisation, value_name = "PERCENT")]
    pub uclamp_min: Option<u32>,
    /// Greatest utilisation that the kernel assumes, such as 80%.
    #[arg(long, value_parser = utilisation, value_name = "PERCENT")]
    pub uclamp_max: Option<u32>,
    /// Time by which timers may be late, 1ns to 2s.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub timer_slack: Option<Duration>,
    /// NUMA nodes of new memory: bind:NODES, interleave:NODES, preferred:NODE or local; NODES is a list or all.
    #[arg(long, value_parser = MemoryPolicy::parse, value_name = "POLICY")]
    pub mempolicy: Option<MemoryPolicy>,
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
    /// Runtime, deadline and period of the policy deadline, in nanoseconds.
    pub deadline_ns: Option<[u64; 3]>,
    /// Least and greatest utilisation, 0 to 1024; 0 and 0 in kernels without clamps.
    pub uclamp: [u32; 2],
    /// Timer slack in nanoseconds.
    pub timer_slack_ns: u64,
    /// Memory policy, where the kernel has NUMA.
    pub mempolicy: Option<String>,
    /// CPUs that may be used.
    pub cpus: Vec<usize>,
}

/// Range of the slice that the kernel accepts without clamping (sched_setattr(2), Linux 6.12).
pub const SLICE: std::ops::RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_millis(100);

/// Longest timer slack: prctl(2) returns the slack as an int.
const LONGEST_SLACK: Duration = Duration::from_secs(2);

/// Utilisation of a whole CPU (`SCHED_CAPACITY_SCALE`, include/linux/sched.h).
const WHOLE: f64 = 1024.0;

fn policies() -> impl TypedValueParser<Value = Policy> {
    let parse = |name: String| Policy::ALL.into_iter().find(|policy| policy.name() == name);
    PossibleValuesParser::new(Policy::ALL.map(Policy::name))
        .map(move |name| parse(name).expect("clap accepts these names only"))
}

/// Parse a share of a CPU such as `20%` into the kernel's scale.
fn utilisation(text: &str) -> Result<u32, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| (percent / 100.0 * WHOLE).round() as u32)
        .ok_or_else(|| format!("'{text}' is not a utilisation: write a percentage from 0% to 100%"))
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
        let deadline = self.policy == Some(Policy::Deadline);
        let clamps = self.uclamp_min.is_some() || self.uclamp_max.is_some();
        let refused = |text: &str| Err(text.to_owned());
        match self {
            Self { priority: Some(_), .. } if !real_time => refused("--priority needs --policy fifo or rr"),
            Self { slice: Some(_), policy: Some(policy), .. }
                if !matches!(policy, Policy::Other | Policy::Batch) =>
            {
                refused("--slice needs --policy other or batch: no other policy has slices")
            }
            Self { slice: Some(slice), .. } if !SLICE.contains(slice) => {
                Err(format!("--slice {slice:?} is out of range: 0.1ms to 100ms"))
            }
            Self { nice: Some(_), .. } if real_time || deadline => {
                refused("--nice has no effect under --policy fifo, rr and deadline")
            }
            Self { runtime, deadline: by, period, .. }
                if !deadline && [runtime, by, period].iter().any(|time| time.is_some()) =>
            {
                refused("--runtime, --deadline and --period need --policy deadline")
            }
            Self { cpus: Some(_), .. } if deadline => {
                refused("--cpus and --policy deadline: a deadline task must be allowed to run on all CPUs")
            }
            _ if clamps && deadline => {
                refused("--uclamp-min and --uclamp-max have no effect under --policy deadline")
            }
            Self { uclamp_min: Some(least), uclamp_max: Some(greatest), .. } if least > greatest => {
                refused("--uclamp-min is above --uclamp-max")
            }
            Self { timer_slack: Some(_), .. } if real_time || deadline => {
                refused("--timer-slack has no effect under --policy fifo, rr and deadline")
            }
            Self { timer_slack: Some(slack), .. } if slack.is_zero() || *slack > LONGEST_SLACK => {
                Err(format!("--timer-slack {slack:?} is out of range: 1ns to {LONGEST_SLACK:?}"))
            }
            _ if deadline => self.check_budget(),
            _ => Ok(()),
        }
    }

    fn check_budget(&self) -> Result<(), String> {
        let (Some(runtime), Some(period)) = (self.runtime, self.period) else {
            return Err("--policy deadline needs --runtime and --period".to_owned());
        };
        let deadline = self.deadline.unwrap_or(period);
        if runtime < deadline::LEAST_RUNTIME {
            return Err(format!(
                "--runtime {runtime:?} is too short: the least is {:?}",
                deadline::LEAST_RUNTIME
            ));
        }
        if runtime > deadline || deadline > period {
            return Err(format!(
                "--policy deadline needs runtime ≤ deadline ≤ period, but these times are {runtime:?}, {deadline:?} and \
                 {period:?}"
            ));
        }
        Ok(())
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
            sched::set_attributes(attributes)
                .map_err(|error| self.refused(&attributes, &error, before.nice))?;
        }
        if self.uclamp_min.is_some() || self.uclamp_max.is_some() {
            sched::clamp_utilisation(self.uclamp_min, self.uclamp_max).map_err(refused_clamps)?;
        }
        if let Some(slack) = self.timer_slack {
            set_timerslack(slack.as_nanos() as u64).map_err(|error| format!("timer slack: {error}"))?;
        }
        if let Some(policy) = &self.mempolicy {
            policy.apply()?;
        }
        let after = in_effect().map_err(|error| format!("reading attributes back: {error}"))?;
        self.compare(&after)?;
        Ok(after)
    }

    fn over(&self, before: Attributes) -> Attributes {
        let ns = |time: Option<Duration>| time.map(|time| time.as_nanos() as u64);
        if self.policy == Some(Policy::Deadline) {
            let period = ns(self.period).unwrap_or(0);
            let deadline = ns(self.deadline).unwrap_or(period);
            return Attributes::deadline(ns(self.runtime).unwrap_or(0), deadline, period);
        }
        let policy = self.policy.map_or(before.policy, sched::number);
        let real_time = self.policy.is_some_and(Policy::real_time);
        let priority = if real_time { self.priority.unwrap_or(1) } else { 0 };
        Attributes::new(policy, self.nice.unwrap_or(before.nice), priority, ns(self.slice).unwrap_or(0))
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
        if self.policy == Some(Policy::Deadline) {
            let wanted = self.over(Attributes::default());
            let wanted = [wanted.runtime, wanted.deadline, wanted.period];
            if after.deadline_ns != Some(wanted) {
                return differs("deadline", format!("{wanted:?} ns"), format!("{:?} ns", after.deadline_ns));
            }
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
        let clamps = [("uclamp_min", self.uclamp_min), ("uclamp_max", self.uclamp_max)];
        for ((name, wanted), got) in clamps.into_iter().zip(after.uclamp) {
            if let Some(wanted) = wanted
                && wanted != got
            {
                return differs(name, format!("{wanted} of 1024"), got.to_string());
            }
        }
        if let Some(slack) = self.timer_slack
            && slack != Duration::from_nanos(after.timer_slack_ns)
        {
            return differs("timer slack", format!("{slack:?}"), format!("{} ns", after.timer_slack_ns));
        }
        match &self.cpus {
            Some(wanted) if **wanted != after.cpus[..] => {
                Err(self.refused_cpus(wanted, &format!("only {} can be used", show(&after.cpus))))
            }
            _ => Ok(()),
        }
    }

    fn refused(&self, attributes: &Attributes, error: &io::Error, nice_before: i32) -> String {
        if self.policy == Some(Policy::Deadline) {
            let why = deadline::why_refused(attributes, error, 1);
            return format!("the kernel refuses {}: {why}", deadline::shown(attributes));
        }
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
        let online = online_cpus();
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

fn refused_clamps(error: io::Error) -> String {
    // Linux before 5.3 does not know the flags of the clamps (E2BIG, EINVAL).
    let lacking = [libc::EOPNOTSUPP, libc::E2BIG, libc::EINVAL].map(Some).contains(&error.raw_os_error());
    let reason = if lacking { ": this kernel has no utilisation clamps (CONFIG_UCLAMP_TASK)" } else { "" };
    format!("uclamp_min, uclamp_max: {error}{reason}")
}

fn policy_name(number: u32) -> String {
    let policy = Policy::ALL.into_iter().find(|policy| sched::number(*policy) == number);
    policy.map_or_else(|| number.to_string(), |policy| policy.name().to_owned())
}

/// Attributes of the calling thread.
pub fn in_effect() -> io::Result<InEffect> {
    let attributes = sched::attributes()?;
    let is_deadline = attributes.policy == sched::number(Policy::Deadline);
    let times = [attributes.runtime, attributes.deadline, attributes.period];
    Ok(InEffect {
        policy: policy_name(attributes.policy),
        nice: attributes.nice,
        priority: attributes.priority,
        slice_ns: Some(attributes.runtime).filter(|ns| *ns > 0 && !is_deadline),
        deadline_ns: is_deadline.then_some(times),
        uclamp: [attributes.util_min, attributes.util_max],
        timer_slack_ns: get_timerslack()? as u64,
        mempolicy: memory::in_effect().ok(),
        cpus: sched::affinity()?,
    })
}
