//! Construction of the engine from a checked configuration.

use super::{Changes, Cpu, DomainState, Engine, NewidleStats, World};
use crate::balance::{Balance, KernelPolicy, SchedDomains};
use crate::kernel::{Clusters, Tunable, Tunables};
use crate::machine::CpuMask;
use crate::memory::Reserve;
use crate::numa::Numa;
use crate::observe::{Observer, Records};
use crate::physics::Physics;
use crate::sched::{DeadlineTasks, Runqueues, Setting};
use crate::schedstats::Schedstats;
use crate::table::Table;
use crate::tasks::{GateState, ProgramState, Tasks, Writers};
use crate::time::{Agenda, Clock, MS, NEVER, Ns, Random, SECOND, Timers};
use crate::vmstat::Vmstat;

/// Constant of the random draws of speeds, which keeps the simulation's other draws unchanged.
const SPEEDS_SALT: u64 = 0x7370_6565_6473_3031;

impl<'c, P: KernelPolicy, O: Observer> Engine<'c, P, O> {
    /// Create the engine, without any running task.
    pub fn new(world: World<'c>, tunables: Tunables, observer: O) -> Self {
        let (machine, plan, config) = (world.machine, world.plan, world.config);
        let topology = world.topology;
        let cpus = topology.cpus();
        let tick_ns = SECOND / u64::from(machine.hz);
        let mut random = Random::new(config.seed);
        let housekeeping = CpuMask::first_cpus(cpus).without(world.isolated);
        let clusters_first = world.kernel.clusters == Clusters::SearchedFirst;
        let balance = Balance::new(SchedDomains::new(world.domains, topology, &housekeeping, clusters_first));
        let setting = Setting { cpus, tick_ns };
        let policy = P::new(world.kernel, &tunables, setting);
        let cost = tunables.migration_cost_at_boot().into();
        let by_rate = tunables.on(Tunable::NiRate);
        let mut timers = Timers::default();
        let mut agenda = Agenda::new(cpus + 1);
        config.changes.iter().enumerate().for_each(|(at, change)| timers.arm(change.at_ns, at as u32));
        agenda.set(cpus, timers.next());
        let machine_cpus: Vec<Cpu> = (0..cpus)
            .map(|cpu| {
                let state = |at: &u16| domain_state(balance.domains.all[usize::from(*at)].weight, by_rate);
                let domains = balance.domains.of_cpu[cpu].iter().map(state).collect();
                // Each CPU's tick has a random phase, so that ticks of different CPUs do not coincide.
                let mut cpu_state = Cpu::new(random.below(tick_ns), cost, domains);
                cpu_state.nohz_full = world.nohz_full.contains(cpu);
                cpu_state
            })
            .collect();
        let levels = balance.domains.levels();
        let mut engine = Self {
            topology,
            costs: machine.costs.clone(),
            time: Clock {
                now: 0,
                horizon: config.horizon_ns.unwrap_or(NEVER - 1),
                tick_ns,
                agenda,
                random,
                speeds: Random::new(config.seed ^ SPEEDS_SALT),
            },
            changes: Changes { list: config.changes.clone(), timers },
            // SAFETY: by CPU, with an entry for each CPU of the topology.
            cpus: unsafe { Table::trusted(machine_cpus) },
            rq: Runqueues::new(policy, world.kernel.cpu_load, topology, housekeeping),
            tasks: Tasks::new(housekeeping, plan.task_count() as usize + 1),
            deadlines: DeadlineTasks::default(),
            gate: GateState::new(plan.program().window),
            groups: super::Groups::default(),
            program: ProgramState::new(plan, config.samples, config.seed, &machine.costs),
            physics: Physics::new(machine, topology, plan),
            writers: Writers::new(machine.nodes()),
            numa: Numa::new(machine.nodes(), world.kernel, plan, &tunables),
            vmstat: Vmstat::new(
                cpus,
                machine.nodes(),
                machine.memory_mib,
                tunables.has(Tunable::VmStatInterval),
            ),
            stats: Schedstats::new(
                tunables.on(Tunable::Schedstats),
                world.kernel.schedstats.map_or([0; 2], |layout| layout.update_ns(&machine.costs)),
                levels,
            ),
            records: Records::new(observer, cpus, plan),
            reserve: Reserve::new(config.memory_bytes, world.memory_bytes, plan.task_count() as usize),
            finished: false,
            failure: None,
            tunables,
            balance,
            world,
        };
        if P::GROUPS {
            engine.make_groups();
        }
        engine.retune_autogroup();
        engine
    }
}

/// State of a domain after `sd_init()` (kernel/sched/topology.c, v6.12), but for new-idle passes, see [`NewidleStats::idle`]: the
/// interval is the width in milliseconds. `by_rate`: the ratio of passes grows with the time since the last ones.
fn domain_state(weight: u32, by_rate: bool) -> DomainState {
    DomainState {
        last_balance: 0,
        interval: Ns::from(weight) * MS,
        failed: 0,
        max_newidle_lb_cost: 0,
        decay_at: SECOND,
        newidle: NewidleStats::idle(by_rate),
    }
}
