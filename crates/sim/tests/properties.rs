//! Properties of random machines, programs and tunables. The debug builds of these tests check the engine's invariants after
//! each event: no task is lost or on two queues, no CPU is idle while a task waits, accounts sum to the clock, the sums
//! and lags of the policies' queues, affinity, and vmstat counters agree.

use std::collections::BTreeMap;

use proptest::prelude::*;
use schedlab_sim::kernel::{Definition, Tunable};
use schedlab_sim::machine::{Numbering, Speeds};
use schedlab_sim::{
    Account, Attributes, Change, Class, Config, CpuMask, End, Machine, SimError, Simulation, kernel,
    kernel_names, machine,
};
use schedlab_workload::Plan;
use schedlab_workload::program::{
    Barrier, ChannelKind, Expr, Mode, Op, Pattern, Program, Quantity, Resources, Scope, Window, at, channels,
    compute, count, down, fork, group, higher, locked, locks, receive, record, region, semaphores, send,
    slots, stamp, times, until_closed, up, wait_all, within_window,
};

const MS: u64 = 1_000_000;

fn machines() -> impl Strategy<Value = Machine> {
    // At most six cores under a cache: as many clusters as the number has divisors that make clusters.
    let shape = (1u32..3, 1u32..3, 1u32..3, 1u32..7, 1u32..3);
    let speeds = proptest::option::of(proptest::collection::vec(100u32..=10_000, 1..4));
    (shape, any::<(bool, bool)>(), 100u32..1200, speeds).prop_map(
        |((sockets, nodes, caches, cores, threads), (split, clusters), hz, speeds)| {
            let mut machine = machine("xeon-e5-2670v3").unwrap();
            machine.sockets = sockets;
            machine.nodes_per_socket = nodes;
            machine.caches_per_node = caches;
            machine.cores_per_cache = cores;
            machine.cores_per_cluster = (2..cores).find(|each| clusters && cores.is_multiple_of(*each));
            machine.costs.line.cluster = 20;
            machine.threads_per_core = threads;
            machine.numbering = if split { Numbering::Split } else { Numbering::Adjacent };
            machine.distances = Vec::new();
            machine.hz = hz;
            machine.speeds = speeds.map(|mut durations_permille| {
                durations_permille.sort_unstable();
                Speeds { mean_interval_ns: 300_000, durations_permille }
            });
            machine
        },
    )
}

/// Operations that always end.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let touch = |(offset, bytes, write, random)| Op::Touch {
        region: "shared".into(),
        offset: Expr::Const(offset),
        bytes: Expr::Const(bytes),
        stride: 64,
        pattern: if random { Pattern::Random } else { Pattern::Sequential },
        write,
    };
    let image = schedlab_workload::program::Image::Work {
        ns: 40_000u64.into(),
        bytes: 20_000u64.into(),
        files: 0u64.into(),
    };
    let op = prop_oneof![
        (0u64..2_000_000).prop_map(|ns| vec![compute(ns)]),
        (1u64..400_000).prop_map(|below| vec![compute(Expr::random(0u64, below))]),
        (0u64..3_000_000).prop_map(|ns| vec![Op::Sleep { ns: ns.into() }]),
        (0u64..1 << 20, 1u64..600_000, any::<bool>(), any::<bool>()).prop_map(move |it| vec![touch(it)]),
        (0u64..3, 0u64..100_000).prop_map(|(lock, ns)| locked(at("lock", lock), vec![compute(ns)])),
        Just(vec![Op::Yield]),
        Just(vec![stamp("slot"), record("slot", "time"), count("turns", 1u64)]),
        Just(vec![Op::Barrier { barrier: "all".into() }]),
        (0u64..200_000).prop_map(|ns| vec![fork(vec![compute(ns)]), wait_all()]),
        (1u64..4).prop_map(move |many| vec![
            times(many, vec![fork(vec![Op::Exec { image: image.clone() }])]),
            wait_all()
        ]),
        (1u64..4).prop_map(|many| vec![up("many", many), times(many, vec![down("many")])]),
    ];
    prop::collection::vec(op, 0..7).prop_map(|ops| ops.concat())
}

