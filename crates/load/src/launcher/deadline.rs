//! The policy deadline (sched(7)): times that a command may have, and why the kernel refuses a task.

use std::io;
use std::time::Duration;

use schedlab_workload::cpulist::show;

use crate::limits::{kernel_limit, online_cpus};
use crate::sys::sched::{self, Attributes};

/// Explain why the kernel refuses a task under SCHED_DEADLINE to the calling thread; `tasks` tasks are to have the policy.
pub fn why_refused(wanted: &Attributes, error: &io::Error, tasks: u32) -> String {
    let limit = |name: &str| kernel_limit(name).and_then(|text| text.parse::<i64>().ok());
    let reason = match error.raw_os_error() {
        Some(libc::EBUSY) => {
            let share = match (limit("sched_rt_runtime_us"), limit("sched_rt_period_us")) {
                (Some(runtime), Some(period)) if runtime >= 0 => runtime as f64 / period.max(1) as f64,
                _ => 1.0,
            };
            let cpus = online_cpus().map_or(1, |cpus| cpus.len());
            let needed = f64::from(tasks) * wanted.runtime as f64 / wanted.period.max(1) as f64;
            format!(
                "admission control: {tasks} such tasks need {needed:.2} CPUs, but deadline tasks may have {:.2} at most \
                 (kernel.sched_rt_runtime_us: {:.0} % of {cpus}), less what other deadline tasks and, since Linux 6.12, \
                 the fair servers have (5 % of each CPU by default); lower the runtime, or start fewer tasks",
                share * cpus as f64,
                share * 100.0
            )
        }
        Some(libc::EPERM) => match (online_cpus(), sched::affinity().ok()) {
            (Some(online), Some(allowed)) if allowed.len() < online.len() => format!(
                "a deadline task must be allowed to run on all CPUs ({}), and this process may run on {} only",
                show(&online),
                show(&allowed)
            ),
            _ => "CAP_SYS_NICE is missing".to_owned(),
        },
        Some(libc::EINVAL) => {
            // `__checkparam_dl()`, kernel/sched/deadline.c: times are counted in units of 2¹⁰ ns.
            let limits = ["min", "max"].map(|end| limit(&format!("sched_deadline_period_{end}_us")));
            let period = match limits {
                [Some(least), Some(most)] => format!(
                    ", and a period from {least} to {most} us (kernel.sched_deadline_period_min_us, _max_us)"
                ),
                _ => String::new(),
            };
            format!("a deadline task needs 1.024µs ≤ runtime ≤ deadline ≤ period{period}")
        }
        _ => return format!("{error}"),
    };
    format!("{error}: {reason}")
}

/// The times of a task under SCHED_DEADLINE.
pub fn shown(wanted: &Attributes) -> String {
    let [runtime, deadline, period] =
        [wanted.runtime, wanted.deadline, wanted.period].map(Duration::from_nanos);
    let earlier = if deadline < period { format!(", deadline {deadline:?}") } else { String::new() };
    format!("policy deadline, runtime {runtime:?}{earlier}, period {period:?}")
}
