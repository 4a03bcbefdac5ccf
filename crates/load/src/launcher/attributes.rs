//! Scheduling attributes: applied, read back, and explained when the kernel refuses.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::time::Duration;

use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::sys::resource::{Resource, getrlimit};
use schedlab_workload::cpulist::{parse, show};
use schedlab_workload::program::Policy;
use serde::{Deserialize, Serialize};

use super::wanted::Wanted;
use super::{deadline, memory};
use crate::limits::{cgroup_file, online_cpus};
use crate::sys::sched::{self, Attributes};

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

impl Wanted {
    /// Apply the attributes to the calling thread and read the attributes back. The error names the limit
    /// that prevents the change.
    pub fn apply(&self) -> Result<InEffect, String> {
        for group in &self.groups {
            // 0 is the writing process (cgroups(7)).
            let entered = OpenOptions::new().write(true).open(group.join("cgroup.procs"));
            entered
                .and_then(|mut file| file.write_all(b"0"))
                .map_err(|error| format!("entering the control group {}: {error}", group.display()))?;
        }
        if let Some(wanted) = &self.cpus {
            restrict_to(wanted)?;
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
        if self.slice.is_some() && after.slice_ns.is_none() {
            return Err("slice: this kernel has no slices for each task (Linux 6.12 has)".to_owned());
        }
        let differs = |attribute: &str, wanted: &dyn Display, got: &dyn Display| {
            Err(format!("{attribute}: {wanted} was set without an error, but {got} is in effect"))
        };
        if let Some(policy) = self.policy
            && policy.name() != after.policy
        {
            return differs("policy", &policy.name(), &after.policy);
        }
        let ns = |time: Option<Duration>| time.map(|time| time.as_nanos() as i64);
        let [runtime, deadline, period] = after.deadline_ns.unwrap_or_default();
        let numbers = [
            ("nice", self.nice.map(i64::from), i64::from(after.nice)),
            ("slice in ns", ns(self.slice), after.slice_ns.unwrap_or(0) as i64),
            ("runtime in ns", ns(self.runtime), runtime as i64),
            ("deadline in ns", ns(self.deadline), deadline as i64),
            ("period in ns", ns(self.period), period as i64),
            ("uclamp_min of 1024", self.uclamp_min.map(i64::from), i64::from(after.uclamp[0])),
            ("uclamp_max of 1024", self.uclamp_max.map(i64::from), i64::from(after.uclamp[1])),
            ("timer slack in ns", ns(self.timer_slack), after.timer_slack_ns as i64),
        ];
        for (attribute, wanted, got) in numbers {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
                return differs(attribute, &wanted, &got);
            }
        }
        Ok(())
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
}

/// Restrict the calling thread to CPUs, and read the set back.
pub fn restrict_to(wanted: &[usize]) -> Result<(), String> {
    let allowed = sched::set_affinity(wanted).and_then(|()| sched::affinity());
    let allowed = allowed.map_err(|error| refused_cpus(wanted, &error.to_string()))?;
    if allowed == wanted {
        Ok(())
    } else {
        Err(refused_cpus(wanted, &format!("only {} can be used", show(&allowed))))
    }
}

fn refused_cpus(wanted: &[usize], trouble: &str) -> String {
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
