//! Conversion of Python's arguments to a simulation.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use schedlab_sim::machine::MAX_CPUS;
use schedlab_sim::sched::Budget;
use schedlab_sim::{
    Attributes, Change, Class, Config, ControlGroup, CpuMask, GroupSettings, Kernel, Machine, SimError,
    Simulation,
};
use schedlab_workload::{Plan, Program};

use crate::error::Failure;

/// Settings other than the machine, the kernel and the program.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    seed: u64,
    tunables: Vec<(String, i64)>,
    changes: Vec<(u64, String, i64)>,
    command_line: String,
    horizon_ns: Option<u64>,
    samples: usize,
    groups: BTreeMap<String, Group>,
    main: Group,
    control_groups: Vec<Control>,
    /// Maximum estimate of the memory.
    memory_bytes: u64,
    /// Tasks whose /proc/PID/sched is wanted: numbers in order of creation, from 1.
    pub pids: Vec<usize>,
}

/// Scheduling attributes of one of the program's groups, or of its main task.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Group {
    policy: String,
    priority: Option<u8>,
    nice: i32,
    cpus: Option<Vec<usize>>,
    slice_ns: Option<u64>,
    /// Runtime, deadline and period of the policy deadline.
    budget: Option<(u64, u64, u64)>,
    control_group: Option<String>,
}

/// Texts of settings by the names of cgroup v2's files.
type Texts = BTreeMap<String, String>;

/// Name and settings of a control group, and settings that change at a time.
type Control = (String, Texts, Vec<(u64, Texts)>);

/// Memory that the dictionary of a task takes in Python's outcome.
const TASK_DICTIONARY: u64 = 1024;

/// A machine from its TOML text.
pub fn machine_of(text: &str) -> Result<Machine, Failure> {
    Ok(Machine::from_toml(text)?)
}

/// A kernel model from its TOML text.
pub fn kernel_of(text: &str) -> Result<Kernel, Failure> {
    Ok(Kernel::from_toml(text)?)
}

/// A checked simulation. The seed is added to the program's seed, so that another seed changes every random draw; with
/// seed 0 the program draws as on a real kernel.
pub fn simulation(
    machine: &str,
    kernel: &str,
    program: &str,
    settings: Settings,
) -> Result<Simulation, Failure> {
    let mut program: Program = serde_json::from_str(program)?;
    program.seed = program.seed.wrapping_add(settings.seed);
    let plan = Plan::new(program).map_err(SimError::from)?;
    let (machine, kernel) = (machine_of(machine)?, kernel_of(kernel)?);
    let pids = settings.pids.clone();
    let (tasks, limit) = (plan.task_count(), settings.memory_bytes);
    let config = settings.config(machine.cpus())?;
    let simulation = Simulation::new(machine, kernel, plan, config)?;
    let needed = simulation.memory_bytes() + u64::from(tasks) * TASK_DICTIONARY;
    if needed > limit {
        return Err(Failure::Memory { needed, limit, tasks });
    }
    check_pids(&simulation, &pids)?;
    Ok(simulation)
}

fn check_pids(simulation: &Simulation, pids: &[usize]) -> Result<(), Failure> {
    let tasks = simulation.plan().task_count() as usize;
    let (name, layout) = (&simulation.kernel().name, simulation.kernel().schedstats);
    match pids.iter().find(|pid| !(1..=tasks).contains(pid)) {
        Some(pid) => Err(Failure::NoFile(format!("{pid}/sched: the program's tasks are 1 to {tasks}"))),
        None if !pids.is_empty() && layout.is_none() => {
            Err(Failure::NoFile(format!("{name} has no /proc/PID/sched")))
        }
        None => Ok(()),
    }
}

impl Settings {
    fn config(self, cpus: usize) -> Result<Config, Failure> {
        let mut groups = BTreeMap::new();
        for (name, group) in self.groups {
            let attributes = group.attributes(&name)?;
            groups.insert(name, attributes);
        }
        let change = |(at_ns, tunable, value)| Change { at_ns, tunable, value };
        Ok(Config {
            seed: self.seed,
            tunables: self.tunables,
            changes: self.changes.into_iter().map(change).collect(),
            command_line: self.command_line,
            horizon_ns: self.horizon_ns,
            groups,
            control_groups: self
                .control_groups
                .into_iter()
                .map(|group| control_group(group, cpus))
                .collect::<Result<_, _>>()?,
            main: self.main.attributes("main")?,
            samples: self.samples,
            memory_bytes: self.memory_bytes,
        })
    }
}

fn control_group((name, texts, changes): Control, cpus: usize) -> Result<ControlGroup, SimError> {
    let read = |texts: Texts| {
        let mut settings = GroupSettings::default();
        for (file, text) in texts {
            settings.set(&file, &text, cpus).map_err(|reason| SimError::Attributes {
                group: name.clone(),
                reason: format!("{file}: {reason}"),
            })?;
        }
        Ok::<_, SimError>(settings)
    };
    let settings = read(texts)?;
    let changes = changes.into_iter().map(|(at, texts)| read(texts).map(|settings| (at, settings)));
    let changes = changes.collect::<Result<_, _>>()?;
    Ok(ControlGroup { name, settings, changes })
}

impl Group {
    fn attributes(self, name: &str) -> Result<Attributes, Failure> {
        let wrong = |reason: String| SimError::Attributes { group: name.to_owned(), reason };
        let priority = self.priority.unwrap_or(0);
        let class = match self.policy.as_str() {
            "other" => Class::Normal,
            "batch" => Class::Batch,
            "idle" => Class::Idle,
            "fifo" => Class::Fifo(priority),
            "rr" => Class::RoundRobin(priority),
            "deadline" => Class::Deadline,
            other => {
                return Err(
                    wrong(format!("policy {other} is not other, batch, idle, fifo, rr or deadline")).into()
                );
            }
        };
        let mut cpus = None;
        for cpu in self.cpus.iter().flatten().copied() {
            if cpu >= MAX_CPUS {
                return Err(wrong(format!("CPU {cpu} is beyond the {MAX_CPUS} supported")).into());
            }
            cpus.get_or_insert(CpuMask::EMPTY).insert(cpu);
        }
        let budget = self.budget.map(|(runtime_ns, deadline_ns, period_ns)| Budget {
            runtime_ns,
            deadline_ns,
            period_ns,
        });
        let Self { nice, slice_ns, control_group, .. } = self;
        Ok(Attributes { class, nice, cpus, slice_ns, budget, control_group, ..Attributes::default() })
    }
}
