//! Setting up and running a simulation.

use schedlab_workload::Plan;
use schedlab_workload::check::samples::{DEFAULT_SAMPLES, SAMPLE_BYTES, capacities};
use schedlab_workload::code::Code;

use crate::balance::KernelPolicy;
use crate::config::Config;
use crate::engine::{Engine, World};
use crate::error::SimError;
use crate::kernel::{Clusters, CommandLine, Kernel, PolicyKind, Tunable, Tunables};
use crate::machine::{Domains, MAX_CPUS, Machine, Topology};
use crate::memory;
use crate::observe::{Observer, Outcome};
use crate::physics::PAGE;
use crate::sched::{Cfs, Eevdf, Grouped, O1, sched_dl_overflow};
use crate::tasks::{Attributes, Class};
use crate::time::NEVER;

/// A checked simulation, which can run any number of times.
#[derive(Debug, Clone)]
pub struct Simulation {
    machine: Machine,
    kernel: Kernel,
    plan: Plan,
    config: Config,
    topology: Topology,
    domains: Domains,
    tunables: Tunables,
    command_line: CommandLine,
    settings: Vec<Attributes>,
    /// Pages of each task's buffers, by ordinal; empty if the machine has no cost for them.
    buffer_pages: Vec<u32>,
    memory_bytes: u64,
}

impl Simulation {
    /// Check machine, kernel, program and configuration. Errors name the machine's field, the tunable with its range or
    /// the kernels with this tunable, the kernel parameter, or the group.
    pub fn new(mut machine: Machine, kernel: Kernel, plan: Plan, config: Config) -> Result<Self, SimError> {
        machine.check()?;
        if let (Some(name), Some(instructions)) = (&machine.costs_kernel, kernel.instructions)
            && let Some(under) = crate::kernel::kernel(name)?.instructions
        {
            machine.costs = instructions.costs(&under, &machine.costs);
        }
        if let Some(instructions) = kernel.instructions {
            machine.costs.parts = instructions.parts(&machine.costs);
        }
        let inherited = plan.program().main_memory;
        if kernel.instructions.is_none() && !inherited.is_none() {
            let reason =
                format!("`{}` has no [instructions], which a program with main_memory needs", kernel.name);
            return Err(SimError::Definition { kind: "kernel", reason });
        }
        (machine.costs.fork, machine.costs.exit) = machine.costs.fork_and_exit(inherited);
        let topology = Topology::new(&machine);
        let domains = Domains::new(&machine, &topology, kernel.clusters >= Clusters::Domains);
        let mut tunables = Tunables::new(&kernel, topology.cpus());
        let command_line = CommandLine::parse(&config.command_line, topology.cpus())?;
        if let Some(on) = command_line.schedstats {
            if !tunables.has(Tunable::Schedstats) {
                let parameter = format!("schedstats={}", if on { "enable" } else { "disable" });
                let reason = format!("{} has no such switch", kernel.name);
                return Err(SimError::CommandLine { parameter, reason });
            }
            tunables.set(Tunable::Schedstats.name(), on.into())?;
        }
        for (name, value) in &config.tunables {
            tunables.set(name, *value)?;
        }
        for change in &config.changes {
            tunables.check(&change.tunable, change.value)?;
        }
        check_groups(&kernel, &config)?;
        let settings = settings(&machine, &plan, &config)?;
        let budgets = || plan.tasks().filter_map(|task| settings[task.group].budget);
        if budgets().next().is_some() {
            let cpus = topology.cpus() - command_line.isolated.iter().count();
            sched_dl_overflow(&kernel, cpus, budgets())
                .map_err(|reason| SimError::Attributes { group: "all".to_owned(), reason })?;
        }
        let buffer_pages = if machine.costs.shared_fault > 0 { buffer_pages(&plan) } else { Vec::new() };
        let memory_bytes = memory::estimate(&topology, &plan, &config);
        Ok(Self {
            machine,
            kernel,
            plan,
            config,
            topology,
            domains,
            tunables,
            command_line,
            buffer_pages,
            settings,
            memory_bytes,
        })
    }

