//! From a checked configuration to a machine at rest.

use schedlab_workload::Plan;
use schedlab_workload::check::ends::End;
use schedlab_workload::program::Mode;

use super::{Cpu, DomainState, Engine, Table, World};
use crate::balance::{Memories, Shapes, Sums};
use crate::kernel::{Tunable, Tunables};
use crate::ledger::Ledger;
use crate::machine::CpuMask;
use crate::numa::Numa;
use crate::observe::{Counters, Histogram, Histograms, Observer, Series, TaskReport};
use crate::physics::{Caches, Memory, Region};
use crate::sched::{Policy, Setting};
use crate::schedstats::Schedstats;
use crate::tasks::{Condition, Flow, GateState, Lock, Meeting, Semaphore};
use crate::time::{Agenda, MS, NEVER, Ns, Random, SECOND, Timers};
use crate::vmstat::{Counts, Workers};

impl<'c, P: Policy, O: Observer> Engine<'c, P, O> {
    /// A machine on which nothing runs yet.
    pub fn new(world: World<'c>, tunables: Tunables, observer: O) -> Self {
        let (machine, plan, config) = (world.machine, world.plan, world.config);
        let cpus = world.topology.cpus();
        let tick_ns = SECOND / u64::from(machine.hz);
        let mut random = Random::new(config.seed);
        let all = CpuMask::first_cpus(cpus);
        let open = all.without(world.isolated);
        let shapes = Shapes::new(world.domains, world.topology, world.kernel, &open);
        let setting = Setting { cpus, tick_ns };
        let policy = P::new(world.kernel, &tunables, setting);
        let cost = tunables.ns(Tunable::MigrationCostNs);
        let folds = tunables.has(Tunable::VmStatInterval);
        let resources = &plan.program().resources;
        let mut global = Timers::default();
        let mut agenda = Agenda::new(cpus + 1);
        config.changes.iter().enumerate().for_each(|(at, change)| global.arm(change.at_ns, at as u32));
        agenda.set(cpus, global.next());
        let machine_cpus = (0..cpus)
            .map(|cpu| {
                let state = |at: &u16| domain_state(shapes.domains[usize::from(*at)].weight);
                let domains = shapes.of_cpu[cpu].iter().map(state).collect();
                // Ticks of different CPUs do not coincide; where they lie is a matter of chance.
                let mut it = Cpu::new(random.below(tick_ns), cost, domains);
                it.nohz_full = world.nohz_full.contains(cpu);
                it
            })
            .collect();
        let flow = |instance: u32| {
            let definition = &resources.channels[plan.channels().position(instance)];
            [Flow::new(definition.kind), Flow::new(definition.kind)]
        };
        let mut flows: Vec<Flow> = (0..plan.channels().total()).flat_map(flow).collect();
        for used in plan.tasks().flat_map(|task| plan.channel_ends(task)) {
            let [forward, backward] = Flow::both(&mut flows, used.channel);
            let (sends, receives) =
                if used.end == End::Near { (forward, backward) } else { (backward, forward) };
            sends.senders += 1;
            receives.receivers += 1;
        }
        let semaphore = |instance| {
            let definition = &resources.semaphores[plan.semaphores().position(instance)];
            Semaphore::new(definition.initial.into())
        };
        let meeting = |instance| Meeting::new(resources.barriers[plan.barriers().position(instance)].parties);
        let region = |instance| Region::new(resources.regions[plan.regions().position(instance)].bytes);
        let each = |total: u32| 0..total;
        let numa = Numa::new(&world, &tunables);
        Self {
            topology: world.topology,
            costs: machine.costs.clone(),
            now: 0,
            horizon: config.horizon_ns.unwrap_or(NEVER - 1),
            tick_ns,
            agenda,
            global,
            changes: config.changes.clone(),
            policy,
            stats: Schedstats::new(tunables.on(Tunable::Schedstats), shapes.of_cpu.iter().map(Vec::len)),
            tunables,
            cpus: machine_cpus,
            queues: vec![P::Queue::default(); cpus].into(),
            running: vec![0; cpus].into(),
            loads: vec![0; cpus].into(),
            sums: Sums::new(world.topology, &open),
            shapes,
            idle: all,
            idle_cores: all,
            crowded: CpuMask::EMPTY,
            overload: false,
            open,
            nohz_next_balance: 0,
            balance_memories: Memories::new(world.kernel.policy, cpus, machine.nodes()),
            switch_locks: crate::sched::SwitchLocks::new(world.kernel.policy, cpus),
            tasks: Table::default(),
            entities: Vec::new(),
            scripts: Table::default(),
            cursors: Table::default(),
            latencies: Table::default(),
            chosen: Vec::new(),
            free_tasks: Vec::new(),
            masks: vec![open],
            alive: 0,
            stuck: 0,
            finished: false,
            failure: None,
            gate: GateState::new(plan.program().window),
            flows,
            locks: vec![Lock::default(); plan.locks().total() as usize],
            lock_uses: crate::observe::LockUses::new(plan.locks().total() as usize),
            semaphores: each(plan.semaphores().total()).map(semaphore).collect(),
            meetings: each(plan.barriers().total()).map(meeting).collect(),
            conditions: vec![Condition::default(); plan.conditions().total() as usize],
            slots: vec![0; plan.slots().total() as usize],
            regions: each(plan.regions().total()).map(region).collect(),
            memory: Memory::new(machine.nodes()),
            caches: Caches::new(
                world.topology,
                machine.private_kib,
                machine.llc_kib,
                machine.costs.refill_kib,
                machine.costs.random_percent,
            ),
            counts: Counts::new(cpus, machine.nodes(), machine.memory_mib, folds),
            workers: Workers::new(cpus, folds),
            numa,
            ledger: Ledger::new(cpus),
            counters: Counters::default(),
            histograms: Histograms {
                wakeup_latency: vec![Histogram::default(); cpus],
                ..Histograms::default()
            },
            program_counters: vec![0; plan.program().counters.len()],
            series: (0..plan.program().series.len())
                .map(|at| Series::new(config.samples, config.seed ^ (at as u64 + 1)))
                .collect(),
            ended_user_ns: 0,
            ended_ran_ns: 0,
            reports: reports(plan),
            random,
            observer,
            world,
        }
    }
}

/// Threads are of the first process, which has a thread of its own.
fn reports(plan: &Plan) -> Vec<TaskReport> {
    let is_thread = |task| plan.group(task).mode == Mode::Thread;
    let threads = 1 + plan.tasks().filter(|task| is_thread(*task)).count() as u32;
    let report = |task| TaskReport::new(plan.describe(task), if is_thread(task) { threads } else { 1 });
    plan.tasks().map(report).collect()
}

/// A domain as `sd_init()` leaves it: the interval begins at its width in milliseconds.
fn domain_state(weight: u32) -> DomainState {
    DomainState {
        last_balance: 0,
        interval: Ns::from(weight) * MS,
        failed: 0,
        newidle_cost: 0,
        decay_at: SECOND,
    }
}
