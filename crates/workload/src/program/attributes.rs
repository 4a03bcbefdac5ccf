//! Scheduling attributes of a task: policy, priority, slice, CPUs, nodes.

use serde::{Deserialize, Serialize};

use crate::cpulist::MOST_CPUS;

/// Attributes that [`super::Op::Set`] changes. `None` leaves an attribute unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attributes {
    /// Scheduling policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The nice value (−20 to 19) where the policy in effect is other, batch or idle; the real-time priority
    /// (1 to 99) where the policy is fifo or rr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// In nanoseconds: the budget of the policy deadline, the slice of other and batch (Linux 6.12 and later).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_ns: Option<u64>,
    /// Relative deadline of the policy deadline, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Period of the policy deadline, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Least utilisation that the kernel assumes, 0 to 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub util_min: Option<u32>,
    /// Greatest utilisation that the kernel assumes, 0 to 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub util_max: Option<u32>,
    /// CPUs to run on. An empty list restores the CPUs that the task had at its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
    /// NUMA nodes that new memory must come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u32>>,
    /// Task group, as a path below the control groups of the `cpu` controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Scheduling policy (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`
    Other,
    /// `SCHED_BATCH`
    Batch,
    /// `SCHED_IDLE`
    Idle,
    /// `SCHED_FIFO`
    Fifo,
    /// `SCHED_RR`
    Rr,
    /// `SCHED_DEADLINE`
    Deadline,
}

/// Limit of the numbers of CPUs and nodes. Linux has fewer nodes than CPUs.
pub const MAX_PLACES: u32 = MOST_CPUS as u32;

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 6] = [Self::Other, Self::Batch, Self::Idle, Self::Fifo, Self::Rr, Self::Deadline];

    /// Name in programs, in reports and on command lines. The kernel's name is `SCHED_` and this name in capitals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Batch => "batch",
            Self::Idle => "idle",
            Self::Fifo => "fifo",
            Self::Rr => "rr",
            Self::Deadline => "deadline",
        }
    }

    /// Whether tasks of this policy have a real-time priority.
    pub fn real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr)
    }
}

impl Attributes {
    /// Whether no attribute changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Check the values. The error names the first fault.
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<i64>, low: i64, high: i64| match value {
            Some(value) if !(low..=high).contains(&value) => {
                Err(format!("{name} {value} is not between {low} and {high}"))
            }
            _ => Ok(()),
        };
        let priority = self.priority.map(i64::from);
        match self.policy {
            Some(policy) if policy.real_time() => within("priority", priority, 1, 99)?,
            Some(Policy::Deadline) => {
                within("priority", priority, 0, 0)?;
                self.budget()?;
            }
            Some(_) => within("priority (a nice value)", priority, -20, 19)?,
            None => within("priority", priority, -20, 99)?,
        }
        within("util_min", self.util_min.map(i64::from), 0, 1024)?;
        within("util_max", self.util_max.map(i64::from), 0, 1024)?;
        for (name, list) in [("CPU", &self.cpus), ("node", &self.nodes)] {
            if let Some(number) = list.iter().flatten().find(|number| **number >= MAX_PLACES) {
                return Err(format!("{name} {number} is not below {MAX_PLACES}"));
            }
        }
        match (&self.nodes, &self.group) {
            (Some(nodes), _) if nodes.is_empty() => Err("an empty list of nodes leaves no memory".to_owned()),
            (_, Some(group)) if !group.starts_with('/') || group.split('/').any(|part| part == "..") => {
                Err(format!("a task group is a path from `/` on without `..`, not `{group}`"))
            }
            _ => Ok(()),
        }
    }

    /// The kernel requires 0 < runtime ≤ deadline ≤ period (sched_setattr(2)).
    fn budget(&self) -> Result<(), String> {
        let runtime = self.runtime_ns.unwrap_or(0);
        let deadline = self.deadline_ns.unwrap_or(runtime);
        let period = self.period_ns.unwrap_or(deadline);
        if runtime == 0 {
            return Err("the policy deadline needs a runtime".to_owned());
        }
        if runtime > deadline || deadline > period {
            return Err(format!(
                "the policy deadline needs runtime ≤ deadline ≤ period, but these times are {runtime}, \
                 {deadline} and {period} ns"
            ));
        }
        Ok(())
    }
}