    /// Run from boot to the end of the program or the horizon. The outcome depends only on the arguments of
    /// [`Simulation::new`]. Errors are deadlocks, with the waiting tasks, and invalid operations of a task.
    pub fn run(&self) -> Result<Outcome, SimError> {
        self.observe(())
    }

    /// Run as [`Simulation::run`] does, with an observer of events. The observer has no influence on the outcome.
    pub fn run_observed(&self, observer: &mut dyn Observer) -> Result<Outcome, SimError> {
        self.observe(observer)
    }

    fn observe<O: Observer>(&self, observer: O) -> Result<Outcome, SimError> {
        match self.kernel.policy {
            PolicyKind::Cfs if self.has_groups() => self.with::<Grouped<Cfs>, O>(observer),
            PolicyKind::Eevdf if self.has_groups() => self.with::<Grouped<Eevdf>, O>(observer),
            PolicyKind::Cfs => self.with::<Cfs, O>(observer),
            PolicyKind::Eevdf => self.with::<Eevdf, O>(observer),
            PolicyKind::O1 => self.with::<O1, O>(observer),
        }
    }

    fn with<P: KernelPolicy, O: Observer>(&self, observer: O) -> Result<Outcome, SimError> {
        memory::probe(self.memory_bytes, self.plan.task_count())?;
        let (codes, code_of) = codes(&self.plan);
        let world = self.world(&codes, &code_of);
        Engine::<P, O>::new(world, self.tunables.clone(), observer).run()
    }

