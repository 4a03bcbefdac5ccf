//! Scheduling attributes as options of the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use schedlab_workload::cpulist::parse;
use schedlab_workload::duration::nanoseconds;
use schedlab_workload::program::Policy;

use super::memory::MemoryPolicy;

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
    /// Directory of the control group to run in; may be repeated, for the hierarchies of version 1.
    #[arg(long = "group", value_name = "PATH")]
    pub groups: Vec<PathBuf>,
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
        let deadline = self.policy == Some(Policy::Deadline);
        let real_time = self.policy.is_some_and(Policy::real_time);
        let fair = matches!(self.policy, None | Some(Policy::Other | Policy::Batch));
        let clamps = self.uclamp_min.zip(self.uclamp_max);
        let is_clamped = self.uclamp_min.is_some() || self.uclamp_max.is_some();
        let times = [self.runtime, self.deadline, self.period];
        let faults = [
            (self.priority.is_some() && !real_time, "--priority needs --policy fifo or rr"),
            (
                self.slice.is_some() && !fair,
                "--slice needs --policy other or batch: no other policy has slices",
            ),
            (
                self.slice.is_some_and(|slice| !SLICE.contains(&slice)),
                "--slice is out of range: 0.1ms to 100ms",
            ),
            (
                self.nice.is_some() && (real_time || deadline),
                "--nice has no effect under --policy fifo, rr and deadline",
            ),
            (
                self.timer_slack.is_some() && (real_time || deadline),
                "--timer-slack has no effect under --policy fifo, rr and deadline",
            ),
            (
                self.timer_slack.is_some_and(|slack| slack.is_zero() || slack > LONGEST_SLACK),
                "--timer-slack is out of range: 1ns to 2s",
            ),
            (is_clamped && deadline, "--uclamp-min and --uclamp-max have no effect under --policy deadline"),
            (clamps.is_some_and(|(least, most)| least > most), "--uclamp-min is above --uclamp-max"),
            (
                times.iter().any(Option::is_some) && !deadline,
                "--runtime, --deadline and --period need --policy deadline",
            ),
            (
                deadline && self.runtime.zip(self.period).is_none(),
                "--policy deadline needs --runtime and --period",
            ),
        ];
        let fault = faults.iter().find(|(is_there, _)| *is_there);
        fault.map_or(Ok(()), |(_, text)| Err((*text).to_owned()))
    }
}
