//! Control groups of a configuration: settings with the names and texts of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst).

use schedlab_workload::cpulist;

use crate::machine::CpuMask;
use crate::sched::weight::UNIT;
use crate::time::{MS, Ns, SECOND};

/// Weight of a group by default (`CGROUP_WEIGHT_DFL`, include/linux/cgroup.h).
const WEIGHT_DEFAULT: u64 = 100;

/// Limits of `cpu.weight` (`CGROUP_WEIGHT_MIN` and `CGROUP_WEIGHT_MAX`).
const WEIGHTS: std::ops::RangeInclusive<u64> = 1..=10_000;

/// Least quota and period, and greatest period (`min_cfs_quota_period` and `max_cfs_quota_period`, kernel/sched/core.c, v6.12).
const QUOTA_MIN: Ns = MS;
const PERIODS: std::ops::RangeInclusive<Ns> = MS..=SECOND;

/// A control group below the root of the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlGroup {
    /// Name, by which [`Attributes::control_group`](crate::Attributes::control_group) refers to the group.
    pub name: String,
    /// Settings at boot.
    pub settings: GroupSettings,
    /// Settings that change, with the virtual time of the change.
    pub changes: Vec<(Ns, GroupSettings)>,
}

/// Settings of a control group. Settings that are absent keep their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupSettings {
    /// Weight of the group, of which [`UNIT`] is `cpu.weight`'s default.
    pub(crate) weight: Option<u64>,
    /// Quota, `None` without a limit, and period.
    pub(crate) bandwidth: Option<(Option<Ns>, Ns)>,
    /// CPUs of the group's tasks.
    pub(crate) cpus: Option<CpuMask>,
}

impl GroupSettings {
    /// Set `cpu.weight`, `cpu.max` or `cpuset.cpus` on a machine with `cpus` CPUs. The error says why the text is refused, or why
    /// the setting has no effect in the simulator.
    pub fn set(&mut self, file: &str, text: &str, cpus: usize) -> Result<(), String> {
        match file {
            "cpu.weight" => self.weight = Some(sched_weight_from_cgroup(text)?),
            "cpu.max" => self.bandwidth = Some(bandwidth(text)?),
            "cpuset.cpus" => self.cpus = Some(cpulist::parse(text, Some(cpus))?.into_iter().collect()),
            "cpu.uclamp.min" | "cpu.uclamp.max" => {
                return Err(
                    "a simulated machine has no capacity model: every CPU runs at its full speed".to_owned()
                );
            }
            _ => return Err("the simulator has cpu.weight, cpu.max and cpuset.cpus".to_owned()),
        }
        Ok(())
    }
}

/// Weight of a group (`sched_weight_from_cgroup()`, kernel/sched/sched.h, v6.12).
fn sched_weight_from_cgroup(text: &str) -> Result<u64, String> {
    let weight = text.parse().ok().filter(|weight| WEIGHTS.contains(weight));
    let weight: u64 = weight.ok_or_else(|| format!("{text:?} is not a weight from 1 to 10000"))?;
    Ok((weight * UNIT + WEIGHT_DEFAULT / 2) / WEIGHT_DEFAULT)
}

/// Quota and period from `QUOTA PERIOD`, in microseconds.
fn bandwidth(text: &str) -> Result<(Option<Ns>, Ns), String> {
    let ns = |text: &str| text.parse().ok().and_then(|us: Ns| us.checked_mul(1000));
    let parsed = text.split_once(' ').and_then(|(quota, period)| {
        let quota = if quota == "max" { None } else { Some(ns(quota).filter(|ns| *ns >= QUOTA_MIN)?) };
        Some((quota, ns(period).filter(|ns| PERIODS.contains(ns))?))
    });
    parsed.ok_or_else(|| {
        format!(
            "{text:?} is not a quota from 1000 or \"max\", and a period from 1000 to 1000000, in microseconds"
        )
    })
}