    fn world<'c>(&'c self, codes: &'c [Code], code_of: &'c [u32]) -> World<'c> {
        World {
            machine: &self.machine,
            kernel: &self.kernel,
            topology: &self.topology,
            domains: &self.domains,
            plan: &self.plan,
            codes,
            code_of,
            settings: &self.settings,
            main: &self.config.main,
            buffer_pages: &self.buffer_pages,
            config: &self.config,
            isolated: &self.command_line.isolated,
            nohz_full: &self.command_line.nohz_full,
            memory_bytes: self.memory_bytes,
        }
    }

    /// Call `test` with an engine before its boot.
    #[cfg(test)]
    pub(crate) fn with_engine<R>(&self, test: impl FnOnce(&mut Engine<'_, Cfs, ()>) -> R) -> R {
        self.with_engine_of(test)
    }

    /// As [`Simulation::with_engine`], with any policy.
    #[cfg(test)]
    pub(crate) fn with_engine_of<P: KernelPolicy, R>(
        &self,
        test: impl FnOnce(&mut Engine<'_, P, ()>) -> R,
    ) -> R {
        let (codes, code_of) = codes(&self.plan);
        test(&mut Engine::new(self.world(&codes, &code_of), self.tunables.clone(), ()))
    }

    /// Whether the simulation needs queues of control groups.
    fn has_groups(&self) -> bool {
        !self.config.control_groups.is_empty()
    }

    /// Estimate of the memory that a run needs: all tasks alive, all channels full, all regions touched. Children that tasks
    /// fork are not included: [`Config::memory_bytes`] limits their number while the run makes them.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The kernel model.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The checked program.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Return the distinct codes and each task's index among them. Tasks share a code that differ only in their random draws and
/// in numbers that are linear in the number of the replica: tasks in one place of all replicas, or of one group.
fn codes(plan: &Plan) -> (Vec<Code>, Vec<u32>) {
    let mut codes: Vec<Code> = Vec::new();
    let mut of_group: Vec<Option<u32>> = vec![None; plan.program().groups.len()];
    let places = plan.task_count() / plan.program().replicas;
    let mut of_place: Vec<Option<u32>> = vec![None; places as usize];
    let code_of = plan
        .tasks()
        .map(|task| {
            let code = Code::of_replicas(plan, task);
            let place = (task.ordinal % places) as usize;
            let known = [of_place[place], of_group[task.group]];
            let same = known.into_iter().flatten().find(|at| codes[*at as usize].has_steps_of(&code));
            let at = same.unwrap_or_else(|| {
                codes.push(code);
                codes.len() as u32 - 1
            });
            (of_place[place], of_group[task.group]) = (Some(at), Some(at));
            at
        })
        .collect();
    (codes, code_of)
}

/// Pages of the sample buffers that `schedload` gives to each task by default.
fn buffer_pages(plan: &Plan) -> Vec<u32> {
    // At most DEFAULT_SAMPLES or the least capacity for each series: far below 2^32 pages.
    let pages = |task: Vec<u64>| (task.iter().sum::<u64>() * SAMPLE_BYTES as u64).div_ceil(PAGE) as u32;
    capacities(plan, DEFAULT_SAMPLES).into_iter().map(pages).collect()
}

fn settings(machine: &Machine, plan: &Plan, config: &Config) -> Result<Vec<Attributes>, SimError> {
    let groups = &plan.program().groups;
    let wrong = |group: &str, reason: String| SimError::Attributes { group: group.to_owned(), reason };
    for (name, attributes) in &config.groups {
        if !groups.iter().any(|group| group.name == *name) {
            let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
            let reason =
                format!("the program has no such group (groups of the program: {})", names.join(", "));
            return Err(wrong(name, reason));
        }
        check_attributes(name, attributes, machine)?;
    }
    if config.main.class.is_deadline() {
        return Err(wrong("main", "the main task forks, which a deadline task cannot".to_owned()));
    }
    check_attributes("main", &config.main, machine)?;
    if config.horizon_ns.is_some_and(|ns| ns == 0 || ns >= NEVER) {
        return Err(SimError::Definition {
            kind: "horizon",
            reason: format!("must be from 1 to {} ns", NEVER - 1),
        });
    }
    Ok(groups.iter().map(|group| config.groups.get(&group.name).cloned().unwrap_or_default()).collect())
}

/// Check that the kernel has control groups, and that the groups of tasks exist.
fn check_groups(kernel: &Kernel, config: &Config) -> Result<(), SimError> {
    let names: Vec<_> = config.control_groups.iter().map(|group| group.name.as_str()).collect();
    let wrong = |group: &str, reason: String| SimError::Attributes { group: group.to_owned(), reason };
    if let (Some(name), None) = (names.first(), kernel.throttling) {
        return Err(wrong(name, format!("{} has no CPU controller of cgroup v2 (since 4.15)", kernel.name)));
    }
    for (of, attributes) in config.groups.iter().chain([(&"main".to_owned(), &config.main)]) {
        if let Some(name) = &attributes.control_group
            && !names.contains(&name.as_str())
        {
            return Err(wrong(
                of,
                format!("there is no control group `{name}` (groups: {})", names.join(", ")),
            ));
        }
    }
    Ok(())
}

fn check_attributes(name: &str, attributes: &Attributes, machine: &Machine) -> Result<(), SimError> {
    let wrong = |reason: String| Err(SimError::Attributes { group: name.to_owned(), reason });
    if !(-20..=19).contains(&attributes.nice) {
        return wrong(format!("nice {} is not between -20 and 19", attributes.nice));
    }
    if let Class::Fifo(priority) | Class::RoundRobin(priority) = attributes.class
        && !(1..=99).contains(&priority)
    {
        return wrong(format!("real-time priority {priority} is not between 1 and 99"));
    }
    if attributes.class.is_deadline() != attributes.budget.is_some() {
        return wrong("deadline tasks, and no others, have runtime, deadline and period".to_owned());
    }
    attributes.budget.map_or(Ok(()), |budget| budget.check()).or_else(wrong)?;
    let within = |cpus: &crate::machine::CpuMask| {
        !cpus.is_empty() && cpus.count_between(machine.cpus(), MAX_CPUS) == 0
    };
    if attributes.cpus.as_ref().is_some_and(|cpus| !within(cpus)) {
        return wrong(format!("the CPUs of the group are not among 0 to {}", machine.cpus() - 1));
    }
    if attributes.slice_ns.is_some_and(|ns| !(100_000..=100_000_000).contains(&ns)) {
        // The kernel clamps to this range (sched_attr's sched_runtime, 6.12).
        return wrong("slice_ns is not between 100000 and 100000000".to_owned());
    }
    if attributes.memory_node.is_some_and(|node| node >= machine.nodes()) {
        return wrong(format!("the memory node of the group is not among 0 to {}", machine.nodes() - 1));
    }
    Ok(())
}