fn kinds() -> impl Strategy<Value = ChannelKind> {
    prop_oneof![
        Just(ChannelKind::Pipe),
        Just(ChannelKind::Unix),
        Just(ChannelKind::Tcp),
        Just(ChannelKind::Udp)
    ]
}

/// Programs of workers with random bodies, which meet at barriers equally often, and of pairs that exchange messages. All
/// programs end.
fn programs() -> impl Strategy<Value = Program> {
    let traffic = (kinds(), 1u64..9000, 1u64..60, any::<bool>());
    (ops(), 1u32..9, 1u64..4, traffic, 0u32..4, any::<u64>()).prop_map(
        |(body, workers, loops, (kind, bytes, messages, threads), pairs, seed)| {
            let mode = if threads { Mode::Thread } else { Mode::Process };
            let mut groups = vec![group("worker", workers, mode, vec![times(loops, body)])];
            let mut resources = Resources {
                locks: vec![locks("lock", 3, Scope::Program)],
                semaphores: vec![semaphores("many", 1, Scope::Program, 0)],
                barriers: vec![Barrier {
                    name: "all".to_owned(),
                    count: 1,
                    scope: Scope::Program,
                    parties: workers,
                }],
                regions: vec![region("shared", 1 << 20, Scope::Program)],
                slots: vec![slots("slot", 1, Scope::Task)],
                ..Resources::default()
            };
            if pairs > 0 {
                let mut channel = channels("talk", kind, pairs);
                channel.scope = Scope::Program;
                resources.channels = vec![channel];
                let say = times(messages, vec![send(at("talk", Expr::task()), bytes)]);
                let hear = until_closed(vec![receive(at("talk", Expr::task()), bytes), count("turns", 1u64)]);
                groups.push(group("hears", pairs, Mode::Process, vec![hear]));
                groups.push(group("says", pairs, Mode::Process, vec![say]));
            }
            Program {
                seed,
                resources,
                counters: vec!["turns".to_owned()],
                series: vec!["time".to_owned()],
                groups,
                metrics: vec![higher("turns", "1", Quantity::Total("turns".to_owned()), 1.0)],
                ..Program::named("random")
            }
        },
    )
}

fn classes() -> impl Strategy<Value = Class> {
    prop_oneof![
        4 => Just(Class::Normal),
        1 => Just(Class::Batch),
        1 => Just(Class::Idle),
        1 => (1u8..100).prop_map(Class::Fifo),
        1 => (1u8..100).prop_map(Class::RoundRobin),
    ]
}

/// A value within a tunable's range, near its default in two of three cases.
fn value(kernel_name: &str, tunable: Tunable, luck: u64) -> Option<(String, i64)> {
    let definition = *kernel(kernel_name).unwrap().tunables.get(tunable.name())?;
    let width = (definition.max - definition.min) as u64 + 1;
    // Programs end within milliseconds, so that only early scans of NUMA balancing happen.
    let scan = tunable.name().ends_with("scan_delay_ms") || tunable.name().contains("scan_period");
    let definition = if scan { Definition { default: 4, ..definition } } else { definition };
    let near_default = definition.default / 4 + (luck % (definition.default.unsigned_abs() * 4 + 1)) as i64;
    let anywhere = definition.min + (luck % width) as i64;
    let value =
        if luck.is_multiple_of(3) { anywhere } else { near_default.clamp(definition.min, definition.max) };
    Some((tunable.name().to_owned(), value))
}

fn simulation(
    machine: Machine,
    kernel_at: usize,
    program: Program,
    (class, nice, bound): (Class, i32, Option<usize>),
    luck: &[u64],
    seed: u64,
) -> Simulation {
    let kernel_name = kernel_names().cycle().nth(kernel_at).unwrap();
    let cpus =
        bound.map(|cpu| [cpu % machine.cpus(), (cpu / 2) % machine.cpus()].into_iter().collect::<CpuMask>());
    let attributes = Attributes { class, nice, cpus, ..Attributes::default() };
    let tunables: Vec<_> = Tunable::ALL
        .iter()
        .zip(luck)
        .filter_map(|(tunable, luck)| value(kernel_name, *tunable, *luck))
        .collect();
    let changes = tunables.iter().zip(luck).map(|((tunable, value), luck)| Change {
        at_ns: luck % (20 * MS),
        tunable: tunable.clone(),
        value: *value,
    });
    let switched = kernel(kernel_name).unwrap().schedstats.is_some();
    let config = Config {
        seed,
        changes: changes.collect(),
        command_line: if seed % 2 == 1 && switched { "schedstats=enable" } else { "" }.to_owned(),
        groups: BTreeMap::from([("worker".to_owned(), attributes)]),
        horizon_ns: Some(20_000 * MS),
        ..Config::default()
    };
    Simulation::new(machine, kernel(kernel_name).unwrap(), Plan::new(program).unwrap(), config).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_ends_on_any_machine_with_consistent_accounts(
        machine in machines(), kernel_at in 0usize..8, program in programs(),
        attributes in (classes(), -20i32..20, prop::option::of(0usize..24)),
        luck in prop::collection::vec(any::<u64>(), Tunable::ALL.len()), seed in any::<u64>(),
    ) {
        let memory_mib = machine.memory_mib;
        let simulation = simulation(machine, kernel_at, program, attributes, &luck, seed);
        let outcome = simulation.run();
        // Locks are not nested and every sent message is received, so that no deadlock is possible.
        let outcome = outcome.map_err(|error: SimError| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(outcome.end, End::Finished);
        for cpu in 0..outcome.ledger.cpus() {
            prop_assert_eq!(outcome.ledger.cpu_total(cpu), outcome.ledger.closed_ns());
        }
        let idle = outcome.ledger.total(Account::Idle);
        prop_assert!(outcome.observed.user_ns <= outcome.ledger.closed_ns() * outcome.ledger.cpus() as u64 - idle);
        // All stacks are freed, and each page is either free or allocated.
        let counted = |at: usize| {
            let item = &outcome.vmstat[at];
            item.global + item.differentials.iter().sum::<i64>()
        };
        let memory = outcome.vmstat[0].zones.len() as i64 * memory_mib as i64 * 256;
        prop_assert_eq!((counted(0) + counted(1), counted(2)), (memory, 0));
        prop_assert_eq!(simulation.run().unwrap().digest(), outcome.digest());
    }

    #[test]
    fn ledger_is_exact_at_any_horizon(
        machine in machines(), kernel_at in 0usize..8, program in programs(), horizon_ns in 1u64..60 * MS,
    ) {
        let kernel_name = kernel_names().cycle().nth(kernel_at).unwrap();
        let config = Config { horizon_ns: Some(horizon_ns), ..Config::default() };
        let plan = Plan::new(program).unwrap();
        let outcome = Simulation::new(machine, kernel(kernel_name).unwrap(), plan, config).unwrap().run().unwrap();
        prop_assert!(outcome.end_ns <= horizon_ns);
        for cpu in 0..outcome.ledger.cpus() {
            prop_assert_eq!(outcome.ledger.cpu_total(cpu), outcome.end_ns);
        }
    }
}

#[test]
fn a_window_ends_every_loop() {
    let body = vec![within_window(vec![compute(Expr::random(0u64, 5000u64)), count("turns", 1u64)])];
    let mut program = hundred(body);
    program.window = Some(Window::new(MS, 5 * MS).unwrap());
    let simulation = simulation(machine("laptop-4").unwrap(), 1, program, (Class::Normal, 0, None), &[], 1);
    assert!(simulation.run().unwrap().observed.counters[0] > 1000);
}

fn hundred(body: Vec<Op>) -> Program {
    Program {
        counters: vec!["turns".to_owned()],
        groups: vec![group("worker", 100, Mode::Process, body)],
        metrics: vec![higher("turns", "1", Quantity::Total("turns".to_owned()), 1.0)],
        ..Program::named("hundred")
    }
}
